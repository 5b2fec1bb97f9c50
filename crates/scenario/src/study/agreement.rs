//! Kinds of rows, and when one agrees with its published value: checked before anything is run.

use super::Reading;
use crate::error::InputError;
use crate::suggest;
use crate::tree::KeyPath;

impl Reading<'_> {
    /// Every kind names columns of the study, and the rule by which its rows are judged.
    pub(super) fn check_agreement(&self) -> Result<(), InputError> {
        for (i, kind) in (0..).zip(&self.file.agreement) {
            let at = KeyPath::of(["agreement"]).below(i);
            if let Some(column) = kind.only.keys().find(|column| !self.file.columns.contains(column)) {
                let help = suggest::among(column, &self.file.columns, "columns");
                return Err(self.tree.error(&at.below("only").below(column), "this is no column", help));
            }
            for (key, value) in [("within", kind.within), ("or", kind.or)] {
                if !(value.is_finite() && value >= 0.0) {
                    let message = format!("{value} is no difference");
                    return Err(self.tree.error(&at.below(key), message, "write a number from 0 on"));
                }
            }
            if kind.within == 0.0 && kind.or == 0.0 && kind.runs.is_none() {
                let message = "this kind does not say when a row agrees";
                return Err(self.tree.error(&at, message, "give it `within`, `or` or `runs`"));
            }
            if kind.runs == Some(0) {
                let message = "a median of no runs is none";
                return Err(self.tree.error(
                    &at.below("runs"),
                    message,
                    "write how many runs the document has",
                ));
            }
        }
        Ok(())
    }
}

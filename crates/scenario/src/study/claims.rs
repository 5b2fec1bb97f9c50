//! Claims: the values that an expression names are tied to rows, before anything is run.

use super::sweep::text_of;
use super::{Cell, Claim, Reading, Row};
use crate::error::InputError;
use crate::file::Selection;
use crate::suggest;
use crate::tree::KeyPath;

/// The words of an expression that are not values' names.
const WORDS: [&str; 7] = ["and", "or", "not", "abs", "min", "max", "round"];

impl Reading<'_> {
    pub(super) fn claims(&mut self, rows: &[Row]) -> Result<Vec<Claim>, InputError> {
        let claims = self.file.claims.clone();
        (0..)
            .zip(&claims)
            .map(|(i, claim)| self.claim(claim, rows, &KeyPath::of(["claims"]).below(i)))
            .collect()
    }

    fn claim(&mut self, file: &crate::file::Claim, rows: &[Row], at: &KeyPath) -> Result<Claim, InputError> {
        if file.holds.is_some() == file.check.is_some() {
            let message = "a claim is judged either by `holds` or by `check`";
            return Err(self.tree.error(at, message, "give exactly one of the two"));
        }
        let cell = |(name, selection)| -> Result<_, InputError> {
            let path = at.below("values").below(name);
            Ok((
                String::clone(name),
                Cell { row: self.one_row(selection, rows, &path)?, stat: selection.stat },
            ))
        };
        let values = file.values.iter().map(cell).collect::<Result<_, _>>()?;
        self.check_expression(file, at)?;
        self.check_about(file, at)?;
        let defaults = self.file.defaults.clone();
        self.running = self.wanted.is_empty() || file.about.iter().any(|table| self.is_wanted(table));
        let mut cases = Vec::new();
        for (i, grid) in file.cases.iter().enumerate() {
            cases.extend(self.grid(grid, &[&defaults], &at.below("cases").below(i))?);
        }
        Ok(Claim {
            id: file.id.clone(),
            says: file.says.clone(),
            place: file.place.clone(),
            setup: file.setup,
            values,
            holds: file.holds.clone(),
            check: file.check.clone(),
            line: self.place(&at.below(if file.holds.is_some() { "holds" } else { "check" })).line(),
            cases,
            about: file.about.clone(),
            tables: file.tables.clone(),
        })
    }

    /// The position of the only row that a selection leaves. Variables that it leaves out have their defaults,
    /// if that makes the row the only one.
    fn one_row(&self, selection: &Selection, rows: &[Row], path: &KeyPath) -> Result<usize, InputError> {
        for column in selection.columns.keys() {
            if !self.file.columns.contains(column) {
                let help = suggest::among(column, &self.file.columns, "columns");
                return Err(self.tree.error(&path.below(column), "this is no column", help));
            }
        }
        let is_meant = |row: &&(usize, &Row)| {
            selection.columns.iter().all(|(column, value)| row.1.columns[column] == text_of(value))
        };
        let is_default = |row: &&(usize, &Row)| {
            let defaults = self.file.defaults.iter().filter(|(name, _)| self.file.columns.contains(name));
            let left_out = defaults.filter(|(name, _)| !selection.columns.contains_key(*name));
            left_out.into_iter().all(|(name, value)| row.1.columns[name] == text_of(value))
        };
        let numbered: Vec<(usize, &Row)> = rows.iter().enumerate().collect();
        let meant: Vec<&(usize, &Row)> = numbered.iter().filter(is_meant).collect();
        let default: Vec<&(usize, &Row)> = meant.iter().copied().filter(|row| is_default(row)).collect();
        match (&meant[..], &default[..]) {
            ([(position, _)], _) | (_, [(position, _)]) => Ok(*position),
            ([], _) => Err(self.tree.error(path, "no row has these values", "check them against the tables")),
            (several, _) => {
                let message = format!("{} rows have these values", several.len());
                let help = format!("distinguish them by more of {}", self.file.columns.join(", "));
                Err(self.tree.error(path, message, help))
            }
        }
    }

    /// A claim is about tables that the study has.
    fn check_about(&self, claim: &crate::file::Claim, at: &KeyPath) -> Result<(), InputError> {
        let ids: Vec<&String> = self.file.tables.iter().map(|table| &table.id).collect();
        match (0..).zip(&claim.about).find(|(_, id)| !ids.contains(id)) {
            None => Ok(()),
            Some((i, id)) => {
                let help = suggest::among(id, &ids, "tables");
                Err(self.tree.error(&at.below("about").below(i), format!("there is no table \"{id}\""), help))
            }
        }
    }

    /// Every name in the expression has a value.
    fn check_expression(&self, claim: &crate::file::Claim, at: &KeyPath) -> Result<(), InputError> {
        let Some(expression) = &claim.holds else { return Ok(()) };
        for word in names_in(expression) {
            if !claim.values.contains_key(word) {
                let names: Vec<&String> = claim.values.keys().collect();
                let message = format!("the expression uses \"{word}\", which has no value");
                return Err(self.tree.error(
                    &at.below("holds"),
                    message,
                    suggest::among(word, &names, "values"),
                ));
            }
        }
        Ok(())
    }
}

/// The names of values in an expression.
pub(super) fn names_in(expression: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let words = expression.split(|c: char| !c.is_alphanumeric() && c != '_').filter(is_name);
    words.filter(|word| !WORDS.contains(word))
}

//! Values as JSON texts.

use serde::Serialize;

/// A summary as the text that `--json` prints.
pub(crate) fn json_of(summary: &impl Serialize) -> String {
    serde_json::to_string(summary).expect("a summary has text keys and finite numbers")
}

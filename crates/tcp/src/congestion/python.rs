//! A class of Python: its text is part of the profile, and whoever runs the World supplies what executes it.
//!
//! This crate knows the name and the text alone. Until [`registry::Choice::supply`] gives the choice a way to build the
//! class, [`StandIn`] takes its place, which a World refuses.

use registry::{Algorithm, Build};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CongestionControl;
use super::stand_in::StandIn;

/// Parameters: "mine.py:Mine" alone, or a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = or_text)]
pub struct Parameters {
    /// The file, relative to the file that names it, and after a colon the class: "mine.py:Mine".
    pub class: String,
    /// The text of the file. Read when the scenario is resolved, so that it is part of the scenario and of its hash.
    #[schemars(skip)]
    pub code: String,
    /// Keyword arguments of the class.
    pub parameters: Map<String, Value>,
}

impl Parameters {
    /// The file and the class; none unless both are there.
    #[must_use]
    pub fn file_and_class(&self) -> Option<(&str, &str)> {
        self.class.rsplit_once(':').filter(|(file, class)| !file.is_empty() && !class.is_empty())
    }
}

/// The class alone may stand for the table.
fn or_text(table: &mut Schema) {
    let text = json_schema!({ "description": "the file, a colon, the class", "type": "string", "pattern": "^.+:.+$" });
    *table = json_schema!({ "anyOf": [text, std::mem::take(table)] });
}

/// This entry in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "python",
    "a class of Python in a file of one's own; `{ python = \"mine.py:Mine\" }`",
    "docs/recipes/my-own-congestion-control.md",
    &Build(|_: &Parameters| Box::new(StandIn::default())),
);

#[cfg(test)]
mod tests {
    use registry::Choice;
    use serde_json::json;

    use super::super::testing::built;
    use super::*;

    #[test]
    fn what_stands_in_says_so_until_a_program_is_supplied() {
        let keys = json!({ "class": "mine.py:Mine" });
        assert!(built("python", keys.clone()).traits().stands_in);
        let mut choice = ENTRY.choice(keys).unwrap();
        choice.supply(|| Choice::named("cubic").unwrap().build());
        assert!(!choice.build().traits().stands_in);
    }

    #[test]
    fn a_class_is_named_with_its_file() {
        let of = |class: &str| Parameters { class: class.to_owned(), ..Parameters::default() };
        assert_eq!(of("a/mine.py:Mine").file_and_class(), Some(("a/mine.py", "Mine")));
        for wrong in ["mine.py", ":Mine", "mine.py:", ""] {
            assert_eq!(of(wrong).file_and_class(), None, "{wrong}");
        }
    }
}

//! A congestion-control module of Linux, in C: its text is part of the profile, and whoever runs the World supplies
//! what compiles and calls it.

use std::collections::BTreeMap;

use registry::{Algorithm, Build, Choice};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CongestionControl;
use super::stand_in::StandIn;

/// Parameters: "tcp_mine.c" alone, or a table with the module's own parameters as further keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = or_text)]
pub struct Parameters {
    /// The file in C, or the plug-in that `lasthop cc build` has made of it; relative to the file that names it.
    pub file: String,
    /// The struct that the module keeps in `icsk_ca_priv`, as "bictcp": the table `variables` has its variables by the
    /// names that debug information gives. `lasthop cc build` prints its name. Default: none; nothing is recorded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// The texts of the file and of those that it includes from its folder, by their names; of a plug-in its bytes, in
    /// hexadecimal digits. Read when the scenario is resolved, so that they are part of it and of its hash.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
    /// Parameters of the module (`module_param`).
    #[serde(flatten)]
    #[schemars(skip)]
    pub parameters: Map<String, Value>,
}

impl Parameters {
    /// The module of a choice; none unless it is one of this entry.
    #[must_use]
    pub fn of(choice: &Choice<dyn CongestionControl>) -> Option<Self> {
        let written = || Value::Object(choice.parameters().clone());
        (choice.id() == ENTRY.id)
            .then(|| serde_json::from_value(written()).expect("they were read with the profile"))
    }

    /// The bytes of a plug-in, where the file is one and not text in C.
    #[must_use]
    pub fn plugin(&self) -> Option<Vec<u8>> {
        let name = self.file.rsplit('/').next()?;
        let digits = self.sources.get(name).filter(|_| name.ends_with(PLUGIN))?;
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        (0..digits.len()).step_by(2).map(byte).collect()
    }
}

/// The file alone may stand for the table, and the table has keys that only the module knows.
fn or_text(table: &mut Schema) {
    let text = json_schema!({ "description": "the file", "type": "string", "pattern": "\\.(c|so)$" });
    table.insert(
        "additionalProperties".to_owned(),
        serde_json::json!({ "type": ["integer", "boolean", "string"] }),
    );
    *table = json_schema!({ "anyOf": [text, std::mem::take(table)] });
}

/// The ending of a plug-in.
const PLUGIN: &str = ".so";

/// This entry in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "linux",
    "a congestion-control module of Linux, in C and unmodified; `{ linux = \"tcp_mine.c\" }`",
    "docs/recipes/your-linux-module.md",
    &Build(|_: &Parameters| Box::new(StandIn::default())),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_key_but_the_file_and_its_text_is_a_parameter_of_the_module() {
        let keys =
            json!({ "file": "a/tcp_mine.c", "sources": { "tcp_mine.c": "" }, "beta": 819, "hystart": false });
        let module = Parameters::of(&ENTRY.choice(keys).unwrap()).unwrap();
        assert_eq!(module.parameters, json!({ "beta": 819, "hystart": false }).as_object().unwrap().clone());
        assert_eq!(module.plugin(), None);
    }

    #[test]
    fn what_stands_in_says_so_until_a_module_is_supplied() {
        let mut choice = ENTRY.choice(json!({ "file": "tcp_mine.c" })).unwrap();
        assert!(choice.build().traits().stands_in);
        choice.supply(|| Choice::named("cubic").unwrap().build());
        assert!(!choice.build().traits().stands_in);
    }

    #[test]
    fn a_plug_in_is_its_bytes_in_hexadecimal_digits() {
        let of = |digits: &str| {
            let keys = json!({ "file": "a/mine.so", "sources": { "mine.so": digits } });
            Parameters::of(&ENTRY.choice(keys).unwrap()).unwrap().plugin()
        };
        assert_eq!(of("7f454c46"), Some(b"\x7fELF".to_vec()));
        assert_eq!(of("7f4"), None);
    }
}

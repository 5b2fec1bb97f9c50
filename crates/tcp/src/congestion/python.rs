//! A class of Python: its text is part of the profile, and whoever runs the World supplies what executes it.
//!
//! This crate knows the name and the text alone. Until [`registry::Choice::supply`] gives the choice a way to build the
//! class, `reno` stands in, and a World refuses that ([`Traits::stands_in`]).

use registry::{Algorithm, Build, Choice};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use units::Bytes;

use super::{AckSample, CongestionControl, CongestionEvent, Traits};

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

/// `reno`, which says that it is not what was chosen.
#[derive(Debug)]
struct StandIn(Box<dyn CongestionControl>);

impl CongestionControl for StandIn {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.0.start(smss, initial_window);
    }

    fn traits(&self) -> Traits {
        Traits { stands_in: true, ..self.0.traits() }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.0.on_ack(ack);
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.0.on_loss(event);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        self.0.on_timeout(event);
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.0.on_recovery_exit(window);
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.0.on_restore(cwnd, ssthresh);
    }

    fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.0.ssthresh()
    }
}

/// This entry in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "python",
    "a class of Python in a file of one's own; `{ python = \"mine.py:Mine\" }`",
    "docs/recipes/my-own-congestion-control.md",
    &Build(|_: &Parameters| Box::new(StandIn(Choice::named("reno").expect("reno has defaults").build()))),
);

#[cfg(test)]
mod tests {
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

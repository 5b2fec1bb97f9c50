//! Once: one number, drawn when it is first needed, that holds for the whole run: what differs between hosts or between
//! runs, as round trips do, and not between packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::family::ReadFile;
use super::{Distribution, Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "once",
    summary: "one number for the whole run, drawn from another distribution",
    example: "{ once = { uniform = [\"20 ms\", \"80 ms\"] } }",
    source: "this project",
};

/// The distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Parameters<Q>(pub Box<Distribution<Q>>);

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        self.0.check()
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Once { of: self.0.sampler(), drawn: None })
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.0.load_files(read)
    }
}

#[derive(Debug)]
struct Once {
    of: Box<dyn Sampler>,
    drawn: Option<f64>,
}

impl Sampler for Once {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        *self.drawn.get_or_insert_with(|| self.of.sample(stream))
    }
}

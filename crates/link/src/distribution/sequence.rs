//! Sequence: the values of a list in turn, and from its start again. Draws nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "sequence",
    "the values of a list in turn, repeated",
    "a schedule, for measured or exactly repeatable values",
)
.written("[\"200 ms\", \"6 s\"]");

/// The values, at least one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters<Q>(pub Vec<Q>);

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        if self.0.is_empty() {
            return Err(ConfigError::new("", "the list is empty", "write at least one value"));
        }
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Sequence::new(&self.0))
    }
}

/// Goes round a list.
#[derive(Debug)]
pub(super) struct Sequence {
    values: Vec<f64>,
    next: usize,
}

impl Sequence {
    pub(super) fn new<Q: Quantity>(values: &[Q]) -> Self {
        Self { values: values.iter().map(|value| value.number()).collect(), next: 0 }
    }
}

impl Sampler for Sequence {
    fn sample(&mut self, _: &mut Stream) -> f64 {
        let value = self.values[self.next];
        self.next = (self.next + 1) % self.values.len();
        value
    }
}

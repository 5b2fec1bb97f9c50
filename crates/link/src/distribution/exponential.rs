//! Exponential: the time to the next event where events come independently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::positive_unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "exponential",
    "memoryless: the time to the next of independent events",
    "inversion: −mean · ln u",
)
.written("{ exponential = { mean = \"1 s\" } }");

/// The mean, which is also the standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters<Q> {
    /// Mean and standard deviation.
    pub mean: Q,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Exponential(self.mean.number()))
    }
}

#[derive(Debug)]
struct Exponential(f64);

impl Sampler for Exponential {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        self.0 * standard(stream)
    }
}

/// A number of the exponential distribution of mean 1.
pub(super) fn standard(stream: &mut Stream) -> f64 {
    -libm::log(positive_unit(stream))
}

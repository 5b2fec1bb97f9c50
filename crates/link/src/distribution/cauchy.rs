//! Cauchy: a bell with tails so heavy that it has no mean. Negative draws count as zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "cauchy",
    "a bell curve without a mean: sometimes very large; negative draws count as zero",
    "inversion: median + scale · tan(π(u − ½))",
)
.written("{ cauchy = { median = \"1 s\", scale = \"100 ms\" } }");

/// The middle, and the distance from it to either quartile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters<Q> {
    /// Half of the draws are below it.
    pub median: Q,
    /// Half of the draws are within this distance of the median.
    pub scale: Q,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Cauchy { median: self.median.number(), scale: self.scale.number() })
    }
}

#[derive(Debug)]
struct Cauchy {
    median: f64,
    scale: f64,
}

impl Sampler for Cauchy {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        self.median + self.scale * libm::tan(std::f64::consts::PI * (unit(stream) - 0.5))
    }
}

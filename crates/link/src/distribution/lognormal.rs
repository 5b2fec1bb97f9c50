//! Lognormal: the logarithm is normal. Half of the draws are below the median; the tail is long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::family::{check_finite, check_positive};
use super::normal::standard;
use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "lognormal",
    "its logarithm is normal: half below the median, a long tail above",
    "the exponential of a normal number",
)
.written("{ lognormal = { median = \"200 ms\", sigma = 0.5 } }");

/// The median, which is e^μ, and σ of the logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters<Q> {
    /// Half of the draws are below it. The mean is `median` · e^(σ²/2).
    pub median: Q,
    /// Standard deviation of the natural logarithm.
    pub sigma: f64,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        check_positive("median", self.median.number())?;
        check_finite("sigma", self.sigma)
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Lognormal { median: self.median.number(), sigma: self.sigma })
    }
}

#[derive(Debug)]
struct Lognormal {
    median: f64,
    sigma: f64,
}

impl Sampler for Lognormal {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        self.median * libm::exp(self.sigma * standard(stream))
    }
}

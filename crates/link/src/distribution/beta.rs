//! Beta: between two ends, with a shape of any skew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::family::check_positive;
use super::gamma::standard;
use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "beta",
    "between two ends, closer to one of them by its shapes",
    "the ratio of two gamma numbers (Devroye 1986, chapter IX.4)",
)
.written("{ beta = { alpha = 2.0, beta = 5.0, low = \"0.5 s\", high = \"6 s\" } }");

/// The shapes and the ends. The mean lies the share alpha / (alpha + beta) of the way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters<Q> {
    /// First shape, above 0: larger values move draws towards `high`.
    pub alpha: f64,
    /// Second shape, above 0: larger values move draws towards `low`.
    pub beta: f64,
    /// The lower end.
    pub low: Q,
    /// The upper end.
    pub high: Q,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        check_positive("alpha", self.alpha)?;
        check_positive("beta", self.beta)?;
        if self.low > self.high {
            return Err(ConfigError::new("low", "low is above high", "write the lower end as low"));
        }
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        let (low, high) = (self.low.number(), self.high.number());
        Box::new(Beta { alpha: self.alpha, beta: self.beta, low, width: high - low })
    }
}

#[derive(Debug)]
struct Beta {
    alpha: f64,
    beta: f64,
    low: f64,
    width: f64,
}

impl Sampler for Beta {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        let towards_high = standard(self.alpha, stream);
        let towards_low = standard(self.beta, stream);
        let sum = towards_high + towards_low;
        // Both vanish only where the shapes are so small that either end is as good.
        let share = if sum > 0.0 { towards_high / sum } else { 0.5 };
        self.low + self.width * share
    }
}

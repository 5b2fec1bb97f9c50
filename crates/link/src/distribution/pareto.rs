//! Pareto: heavy-tailed, as sizes of files and of web pages are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::positive_unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "pareto",
    "heavy-tailed: a few values are very large",
    "inversion: scale · u^(−1/shape), scale = mean · (shape − 1) / shape",
)
.written("{ pareto = { mean = \"1 s\", shape = 1.7584 } }");

/// The mean, and how heavy the tail is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters<Q> {
    /// The mean.
    pub mean: Q,
    /// The tail's exponent, above 1, for the mean is finite only there; up to 2 the variance is infinite.
    pub shape: f64,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        if self.shape > 1.0 && self.shape.is_finite() {
            return Ok(());
        }
        let message = format!("a shape of {} has no mean", self.shape);
        Err(ConfigError::new("shape", message, "write a number above 1"))
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        let scale = self.mean.number() * (self.shape - 1.0) / self.shape;
        Box::new(Pareto { scale, exponent: -1.0 / self.shape })
    }
}

#[derive(Debug)]
struct Pareto {
    scale: f64,
    exponent: f64,
}

impl Sampler for Pareto {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        self.scale * libm::pow(positive_unit(stream), self.exponent)
    }
}

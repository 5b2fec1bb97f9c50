//! Gamma: a sum of exponential numbers, for any shape above zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::family::check_positive;
use super::{Entry, Family, Quantity, Sampler, normal};
use crate::error::ConfigError;
use crate::random::positive_unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "gamma",
    "the sum of `shape` exponential numbers of mean `scale`; shape need not be whole",
    "Marsaglia and Tsang 2000",
)
.written("{ gamma = { shape = 2.0, scale = \"500 ms\" } }");

/// Shape and scale. The mean is shape · scale, the variance shape · scale².
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters<Q> {
    /// Above 0; 1 is exponential.
    pub shape: f64,
    /// Scale.
    pub scale: Q,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        check_positive("shape", self.shape)
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Gamma { shape: self.shape, scale: self.scale.number() })
    }
}

#[derive(Debug)]
struct Gamma {
    shape: f64,
    scale: f64,
}

impl Sampler for Gamma {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        self.scale * standard(self.shape, stream)
    }
}

/// A number of the gamma distribution of scale 1.
pub(super) fn standard(shape: f64, stream: &mut Stream) -> f64 {
    if shape >= 1.0 {
        return at_least_one(shape, stream);
    }
    // Marsaglia and Tsang, section 6: from shape + 1, corrected by a uniform number's root.
    at_least_one(shape + 1.0, stream) * libm::pow(positive_unit(stream), 1.0 / shape)
}

/// Marsaglia and Tsang's method for shapes from 1: a cube of a normal number, with rejection.
fn at_least_one(shape: f64, stream: &mut Stream) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal::standard(stream);
        let root = 1.0 + c * x;
        let u = positive_unit(stream);
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

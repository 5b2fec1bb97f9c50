//! Normal: Gauss's bell around a mean. Negative draws count as zero, so that with a deviation that is large relative to
//! the mean, the resulting mean is larger than `mean`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "normal",
    summary: "the bell curve around a mean; negative draws count as zero",
    example: "{ normal = { mean = \"10 s\", deviation = \"2.5 s\" } }",
    source: "Marsaglia and Bray 1964 (polar method)",
};

/// The bell's middle and width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters<Q> {
    /// Mean, before negative draws are cut off.
    pub mean: Q,
    /// Standard deviation, before negative draws are cut off.
    pub deviation: Q,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Normal { mean: self.mean.number(), deviation: self.deviation.number() })
    }
}

#[derive(Debug)]
struct Normal {
    mean: f64,
    deviation: f64,
}

impl Sampler for Normal {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        self.mean + self.deviation * standard(stream)
    }
}

/// A number of the standard normal distribution. The second number of the method is discarded, so that a draw does not
/// depend on earlier ones.
pub(super) fn standard(stream: &mut Stream) -> f64 {
    loop {
        let (x, y) = (2.0 * unit(stream) - 1.0, 2.0 * unit(stream) - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * libm::sqrt(-2.0 * libm::log(square) / square);
        }
    }
}

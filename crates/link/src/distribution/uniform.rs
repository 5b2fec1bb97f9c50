//! Uniform: uniform between two values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new("uniform", "uniform between two values", "linear in one uniform number")
    .written("{ uniform = [\"0.5 s\", \"6 s\"] }");

/// The lower and the upper end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters<Q>(pub Q, pub Q);

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        if self.0 > self.1 {
            return Err(ConfigError::new(
                "",
                "the lower end is above the upper end",
                "write the lower end first",
            ));
        }
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Uniform { low: self.0.number(), width: self.1.number() - self.0.number() })
    }
}

#[derive(Debug)]
struct Uniform {
    low: f64,
    width: f64,
}

impl Sampler for Uniform {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        self.low + self.width * unit(stream)
    }
}

//! Static: always the same value, without a draw.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry =
    Entry::new("static", "always the same value", "Seawind (Sarolahti 2000, Appendix E)")
        .written("\"200 ms\"");

/// The value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters<Q>(pub Q);

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(Static(self.0.number()))
    }
}

#[derive(Debug)]
struct Static(f64);

impl Sampler for Static {
    fn sample(&mut self, _: &mut Stream) -> f64 {
        self.0
    }
}

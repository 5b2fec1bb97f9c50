//! A threshold half-way between itself and the length of each needless fast retransmit's reordering (Blanton
//! and Allman 2002).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use registry::{Algorithm, Build};

/// It has no parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {}

#[derive(Debug)]
struct Average(u64);

impl DupThresh for Average {
    fn segments(&self, view: &View) -> u32 {
        view.bounded(self.0)
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        if reordering.retransmitted {
            // Rounded up: a length above the threshold always raises it.
            self.0 = (self.0 + u64::from(reordering.extent)).div_ceil(2);
        }
    }

    fn on_timeout(&mut self) {
        self.0 = STANDARD;
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::of(
    "average",
    "the average of itself and the length of the last needless fast retransmit's reordering",
    "Blanton and Allman 2002",
    &Build(|_: &Parameters| Box::new(Average(STANDARD))),
);

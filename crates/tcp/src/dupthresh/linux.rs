//! The reordering degree of Linux (`tp->reordering`, `tcp_check_sack_reordering`): as far as a segment was overtaken,
//! so far may duplicates go. With SACK that is the distance from it to the highest SACKed one, else the duplicates that
//! reported the gap. RACK does not need it any more once it has seen reordering.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The threshold at first and after a timeout: 3 (`tcp_reordering`).
    #[schemars(range(min = 3))]
    pub least: u32,
    /// The greatest threshold: 300 (`tcp_max_reordering`).
    pub most: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { least: 3, most: 300 }
    }
}

#[derive(Debug)]
struct Linux {
    parameters: Parameters,
    threshold: u32,
}

impl DupThresh for Linux {
    fn segments(&self, _view: &View) -> u32 {
        self.threshold
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        self.on_overtaken(reordering.extent + 1);
    }

    fn on_overtaken(&mut self, segments: u32) {
        self.threshold = self.threshold.max(segments.min(self.parameters.most));
    }

    fn on_timeout(&mut self) {
        self.threshold = self.parameters.least;
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if u64::from(self.least) < STANDARD || self.most < self.least {
            let Parameters { least, most } = *self;
            return Err(refusal(format!("from {least} to {most}"), "3 or more, and least no more than most"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::checked(
    "linux",
    "as far as segments were overtaken",
    "Linux net/ipv4/tcp_input.c (tcp_check_sack_reordering)",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Linux { parameters: parameters.clone(), threshold: parameters.least })
    }),
);

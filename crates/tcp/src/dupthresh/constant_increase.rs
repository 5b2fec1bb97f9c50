//! A threshold that grows by a constant with each needless fast retransmit (Blanton and Allman 2002).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Increase, in segments. Blanton and Allman 2002 do not set K. Default: 1.
    #[schemars(range(min = 1))]
    pub segments: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { segments: 1 }
    }
}

#[derive(Debug)]
struct ConstantIncrease {
    step: u64,
    threshold: u64,
}

impl DupThresh for ConstantIncrease {
    fn segments(&self, view: &View) -> u32 {
        view.bounded(self.threshold)
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        if reordering.retransmitted {
            // From what held: beyond the bound nothing is learnt.
            let held = u64::from(reordering.view.bounded(self.threshold));
            self.threshold = held + self.step;
        }
    }

    fn on_timeout(&mut self) {
        self.threshold = STANDARD;
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { segments } = *self;
        if segments == 0 {
            return Err(refusal("segments is 0, and no increase", "1 or more"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::checked(
    "constant-increase",
    "a constant more after each needless fast retransmit",
    "Blanton and Allman 2002",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { segments } = *parameters;
        let step = u64::from(segments);
        Box::new(ConstantIncrease { step, threshold: STANDARD })
    }),
);

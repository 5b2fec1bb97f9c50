//! A threshold that follows the smoothed length of reordering (Blanton and Allman 2002).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The weight of each new length, in percent. 25: the gain that RTTVAR has; the paper's own is unchecked.
    #[schemars(range(min = 1, max = 100))]
    pub gain_percent: u8,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { gain_percent: 25 }
    }
}

#[derive(Debug)]
struct Ewma {
    gain_percent: u64,
    /// In 1/[`SCALE`] of a segment.
    smoothed: u64,
}

impl DupThresh for Ewma {
    fn segments(&self, view: &View) -> u32 {
        // Rounded up: as many duplicates as were usual are no loss.
        view.bounded(self.smoothed.div_ceil(SCALE))
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        let length = u64::from(reordering.extent) * SCALE;
        self.smoothed = (self.smoothed * (100 - self.gain_percent) + length * self.gain_percent) / 100;
    }

    fn on_timeout(&mut self) {
        self.smoothed = STANDARD * SCALE;
    }
}

/// Fixed point: fine enough that rounding never matters.
const SCALE: u64 = 1 << 16;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { gain_percent } = *self;
        if !(1..=100).contains(&gain_percent) {
            return Err(refusal(format!("gain_percent is {gain_percent}, and no weight"), "from 1 to 100"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::checked(
    "ewma",
    "the smoothed length of reordering",
    "Blanton and Allman 2002",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { gain_percent } = *parameters;
        let gain_percent = u64::from(gain_percent);
        Box::new(Ewma { gain_percent, smoothed: STANDARD * SCALE })
    }),
);

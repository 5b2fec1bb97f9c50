//! One duplicate for a number of segments of the window, and at least three: ns-2's `numdupacksFrac_` of 2002. Where a
//! window has many hundred segments, a few that overtake one another are no loss, and to wait for more costs little.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, STANDARD, View};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of segments of the congestion window for each duplicate of the threshold. ns-2.29: 100, so that the
    /// threshold is three for windows below 400.
    #[schemars(range(min = 1))]
    pub segments: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { segments: 100 }
    }
}

#[derive(Debug)]
struct WindowShare {
    segments: u64,
}

impl DupThresh for WindowShare {
    fn segments(&self, view: &View) -> u32 {
        let share = view.cwnd.whole(view.smss) / self.segments;
        u32::try_from(share.max(STANDARD)).unwrap_or(u32::MAX)
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { segments } = *self;
        if segments == 0 {
            return Err(refusal("segments is 0, of which no window has a share", "1 or more"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::checked(
    "window-share",
    "a hundredth of the window, at least three",
    "ns-2.29, `numdupacks()` in `tcp.cc`",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { segments } = *parameters;
        Box::new(WindowShare { segments: u64::from(segments) })
    }),
);

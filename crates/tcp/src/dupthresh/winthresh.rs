//! winthresh (Landström 2008 §4.4): the highest threshold that duplicate ACKs can still reach and still
//! leave room for what the rest of the round trip lets out, until the retransmission is acknowledged.
//!
//! Each duplicate lets a new segment out, and the flight that was there keeps drawing as many duplicates in
//! each round trip. Of the room left when the first duplicate comes, a flight's worth is kept for the round
//! trip of the retransmission.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, STANDARD, View};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// R: the greatest number of windows of duplicates. Landström 2008 §4.6: 2.
    #[schemars(range(min = 1))]
    pub windows: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { windows: 2 }
    }
}

#[derive(Debug)]
struct WinThresh {
    windows: u64,
}

impl DupThresh for WinThresh {
    /// dupthresh = min(R·swnd, max(winthresh, 3)), winthresh = usable_win − flight_size + 3.
    fn segments(&self, view: &View) -> u32 {
        let segments = |bytes: units::Bytes| bytes.whole(view.smss);
        // With nothing more to send no more duplicates come either.
        let usable = segments(view.advertised.saturating_sub(view.flight).min(view.unsent));
        let winthresh = (usable + STANDARD).saturating_sub(segments(view.flight));
        let swnd = segments(view.cwnd.min(view.advertised)).max(1);
        let threshold = (self.windows * swnd).min(winthresh.max(STANDARD));
        u32::try_from(threshold).unwrap_or(u32::MAX)
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { windows } = *self;
        if windows == 0 {
            return Err(refusal("windows is 0, and every ACK would indicate a loss", "1 or more"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::checked(
    "winthresh",
    "as many as the window can still cause, at most R windows",
    "Landström 2008 §4.4",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { windows } = *parameters;
        Box::new(WinThresh { windows: u64::from(windows) })
    }),
);

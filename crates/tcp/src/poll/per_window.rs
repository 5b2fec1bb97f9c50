//! A fixed number of segments of each window ask for an ACK, whatever its size: the strategies 2W and 4W of
//! Landström 2008 §6.3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Outgoing, Pace, Poll};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of ACKs in a window. Landström 2008 §6.3: 2 or 4.
    #[schemars(range(min = 1))]
    pub acks: u32,
    /// Whether the acknowledgment fixes hold (Landström 2008 §6.4.3).
    pub fixes: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { acks: 2, fixes: false }
    }
}

#[derive(Debug)]
struct PerWindow {
    parameters: Parameters,
    pace: Pace,
}

impl Poll for PerWindow {
    fn asks(&mut self, outgoing: &Outgoing) -> bool {
        self.pace.asks(outgoing, outgoing.window / u64::from(self.parameters.acks))
    }

    fn fixes(&self) -> bool {
        self.parameters.fixes
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.acks == 0 {
            return Err(refusal(
                "acks is 0, and the sender would get none",
                "1 or more; Landström 2008 has 2 or 4",
            ));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Poll> = Algorithm::checked(
    "per-window",
    "a fixed number of segments in each window ask for an ACK",
    "Landström 2008 §6.3",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(PerWindow { parameters: parameters.clone(), pace: Pace::default() })
    }),
);

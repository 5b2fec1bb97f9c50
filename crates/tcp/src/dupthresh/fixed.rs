//! A threshold that never changes: three duplicate ACKs, by the standard (RFC 5681 §3.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, View};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters of the fixed threshold.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of duplicate ACKs. RFC 5681 §3.2: 3.
    #[schemars(range(min = 1))]
    pub segments: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { segments: 3 }
    }
}

#[derive(Debug)]
struct Fixed(u32);

impl DupThresh for Fixed {
    fn segments(&self, _view: &View) -> u32 {
        self.0
    }

    fn constant(&self) -> Option<u32> {
        Some(self.0)
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { segments } = *self;
        if segments == 0 {
            return Err(refusal(
                "segments is 0, and every ACK would indicate a loss",
                "1 or more; RFC 5681 has 3",
            ));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::checked(
    "fixed",
    "a constant number of duplicate ACKs",
    "RFC 5681 §3.2",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { segments } = *parameters;
        Box::new(Fixed(segments))
    }),
);

//! A send buffer of fixed size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::SendBuffer;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters of the fixed buffer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Limit of the data that are written and not acknowledged, in bytes. Default: 64 KiB, the `SO_SNDBUF` of many
    /// programs.
    pub size: Bytes,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { size: Bytes(64 << 10) }
    }
}

#[derive(Debug)]
struct Fixed(Bytes);

impl SendBuffer for Fixed {
    fn size(&self) -> Bytes {
        self.0
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { size } = *self;
        if size.is_zero() {
            return Err(refusal("a send buffer of 0 sends nothing", "a size of 1 byte or more"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn SendBuffer> = Algorithm::checked(
    "fixed",
    "a send buffer of constant size",
    "POSIX.1, SO_SNDBUF",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { size } = *parameters;
        Box::new(Fixed(size))
    }),
);

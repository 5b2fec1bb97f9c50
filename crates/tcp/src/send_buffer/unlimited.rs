//! No limit: what may be sent has been written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::SendBuffer;
use registry::{Algorithm, Build};

/// It has no parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {}

#[derive(Debug)]
struct Unlimited;

impl SendBuffer for Unlimited {
    fn size(&self) -> Bytes {
        Bytes::MAX
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn SendBuffer> = Algorithm::of(
    "unlimited",
    "whatever the windows let go has been written",
    "RFC 9293 §3.9.1.2",
    &Build(|_: &Parameters| Box::new(Unlimited)),
);

//! No fast retransmit at all: only the timer finds losses, as in the TCPs before 1988 and in the
//! "Tahoe without fast retransmit" that simulations compare with (Fall and Floyd 1996).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::composed::{Composed, HalveAtOnce, LostFirst};
use super::duplicates::NoDetection;
use super::{AfterTimeout, Recovery, Style};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Retransmission after a timeout.
    pub after_timeout: Style,
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "timeout-only",
    "Tahoe without fast retransmit: only the timer finds losses",
    "RFC 793; Fall and Floyd 1996",
    &Build(|parameters: &Parameters| {
        let Parameters { after_timeout } = *parameters;

        let after_timeout = AfterTimeout::new(after_timeout);
        Box::new(Composed::new(NoDetection, LostFirst, HalveAtOnce, after_timeout))
    }),
);

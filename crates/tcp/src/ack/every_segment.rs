//! An acknowledgment for every segment with data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Data, When};
use registry::{Algorithm, Build};

/// No parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {}

#[derive(Debug)]
struct EverySegment;

impl AckPolicy for EverySegment {
    fn on_data(&mut self, _data: &Data) -> When {
        When::Now
    }

    fn on_ack_sent(&mut self) {}
}

/// An ACK for every segment.
pub(super) fn policy() -> Box<dyn AckPolicy> {
    Box::new(EverySegment)
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::of(
    "every-segment",
    "an ACK for every segment with data, at once",
    "RFC 9293 §3.8.6.3",
    &Build(|_: &Parameters| policy()),
);

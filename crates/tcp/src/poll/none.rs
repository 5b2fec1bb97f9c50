//! No segment asks: when to acknowledge is the receiver's business alone (RFC 5681 §4.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Outgoing, Poll};
use registry::{Algorithm, Build};

/// No parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {}

#[derive(Debug)]
pub(super) struct Silent;

impl Poll for Silent {
    fn asks(&mut self, _outgoing: &Outgoing) -> bool {
        false
    }

    fn is_on(&self) -> bool {
        false
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Poll> = Algorithm::of(
    "none",
    "the receiver alone decides when to acknowledge",
    "RFC 5681 §4.2",
    &Build(|_: &Parameters| Box::new(Silent)),
);

//! No detection: every loss signal is believed (RFC 5681).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Judgement, Spurious};
use crate::recovery::AckEvent;
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// No parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {}

#[derive(Debug)]
pub(super) struct Believe;

impl Spurious for Believe {
    fn on_ack(&mut self, _ack: &AckEvent, _board: &Scoreboard) -> Judgement {
        Judgement::Undecided
    }

    fn observes_advances(&self) -> bool {
        false
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Spurious> = Algorithm::of(
    "none",
    "believes every loss signal",
    "RFC 5681",
    &Build(|_: &Parameters| Box::new(Believe)),
);

//! No detection: every loss signal is believed (RFC 5681).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Judgement, Spurious};
use crate::recovery::AckEvent;
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// No parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

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
pub const ENTRY: Entry<dyn Spurious> = Entry {
    id: "none",
    summary: "believes every loss signal",
    source: "RFC 5681",
    parse: |value| {
        let Params {} = Entry::<dyn Spurious>::read(value)?;
        Ok(Arc::new(|| Box::new(Believe)))
    },
    schema: Entry::<dyn Spurious>::describe::<Params>,
};

//! A threshold that grows by a constant with each needless fast retransmit (Blanton and Allman 2002).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use crate::registry::{Entry, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The increase. Blanton and Allman 2002 leave K open; 1.
    #[schemars(range(min = 1))]
    pub segments: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { segments: 1 }
    }
}

#[derive(Debug)]
struct ConstantIncrease {
    step: u64,
    threshold: u64,
}

impl DupThresh for ConstantIncrease {
    fn segments(&self, view: &View) -> u32 {
        view.bounded(self.threshold)
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        if reordering.retransmitted {
            // From what held: beyond the bound nothing is learnt.
            let held = u64::from(reordering.view.bounded(self.threshold));
            self.threshold = held + self.step;
        }
    }

    fn on_timeout(&mut self) {
        self.threshold = STANDARD;
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn DupThresh> = Entry {
    id: "constant-increase",
    summary: "a constant more after each needless fast retransmit",
    source: "Blanton and Allman 2002",
    parse: |value| {
        let Params { segments } = Entry::<dyn DupThresh>::read(value)?;
        if segments == 0 {
            return Err(refusal("segments is 0, and no increase", "1 or more"));
        }
        let step = u64::from(segments);
        Ok(Arc::new(move || Box::new(ConstantIncrease { step, threshold: STANDARD })))
    },
    schema: Entry::<dyn DupThresh>::describe::<Params>,
};

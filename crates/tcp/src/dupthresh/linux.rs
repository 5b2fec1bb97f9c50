//! The reordering degree of Linux (`tp->reordering`, `tcp_check_sack_reordering`): as far as a segment was overtaken,
//! so far may duplicates go. With SACK that is the distance from it to the highest SACKed one, else the duplicates that
//! told of the gap. RACK does not need it any more once it has seen reordering.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use crate::registry::{Entry, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The threshold at first and after a timeout: 3 (`tcp_reordering`).
    #[schemars(range(min = 3))]
    pub least: u32,
    /// The greatest threshold: 300 (`tcp_max_reordering`).
    pub most: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { least: 3, most: 300 }
    }
}

#[derive(Debug)]
struct Linux {
    params: Params,
    threshold: u32,
}

impl DupThresh for Linux {
    fn segments(&self, _view: &View) -> u32 {
        self.threshold
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        self.on_overtaken(reordering.extent + 1);
    }

    fn on_overtaken(&mut self, segments: u32) {
        self.threshold = self.threshold.max(segments.min(self.params.most));
    }

    fn on_timeout(&mut self) {
        self.threshold = self.params.least;
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn DupThresh> = Entry {
    id: "linux",
    summary: "as far as segments were overtaken",
    source: "Linux net/ipv4/tcp_input.c (tcp_check_sack_reordering)",
    parse: |value| {
        let params: Params = Entry::<dyn DupThresh>::read(value)?;
        if u64::from(params.least) < STANDARD || params.most < params.least {
            let Params { least, most } = params;
            return Err(refusal(format!("from {least} to {most}"), "3 or more, and least no more than most"));
        }
        Ok(Arc::new(move || Box::new(Linux { params: params.clone(), threshold: params.least })))
    },
    schema: Entry::<dyn DupThresh>::describe::<Params>,
};

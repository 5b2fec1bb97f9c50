//! A threshold half-way between itself and the length of each needless fast retransmit's reordering (Blanton
//! and Allman 2002).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use crate::registry::Entry;

/// It has no parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

#[derive(Debug)]
struct Average(u64);

impl DupThresh for Average {
    fn segments(&self, view: &View) -> u32 {
        view.bounded(self.0)
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        if reordering.retransmitted {
            // Rounded up: a length above the threshold always raises it.
            self.0 = (self.0 + u64::from(reordering.extent)).div_ceil(2);
        }
    }

    fn on_timeout(&mut self) {
        self.0 = STANDARD;
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn DupThresh> = Entry {
    id: "average",
    summary: "the average of itself and the length of the last needless fast retransmit's reordering",
    source: "Blanton and Allman 2002",
    parse: |value| {
        let Params {} = Entry::<dyn DupThresh>::read(value)?;
        Ok(Arc::new(|| Box::new(Average(STANDARD))))
    },
    schema: Entry::<dyn DupThresh>::describe::<Params>,
};

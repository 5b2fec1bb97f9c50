//! A threshold that follows the smoothed length of reordering (Blanton and Allman 2002).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use crate::registry::{Entry, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The weight of each new length, in percent. 25: the gain that RTTVAR has; the paper's own is unchecked.
    #[schemars(range(min = 1, max = 100))]
    pub gain_percent: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self { gain_percent: 25 }
    }
}

#[derive(Debug)]
struct Ewma {
    gain_percent: u64,
    /// In 1/[`SCALE`] of a segment.
    smoothed: u64,
}

impl DupThresh for Ewma {
    fn segments(&self, view: &View) -> u32 {
        // Rounded up: as many duplicates as were usual are no loss.
        view.bounded(self.smoothed.div_ceil(SCALE))
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        let length = u64::from(reordering.extent) * SCALE;
        self.smoothed = (self.smoothed * (100 - self.gain_percent) + length * self.gain_percent) / 100;
    }

    fn on_timeout(&mut self) {
        self.smoothed = STANDARD * SCALE;
    }
}

/// Fixed point: fine enough that rounding never matters.
const SCALE: u64 = 1 << 16;

/// This policy in the registry.
pub const ENTRY: Entry<dyn DupThresh> = Entry {
    id: "ewma",
    summary: "the smoothed length of reordering",
    source: "Blanton and Allman 2002",
    parse: |value| {
        let Params { gain_percent } = Entry::<dyn DupThresh>::read(value)?;
        if !(1..=100).contains(&gain_percent) {
            return Err(refusal(format!("gain_percent is {gain_percent}, and no weight"), "from 1 to 100"));
        }
        let gain_percent = u64::from(gain_percent);
        Ok(Arc::new(move || Box::new(Ewma { gain_percent, smoothed: STANDARD * SCALE })))
    },
    schema: Entry::<dyn DupThresh>::describe::<Params>,
};

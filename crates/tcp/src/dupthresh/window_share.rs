//! A duplicate for each few segments of the window, and three at the least: ns-2's `numdupacksFrac_` of 2002. Where a
//! window has many hundred segments, a few that overtake one another are no loss, and to wait for more costs little.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, STANDARD, View};
use crate::registry::{Entry, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// For how many segments of the congestion window one duplicate is waited for. ns-2.29: 100, so that the
    /// threshold is three for windows below 400.
    #[schemars(range(min = 1))]
    pub segments: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { segments: 100 }
    }
}

#[derive(Debug)]
struct WindowShare {
    segments: u64,
}

impl DupThresh for WindowShare {
    fn segments(&self, view: &View) -> u32 {
        let share = view.cwnd.whole(view.smss) / self.segments;
        u32::try_from(share.max(STANDARD)).unwrap_or(u32::MAX)
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn DupThresh> = Entry {
    id: "window-share",
    summary: "a hundredth of the window, at least three",
    source: "ns-2.29, `numdupacks()` in `tcp.cc`",
    parse: |value| {
        let Params { segments } = Entry::<dyn DupThresh>::read(value)?;
        if segments == 0 {
            return Err(refusal("segments is 0, of which no window has a share", "1 or more"));
        }
        Ok(Arc::new(move || Box::new(WindowShare { segments: u64::from(segments) })))
    },
    schema: Entry::<dyn DupThresh>::describe::<Params>,
};

//! A threshold that never changes: three duplicate ACKs, by the standard (RFC 5681 §3.2).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, View};
use crate::registry::{Entry, refusal};

/// Parameters of the fixed threshold.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many duplicate ACKs. RFC 5681 §3.2: 3.
    #[schemars(range(min = 1))]
    pub segments: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { segments: 3 }
    }
}

#[derive(Debug)]
struct Fixed(u32);

impl DupThresh for Fixed {
    fn segments(&self, _view: &View) -> u32 {
        self.0
    }

    fn constant(&self) -> Option<u32> {
        Some(self.0)
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn DupThresh> = Entry {
    id: "fixed",
    summary: "a constant number of duplicate ACKs",
    source: "RFC 5681 §3.2",
    parse: |value| {
        let Params { segments } = Entry::<dyn DupThresh>::read(value)?;
        if segments == 0 {
            return Err(refusal(
                "segments is 0, and every ACK would tell of a loss",
                "1 or more; RFC 5681 has 3",
            ));
        }
        Ok(Arc::new(move || Box::new(Fixed(segments))))
    },
    schema: Entry::<dyn DupThresh>::describe::<Params>,
};

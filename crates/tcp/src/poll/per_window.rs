//! So many segments ask in each window, however large it is: the strategies 2W and 4W of Landström 2008
//! §6.3.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Outgoing, Pace, Poll};
use crate::registry::{Entry, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many ACKs in a window. Landström 2008 §6.3: 2 or 4.
    #[schemars(range(min = 1))]
    pub acks: u32,
    /// Whether the acknowledgment fixes hold (Landström 2008 §6.4.3).
    pub fixes: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { acks: 2, fixes: false }
    }
}

#[derive(Debug)]
struct PerWindow {
    params: Params,
    pace: Pace,
}

impl Poll for PerWindow {
    fn asks(&mut self, outgoing: &Outgoing) -> bool {
        self.pace.asks(outgoing, outgoing.window / u64::from(self.params.acks))
    }

    fn fixes(&self) -> bool {
        self.params.fixes
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn Poll> = Entry {
    id: "per-window",
    summary: "a fixed number of segments in each window ask for an ACK",
    source: "Landström 2008 §6.3",
    parse: |value| {
        let params: Params = Entry::<dyn Poll>::read(value)?;
        if params.acks == 0 {
            return Err(refusal(
                "acks is 0, and the sender would get none",
                "1 or more; Landström 2008 has 2 or 4",
            ));
        }
        Ok(Arc::new(move || Box::new(PerWindow { params: params.clone(), pace: Pace::default() })))
    },
    schema: Entry::<dyn Poll>::describe::<Params>,
};

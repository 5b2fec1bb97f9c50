//! An acknowledgment for every segment with data.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Data, When};
use crate::registry::Entry;

/// No parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

#[derive(Debug)]
struct EverySegment;

impl AckPolicy for EverySegment {
    fn on_data(&mut self, _data: &Data) -> When {
        When::Now
    }

    fn on_ack_sent(&mut self) {}
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn AckPolicy> = Entry {
    id: "every-segment",
    summary: "an ACK for every segment with data, at once",
    source: "RFC 9293 §3.8.6.3",
    parse: |value| {
        let Params {} = Entry::<dyn AckPolicy>::read(value)?;
        Ok(Arc::new(|| Box::new(EverySegment)))
    },
    schema: Entry::<dyn AckPolicy>::describe::<Params>,
};

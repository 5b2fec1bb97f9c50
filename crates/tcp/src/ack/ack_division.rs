//! ACK division: every segment is acknowledged by several ACKs, each for a part of its bytes, so that a
//! sender which counts ACKs opens its window the faster (Savage et al. 1999 §2.2). Nothing is acknowledged
//! that has not arrived. Counting bytes is the defence (RFC 3465).

use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Data, Series, Traits, When};
use crate::reassembly::Arrival;
use crate::registry::Entry;

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Into how many ACKs a segment's is divided. Each acknowledges a byte at least.
    pub parts: NonZeroU32,
}

impl Default for Params {
    fn default() -> Self {
        Self { parts: NonZeroU32::new(10).expect("10 is not 0") }
    }
}

#[derive(Debug)]
struct AckDivision(Params);

impl AckPolicy for AckDivision {
    fn on_data(&mut self, data: &Data) -> When {
        if data.arrival == Arrival::InOrder {
            When::Series(Series::Divided { parts: self.0.parts.get() })
        } else {
            When::Now
        }
    }

    fn on_ack_sent(&mut self) {}

    fn traits(&self) -> Traits {
        Traits { misbehaves: true, ..Traits::default() }
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn AckPolicy> = Entry {
    id: "ack-division",
    summary: "misbehaving: several ACKs for the parts of each segment",
    source: "Savage et al. 1999 §2.2",
    parse: |value| {
        let params: Params = Entry::<dyn AckPolicy>::read(value)?;
        Ok(Arc::new(move || Box::new(AckDivision(params.clone()))))
    },
    schema: Entry::<dyn AckPolicy>::describe::<Params>,
};

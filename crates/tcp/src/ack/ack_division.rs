//! ACK division: every segment is acknowledged by several ACKs, each for a part of its bytes, so that a
//! sender which counts ACKs opens its window the faster (Savage et al. 1999 §2.2). Nothing is acknowledged
//! that has not arrived. Counting bytes is the defence (RFC 3465).

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Data, Series, Traits, When};
use crate::reassembly::Arrival;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of ACKs for a segment. Each acknowledges at least one byte.
    pub parts: NonZeroU32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { parts: NonZeroU32::new(10).expect("10 is not 0") }
    }
}

#[derive(Debug)]
struct AckDivision(Parameters);

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
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::of(
    "ack-division",
    "misbehaving: several ACKs for the parts of each segment",
    "Savage et al. 1999 §2.2",
    &Build(|parameters: &Parameters| Box::new(AckDivision(parameters.clone()))),
);

//! Spoofed duplicate ACKs: every segment is acknowledged, and the ACK repeated, so that the sender takes
//! up a fast recovery and sends a new segment for each duplicate (Savage et al. 1999 §2.3). Limiting new
//! data to the duplicates that the flight accounts for is a defence (RFC 5681 §3.2), and so is SACK, whose
//! duplicates bring news or do not count (RFC 6675 §2).

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Data, Series, Traits, When};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of duplicates after each ACK: at least 3 to start a fast retransmit.
    pub copies: NonZeroU32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { copies: NonZeroU32::new(5).expect("5 is not 0") }
    }
}

#[derive(Debug)]
struct DupackSpoofing(Parameters);

impl AckPolicy for DupackSpoofing {
    fn on_data(&mut self, _data: &Data) -> When {
        When::Series(Series::Repeated { copies: self.0.copies.get() })
    }

    fn on_ack_sent(&mut self) {}

    fn traits(&self) -> Traits {
        Traits { misbehaves: true, ..Traits::default() }
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::of(
    "dupack-spoofing",
    "misbehaving: every ACK followed by duplicates of it",
    "Savage et al. 1999 §2.3",
    &Build(|parameters: &Parameters| Box::new(DupackSpoofing(parameters.clone()))),
);

//! Acknowledges when the sender asks (`poll/`), for every segment while one is missing, and otherwise within a timeout
//! (Landström 2008 §6.3). Both ends announce on their SYNs that they poll; a receiver whose sender does not delays its
//! ACKs instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::{AckPolicy, Data, Traits, When};
use crate::reassembly::Arrival;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Maximum time to wait for a poll. Landström 2008 §6.4.1: 100 ms, with values up to 1 s tried.
    pub timeout: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { timeout: Duration::from_millis(100) }
    }
}

#[derive(Debug)]
struct Polled(Parameters);

impl AckPolicy for Polled {
    fn on_data(&mut self, data: &Data) -> When {
        if data.polled || data.gap || data.arrival != Arrival::InOrder {
            When::Now
        } else {
            When::Within(self.0.timeout)
        }
    }

    fn on_ack_sent(&mut self) {}

    fn traits(&self) -> Traits {
        Traits { answers_polls: true, stretches: true, ..Traits::default() }
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::of(
    "polled",
    "when the sender asks (`poll`; delayed ACKs if it does not), after a timeout, and for every segment while one is missing",
    "Landström 2008 §6.3",
    &Build(|parameters: &Parameters| Box::new(Polled(parameters.clone()))),
);

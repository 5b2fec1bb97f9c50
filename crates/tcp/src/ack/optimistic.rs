//! Optimistic ACKs: what has not arrived yet is acknowledged too, so that the round trip looks shorter
//! than it is (Savage et al. 1999 §2.4). What is lost is lost for good. A sender drops an ACK of what it
//! has not sent (RFC 9293 §3.10.7.4, RFC 5961 §5), which is a limit but no defence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;

use super::{AckPolicy, Data, Series, Traits, When};
use crate::reassembly::Arrival;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of full-sized segments that each ACK acknowledges beyond the data that have arrived.
    pub ahead: Segments,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { ahead: Segments(1) }
    }
}

#[derive(Debug)]
struct Optimistic(Parameters);

impl AckPolicy for Optimistic {
    fn on_data(&mut self, data: &Data) -> When {
        // Beyond a gap it acknowledges what has come: the gap is never to be known of.
        let ahead = data.full * self.0.ahead.0;
        match data.arrival {
            Arrival::InOrder | Arrival::FilledGap => When::Series(Series::Ahead { by: ahead }),
            Arrival::OutOfOrder | Arrival::Duplicate => When::Series(Series::Ahead { by: ahead + data.len }),
        }
    }

    fn on_ack_sent(&mut self) {}

    fn traits(&self) -> Traits {
        Traits { lies: true, misbehaves: true, ..Traits::default() }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.ahead.0 == 0 {
            return Err(refusal(
                "ahead is 0 segments, and such a receiver is honest",
                "\"1 segment\" or more",
            ));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "optimistic",
    "misbehaving: acknowledges what has not arrived yet",
    "Savage et al. 1999 §2.4",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Optimistic(parameters.clone()))),
);

//! A number of ACKs for each round trip, by the receiver alone: it counts the data that arrive in a round trip, which
//! are the sender's window, and acknowledges equal parts of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration, Instant};

use super::{AckPolicy, Data, Traits, When};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of ACKs for the data of a round trip. Default: 3.
    pub acks: u64,
    /// Maximum number of full-sized segments without an ACK. Default: 5.
    pub most: Segments,
    /// Maximum delay of an ACK. Default: 200 ms.
    pub timeout: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { acks: 3, most: Segments(5), timeout: Duration::from_millis(200) }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.acks == 0 {
            return Err(refusal("acks is 0, and data need an ACK", "1 or more"));
        }
        if self.most.0 == 0 {
            let wrong = "most is 0 segments, and no ACK comes before its segment";
            return Err(refusal(wrong, "\"1 segment\" or more"));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct PerRoundTrip {
    parameters: Parameters,
    /// Bytes that wait for their acknowledgment.
    waiting: Bytes,
    /// Start of the round trip that is being counted, and the bytes that have arrived in it.
    since: Option<Instant>,
    arriving: Bytes,
    /// Bytes of the round trip before.
    window: Bytes,
}

impl PerRoundTrip {
    fn new(parameters: Parameters) -> Self {
        Self { parameters, waiting: Bytes::ZERO, since: None, arriving: Bytes::ZERO, window: Bytes::ZERO }
    }

    fn count(&mut self, data: &Data) {
        let since = *self.since.get_or_insert(data.now);
        if data.rtt.is_some_and(|rtt| data.now.saturating_since(since) >= rtt) {
            self.window = std::mem::take(&mut self.arriving);
            self.since = Some(data.now);
        }
        self.arriving += data.len;
    }

    /// The data for which an ACK is due: at least two segments, as of RFC 5681.
    fn share(&self, full: Bytes) -> Bytes {
        let least = 2.min(self.parameters.most.0);
        (self.window / self.parameters.acks).max(full * least).min(full * self.parameters.most.0)
    }
}

impl AckPolicy for PerRoundTrip {
    fn on_data(&mut self, data: &Data) -> When {
        self.count(data);
        self.waiting += data.len;
        if data.around_a_gap() || self.waiting >= self.share(data.full) {
            return When::Now;
        }
        When::Within(self.parameters.timeout)
    }

    fn on_ack_sent(&mut self) {
        self.waiting = Bytes::ZERO;
    }

    fn traits(&self) -> Traits {
        Traits { stretches: self.parameters.most.0 > 2, ..Traits::default() }
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "per-round-trip",
    "a number of ACKs for the data that arrive in a round trip, at once around gaps",
    "Landström 2008, section 6.1: three ACKs for a window, five segments at most",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(PerRoundTrip::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::reassembly::Arrival;

    fn data(ms: u64, arrival: Arrival) -> Data {
        Data { rtt: Some(Duration::from_millis(100)), ..testing::data(ms, arrival) }
    }

    /// Number of ACKs in the round trip from `from` ms on, in which `segments` segments arrive.
    fn acks(policy: &mut PerRoundTrip, from: u64, segments: u64) -> usize {
        let arrivals = (0..segments).map(|n| from + n * 100 / segments);
        arrivals
            .filter(|ms| {
                let now = policy.on_data(&data(*ms, Arrival::InOrder)) == When::Now;
                if now {
                    policy.on_ack_sent();
                }
                now
            })
            .count()
    }

    #[test]
    fn a_round_trip_of_twelve_segments_has_three_acks() {
        let mut policy = PerRoundTrip::new(Parameters::default());
        assert_eq!(acks(&mut policy, 0, 12), 6, "nothing is known of the window");
        assert_eq!(acks(&mut policy, 100, 12), 3);
        assert_eq!(acks(&mut policy, 200, 12), 3);
    }

    #[test]
    fn an_ack_is_for_five_segments_at_most_and_for_two_at_least() {
        let mut policy = PerRoundTrip::new(Parameters::default());
        acks(&mut policy, 0, 50);
        assert_eq!(acks(&mut policy, 100, 50), 10);
        acks(&mut policy, 200, 4);
        assert_eq!(acks(&mut policy, 300, 4), 2);
    }

    #[test]
    fn gaps_are_reported_at_once() {
        let mut policy = PerRoundTrip::new(Parameters::default());
        assert_eq!(policy.on_data(&data(0, Arrival::OutOfOrder)), When::Now);
    }
}

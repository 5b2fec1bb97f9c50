//! Delayed acknowledgments (RFC 5681 §4.2): at least every second full-sized segment, and within a
//! timeout; at once when a segment leaves, touches or fills a gap; and a number of quick ACKs at the
//! start of a connection, as Linux gives to let the sender's window open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration};

use super::{AckPolicy, Data, Traits, When};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters of delayed ACKs.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Maximum delay of an ACK. RFC 5681 §4.2: under 500 ms; most stacks use 200 ms, the default.
    pub timeout: Duration,
    /// Maximum number of full-sized segments without an ACK. RFC 5681 §4.2: 2. More is an ACK for every n-th
    /// segment by the receiver alone, who knows nothing of the sender's window; see `poll` for one who does.
    pub every: Segments,
    /// Number of segments at the start that are acknowledged at once. The standard has none.
    pub quick: Segments,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { timeout: Duration::from_millis(200), every: Segments(2), quick: Segments(0) }
    }
}

#[derive(Debug)]
struct Delayed {
    parameters: Parameters,
    /// Bytes that wait for their acknowledgment.
    waiting: Bytes,
    /// Quick ACKs still to give.
    quick: u64,
}

impl AckPolicy for Delayed {
    fn on_data(&mut self, data: &Data) -> When {
        self.waiting += data.len;
        if self.quick > 0 {
            self.quick -= 1;
            return When::Now;
        }
        // RFC 5681 §4.2: a gap is reported, and its filling, without delay.
        if data.around_a_gap() || self.waiting >= data.full * self.parameters.every.0 {
            return When::Now;
        }
        When::Within(self.parameters.timeout)
    }

    fn on_ack_sent(&mut self) {
        self.waiting = Bytes::ZERO;
    }

    fn traits(&self) -> Traits {
        Traits { stretches: self.parameters.every.0 > 2, ..Traits::default() }
    }
}

/// Delayed ACKs by RFC 5681.
pub(super) fn standard() -> Box<dyn AckPolicy> {
    Box::new(Delayed { parameters: Parameters::default(), waiting: Bytes::ZERO, quick: 0 })
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.every.0 == 0 {
            let wrong = "every is 0 segments, and no ACK comes before its segment";
            return Err(refusal(wrong, "\"1 segment\", which acknowledges each, or more"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "delayed",
    "every second full-sized segment or after a timeout, at once around gaps",
    "RFC 5681 §4.2, RFC 1122 §4.2.3.2",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let quick = parameters.quick.0;
        Box::new(Delayed { parameters: parameters.clone(), waiting: Bytes::ZERO, quick })
    }),
);

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;
    use crate::reassembly::Arrival;

    const FULL: Bytes = Bytes(1000);

    fn policy(quick: u64) -> Delayed {
        Delayed { parameters: Parameters::default(), waiting: Bytes::ZERO, quick }
    }

    fn data(len: u64, arrival: Arrival) -> Data {
        let gap = arrival == Arrival::OutOfOrder;
        Data {
            now: Instant::START,
            len: Bytes(len),
            arrival,
            gap,
            scattered: false,
            full: FULL,
            polled: false,
            rtt: None,
        }
    }

    #[test]
    fn every_second_full_sized_segment_is_acknowledged_at_once() {
        let mut policy = policy(0);
        for _ in 0..3 {
            assert_eq!(
                policy.on_data(&data(1000, Arrival::InOrder)),
                When::Within(Duration::from_millis(200))
            );
            assert_eq!(policy.on_data(&data(1000, Arrival::InOrder)), When::Now);
            policy.on_ack_sent();
        }
    }

    #[test]
    fn small_segments_wait_until_they_make_two_full_ones() {
        let mut policy = policy(0);
        let waits = (0..20).take_while(|_| policy.on_data(&data(100, Arrival::InOrder)) != When::Now).count();
        assert_eq!(waits, 19);
    }

    #[test]
    fn gaps_and_their_filling_are_reported_at_once() {
        for arrival in [Arrival::OutOfOrder, Arrival::FilledGap, Arrival::Duplicate] {
            assert_eq!(policy(0).on_data(&data(1000, arrival)), When::Now);
        }
    }

    #[test]
    fn quick_acks_come_first() {
        let mut policy = policy(2);
        for expected in [When::Now, When::Now, When::Within(Duration::from_millis(200))] {
            assert_eq!(policy.on_data(&data(1000, Arrival::InOrder)), expected);
            policy.on_ack_sent();
        }
    }
}

//! ACK congestion control, its receiver (RFC 5690 §4.3 and §4.6): a pure ACK for as many full-sized segments as the
//! last ACK ratio of the sender (`poll/ackcc.rs`) says. The first ratio is two.
//!
//! At a ratio above two, of the segments beyond a gap only the first three are acknowledged at once; then the ratio
//! counts for them, too, until no gap is left. A segment that fills a gap, and one that arrives twice, are acknowledged
//! at once (RFC 5681 §4.2). Where ECN is agreed, pure ACKs are ECN-capable (§4.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};
use wire::AckScheme;

use super::{AckPolicy, Data, Traits, When};
use crate::reassembly::Arrival;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Maximum delay of an ACK. Default: 200 ms; RFC 5690 §4.6: at most 500 ms.
    pub timeout: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { timeout: Duration::from_millis(200) }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.timeout > LONGEST {
            return Err(refusal(format!("timeout is {}", self.timeout), "at most 500 ms (RFC 5690 §4.6)"));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct AckCc {
    parameters: Parameters,
    /// Segments for an ACK.
    ratio: u8,
    /// Bytes that wait for their acknowledgment.
    waiting: Bytes,
    /// Segments that have arrived beyond the present gap.
    out_of_order: u32,
}

impl AckCc {
    /// §4.6: whether a segment beyond a gap is not acknowledged at once.
    fn withholds(&mut self, data: &Data) -> bool {
        self.out_of_order = if data.gap { self.out_of_order + 1 } else { 0 };
        self.ratio > STANDARD && self.out_of_order > AT_ONCE && data.arrival == Arrival::OutOfOrder
    }
}

impl AckPolicy for AckCc {
    fn on_data(&mut self, data: &Data) -> When {
        self.waiting += data.len;
        let withholds = self.withholds(data);
        let due = self.waiting >= data.full * u64::from(self.ratio);
        if due || (data.around_a_gap() && !withholds) {
            When::Now
        } else {
            When::Within(self.parameters.timeout)
        }
    }

    fn on_request(&mut self, ratio: u8) {
        self.ratio = ratio;
    }

    fn on_ack_sent(&mut self) {
        self.waiting = Bytes::ZERO;
    }

    fn traits(&self) -> Traits {
        Traits { complies: Some(AckScheme::AckCc), stretches: true, ..Traits::default() }
    }
}

/// §4.1: the default initial ratio.
const STANDARD: u8 = 2;
/// §4.6: segments beyond a gap that are acknowledged at once.
const AT_ONCE: u32 = 3;
/// §4.6, and RFC 5681 §4.2.
const LONGEST: Duration = Duration::from_millis(500);

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "ackcc",
    "ACK congestion control: for as many segments as the sender's ACK ratio says (`poll`; two at first)",
    "RFC 5690",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let parameters = parameters.clone();
        Box::new(AckCc { parameters, ratio: STANDARD, waiting: Bytes::ZERO, out_of_order: 0 })
    }),
);

#[cfg(test)]
mod tests {
    use super::super::testing::data;
    use super::*;

    /// Which of `segments` segments, each with this effect on the stream, are acknowledged at once.
    fn acknowledged(policy: &mut AckCc, arrival: Arrival, segments: u64) -> Vec<u64> {
        let at_once = |number: &u64| {
            let now = policy.on_data(&data(*number, arrival)) == When::Now;
            if now {
                policy.on_ack_sent();
            }
            now
        };
        (1..=segments).filter(at_once).collect()
    }

    fn policy(ratio: u8) -> AckCc {
        AckCc { parameters: Parameters::default(), ratio, waiting: Bytes::ZERO, out_of_order: 0 }
    }

    #[test]
    fn three_segments_beyond_a_gap_are_acknowledged_at_once_and_then_one_in_a_ratio() {
        let mut policy = policy(4);
        assert_eq!(acknowledged(&mut policy, Arrival::OutOfOrder, 11), [1, 2, 3, 7, 11]);
        assert_eq!(acknowledged(&mut policy, Arrival::FilledGap, 1), [1]);
        assert_eq!(acknowledged(&mut policy, Arrival::OutOfOrder, 4), [1, 2, 3], "another gap");
    }

    #[test]
    fn at_a_ratio_of_two_every_segment_beyond_a_gap_is_acknowledged_at_once() {
        assert_eq!(acknowledged(&mut policy(2), Arrival::OutOfOrder, 5), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_timeout_above_half_a_second_is_refused() {
        let check = |ms| Parameters { timeout: Duration::from_millis(ms) }.check();
        assert!(check(500).is_ok() && check(501).is_err());
    }
}

//! Delayed acknowledgments as BSD gives them: at every second segment, or at the next beat of a clock that
//! all connections share, so that the wait is anything up to a beat (`tcp_fasttimo`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration};

use super::{AckPolicy, Data, When};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters; the defaults are that kernel's constants.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Time between two beats of the clock: 200 ms (`PR_FASTHZ` = 5).
    pub beat: Duration,
    /// Full-sized segments after which an ACK is sent: 2 (`tcp_output` sends a window update after two segments, with
    /// the ACK).
    pub every: Segments,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { beat: Duration::from_millis(200), every: Segments(2) }
    }
}

#[derive(Debug)]
struct Bsd {
    parameters: Parameters,
    /// Bytes that wait for their acknowledgment.
    waiting: Bytes,
}

impl AckPolicy for Bsd {
    fn on_data(&mut self, data: &Data) -> When {
        self.waiting += data.len;
        if data.around_a_gap() || self.waiting >= data.full * self.parameters.every.0 {
            return When::Now;
        }
        let beat = self.parameters.beat.as_nanos();
        When::Within(Duration::from_nanos(beat - data.now.as_nanos() % beat))
    }

    fn on_ack_sent(&mut self) {
        self.waiting = Bytes::ZERO;
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.beat.is_zero() {
            return Err(refusal("beat is 0 s, and the clock would never advance", "BSD has \"200 ms\""));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "bsd",
    "every second full-sized segment or at the next beat of a 200 ms clock, at once around gaps",
    "4.4BSD and FreeBSD tcp_fasttimo, tcp_output",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Bsd { parameters: parameters.clone(), waiting: Bytes::ZERO })
    }),
);

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;
    use crate::reassembly::Arrival;

    #[test]
    fn a_lonely_segment_waits_for_the_next_beat() {
        let wait_at = |ms| {
            let mut policy = Bsd { parameters: Parameters::default(), waiting: Bytes::ZERO };
            let now = Instant::START + Duration::from_millis(ms);
            let (len, full) = (Bytes(1000), Bytes(1000));
            policy.on_data(&Data {
                now,
                len,
                arrival: Arrival::InOrder,
                gap: false,
                scattered: false,
                full,
                polled: false,
                rtt: None,
            })
        };
        assert_eq!(wait_at(1001), When::Within(Duration::from_millis(199)));
        assert_eq!(wait_at(1199), When::Within(Duration::from_millis(1)));
        assert_eq!(wait_at(1200), When::Within(Duration::from_millis(200)));
    }
}

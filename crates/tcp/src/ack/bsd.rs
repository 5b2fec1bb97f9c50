//! Delayed acknowledgments as BSD gives them: at every second segment, or at the next beat of a clock that
//! all connections share, so that the wait is anything up to a beat (`tcp_fasttimo`).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration};

use super::{AckPolicy, Data, When};
use crate::registry::{Entry, refusal};

/// Parameters; the defaults are that kernel's constants.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Time between two beats of the clock: 200 ms (`PR_FASTHZ` = 5).
    pub beat: Duration,
    /// How many full-sized segments wait at the most: 2 (`tcp_output` reports a window that has moved by
    /// two segments, and the ACK goes with that).
    pub every: Segments,
}

impl Default for Params {
    fn default() -> Self {
        Self { beat: Duration::from_millis(200), every: Segments(2) }
    }
}

#[derive(Debug)]
struct Bsd {
    params: Params,
    /// Bytes that wait for their acknowledgment.
    waiting: Bytes,
}

impl AckPolicy for Bsd {
    fn on_data(&mut self, data: &Data) -> When {
        self.waiting += data.len;
        if data.around_a_gap() || self.waiting >= data.full * self.params.every.0 {
            return When::Now;
        }
        let beat = self.params.beat.as_nanos();
        When::Within(Duration::from_nanos(beat - data.now.as_nanos() % beat))
    }

    fn on_ack_sent(&mut self) {
        self.waiting = Bytes::ZERO;
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn AckPolicy> = Entry {
    id: "bsd",
    summary: "every second full-sized segment or at the next beat of a 200 ms clock, at once around gaps",
    source: "4.4BSD and FreeBSD tcp_fasttimo, tcp_output",
    parse: |value| {
        let params: Params = Entry::<dyn AckPolicy>::read(value)?;
        if params.beat.is_zero() {
            return Err(refusal("beat is 0 s, and the clock would stand still", "BSD has \"200 ms\""));
        }
        Ok(Arc::new(move || Box::new(Bsd { params: params.clone(), waiting: Bytes::ZERO })))
    },
    schema: Entry::<dyn AckPolicy>::describe::<Params>,
};

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;
    use crate::reassembly::Arrival;

    #[test]
    fn a_lonely_segment_waits_for_the_next_beat() {
        let wait_at = |ms| {
            let mut policy = Bsd { params: Params::default(), waiting: Bytes::ZERO };
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

//! Delayed acknowledgments as the Linux of 2000 gave them (kernels 2.3.99 and 2.4).
//!
//! The wait adapts to the gaps between segments: it starts at 40 ms and grows only where segments come
//! closer together than the present wait, so that over a slow link, where nothing would be gained, an
//! acknowledgment is held back for 40 ms and no longer. A number of quick ACKs opens a connection, and
//! again follows each segment that arrives out of order or twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::{Segments, write_duration};
use units::{Bytes, Duration, Instant};

use super::{AckPolicy, Data, When};
use crate::reassembly::Arrival;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters of these delayed ACKs.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The shortest wait: 40 ms (`TCP_ATO_MIN`).
    pub min: Duration,
    /// The longest wait: 200 ms (`TCP_DELACK_MAX`), the threshold that papers quote.
    pub max: Duration,
    /// Number of segments that are acknowledged at once at the start. The kernel takes up to 16, by the window;
    /// Sarolahti 2000, Table 48: 2.
    pub quick: Segments,
    /// Segments acknowledged at once after a segment that arrived out of order or twice: 16 (`TCP_MAX_QUICKACKS`).
    pub quick_after_gap: Segments,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            min: Duration::from_millis(40),
            max: Duration::from_millis(200),
            quick: Segments(2),
            quick_after_gap: Segments(16),
        }
    }
}

#[derive(Debug)]
struct Linux2000 {
    parameters: Parameters,
    /// The present wait (`ato`).
    wait: Duration,
    last_arrival: Option<Instant>,
    waiting: Bytes,
    quick: u64,
}

impl Linux2000 {
    const fn new(parameters: Parameters) -> Self {
        let (wait, quick) = (parameters.min, parameters.quick.0);
        Self { parameters, wait, last_arrival: None, waiting: Bytes::ZERO, quick }
    }

    /// `tcp_event_data_recv`.
    fn adapt(&mut self, now: Instant) {
        let Some(last) = self.last_arrival.replace(now) else { return };
        let (gap, half) = (now - last, self.parameters.min / 2);
        if gap <= half {
            self.wait = self.wait / 2 + half;
        } else if gap < self.wait {
            self.wait = self.wait / 2 + gap;
        }
    }
}

impl AckPolicy for Linux2000 {
    fn on_data(&mut self, data: &Data) -> When {
        self.adapt(data.now);
        self.waiting += data.len;
        if matches!(data.arrival, Arrival::OutOfOrder | Arrival::Duplicate) {
            self.quick = self.quick.max(self.parameters.quick_after_gap.0);
            self.wait = self.parameters.min;
        }
        // More than one full segment waits, or something lies beyond a gap, or was sent twice.
        let urgent = data.around_a_gap() || self.waiting > data.full;
        if urgent || self.quick > 0 {
            return When::Now;
        }
        When::Within(self.wait.min(self.parameters.max))
    }

    fn on_ack_sent(&mut self) {
        if !self.waiting.is_zero() {
            self.quick = self.quick.saturating_sub(1);
        }
        self.waiting = Bytes::ZERO;
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.min > self.max {
            let (min, max) = (write_duration(self.min), write_duration(self.max));
            return Err(refusal(format!("min is {min}, above max, {max}"), "write the lesser as min"));
        }
        Ok(())
    }
}

/// The policy with this number of quick ACKs at the start.
pub(super) fn with_quick_acks(quick: Segments) -> Box<dyn AckPolicy> {
    Box::new(Linux2000::new(Parameters { quick, ..Parameters::default() }))
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "linux-2000",
    "delayed by 40 to 200 ms as the gaps between segments suggest, quick at the start and after reordering",
    "Linux 2.4 tcp_event_data_recv; Sarolahti 2000 Table 48",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Linux2000::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(gap: Duration, segments: u64) -> Vec<When> {
        let mut policy = Linux2000::new(Parameters::default());
        (0..segments)
            .map(|i| {
                let now = Instant::START + gap * i;
                let arrival = Arrival::InOrder;
                let when = policy.on_data(&Data {
                    now,
                    len: Bytes(256),
                    arrival,
                    gap: false,
                    scattered: false,
                    full: Bytes(256),
                    polled: false,
                    rtt: None,
                });
                policy.on_ack_sent();
                when
            })
            .collect()
    }

    #[test]
    fn over_a_slow_link_the_wait_stays_at_its_least() {
        let waits = waits(Duration::from_millis(252), 10);
        assert_eq!(waits[..2], [When::Now; 2]);
        assert!(waits[2..].iter().all(|when| *when == When::Within(Duration::from_millis(40))));
    }

    #[test]
    fn segments_that_come_closer_than_the_wait_lengthen_it() {
        // Each gap adds itself to half of the wait, which so tends to twice the gap.
        let waits = waits(Duration::from_millis(30), 20);
        let When::Within(last) = waits[19] else { panic!("the quick ACKs are over") };
        assert!(last > Duration::from_millis(59) && last <= Duration::from_millis(60), "{last}");
    }
}

//! TCP-DAA: an ACK for up to four segments; the delay of an ACK follows the time between arrivals, so that it waits for
//! the next segments of this path and no longer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::{AckPolicy, Data, Traits, When};
use crate::reassembly::Arrival;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Largest number of full-sized segments without an ACK. Default: 4.
    pub most: u32,
    /// Number of segments by which the delay window grows with each in-order segment, from 2 on. Default: 0.3.
    pub growth: f64,
    /// Weight of the mean in the smoothed time between arrivals. Default: 0.75.
    pub smoothing: f64,
    /// Number of times between arrivals that an ACK waits beyond the second. Default: 0.2.
    pub tolerance: f64,
    /// Maximum delay of an ACK, and its delay before two segments have arrived. Default: 200 ms.
    pub timeout: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { most: 4, growth: 0.3, smoothing: 0.75, tolerance: 0.2, timeout: Duration::from_millis(200) }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.most < 2 {
            return Err(refusal(
                format!("most is {}, and every ACK may wait for two", self.most),
                "2 or more",
            ));
        }
        if !(self.growth > 0.0 && self.growth.is_finite()) {
            return Err(refusal(format!("growth is {}", self.growth), "a number above 0"));
        }
        if !(0.0..1.0).contains(&self.smoothing) {
            return Err(refusal(format!("smoothing is {}", self.smoothing), "a number from 0 to below 1"));
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(refusal(format!("tolerance is {}", self.tolerance), "a number from 0"));
        }
        Ok(())
    }
}

/// The delay window at the start, and after a gap: that of RFC 5681.
const LEAST: f64 = 2.0;

#[derive(Debug)]
struct InterArrival {
    parameters: Parameters,
    /// Bytes that wait for their acknowledgment.
    waiting: Bytes,
    /// The delay window, in segments.
    window: f64,
    last: Option<Instant>,
    /// Smoothed time between arrivals.
    smoothed: Option<Duration>,
}

impl InterArrival {
    const fn new(parameters: Parameters) -> Self {
        Self { parameters, waiting: Bytes::ZERO, window: LEAST, last: None, smoothed: None }
    }

    /// Measures the time since the segment before. A pause of the sender is none between arrivals.
    fn measure(&mut self, now: Instant) {
        let Some(gap) = self.last.replace(now).map(|last| now.saturating_since(last)) else { return };
        if gap > self.parameters.timeout {
            return;
        }
        let kept = self.parameters.smoothing;
        self.smoothed = Some(self.smoothed.map_or(gap, |mean| mean.mul_f64(kept) + gap.mul_f64(1.0 - kept)));
    }

    fn delay(&self) -> Duration {
        let periods = LEAST + self.parameters.tolerance;
        let expected = self.smoothed.map(|mean| mean.mul_f64(periods));
        expected.map_or(self.parameters.timeout, |expected| expected.min(self.parameters.timeout))
    }
}

impl AckPolicy for InterArrival {
    fn on_data(&mut self, data: &Data) -> When {
        self.measure(data.now);
        self.waiting += data.len;
        if data.around_a_gap() {
            if data.arrival != Arrival::FilledGap {
                self.window = LEAST;
            }
            return When::Now;
        }
        self.window = (self.window + self.parameters.growth).min(f64::from(self.parameters.most));
        if self.waiting >= data.full * (self.window as u64) { When::Now } else { When::Within(self.delay()) }
    }

    fn on_ack_sent(&mut self) {
        self.waiting = Bytes::ZERO;
    }

    fn traits(&self) -> Traits {
        Traits { stretches: self.parameters.most > 2, ..Traits::default() }
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "inter-arrival",
    "TCP-DAA: an ACK for up to four segments, delayed by the time between arrivals; at once around gaps",
    "de Oliveira and Braun, INFOCOM 2005",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(InterArrival::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use super::super::testing::data;
    use super::*;

    /// Number of segments, 10 ms apart from `from` ms on, until an ACK.
    fn until_ack(policy: &mut InterArrival, from: u64) -> u64 {
        let waits = (0..).take_while(|n| policy.on_data(&data(from + 10 * n, Arrival::InOrder)) != When::Now);
        let segments = waits.count() as u64 + 1;
        policy.on_ack_sent();
        segments
    }

    #[test]
    fn the_delay_window_grows_to_four_segments_and_falls_to_two_at_a_gap() {
        let mut policy = InterArrival::new(Parameters::default());
        let mut at = 0;
        let acks: Vec<u64> = std::iter::repeat_with(|| {
            let segments = until_ack(&mut policy, at);
            at += 10 * segments;
            segments
        })
        .take(5)
        .collect();
        assert_eq!(acks, [2, 3, 4, 4, 4]);
        assert_eq!(policy.on_data(&data(at, Arrival::OutOfOrder)), When::Now);
        policy.on_ack_sent();
        assert_eq!(until_ack(&mut policy, at + 10), 2);
    }

    #[test]
    fn an_ack_waits_for_a_little_more_than_two_times_between_arrivals() {
        let mut policy = InterArrival::new(Parameters::default());
        assert_eq!(policy.on_data(&data(0, Arrival::InOrder)), When::Within(Duration::from_millis(200)));
        policy.on_ack_sent();
        assert_eq!(policy.on_data(&data(10, Arrival::InOrder)), When::Within(Duration::from_millis(22)));
    }

    #[test]
    fn a_pause_of_the_sender_is_not_a_time_between_arrivals() {
        let mut policy = InterArrival::new(Parameters::default());
        for ms in [0, 10] {
            policy.on_data(&data(ms, Arrival::InOrder));
        }
        policy.on_ack_sent();
        assert_eq!(policy.on_data(&data(5000, Arrival::InOrder)), When::Within(Duration::from_millis(22)));
    }
}

//! LEDBAT (RFC 6817): background traffic that keeps its queue at a target of 100 ms at most and yields to all who fill
//! theirs. The window grows and shrinks by the distance of the one-way queueing delay from the target.
//!
//! A flow that joins a queue never sees the path without it: a late comer adds its own target on top of that of the
//! others and starves them (Rossi et al. 2010). `ledbat++` is the cure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration};

use super::queueing_delay::QueueingDelay;
use super::window::{ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, Traits, is_cwnd_limited};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Target of the queueing delay. RFC 6817 §2.5: 100 ms at most.
    pub target: Duration,
    /// Segments that a round trip without a queue adds. RFC 6817 §2.5: 1 at most.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub gain: f64,
    /// Minimum window, except after a timeout. RFC 6817 §2.5: 2 segments.
    pub min_cwnd: Segments,
    /// Whether it begins with slow start, which the RFC leaves open; as by default in ns-3, until the first loss or
    /// until the delay is at the target.
    pub slow_start: bool,
    /// Base that a loss halves.
    pub reduction_of: ReductionOf,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(100),
            gain: 1.0,
            min_cwnd: Segments(2),
            slow_start: true,
            reduction_of: ReductionOf::default(),
        }
    }
}

#[derive(Debug)]
struct Ledbat {
    parameters: Parameters,
    window: Window,
    delay: QueueingDelay,
    /// The window up to which it is in slow start: without end at first, the threshold after a timeout.
    slow_start_until: Option<Bytes>,
}

impl Ledbat {
    fn new(parameters: Parameters) -> Self {
        let slow_start_until = parameters.slow_start.then_some(Bytes::MAX);
        Self { parameters, window: Window::UNSET, delay: QueueingDelay::NONE, slow_start_until }
    }

    /// RFC 6817 §2.4.2: the distance from the target, as a part of it.
    fn off_target(&self) -> f64 {
        1.0 - self.delay.seconds().unwrap_or(0.0) / self.parameters.target.as_secs_f64()
    }

    fn least(&self) -> Bytes {
        self.window.smss * self.parameters.min_cwnd.0
    }

    /// RFC 6817 §2.4.2: GAIN·off_target·acked·MSS/cwnd.
    fn avoid_congestion(&mut self, acked: Bytes, is_limited: bool) {
        let part = acked.min(self.window.cwnd()).0 as f64 / self.window.cwnd().0.max(1) as f64;
        let bytes = self.parameters.gain * self.off_target() * part * self.window.smss.0 as f64;
        if bytes < 0.0 {
            let cwnd = self.window.cwnd();
            self.window.close_by(-bytes);
            if self.window.cwnd() < self.least() {
                self.window.set_cwnd(self.least().min(cwnd));
            }
        } else if is_limited {
            self.window.open_by(bytes);
        }
    }

    fn reduce(&mut self, event: &CongestionEvent) {
        let half = self.parameters.reduction_of.kept(0.5, event);
        self.window.reduce_ssthresh(half, SsthreshUnit::default());
        self.slow_start_until = None;
    }
}

impl CongestionControl for Ledbat {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn observe(&mut self, ack: &AckSample) {
        self.delay.on_ack(ack);
    }

    /// The late comer's advantage (Rossi et al. 2010; RFC 6817 §4.2).
    fn traits(&self) -> Traits {
        Traits { unequal_shares: true, ..Traits::default() }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // §2.4.2, ALLOWED_INCREASE: a window that is not filled does not grow.
        let is_limited = is_cwnd_limited(self.cwnd(), ack.flight, self.window.smss);
        if self.in_slow_start() && self.off_target() <= 0.0 {
            self.window.ssthresh = self.window.cwnd().max(self.least());
            self.slow_start_until = None;
        }
        if !self.in_slow_start() {
            self.avoid_congestion(ack.acked, is_limited);
        } else if is_limited {
            self.window.slow_start(ack.acked);
        }
    }

    /// §2.4.2: half, once a round trip.
    fn on_loss(&mut self, event: &CongestionEvent) {
        self.reduce(event);
        self.window.reduce_to_ssthresh();
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        // RFC 5681 §3.1: the threshold is held when the same segment times out again.
        if !event.repeats_timeout() {
            self.reduce(event);
        }
        self.window.collapse();
        self.slow_start_until = Some(self.window.ssthresh);
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.window.set_cwnd(window);
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
        self.slow_start_until = self.parameters.slow_start.then_some(ssthresh);
    }

    fn in_slow_start(&self) -> bool {
        self.slow_start_until.is_some_and(|until| self.window.cwnd() < until)
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.target.is_zero() || self.target > MOST_TARGET {
            return Err(refusal(format!("target is {}", self.target), "a delay above 0, up to \"100 ms\""));
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(refusal(format!("gain is {}", self.gain), "a number above 0, up to 1"));
        }
        if self.min_cwnd.0 == 0 {
            return Err(refusal("min_cwnd is 0 segments", "a segment at least"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "ledbat",
    "LEDBAT: background traffic that keeps its queue at no more than 100 ms",
    "RFC 6817",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Ledbat::new(parameters.clone()))),
);

/// RFC 6817 §2.5: TARGET must be 100 ms or less.
const MOST_TARGET: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::super::OneWayDelay;
    use super::super::testing::{Path, SMSS, ack_sample, loss, timeout};
    use super::*;

    fn ledbat(segments: u64) -> Ledbat {
        let mut ledbat = Ledbat::new(Parameters { slow_start: false, ..Parameters::default() });
        ledbat.start(SMSS, SMSS * segments);
        ledbat
    }

    /// A window of ACKs whose one-way delay is `delay` milliseconds, and before them one of none.
    fn window_of_acks(ledbat: &mut Ledbat, delay: u32) {
        let ack = |delay| AckSample {
            one_way: Some(OneWayDelay::between(1_000_000, 5000 + delay)),
            ..ack_sample(SMSS, SMSS * 100)
        };
        ledbat.observe(&ack(0));
        for _ in 0..4 {
            ledbat.observe(&ack(delay));
        }
        for _ in 0..ledbat.cwnd().whole(SMSS) {
            ledbat.on_ack(&ack(delay));
        }
    }

    #[test]
    fn a_round_trip_adds_or_takes_a_segment_by_the_distance_from_the_target_whatever_the_clocks_read() {
        for (delay, change) in [(0, 1000), (50, 500), (100, 0), (150, -500), (300, -2000)] {
            let mut ledbat = ledbat(20);
            window_of_acks(&mut ledbat, delay);
            let came = ledbat.cwnd().0 as i64 - 20_000;
            let near = i64::abs(came - change) <= 120;
            assert!(near, "{came} for {change} at {delay} ms");
        }
    }

    #[test]
    fn beside_those_who_fill_the_queue_two_segments_are_left() {
        let mut ledbat = ledbat(20);
        (0..60).for_each(|_| window_of_acks(&mut ledbat, 400));
        assert_eq!(ledbat.cwnd(), SMSS * 2);
    }

    #[test]
    fn alone_on_a_path_the_window_settles_where_the_queue_is_at_the_target() {
        let mut ledbat = Ledbat::new(Parameters::default());
        ledbat.start(SMSS, SMSS * 2);
        let mut path = Path::new();
        // 60 ms and a segment each 5 ms: 12 segments are the path's, 20 more are 100 ms.
        for _ in 0..100 {
            let queued = ledbat.cwnd().whole(SMSS).saturating_sub(12);
            path.round(&mut ledbat, Duration::from_millis(60 + 5 * queued), Duration::ZERO);
        }
        assert!((31..=33).contains(&ledbat.cwnd().whole(SMSS)), "{}", ledbat.cwnd());
    }

    #[test]
    fn a_loss_halves_and_a_timeout_leaves_one() {
        let mut ledbat = ledbat(20);
        ledbat.on_loss(&loss(SMSS * 20));
        assert_eq!(ledbat.cwnd(), SMSS * 10);
        ledbat.on_timeout(&timeout(SMSS * 10, false));
        assert_eq!((ledbat.cwnd(), ledbat.ssthresh()), (SMSS, SMSS * 5));
    }
}

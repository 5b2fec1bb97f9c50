//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT for background traffic, mended. It goes by round trips, grows
//! no faster than Reno, shrinks by a factor, and slows down periodically to measure the empty path.
//!
//! The slowdowns are what makes late comers equal: without one, a flow that joins a queue never sees the delay without
//! it (Rossi et al. 2010).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::queueing_delay::QueueingDelay;
use super::window::{ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, is_cwnd_limited};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Target of the queueing delay. Draft §4.6: 60 ms.
    pub target: Duration,
    /// Factor of the reduction when the delay exceeds the target, the constant of §4.2: 1.
    pub decrease: f64,
    /// Whether it slows down periodically (draft §4.4).
    pub slowdowns: bool,
    /// Base that a loss halves.
    pub reduction_of: ReductionOf,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(60),
            decrease: 1.0,
            slowdowns: true,
            reduction_of: ReductionOf::default(),
        }
    }
}

/// State of the connection between slowdowns (draft §4.4).
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The first slow start, which a delay of three quarters of the target ends.
    FirstSlowStart,
    /// The next slowdown comes then.
    Until(Instant),
    /// Two segments until `frozen_until`, since `began`; then slow start up to the former window.
    Slowdown { began: Instant, frozen_until: Instant },
}

#[derive(Debug)]
struct LedbatPlusPlus {
    parameters: Parameters,
    window: Window,
    delay: QueueingDelay,
    rtt: Duration,
    phase: Phase,
    /// The window up to which it is in slow start: without end at first, the threshold after a timeout, the window of
    /// before in a slowdown.
    slow_start_until: Option<Bytes>,
}

impl LedbatPlusPlus {
    const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            window: Window::UNSET,
            delay: QueueingDelay::NONE,
            rtt: Duration::ZERO,
            phase: Phase::FirstSlowStart,
            slow_start_until: Some(Bytes::MAX),
        }
    }

    /// Draft §4.1: GAIN = 1 / min(16, ⌈2·TARGET/base⌉), so that it is slower than Reno on short paths.
    fn gain(&self) -> f64 {
        let base = self.delay.base().map_or(f64::INFINITY, |base| base as f64 / 1e9);
        1.0 / libm::ceil(2.0 * self.parameters.target.as_secs_f64() / base.max(SHORTEST))
            .clamp(1.0, MOST_DIVISOR)
    }

    fn least(&self) -> Bytes {
        self.window.smss * 2
    }

    /// The phase that an ACK leads to.
    fn advance(&mut self, ack: &AckSample) {
        match self.phase {
            Phase::FirstSlowStart => {
                let most = self.parameters.target.as_secs_f64() * SLOW_START_EXIT;
                if self.in_slow_start() && self.delay.seconds().is_some_and(|delay| delay > most) {
                    // Draft §4.3.
                    self.window.ssthresh = self.window.cwnd().max(self.least());
                    self.slow_start_until = None;
                }
                if !self.in_slow_start() {
                    self.phase = Phase::Until(ack.now + self.rtt * 2);
                }
            }
            Phase::Until(then) if self.parameters.slowdowns && ack.now >= then => {
                let in_use = self.window.cwnd().min(ack.flight);
                self.slow_start_until = Some(in_use.max(self.least()));
                self.window.set_cwnd(self.window.cwnd().min(self.least()));
                self.phase = Phase::Slowdown { began: ack.now, frozen_until: ack.now + self.rtt * 2 };
            }
            Phase::Slowdown { began, .. } if !self.in_slow_start() => {
                // Draft §4.4: nine times as long as the slowdown took, so that it costs a tenth at most.
                self.phase = Phase::Until(ack.now + ack.now.saturating_since(began) * 9);
            }
            _ => {}
        }
    }

    fn is_frozen(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Slowdown { frozen_until, .. } if now < frozen_until)
    }

    /// Draft §4.2, for the part of a window that this ACK acknowledges.
    fn avoid_congestion(&mut self, acked: Bytes) {
        let w = self.window.segments();
        let over = self.delay.seconds().unwrap_or(0.0) / self.parameters.target.as_secs_f64() - 1.0;
        let change = if over <= 0.0 {
            self.gain()
        } else {
            (self.gain() - self.parameters.decrease * w * over).max(-w / 2.0)
        };
        let part = acked.0 as f64 / self.window.cwnd().0.max(1) as f64;
        let bytes = change * part.min(1.0) * self.window.smss.0 as f64;
        if bytes >= 0.0 {
            self.window.open_by(bytes);
        } else {
            let cwnd = self.window.cwnd();
            self.window.close_by(-bytes);
            if self.window.cwnd() < self.least() {
                self.window.set_cwnd(self.least().min(cwnd));
            }
        }
    }

    /// Half of what was in use. A loss of what was sent before a slowdown halves the window that it leads back to.
    fn reduce(&mut self, event: &CongestionEvent) {
        let half = self.parameters.reduction_of.kept(0.5, event);
        let slows_down = matches!(self.phase, Phase::Slowdown { .. });
        self.slow_start_until = slows_down.then_some(half.max(self.least()));
        self.window.reduce_ssthresh(half.min(self.window.cwnd()), SsthreshUnit::default());
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt;
            self.delay.on_delay(ack.now, i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX));
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.advance(ack);
        let is_limited = is_cwnd_limited(self.cwnd(), ack.flight, self.window.smss);
        if !is_limited || self.is_frozen(ack.now) {
            return;
        }
        if self.in_slow_start() {
            // Draft §4.3: slower by the gain than a standard slow start.
            let bytes = ack.acked.min(self.window.smss).0 as f64 * self.gain();
            self.window.open_by(bytes);
        } else {
            self.avoid_congestion(ack.acked);
        }
    }

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
        self.slow_start_until = Some(ssthresh);
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

/// Draft §4.1: the gain is no smaller than a sixteenth.
const MOST_DIVISOR: f64 = 16.0;
/// Draft §4.3: the part of the target whose delay ends the first slow start.
const SLOW_START_EXIT: f64 = 0.75;
/// A round trip of no time at all is no divisor, in seconds.
const SHORTEST: f64 = 1e-9;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.target.is_zero() {
            return Err(refusal("target is 0 s", "a delay like \"60 ms\""));
        }
        if self.decrease <= 0.0 {
            return Err(refusal(format!("decrease is {}", self.decrease), "a number above 0, like 1"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "ledbat++",
    "LEDBAT++: background traffic that keeps the queue below 60 ms and slows down periodically",
    "draft-irtf-iccrg-ledbat-plus-plus-01",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(LedbatPlusPlus::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use super::super::testing::{Path, SMSS, ack_sample, loss};
    use super::*;

    fn ledbat(slowdowns: bool) -> LedbatPlusPlus {
        let mut ledbat = LedbatPlusPlus::new(Parameters { slowdowns, ..Parameters::default() });
        ledbat.start(SMSS, SMSS * 2);
        ledbat
    }

    /// Round trips over a path of 60 ms that carries a segment every 5 ms: what is beyond twelve waits.
    fn rounds(ledbat: &mut LedbatPlusPlus, path: &mut Path, count: u32) -> Vec<u64> {
        let mut windows = vec![];
        for _ in 0..count {
            let queued = ledbat.cwnd().whole(SMSS).saturating_sub(12);
            let rtt = Duration::from_millis(60) + Duration::from_millis(5) * queued;
            path.round(ledbat, rtt, Duration::ZERO);
            windows.push(ledbat.cwnd().whole(SMSS));
        }
        windows
    }

    #[test]
    fn the_gain_is_that_of_the_draft() {
        for (base, divisor) in [(5, 16.0), (8, 15.0), (20, 6.0), (60, 2.0), (120, 1.0), (500, 1.0)] {
            let mut ledbat = ledbat(true);
            let rtt = Some(Duration::from_millis(base));
            ledbat.observe(&AckSample { rtt, ..ack_sample(SMSS, SMSS) });
            assert_eq!(ledbat.gain(), 1.0 / divisor, "{base} ms");
        }
    }

    #[test]
    fn without_slowdowns_the_window_settles_where_the_queue_is_sixty_milliseconds() {
        let mut ledbat = ledbat(false);
        let windows = rounds(&mut ledbat, &mut Path::new(), 200);
        assert!(windows[150..].iter().all(|window| (23..=25).contains(window)), "{windows:?}");
    }

    #[test]
    fn a_slowdown_is_two_segments_for_two_round_trips_and_comes_again_after_nine_times_its_length() {
        let mut ledbat = ledbat(true);
        let windows = rounds(&mut ledbat, &mut Path::new(), 400);
        let slow: Vec<usize> = (1..400).filter(|at| windows[*at] <= 2 && windows[at - 1] > 4).collect();
        assert!(slow.len() >= 3, "{windows:?}");
        let periods: Vec<usize> = slow.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let low = windows[slow[1]..slow[2]].iter().filter(|window| **window < 20).count();
        assert!(low * 6 < periods[1], "{low} of {periods:?}: {windows:?}");
    }

    #[test]
    fn a_queue_that_never_takes_anything_off_the_window_is_refused() {
        assert!(Parameters { decrease: 0.0, ..Parameters::default() }.check().is_err());
        assert!(Parameters { decrease: 0.1, ..Parameters::default() }.check().is_ok());
    }

    #[test]
    fn a_loss_halves() {
        let mut ledbat = ledbat(true);
        ledbat.on_restore(SMSS * 20, SMSS * 10);
        ledbat.on_loss(&loss(SMSS * 20));
        assert_eq!((ledbat.cwnd(), ledbat.ssthresh()), (SMSS * 10, SMSS * 10));
    }
}

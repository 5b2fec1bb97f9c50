//! CUBIC (RFC 9438): after a loss the window grows along a cubic function of time, fast at first, flat around the
//! window at which the loss came, and then faster and faster; but never slower than a standard TCP would.
//!
//! Windows of the formulas are in segments and may be fractions; times are in seconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::proportion::Proportion;
use super::window::{ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, is_cwnd_limited};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Fraction of the window that remains after a loss. RFC 9438 §4.6: 0.7.
    pub(super) beta: Proportion,
    /// Base of this fraction. RFC 9438 §4.6 says FlightSize, and that a sender may take cwnd where it bounds its
    /// growth by what it has in flight, as Linux does.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
    /// Steepness of the cubic function, in segments per s³. RFC 9438 §5: 0.4.
    #[schemars(range(min = 0.001, max = 100.0))]
    pub c: f64,
    /// Whether a flow that loses below its last maximum makes room for others (RFC 9438 §4.7).
    pub fast_convergence: bool,
    /// Minimum growth for each segment acknowledged in congestion avoidance, in segments, while no loss has shown a
    /// maximum: nothing in RFC 9438; 0.05 in Linux, 5 % in a round trip (`bictcp_update`).
    #[schemars(range(min = 0.0, max = 0.5))]
    pub growth_before_loss: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            beta: Proportion(0.7),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
            c: 0.4,
            fast_convergence: true,
            growth_before_loss: 0.0,
        }
    }
}

impl Parameters {
    /// RFC 9438 §4.3: the increase, in segments per round trip, with which a TCP that keeps β is as fast as a TCP that
    /// halves its window.
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta.0) / (1.0 + self.beta.0)
    }
}

/// A stage of congestion avoidance (RFC 9438 §4.1.2).
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time at which it began, without the times in which the application did not fill the window (§5.8).
    began: Instant,
    /// Time at which the function reaches `w_max`, in seconds from then.
    k: f64,
    /// Plateau of the function.
    w_max: f64,
    /// The window of a standard TCP in its place.
    w_est: f64,
}

#[derive(Debug)]
struct Cubic {
    parameters: Parameters,
    window: Window,
    /// The window at which the last loss came, less what fast convergence takes off it (§4.7), or at which the first
    /// stage after a timeout began (§4.8).
    w_max: f64,
    /// The window at which the last loss came (§4.1.2).
    cwnd_prior: f64,
    /// The present stage, from its first ACK on.
    epoch: Option<Epoch>,
    /// Whether the coming stage is flat around its first window: after a timeout (§4.8), or where slow start ended
    /// without a loss (§4.10).
    starts_flat: bool,
    /// The smoothed round trip.
    srtt: Option<Duration>,
    last_ack: Instant,
    /// State before the last reduction, in case it was in error (§4.9).
    prior: Option<PriorState>,
}

/// State to restore after a reduction in error, in addition to the windows.
#[derive(Clone, Copy, Debug)]
struct PriorState {
    ssthresh: Bytes,
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    starts_flat: bool,
}

impl Cubic {
    const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            window: Window::UNSET,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            starts_flat: true,
            srtt: None,
            last_ack: Instant::START,
            prior: None,
        }
    }

    /// RFC 9438 equation 1.
    fn w_cubic(&self, epoch: &Epoch, t: f64) -> f64 {
        let from_k = t - epoch.k;
        self.parameters.c * from_k * from_k * from_k + epoch.w_max
    }

    /// A stage begins, at the window that there is (§4.2, equation 2).
    fn begin(&mut self, now: Instant) -> Epoch {
        let cwnd = self.window.segments();
        if self.starts_flat {
            // §4.8: that is W_max then, for the next loss too.
            self.w_max = cwnd;
        }
        let below = (self.w_max - cwnd).max(0.0);
        Epoch { began: now, k: libm::cbrt(below / self.parameters.c), w_max: cwnd + below, w_est: cwnd }
    }

    /// An ACK in congestion avoidance.
    fn avoid_congestion(&mut self, ack: &AckSample) {
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(ack.now));
        let cwnd = self.window.segments();
        // §4.3, equation 4. Once it is where the loss came, it grows as a standard TCP that halved then does.
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { self.parameters.alpha() };
        epoch.w_est += alpha * (ack.acked.0 as f64 / self.window.smss.0 as f64) / cwnd;
        self.epoch = Some(epoch);
        let t = ack.now.saturating_since(epoch.began).as_secs_f64();
        let least = if self.starts_flat { self.parameters.growth_before_loss } else { 0.0 };
        let least = least * (ack.acked.0 as f64 / self.window.smss.0 as f64);
        if self.w_cubic(&epoch, t) < epoch.w_est {
            // The Reno-friendly region.
            self.grow((epoch.w_est - cwnd).max(least));
        } else {
            // §4.2: where the function will be after a round trip, but no less than there is, and half again at most.
            let rtt = self.srtt.unwrap_or_default().as_secs_f64();
            let target = self.w_cubic(&epoch, t + rtt).clamp(cwnd, cwnd * MOST);
            // §4.4 and §4.5: the concave and the convex region.
            self.grow(((target - cwnd) / cwnd).max(least));
        }
    }

    fn grow(&mut self, segments: f64) {
        self.window.open_by(segments * self.window.smss.0 as f64);
    }

    fn reduce(&mut self, event: &CongestionEvent) {
        let Self { w_max, cwnd_prior, epoch, starts_flat, .. } = *self;
        self.prior =
            Some(PriorState { ssthresh: self.window.ssthresh, w_max, cwnd_prior, epoch, starts_flat });
        let cwnd = self.window.segments();
        // §4.7: a flow whose maximum falls leaves the place between it and the new one to others.
        let falls = self.parameters.fast_convergence && cwnd < self.w_max;
        self.w_max = if falls { cwnd * (1.0 + self.parameters.beta.0) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        // §4.6.
        let kept = self.parameters.reduction_of.kept(self.parameters.beta.0, event);
        self.window.reduce_ssthresh(kept, self.parameters.ssthresh_unit);
        self.epoch = None;
        self.starts_flat = false;
    }
}

impl CongestionControl for Cubic {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            // RFC 6298 §2.3.
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        let since = ack.now.saturating_since(self.last_ack);
        self.last_ack = ack.now;
        // §5.8: a window that is not filled shows nothing, and the time in which it was not does not count.
        if !is_cwnd_limited(self.cwnd(), ack.flight, self.window.smss) {
            if let Some(epoch) = &mut self.epoch {
                epoch.began = (epoch.began + since).min(ack.now);
            }
        } else if self.in_slow_start() {
            self.window.slow_start(ack.acked);
        } else {
            self.avoid_congestion(ack);
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
        self.epoch = None;
        self.starts_flat = true;
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.window.set_cwnd(window);
        self.epoch = None;
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
        // §4.9: the earlier curve continues where a reduction was in error; any other window begins a new one.
        let undone = self.prior.take().filter(|prior| prior.ssthresh == ssthresh);
        self.epoch = undone.and_then(|prior| prior.epoch);
        if let Some(prior) = undone {
            (self.w_max, self.cwnd_prior, self.starts_flat) =
                (prior.w_max, prior.cwnd_prior, prior.starts_flat);
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}

/// RFC 9438 §4.2: the target is no more than this times the window.
const MOST: f64 = 1.5;
/// The steepest function that is accepted: a hundred segments in the first second.
const STEEPEST: f64 = 100.0;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if !(self.c > 0.0 && self.c <= STEEPEST) {
            let c = self.c;
            return Err(refusal(format!("c is {c}"), format!("a number above 0, up to {STEEPEST}")));
        }
        let least = self.growth_before_loss;
        if !(0.0..=0.5).contains(&least) {
            return Err(refusal(
                format!("growth_before_loss is {least}"),
                "a number from 0 to 0.5; Linux has 0.05",
            ));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "cubic",
    "CUBIC: the window follows a cubic function of the time since the last loss",
    "RFC 9438",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Cubic::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack_sample, built, loss, timeout};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// A full window of `segments` segments is reduced at the start of time, and repaired.
    fn after_a_loss_at(segments: u64) -> Cubic {
        let mut cubic = Cubic::new(Parameters::default());
        cubic.start(SMSS, SMSS * segments);
        cubic.observe(&AckSample { rtt: Some(RTT), ..ack_sample(SMSS, SMSS) });
        cubic.on_loss(&loss(SMSS * segments));
        cubic.on_recovery_exit(cubic.ssthresh());
        cubic
    }

    #[test]
    fn before_any_loss_the_window_of_linux_grows_by_a_twentieth_in_a_round_trip() {
        let grown = |growth_before_loss| {
            let mut cubic = Cubic::new(Parameters { growth_before_loss, ..Parameters::default() });
            cubic.start(SMSS, SMSS * 100);
            cubic.on_restore(SMSS * 100, SMSS * 100);
            rounds(&mut cubic, 0.0, 1);
            cubic.cwnd().0 as f64 / SMSS.0 as f64 - 100.0
        };
        assert!((grown(0.05) - 5.0).abs() < 0.1, "{}", grown(0.05));
        assert!(grown(0.0) < 1.1, "as fast as a standard TCP: {}", grown(0.0));
    }

    #[test]
    fn after_a_loss_the_function_alone_counts() {
        let segments = |growth_before_loss| {
            let mut cubic = after_a_loss_at(100);
            cubic.parameters.growth_before_loss = growth_before_loss;
            rounds(&mut cubic, 0.0, 10);
            cubic.cwnd()
        };
        assert_eq!(segments(0.05), segments(0.0));
    }

    /// One ACK of a segment, after `seconds`.
    fn ack_at(cubic: &mut Cubic, seconds: f64) {
        let now = Instant::START + Duration::from_secs_f64(seconds);
        cubic.on_ack(&AckSample { now, ..ack_sample(SMSS, cubic.cwnd()) });
    }

    /// Round trips of full windows, from some time on.
    fn rounds(cubic: &mut Cubic, from: f64, count: u32) {
        for round in 0..count {
            for _ in 0..cubic.cwnd().whole(SMSS) {
                ack_at(cubic, from + f64::from(round) * RTT.as_secs_f64());
            }
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_the_function_reaches_the_old_window_after_k() {
        let mut cubic = after_a_loss_at(100);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (SMSS * 70, SMSS * 70));
        ack_at(&mut cubic, 0.0);
        let epoch = cubic.epoch.expect("the first ACK begins the stage");
        // Equation 2: the cube root of 30 / 0.4 is 4.217.
        assert!((epoch.k - 4.217).abs() < 0.001, "{}", epoch.k);
        // Equation 1 at 0, K and 2K: 70, 100 and 130 segments.
        for (t, w) in [(0.0, 70.0), (epoch.k, 100.0), (2.0 * epoch.k, 130.0)] {
            assert!((cubic.w_cubic(&epoch, t) - w).abs() < 1e-9);
        }
    }

    #[test]
    fn an_ack_takes_a_part_of_the_way_to_where_the_function_will_be() {
        let mut cubic = after_a_loss_at(1000);
        // At the start the function is at 700 and a standard TCP ahead: 0.529 / 700 of a segment, 0.76 bytes.
        ack_at(&mut cubic, 0.0);
        assert_eq!(cubic.cwnd(), SMSS * 700);
        // K is the cube root of 300 / 0.4, 9.0856. After 1.1 s, a round trip from now: 0.4 (1.1 − 9.0856)³ + 1000 is
        // 796.303 segments, and 96.303 / 700 of one are 137.58 bytes.
        ack_at(&mut cubic, 1.0);
        assert_eq!(cubic.cwnd(), SMSS * 700 + Bytes(138));
    }

    #[test]
    fn the_target_is_at_most_half_again_the_window() {
        let mut cubic = after_a_loss_at(10);
        ack_at(&mut cubic, 0.0);
        // After 60 s the function is far above 10.5 segments: an ACK brings half a segment.
        let before = cubic.cwnd();
        ack_at(&mut cubic, 60.0);
        assert_eq!(cubic.cwnd(), before + SMSS / 2);
    }

    #[test]
    fn a_small_window_grows_as_that_of_a_standard_tcp() {
        let mut cubic = after_a_loss_at(10);
        rounds(&mut cubic, 0.0, 4);
        // §4.3: 3 (1 − 0.7) / (1 + 0.7) = 0.529 segments a round trip, from 7 on, a little less as each ACK divides by
        // the window of then.
        let window = cubic.window.segments();
        assert!(window > 7.0 + 4.0 * 0.47 && window < 7.0 + 4.0 * 0.529, "{window}");
        assert!((cubic.parameters.alpha() - 9.0 / 17.0).abs() < 1e-12);
    }

    #[test]
    fn beyond_the_last_loss_the_standard_part_adds_a_segment_a_round_trip() {
        let mut cubic = after_a_loss_at(10);
        ack_at(&mut cubic, 0.0);
        let epoch = cubic.epoch.as_mut().expect("it has begun");
        (epoch.w_est, epoch.w_max) = (10.0, 0.0);
        cubic.window.set_cwnd(SMSS * 10);
        ack_at(&mut cubic, 0.0);
        assert_eq!(cubic.cwnd(), SMSS * 10 + Bytes(100));
    }

    #[test]
    fn a_falling_maximum_makes_room() {
        let w_max = |fast: bool| {
            let mut cubic = after_a_loss_at(100);
            cubic.parameters.fast_convergence = fast;
            cubic.window.set_cwnd(SMSS * 80);
            cubic.on_loss(&loss(SMSS * 80));
            cubic.w_max
        };
        // §4.7: 80 (1 + 0.7) / 2.
        assert_eq!((w_max(true), w_max(false)), (68.0, 80.0));
    }

    #[test]
    fn after_a_timeout_the_function_is_flat_where_congestion_avoidance_begins() {
        let mut cubic = after_a_loss_at(100);
        cubic.on_timeout(&timeout(SMSS * 60, false));
        // §4.8: β and not a half.
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (SMSS, SMSS * 42));
        cubic.window.set_cwnd(SMSS * 42);
        ack_at(&mut cubic, 5.0);
        let epoch = cubic.epoch.expect("it has begun");
        assert_eq!((epoch.k, epoch.w_max), (0.0, 42.0));
    }

    #[test]
    fn a_loss_above_the_window_at_which_a_timeouts_first_stage_began_makes_no_room() {
        let mut cubic = after_a_loss_at(30);
        cubic.on_timeout(&timeout(SMSS * 20, false));
        cubic.window.set_cwnd(cubic.ssthresh());
        ack_at(&mut cubic, 5.0);
        assert_eq!(cubic.w_max, 14.0);
        cubic.window.set_cwnd(SMSS * 16);
        cubic.on_loss(&loss(SMSS * 16));
        assert_eq!(cubic.w_max, 16.0);
    }

    #[test]
    fn times_in_which_the_window_is_not_filled_do_not_count() {
        let mut cubic = after_a_loss_at(100);
        ack_at(&mut cubic, 0.0);
        let window = cubic.cwnd();
        let idle = Instant::START + Duration::from_secs(50);
        cubic.on_ack(&AckSample { now: idle, ..ack_sample(SMSS, SMSS * 2) });
        assert_eq!(cubic.cwnd(), window);
        assert_eq!(cubic.epoch.expect("it continues").began, idle);
    }

    #[test]
    fn a_reduction_in_error_is_taken_back_with_its_curve() {
        let mut cubic = after_a_loss_at(100);
        rounds(&mut cubic, 0.0, 3);
        let (cwnd, ssthresh, epoch) = (cubic.cwnd(), cubic.ssthresh(), cubic.epoch.expect("it has begun"));
        cubic.on_timeout(&timeout(cwnd, false));
        cubic.on_restore(cwnd, ssthresh);
        let restored = cubic.epoch.expect("the curve continues");
        assert_eq!((restored.k, restored.w_max, restored.began), (epoch.k, epoch.w_max, epoch.began));
        assert_eq!(cubic.w_max, 100.0);
    }

    #[test]
    fn a_function_that_is_no_function_is_refused() {
        for c in [0.0, -1.0, 1000.0] {
            assert!(ENTRY.choice(json!({ "c": c })).is_err(), "{c}");
        }
        assert_eq!(built(ENTRY.id, json!({})).cwnd(), SMSS * 2);
    }
}

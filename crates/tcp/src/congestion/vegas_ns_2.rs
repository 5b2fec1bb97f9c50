//! Vegas as in the simulator ns-2 (`Agent/TCP/Vegas`), which is a port of USC's NetBSD-Vegas and not the paper's.
//!
//! It differs from [`vegas`](super::vegas) in its books: the handshake counts as a round trip; the window of the first
//! round trip comes one ACK late, so that the growth of that ACK is added to it; a round trip continues through losses;
//! what an ACK adds in a round trip is settled at its beginning; a loss keeps whole segments, three quarters rounded
//! up; and slow start is over with the first fast recovery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Seq};

use super::window::Window;
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Queued segments below which the window grows (`v_alpha_`).
    pub alpha: f64,
    /// Queued segments above which the window shrinks (`v_beta_`).
    pub beta: f64,
    /// Queued segments above which slow start ends (`v_gamma_`).
    pub gamma: f64,
    /// The window that the first ACK of data sets, in segments (`windowInit_` with `delay_growth_`).
    pub first_window: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { alpha: 1.0, beta: 3.0, gamma: 1.0, first_window: 2 }
    }
}

#[derive(Debug)]
struct VegasNs2 {
    parameters: Parameters,
    window: Window,
    /// The shortest round trip (`v_baseRTT_`); none before the first ACK.
    base_rtt: Option<Duration>,
    round: Round,
    /// Whether this round trip of slow start may open the window: every other one does (`v_inc_flag_`).
    opening: bool,
    /// Increase for each ACK of this round trip, in segments (`v_incr_`).
    increment: f64,
    /// The window that the last reduction left (`v_newcwnd_`).
    reduced_to: Bytes,
    /// The ACK that is handled, for what recovery decides about it.
    last: Option<AckSample>,
}

/// A round trip: from an ACK to that of the next segment that is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The first number of the segment whose acknowledgment ends it (`v_begseq_`).
    first: Option<Seq>,
    /// Time at which it began (`v_begtime_`).
    began: Instant,
    /// The sum of the round-trip times measured in it, and how many they are.
    rtts: Duration,
    samples: u64,
}

impl VegasNs2 {
    const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            window: Window::UNSET,
            base_rtt: None,
            round: Round { first: None, began: Instant::START, rtts: Duration::ZERO, samples: 0 },
            opening: false,
            increment: 0.0,
            reduced_to: Bytes::ZERO,
            last: None,
        }
    }

    /// An ACK of new data, in whatever state the sender is.
    fn on_new_ack(&mut self, ack: &AckSample) {
        if self.base_rtt.is_none() {
            self.base_rtt = ack.last_rtt;
            self.window.set_cwnd(self.window.smss * u64::from(self.parameters.first_window));
        }
        if self.round.first.is_none_or(|first| ack.number.after(first)) {
            self.end_round(ack);
        }
        if self.increment == 1.0 && !self.window.is_below_ssthresh() {
            self.increment = 0.0;
        }
        let smss = self.window.smss.0 as f64;
        let idle = self.window.segments() - self.in_transit(ack);
        if self.increment > 0.0 && idle <= UNUSED {
            self.window.open_by(self.increment * smss);
        }
        if let Some(rtt) = ack.last_rtt {
            self.round.rtts += rtt;
            self.round.samples += 1;
            self.base_rtt = self.base_rtt.map(|base| base.min(rtt));
        }
    }

    /// Number of segments between the last acknowledged segment and the next segment to send, as ns-2 counts them: one
    /// more than are outstanding.
    fn in_transit(&self, ack: &AckSample) -> f64 {
        f64::from(ack.nxt.since(ack.number)) / self.window.smss.0 as f64 + 1.0
    }

    fn end_round(&mut self, ack: &AckSample) {
        let Round { first, began, rtts, samples } = self.round;
        let rtt = if samples > 0 { rtts / samples } else { ack.now - began };
        let first = first.unwrap_or(ack.number);
        let sent = f64::from(ack.nxt.since(first)) / self.window.smss.0 as f64;
        self.round = Round { first: Some(ack.nxt), began: ack.now, rtts: Duration::ZERO, samples: 0 };
        if rtt.is_zero() {
            return;
        }
        let base = match self.base_rtt {
            Some(base) if base <= rtt && sent > 1.0 => base,
            _ => rtt,
        };
        self.base_rtt = Some(base);
        let queued = (self.in_transit(ack) - sent * base.as_secs_f64() / rtt.as_secs_f64() + 0.5).trunc();
        self.increment = self.decide(queued);
    }

    /// Increase for each ACK of the next round trip, in segments.
    fn decide(&mut self, queued: f64) -> f64 {
        let Parameters { alpha, beta, gamma, .. } = self.parameters;
        let smss = self.window.smss;
        let least = smss * 2;
        if self.window.is_below_ssthresh() {
            self.opening = !self.opening;
            if !self.opening {
                return 0.0;
            }
            if queued <= gamma {
                return 1.0;
            }
            self.window.ssthresh = least;
            self.window.close_by(self.window.segments() / 8.0 * smss.0 as f64);
        } else if queued > beta {
            self.window.close_by(smss.0 as f64);
        } else if queued < alpha {
            return 1.0 / self.window.segments();
        } else {
            return 0.0;
        }
        if self.window.cwnd() < least {
            self.window.set_cwnd(least);
        }
        0.0
    }

    /// The window in whole segments, as far as it is used.
    fn used(&self, event: &CongestionEvent) -> u64 {
        event.cwnd.min(event.flight).whole(self.window.smss)
    }
}

/// Segments of the window that may be unused where an ACK opens it: a sender that does not keep up with its window gets
/// no larger one (tcp-vegas.cc, `recv`; `in_transit` counts one more than are outstanding).
const UNUSED: f64 = 2.0;

impl CongestionControl for VegasNs2 {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn observe(&mut self, ack: &AckSample) {
        self.last = Some(*ack);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.on_new_ack(ack);
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        let used = self.used(event);
        // tcp-vegas.cc, `recv`: `win -= win >> 2` in whole segments, and two where there were three or fewer.
        let kept = if used <= 3 { 2 } else { used - used / 4 };
        self.reduced_to = (self.window.smss * kept).min(event.cwnd).max(self.window.smss);
        self.window.set_cwnd(self.reduced_to);
        self.window.ssthresh = self.window.ssthresh.min((self.window.smss * kept).max(self.window.smss * 2));
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        if !event.repeats_timeout() {
            self.window.ssthresh = (self.window.smss * (self.used(event) / 2)).max(self.window.smss * 2);
        }
        self.window.collapse();
        self.reduced_to = Bytes::ZERO;
    }

    /// No fast recovery follows, so that slow start is not over.
    fn on_mark(&mut self, event: &CongestionEvent) {
        self.on_loss(event);
    }

    /// The window falls back to what the last reduction left, and slow start is over.
    fn on_recovery_exit(&mut self, window: Bytes) {
        let deflated = if self.reduced_to.is_zero() { window } else { self.reduced_to };
        self.window.set_cwnd(deflated.min(self.window.cwnd()).max(self.window.smss));
        self.window.ssthresh = self.window.smss * 2;
        if let Some(ack) = self.last.take() {
            self.on_new_ack(&ack);
        }
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
        self.reduced_to = Bytes::ZERO;
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
        let Parameters { alpha, beta, gamma, .. } = *self;
        if !(0.0 < alpha && alpha <= beta && gamma > 0.0) {
            let wrong = format!("alpha is {alpha}, beta {beta}, gamma {gamma}, which no window could keep");
            return Err(refusal(wrong, "0 < alpha <= beta, and gamma > 0"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "vegas-ns-2",
    "Vegas by the accounting of ns-2's agent",
    "ns-2.35, The ns Manual, chapter 'TCP Agents'; Brakmo and Peterson 1995",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(VegasNs2::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss, timeout};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn the_first_ack_sets_the_window_and_adds_a_segment_and_then_every_other_round_trip_doubles_it() {
        let mut vegas = built(ENTRY.id, json!({}));
        let mut path = Path::new();
        let windows: Vec<u64> = (0..5)
            .map(|_| {
                path.round(vegas.as_mut(), RTT, Duration::ZERO);
                vegas.cwnd().whole(SMSS)
            })
            .collect();
        // The handshake was the round trip before, in which nothing grows.
        assert_eq!(windows[1..], [windows[0], windows[0] * 2, windows[0] * 2, windows[0] * 4], "{windows:?}");
    }

    // tcp-vegas.cc, `recv`: an eighth less, and two segments at least.
    #[test]
    fn a_queue_in_slow_start_takes_an_eighth_of_the_window_but_leaves_two_segments() {
        for (before, left) in [(16, SMSS * 14), (2, SMSS * 2)] {
            let mut vegas = VegasNs2::new(Parameters::default());
            vegas.start(SMSS, SMSS);
            vegas.on_restore(SMSS * before, SMSS * 40);
            assert_eq!(vegas.decide(5.0), 0.0);
            assert_eq!((vegas.cwnd(), vegas.ssthresh()), (left, SMSS * 2));
        }
    }

    #[test]
    fn a_loss_keeps_three_quarters_rounded_up_and_ends_slow_start() {
        for (before, kept) in [(15, 12), (16, 12), (8, 6), (3, 2)] {
            let mut vegas = built(ENTRY.id, json!({}));
            vegas.on_restore(SMSS * before, SMSS * 40);
            vegas.on_loss(&loss(SMSS * before));
            assert_eq!(vegas.cwnd(), SMSS * kept, "of {before}");
            vegas.on_recovery_exit(vegas.ssthresh());
            assert_eq!((vegas.cwnd(), vegas.ssthresh()), (SMSS * kept, SMSS * 2));
        }
    }

    #[test]
    fn a_timeout_halves_the_threshold_to_whole_segments() {
        let mut vegas = built(ENTRY.id, json!({}));
        vegas.on_restore(SMSS * 15, SMSS * 2);
        vegas.on_timeout(&timeout(SMSS * 15, false));
        assert_eq!((vegas.cwnd(), vegas.ssthresh()), (SMSS, SMSS * 7));
    }

    #[test]
    fn thresholds_in_the_wrong_order_are_refused() {
        assert!(ENTRY.choice(json!({ "alpha": 4 })).is_err());
        assert!(ENTRY.choice(json!({ "alpha": 2, "beta": 4 })).is_ok());
    }

    #[test]
    fn a_recovery_ends_at_the_window_of_the_last_reduction_or_without_one_at_the_present_window() {
        let mut vegas = built(ENTRY.id, json!({}));
        vegas.on_restore(SMSS * 16, SMSS * 40);
        vegas.on_recovery_exit(SMSS * 10);
        assert_eq!(vegas.cwnd(), SMSS * 10, "no reduction");
        vegas.on_loss(&loss(SMSS * 10));
        let reduced = vegas.cwnd();
        vegas.on_recovery_exit(SMSS * 40);
        assert_eq!(vegas.cwnd(), reduced);
    }
}

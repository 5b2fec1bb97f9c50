//! Vegas (Brakmo and Peterson 1995): the window follows the difference between the rate that it should give
//! over the shortest round trip and the rate that it gives, which is the number of segments that wait in
//! queues: one more segment in the next round trip below α, one less above β.
//!
//! Slow start doubles every other round trip, so that in those between the rates can be compared, and ends
//! when more than γ segments wait. Where sources differ this follows ns-2 (`tcp-vegas.cc`, after USC's NetBSD): a round
//! trip is the mean of its samples. Vegas' fine-grained retransmission is a matter of recovery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Seq, SeqRange};

use super::proportion::Proportion;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, is_cwnd_limited};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Queued segments below which the window grows; 1 (Brakmo and Peterson 1995).
    pub alpha: f64,
    /// Queued segments above which the window shrinks; 3 (Brakmo and Peterson 1995).
    pub beta: f64,
    /// Queued segments above which slow start ends; 1 (Brakmo and Peterson 1995).
    pub gamma: f64,
    /// The part that the end of slow start takes off. 1/8, as in Vegas of NetBSD and ns.
    pub(super) slow_start_exit: Proportion,
    /// The part that a loss found by duplicate ACKs takes off. 1/4, as in Vegas of NetBSD and ns.
    pub(super) loss: Proportion,
    /// Base of this fraction, and of the halving after a timeout.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
    /// Comparison of the difference with α, β and γ.
    pub difference: Difference,
}

/// Comparison of the number of segments in queues with α, β and γ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// As it is (Brakmo and Peterson 1995).
    #[default]
    Exact,
    /// Rounded to whole segments, as in ns-2.
    WholeSegments,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 3.0,
            gamma: 1.0,
            slow_start_exit: Proportion(0.125),
            loss: Proportion(0.25),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
            difference: Difference::default(),
        }
    }
}

#[derive(Debug)]
struct Vegas {
    parameters: Parameters,
    window: Window,
    /// The shortest round trip so far.
    base_rtt: Option<Duration>,
    /// The round trip that is measured; none before the first ACK and after a change of the window by others.
    round: Option<Round>,
    /// Effect of ACKs on the window in this round trip.
    growth: Growth,
    /// SND.UNA and SND.NXT as the last ACK of new data left them.
    outstanding: SeqRange,
    /// End of what was outstanding at the last reduction: the loss of a segment before it is one of the same window.
    reduced_until: Option<Seq>,
}

/// A round trip, from the sending of a segment to its acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The first number of the segment whose acknowledgment ends it.
    first: Seq,
    /// The sum of the round-trip times measured in it.
    rtts: Duration,
    /// Number of these segments.
    samples: u64,
}

/// Effect of ACKs on the window during a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    /// They double it, in slow start.
    Doubles,
    /// They add one segment to it.
    AddsOne,
    /// Nothing.
    Holds,
}

impl Vegas {
    const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            window: Window::UNSET,
            base_rtt: None,
            round: None,
            growth: Growth::Doubles,
            outstanding: SeqRange { start: Seq(0), end: Seq(0) },
            reduced_until: None,
        }
    }

    /// Segments in queues: what was sent in the round trip, less what would have filled the shortest one.
    fn queued(&self, sent: Bytes, rtt: Duration) -> Option<f64> {
        let base = self.base_rtt?.as_secs_f64();
        let segments = sent.0 as f64 / self.window.smss.0 as f64;
        let queued = segments * (1.0 - base / rtt.as_secs_f64());
        Some(match self.parameters.difference {
            Difference::Exact => queued,
            Difference::WholeSegments => queued.round(),
        })
    }

    /// The decision that is made once in a round trip.
    fn decide(&mut self, queued: f64) {
        let Parameters { alpha, beta, gamma, .. } = self.parameters;
        self.growth = if self.window.is_below_ssthresh() {
            match self.growth {
                Growth::Doubles => Growth::Holds,
                _ if queued > gamma => self.end_slow_start(),
                _ => Growth::Doubles,
            }
        } else if queued > beta {
            let less = self.window.cwnd().saturating_sub(self.window.smss);
            self.window.set_cwnd(less.max(self.least()));
            Growth::Holds
        } else if queued < alpha {
            Growth::AddsOne
        } else {
            Growth::Holds
        };
    }

    fn end_slow_start(&mut self) -> Growth {
        let kept = (1.0 - self.parameters.slow_start_exit.0) * self.window.cwnd().0 as f64;
        self.window.set_cwnd(Bytes(kept as u64).max(self.least()));
        self.window.ssthresh = self.least();
        Growth::Holds
    }

    /// An ACK of new data, by the decision of this round trip.
    fn grow(&mut self, acked: Bytes) {
        match self.growth {
            Growth::Doubles if self.window.is_below_ssthresh() => self.window.slow_start(acked),
            Growth::AddsOne => self.window.open_by_part(acked.min(self.window.cwnd()), Alpha::ONE),
            Growth::Doubles | Growth::Holds => {}
        }
    }

    /// Two segments, so that ACKs continue.
    fn least(&self) -> Bytes {
        self.window.smss * 2
    }

    /// Measures anew: data sent before belong to another window.
    const fn restart_round(&mut self) {
        self.round = None;
        self.growth = Growth::Doubles;
    }

    /// Whether the first segment outstanding was sent before the last reduction, which then was for its loss too:
    /// the window is reduced only for losses at the present rate (Brakmo and Peterson 1995, section 3.1).
    fn is_reduced_already(&self) -> bool {
        self.reduced_until.is_some_and(|until| self.outstanding.start.before(until))
    }
}

impl CongestionControl for Vegas {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn observe(&mut self, ack: &AckSample) {
        self.outstanding = SeqRange { start: ack.number, end: ack.nxt };
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
            if let Some(round) = &mut self.round {
                round.rtts += rtt;
                round.samples += 1;
            }
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        let over = self.round.filter(|round| ack.number.after(round.first));
        if over.is_some() || self.round.is_none() {
            self.round = Some(Round { first: ack.nxt, rtts: Duration::ZERO, samples: 0 });
        }
        if let Some(Round { first, rtts, samples: samples @ 1.. }) = over {
            let sent = Bytes(u64::from(ack.nxt.since(first)));
            if let Some(queued) = self.queued(sent, rtts / samples) {
                self.decide(queued);
            }
        }
        if is_cwnd_limited(self.cwnd(), ack.flight, self.window.smss) {
            self.grow(ack.acked);
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        if !self.is_reduced_already() {
            let kept = self.parameters.reduction_of.kept(1.0 - self.parameters.loss.0, event);
            self.window.reduce_ssthresh(kept, self.parameters.ssthresh_unit);
            self.reduced_until = Some(self.outstanding.end);
        }
        self.window.reduce_to_ssthresh();
        self.restart_round();
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        if !event.repeats_timeout() {
            let half = self.parameters.reduction_of.kept(0.5, event);
            self.window.reduce_ssthresh(half, self.parameters.ssthresh_unit);
        }
        self.window.collapse();
        self.restart_round();
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.window.set_cwnd(window);
        self.restart_round();
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
        self.reduced_until = None;
        self.restart_round();
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
        if !(0.0 < self.alpha && self.alpha <= self.beta && self.gamma > 0.0) {
            let Parameters { alpha, beta, gamma, .. } = *self;
            let wrong = format!("alpha is {alpha}, beta {beta}, gamma {gamma}, which no window could keep");
            return Err(refusal(wrong, "0 < alpha <= beta, and gamma > 0"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "vegas",
    "keeps between α and β segments in queues, by the round trip",
    "Brakmo and Peterson 1995",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Vegas::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, ack_sample, built, loss, timeout};
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    /// Round trips over a path that carries a segment every 10 ms: what is beyond ten waits.
    fn rounds(congestion: &mut dyn CongestionControl, path: &mut Path, count: u64) -> Vec<u64> {
        let mut windows = vec![];
        for _ in 0..count {
            let queued = congestion.cwnd().whole(SMSS).saturating_sub(10);
            path.round(congestion, BASE + Duration::from_millis(10) * queued, Duration::ZERO);
            windows.push(congestion.cwnd().whole(SMSS));
        }
        windows
    }

    #[test]
    fn a_queue_of_alpha_itself_holds_the_window_and_less_lets_it_grow() {
        let growth = |queued| {
            let mut vegas = Vegas::new(Parameters::default());
            vegas.start(SMSS, SMSS * 2);
            vegas.on_restore(SMSS * 20, SMSS * 2);
            vegas.decide(queued);
            matches!(vegas.growth, Growth::AddsOne)
        };
        let alpha = Parameters::default().alpha;
        assert!(!growth(alpha) && growth(alpha - 0.01));
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let mut vegas = built(ENTRY.id, json!({}));
        assert_eq!(rounds(vegas.as_mut(), &mut Path::new(), 5), [4, 4, 8, 8, 16]);
    }

    #[test]
    fn slow_start_ends_when_segments_wait_and_then_the_window_settles() {
        let mut vegas = built(ENTRY.id, json!({}));
        let mut path = Path::new();
        let windows = rounds(vegas.as_mut(), &mut path, 20);
        assert!(!vegas.in_slow_start());
        let settled = &windows[windows.len() - 5..];
        assert!(settled.iter().all(|window| (11..=13).contains(window)), "{windows:?}");
    }

    #[test]
    fn a_queue_of_others_makes_it_give_way_down_to_two_segments() {
        let mut vegas = built(ENTRY.id, json!({}));
        let mut path = Path::new();
        rounds(vegas.as_mut(), &mut path, 20);
        let before = vegas.cwnd();
        path.round(vegas.as_mut(), BASE * 2, Duration::ZERO);
        path.round(vegas.as_mut(), BASE * 2, Duration::ZERO);
        assert!(vegas.cwnd() < before);
        for _ in 0..40 {
            path.round(vegas.as_mut(), BASE * 50, Duration::ZERO);
        }
        assert!(vegas.cwnd() <= SMSS * 3 && vegas.cwnd() >= SMSS * 2, "{}", vegas.cwnd());
    }

    #[test]
    fn a_user_who_pauses_does_not_look_like_a_queue() {
        let mut vegas = built(ENTRY.id, json!({}));
        vegas.on_restore(SMSS * 20, SMSS * 10);
        let mut una = Seq::default();
        for _ in 0..10 {
            // One segment a round trip is all there is to send.
            una += SMSS.0 as u32;
            let ack = AckSample { rtt: Some(BASE), number: una, nxt: una, ..ack_sample(SMSS, SMSS) };
            vegas.observe(&ack);
            vegas.on_ack(&ack);
        }
        assert!(vegas.cwnd() >= SMSS * 20, "{}", vegas.cwnd());
    }

    #[test]
    fn a_second_loss_of_the_same_window_does_not_reduce_again() {
        let mut vegas = built(ENTRY.id, json!({}));
        vegas.on_restore(SMSS * 16, SMSS * 2);
        let una = |segments: u32| Seq(segments * 1000);
        let mut ack = |number, nxt| {
            vegas.observe(&AckSample { number, nxt, ..ack_sample(SMSS, SMSS * 16) });
            vegas.on_loss(&loss(vegas.cwnd()));
            vegas.cwnd()
        };
        assert_eq!(ack(una(10), una(26)), SMSS * 12);
        assert_eq!(ack(una(14), una(26)), SMSS * 12, "its segment was sent before the reduction");
        assert_eq!(ack(una(26), una(38)), SMSS * 9, "and this one after it");
    }

    #[test]
    fn a_segment_more_comes_in_the_course_of_the_next_round_trip() {
        let mut vegas = built(ENTRY.id, json!({}));
        vegas.on_restore(SMSS * 8, SMSS * 2);
        let mut path = Path::new();
        // The first round trip is only measured; the ACK that ends it decides, and adds its part.
        let windows = rounds(vegas.as_mut(), &mut path, 1);
        assert_eq!(windows, [8]);
        path.round(vegas.as_mut(), BASE, Duration::ZERO);
        assert!(vegas.cwnd() > SMSS * 8 && vegas.cwnd() < SMSS * 9, "{}", vegas.cwnd());
    }

    #[test]
    fn thresholds_in_the_wrong_order_are_refused() {
        for wrong in [json!({ "alpha": 4 }), json!({ "alpha": 0 }), json!({ "gamma": -1 })] {
            assert!(ENTRY.choice(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(ENTRY.choice(json!({ "alpha": 2, "beta": 4 })).is_ok());
    }

    #[test]
    fn a_loss_takes_a_quarter_and_a_timeout_all_but_a_segment() {
        let mut vegas = built(ENTRY.id, json!({}));
        vegas.on_restore(SMSS * 16, Bytes::MAX);
        vegas.on_loss(&loss(SMSS * 16));
        assert_eq!((vegas.cwnd(), vegas.ssthresh()), (SMSS * 12, SMSS * 12));
        vegas.on_timeout(&timeout(SMSS * 12, false));
        assert_eq!((vegas.cwnd(), vegas.ssthresh()), (SMSS, SMSS * 6));
    }
}

//! Vegas (Brakmo and Peterson 1995): the window follows the difference between the rate that it should give
//! over the shortest round trip and the rate that it gives, which is the number of segments that wait in
//! queues: one more segment a round trip below α, one less above β.
//!
//! Slow start doubles every other round trip, so that in those between the rates can be compared, and ends
//! when more than γ segments wait. Vegas' own fine-grained retransmission is a matter of recovery, and not
//! here.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Seq};

use super::share::Share;
use super::window::Window;
use super::{Congestion, CongestionEvent, Growth};
use crate::registry::{Entry, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Below so many segments in queues the window grows; 1 (Brakmo and Peterson 1995).
    pub alpha: f64,
    /// Above so many it shrinks; 3 (Brakmo and Peterson 1995).
    pub beta: f64,
    /// Above so many slow start ends; 1 (Brakmo and Peterson 1995).
    pub gamma: f64,
    /// The part that the end of slow start takes off. 1/8, as in Vegas of NetBSD and ns.
    pub(super) slow_start_exit: Share,
    /// The part that a loss found by duplicate ACKs takes off. 1/4, as in Vegas of NetBSD and ns.
    pub(super) loss: Share,
}

impl Default for Params {
    fn default() -> Self {
        Self { alpha: 1.0, beta: 3.0, gamma: 1.0, slow_start_exit: Share(0.125), loss: Share(0.25) }
    }
}

#[derive(Debug)]
struct Vegas {
    params: Params,
    window: Window,
    /// The shortest round trip so far.
    base_rtt: Option<Duration>,
    /// The round trip under way; none is, before the first ACK and after a loss.
    round: Option<Round>,
    /// Whether slow start grows in this round trip.
    grows: bool,
}

/// A round trip, from the sending of a segment to its acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The first number of the segment that is timed.
    first: Seq,
    /// The shortest round trip measured in it.
    rtt: Option<Duration>,
}

impl Vegas {
    const fn new(params: Params) -> Self {
        Self { params, window: Window::UNSET, base_rtt: None, round: None, grows: true }
    }

    /// Segments in queues: what was sent in the round trip, less what would have filled the shortest one.
    fn waiting(&self, sent: Bytes, rtt: Duration) -> Option<f64> {
        let base = self.base_rtt?.as_secs_f64();
        let segments = sent.0 as f64 / self.window.smss.0 as f64;
        Some(segments * (1.0 - base / rtt.as_secs_f64()))
    }

    /// The once-a-round-trip decision.
    fn decide(&mut self, waiting: f64) {
        let Params { alpha, beta, gamma, .. } = self.params;
        if self.window.is_below_threshold() {
            if !self.grows && waiting > gamma {
                return self.end_slow_start();
            }
            self.grows = !self.grows;
        } else if waiting > beta {
            let less = self.window.cwnd.saturating_sub(self.window.smss);
            self.window.cwnd = less.max(self.least());
        } else if waiting < alpha {
            self.window.cwnd += self.window.smss;
        }
    }

    fn end_slow_start(&mut self) {
        self.window.cwnd = less(self.window.cwnd, self.params.slow_start_exit).max(self.least());
        self.window.ssthresh = self.least();
    }

    /// Two segments, so that ACKs go on.
    fn least(&self) -> Bytes {
        self.window.smss * 2
    }

    /// Vegas measures anew: what was sent before tells of another window.
    const fn start_anew(&mut self) {
        self.round = None;
        self.grows = true;
    }
}

fn less(window: Bytes, part: Share) -> Bytes {
    Bytes(((1.0 - part.0) * window.0 as f64) as u64)
}

impl Congestion for Vegas {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn observe(&mut self, ack: &Growth) {
        let shorter = |old: Option<Duration>| old.into_iter().chain(ack.rtt).min();
        self.base_rtt = shorter(self.base_rtt);
        if let Some(round) = &mut self.round {
            round.rtt = shorter(round.rtt);
        }
    }

    fn on_ack(&mut self, ack: &Growth) {
        let over = self.round.filter(|round| ack.number.after(round.first));
        if over.is_some() || self.round.is_none() {
            self.round = Some(Round { first: ack.nxt, rtt: None });
        }
        if let Some(Round { first, rtt: Some(rtt) }) = over {
            let sent = Bytes(u64::from(ack.nxt.since(first)));
            if let Some(waiting) = self.waiting(sent, rtt) {
                self.decide(waiting);
            }
        }
        if self.window.is_below_threshold() && self.grows {
            self.window.slow_start(ack.acked);
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.window.set_threshold(less(event.flight, self.params.loss));
        self.window.cwnd = self.window.ssthresh;
        self.start_anew();
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        if !event.repeats_timeout() {
            self.window.set_threshold(event.flight / 2);
        }
        self.window.collapse();
        self.start_anew();
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.window.cwnd = window;
        self.start_anew();
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
        self.start_anew();
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Congestion> = Entry {
    id: "vegas",
    summary: "keeps between α and β segments in queues, by the round trip",
    source: "Brakmo and Peterson 1995",
    parse: |value| {
        let params: Params = Entry::<dyn Congestion>::read(value)?;
        if !(0.0 < params.alpha && params.alpha <= params.beta && params.gamma > 0.0) {
            let Params { alpha, beta, gamma, .. } = params;
            let wrong = format!("alpha is {alpha}, beta {beta}, gamma {gamma}, which no window could keep");
            return Err(refusal(wrong, "0 < alpha <= beta, and gamma > 0"));
        }
        Ok(Arc::new(move || Box::new(Vegas::new(params.clone()))))
    },
    schema: Entry::<dyn Congestion>::describe::<Params>,
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::trial::{Path, SMSS, built, loss, timeout};
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    /// Round trips over a path that carries a segment every 10 ms: what is beyond ten waits.
    fn rounds(congestion: &mut dyn Congestion, path: &mut Path, count: u64) -> Vec<u64> {
        let mut windows = vec![];
        for _ in 0..count {
            let queued = congestion.cwnd().whole(SMSS).saturating_sub(10);
            path.round(congestion, BASE + Duration::from_millis(10) * queued, Duration::ZERO);
            windows.push(congestion.cwnd().whole(SMSS));
        }
        windows
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
            let ack =
                Growth { rtt: Some(BASE), number: una, nxt: una, ..super::super::trial::growth(SMSS, SMSS) };
            vegas.observe(&ack);
            vegas.on_ack(&ack);
        }
        assert!(vegas.cwnd() >= SMSS * 20, "{}", vegas.cwnd());
    }

    #[test]
    fn thresholds_in_the_wrong_order_are_refused() {
        for wrong in [json!({ "alpha": 4 }), json!({ "alpha": 0 }), json!({ "gamma": -1 })] {
            assert!((ENTRY.parse)(wrong.clone()).is_err(), "{wrong}");
        }
        assert!((ENTRY.parse)(json!({ "alpha": 2, "beta": 4 })).is_ok());
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

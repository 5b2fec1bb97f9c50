//! Congestion window validation (RFC 2861): a window that was not used says nothing about the path, so it
//! does not grow, and it decays, while ssthresh remembers three quarters of it.
//!
//! Idle: halved for each timer's length without sending. Limited by the application for a timer's length:
//! half way down to what was used. The names are those of RFC 2861's pseudo-code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::layer::{Over, Rule, layered};
use super::{AckSample, CongestionControl, SendEvent, is_cwnd_limited};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Whether the window grows only while all of it is used.
    pub hold: bool,
    /// Whether an idle time halves the window.
    pub idle: bool,
    /// Whether the window decays while the application limits the sender.
    pub application_limited: bool,
    /// The algorithm below.
    pub(super) over: Over,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { hold: true, idle: true, application_limited: true, over: Over::default() }
    }
}

#[derive(Debug)]
struct WindowValidation {
    parameters: Parameters,
    smss: Bytes,
    /// `T_last`: when a segment was last sent; none was, before the first.
    last: Option<Instant>,
    /// `T_prev`: when the window was last full.
    prev: Instant,
    /// `W_used`: the most that was outstanding since then.
    used: Bytes,
}

impl WindowValidation {
    const fn new(parameters: Parameters) -> Self {
        Self { parameters, smss: Bytes::ZERO, last: None, prev: Instant::START, used: Bytes::ZERO }
    }

    fn forget_use(&mut self, now: Instant) {
        self.prev = now;
        self.used = Bytes::ZERO;
    }

    /// The sender has been idle.
    fn decay(&mut self, inner: &mut dyn CongestionControl, sent: &SendEvent, idle: Duration) {
        let mut cwnd = inner.cwnd();
        let kept = three_quarters(cwnd);
        for _ in 0..idle.as_nanos() / sent.rto.as_nanos().max(1) {
            cwnd = (cwnd.min(sent.advertised) / 2).max(self.smss);
            if cwnd == self.smss {
                break;
            }
        }
        inner.on_restore(cwnd, inner.ssthresh().max(kept));
        self.forget_use(sent.now);
    }

    fn judge_use(&mut self, inner: &mut dyn CongestionControl, sent: &SendEvent) {
        let cwnd = inner.cwnd();
        if is_cwnd_limited(cwnd, sent.flight, self.smss) {
            return self.forget_use(sent.now);
        }
        if !sent.application_limited {
            return;
        }
        self.used = self.used.max(sent.flight);
        if self.parameters.application_limited && sent.now - self.prev >= sent.rto {
            let between = (cwnd.min(sent.advertised) + self.used) / 2;
            inner.on_restore(between.max(self.smss), inner.ssthresh().max(three_quarters(cwnd)));
            self.forget_use(sent.now);
        }
    }
}

const fn three_quarters(window: Bytes) -> Bytes {
    Bytes(window.0 / 4 * 3 + window.0 % 4 * 3 / 4)
}

impl Rule for WindowValidation {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        self.smss = smss;
        inner.on_segment_size(smss);
    }

    fn on_ack(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        if is_cwnd_limited(inner.cwnd(), ack.flight, self.smss) || !self.parameters.hold {
            inner.on_ack(ack);
        }
    }

    fn observes_sends(&self) -> bool {
        true
    }

    fn on_sent(&mut self, inner: &mut dyn CongestionControl, sent: &SendEvent) {
        inner.on_sent(sent);
        match self.last.replace(sent.now) {
            None => self.forget_use(sent.now),
            Some(last) if self.parameters.idle && sent.idle_since(last) >= sent.rto => {
                self.decay(inner, sent, sent.idle_since(last));
            }
            Some(_) => {}
        }
        // What is sent again is no new load, and recovery has its own idea of the window.
        if !sent.retransmission {
            self.judge_use(inner, sent);
        }
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "window-validation",
    "a window that is not used does not grow, and decays; over another algorithm",
    "RFC 2861",
    &Build(|parameters: &Parameters| layered(WindowValidation::new(parameters.clone()), &parameters.over)),
);

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{SMSS, ack_sample, built, send_event};
    use super::*;

    fn with_window(segments: u64, keys: Value) -> Box<dyn CongestionControl> {
        let mut validated = built(ENTRY.id, keys);
        validated.on_restore(SMSS * segments, SMSS * 4);
        validated.on_sent(&send_event(Duration::ZERO, SMSS, false));
        validated
    }

    fn sent(congestion: &mut dyn CongestionControl, millis: u64, flight: u64) -> (Bytes, Bytes) {
        congestion.on_sent(&send_event(Duration::from_millis(millis), SMSS * flight, true));
        (congestion.cwnd(), congestion.ssthresh())
    }

    #[test]
    fn each_timer_of_silence_halves_the_window_and_the_threshold_remembers_it() {
        for (millis, left) in [(999, 16), (1000, 8), (1999, 8), (2000, 4), (3000, 2), (60_000, 1)] {
            let mut validated = with_window(16, json!({ "application_limited": false }));
            let kept = if left == 16 { SMSS * 4 } else { SMSS * 12 };
            assert_eq!(sent(validated.as_mut(), millis, 1), (SMSS * left, kept), "{millis} ms");
        }
        let mut kept = with_window(16, json!({ "idle": false, "application_limited": false }));
        assert_eq!(sent(kept.as_mut(), 5000, 1).0, SMSS * 16);
    }

    #[test]
    fn an_idle_time_is_not_counted_twice() {
        let mut validated = with_window(16, json!({}));
        assert_eq!(sent(validated.as_mut(), 1000, 1).0, SMSS * 8);
        assert_eq!(sent(validated.as_mut(), 1900, 1).0, SMSS * 8);
        assert_eq!(sent(validated.as_mut(), 2000, 1).0, Bytes(4500));
    }

    #[test]
    fn what_is_sent_again_says_nothing_about_use_but_ends_the_idle_time() {
        let mut validated = with_window(16, json!({}));
        for millis in [900, 1800, 2700] {
            let again =
                SendEvent { retransmission: true, ..send_event(Duration::from_millis(millis), SMSS, true) };
            validated.on_sent(&again);
        }
        assert_eq!(validated.cwnd(), SMSS * 16);
    }

    #[test]
    fn the_peers_window_bounds_what_is_halved() {
        let mut validated = with_window(16, json!({}));
        validated
            .on_sent(&SendEvent { advertised: SMSS * 6, ..send_event(Duration::from_secs(1), SMSS, false) });
        assert_eq!(validated.cwnd(), SMSS * 3);
    }

    #[test]
    fn a_timer_limited_by_the_application_takes_it_half_way_to_what_was_used() {
        let mut validated = with_window(16, json!({}));
        for (millis, flight) in [(300, 2), (600, 4), (900, 3)] {
            assert_eq!(sent(validated.as_mut(), millis, flight).0, SMSS * 16);
        }
        assert_eq!(sent(validated.as_mut(), 1100, 2), (SMSS * 10, SMSS * 12));
        // A full window begins a new time.
        sent(validated.as_mut(), 1600, 10);
        assert_eq!(sent(validated.as_mut(), 2500, 1).0, SMSS * 10);
        assert_eq!(sent(validated.as_mut(), 2700, 1).0, Bytes(5500));
    }

    #[test]
    fn a_sender_held_back_by_the_peers_window_is_not_limited_by_the_application() {
        let mut validated = with_window(16, json!({}));
        for millis in (100..3000).step_by(100) {
            validated.on_sent(&send_event(Duration::from_millis(millis), SMSS * 3, false));
        }
        assert_eq!(validated.cwnd(), SMSS * 16);
    }

    #[test]
    fn only_a_full_window_grows() {
        let mut validated = with_window(3, json!({}));
        validated.on_ack(&ack_sample(SMSS, SMSS * 2));
        assert_eq!(validated.cwnd(), SMSS * 3);
        validated.on_ack(&ack_sample(SMSS, Bytes(2001)));
        assert_eq!(validated.cwnd(), SMSS * 4);
        let mut free = with_window(3, json!({ "hold": false }));
        free.on_ack(&ack_sample(SMSS, SMSS));
        assert_eq!(free.cwnd(), SMSS * 4);
    }
}

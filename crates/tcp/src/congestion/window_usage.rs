//! Treatment of a window that is not full, as in Linux (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`,
//! `tcp_cwnd_restart`), after RFC 2861 and RFC 7661: in slow start it grows up to twice what was in use, and in
//! congestion avoidance only where it was full at some time in the last round trip. Idle, it is halved for each timer's
//! length, to the first window.
//!
//! A rule over another algorithm: it reports a full window or an empty one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use units::{Bytes, Duration, Instant};

use super::layer::{Over, Rule, layered};
use super::{AckSample, CongestionControl, SendEvent, is_cwnd_limited};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Whether idle times, and times limited by the application, reduce the window (`tcp_slow_start_after_idle`).
    pub after_idle: bool,
    /// The algorithm below the rule. It should grow only while its window is full.
    pub(super) over: Over,
}

impl Default for Parameters {
    fn default() -> Self {
        let over = json!({ "reno": { "increase": "per-window", "validate": true } });
        Self { after_idle: true, over: Over::written(over) }
    }
}

#[derive(Debug)]
struct WindowUsage {
    after_idle: bool,
    smss: Bytes,
    initial_window: Bytes,
    /// Whether the window was full in the present round trip (`is_cwnd_limited`).
    full: bool,
    /// The most that was outstanding in it (`max_packets_out`).
    most: Bytes,
    /// New data sent so far, acknowledged so far, and sent when the present round trip began (`cwnd_usage_seq`).
    sent: Bytes,
    acked: Bytes,
    round_ends: Bytes,
    last_sent: Option<Instant>,
    /// Time at which the window was last full (`snd_cwnd_stamp`), and the most that was outstanding since then
    /// (`snd_cwnd_used`).
    full_at: Instant,
    used: Bytes,
}

impl WindowUsage {
    const fn new(after_idle: bool) -> Self {
        Self {
            after_idle,
            smss: Bytes::ZERO,
            initial_window: Bytes::ZERO,
            full: false,
            most: Bytes::ZERO,
            sent: Bytes::ZERO,
            acked: Bytes::ZERO,
            round_ends: Bytes::ZERO,
            last_sent: None,
            full_at: Instant::START,
            used: Bytes::ZERO,
        }
    }

    /// `tcp_is_cwnd_limited`.
    fn may_grow(&self, inner: &dyn CongestionControl) -> bool {
        self.full || (inner.in_slow_start() && inner.cwnd() < self.most * 2)
    }

    /// `tcp_cwnd_restart`: halved for each timer's length that was idle beyond the first.
    fn restart(&mut self, inner: &mut dyn CongestionControl, sent: &SendEvent, idle: Duration) {
        let least = self.initial_window.min(inner.cwnd());
        let mut cwnd = inner.cwnd();
        let kept = inner.ssthresh().max(three_quarters(cwnd));
        let mut idle = idle.saturating_sub(sent.rto);
        while !idle.is_zero() && cwnd > least {
            cwnd = self.smss * (cwnd.whole(self.smss) / 2);
            idle = idle.saturating_sub(sent.rto);
        }
        inner.on_restore(cwnd.max(least), kept);
        (self.full_at, self.used) = (sent.now, Bytes::ZERO);
    }

    /// `tcp_cwnd_validate`.
    fn judge(&mut self, inner: &mut dyn CongestionControl, sent: &SendEvent) {
        let full = is_cwnd_limited(inner.cwnd(), sent.flight, self.smss);
        if self.acked >= self.round_ends || full || (!self.full && sent.flight > self.most) {
            (self.full, self.most, self.round_ends) = (full, sent.flight, self.sent);
        }
        if self.may_grow(inner) {
            (self.full_at, self.used) = (sent.now, Bytes::ZERO);
            return;
        }
        self.used = self.used.max(sent.flight);
        let long = sent.now.saturating_since(self.full_at) >= sent.rto;
        if self.after_idle && sent.application_limited && long {
            self.decay(inner, sent.now);
        }
    }

    /// `tcp_cwnd_application_limited`: half way to what was used, or to the first window.
    fn decay(&mut self, inner: &mut dyn CongestionControl, now: Instant) {
        let (cwnd, used) = (inner.cwnd(), self.used.max(self.initial_window));
        if used < cwnd {
            inner.on_restore((cwnd + used) / 2, inner.ssthresh().max(three_quarters(cwnd)));
        }
        (self.full_at, self.used) = (now, Bytes::ZERO);
    }
}

/// `tcp_current_ssthresh`: what the threshold remembers of a window.
const fn three_quarters(window: Bytes) -> Bytes {
    Bytes(window.0 / 2 + window.0 / 4)
}

impl Rule for WindowUsage {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        (self.smss, self.initial_window) = (smss, initial_window);
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        self.smss = smss;
        inner.on_segment_size(smss);
    }

    fn observe(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        self.acked += ack.acked;
        inner.observe(ack);
    }

    fn on_ack(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        let full = is_cwnd_limited(inner.cwnd(), ack.flight, self.smss);
        let grows = full || self.may_grow(inner);
        let flight = if grows { ack.flight.max(inner.cwnd()) } else { Bytes::ZERO };
        inner.on_ack(&AckSample { flight, ..*ack });
    }

    fn observes_sends(&self) -> bool {
        true
    }

    fn on_sent(&mut self, inner: &mut dyn CongestionControl, sent: &SendEvent) {
        let idle = self.last_sent.replace(sent.now).map(|last| sent.idle_since(last));
        let idle = idle.filter(|idle| *idle > sent.rto && sent.flight == sent.len);
        if let Some(idle) = idle.filter(|_| self.after_idle && !sent.retransmission) {
            self.restart(inner, sent, idle);
        }
        if !sent.retransmission {
            self.sent += sent.len;
            self.judge(inner, sent);
        }
        inner.on_sent(sent);
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "window-usage",
    "growth, idle time and limited applications as Linux has them; over another algorithm",
    "Linux net/ipv4/tcp_output.c (tcp_cwnd_validate, tcp_cwnd_restart); RFC 2861",
    &Build(|parameters: &Parameters| layered(WindowUsage::new(parameters.after_idle), &parameters.over)),
);

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack_sample, built, send_event};
    use super::*;

    /// A fresh connection with a first window of ten segments that has sent `segments`.
    fn having_sent(segments: u64, keys: serde_json::Value) -> Box<dyn CongestionControl> {
        let mut congestion = built(ENTRY.id, keys);
        congestion.start(SMSS, SMSS * 10);
        for flight in 1..=segments {
            congestion.on_sent(&send_event(Duration::ZERO, SMSS * flight, true));
        }
        congestion
    }

    fn acked(congestion: &mut dyn CongestionControl, flight: u64) -> Bytes {
        let ack = ack_sample(SMSS, SMSS * flight);
        congestion.observe(&ack);
        congestion.on_ack(&ack);
        congestion.cwnd()
    }

    #[test]
    fn slow_start_goes_up_to_twice_what_was_in_use() {
        let mut half = having_sent(5, json!({}));
        assert_eq!(acked(half.as_mut(), 5), SMSS * 10);
        let mut full = having_sent(10, json!({}));
        // All ten were out together: each of their ACKs opens the window, though ever less is outstanding.
        let windows: Vec<_> = (1..=10).rev().map(|flight| acked(full.as_mut(), flight)).collect();
        assert_eq!(windows.last(), Some(&(SMSS * 20)));
    }

    #[test]
    fn an_idle_window_is_halved_to_the_first_one() {
        for (seconds, left) in [(1, 40), (2, 20), (3, 10), (60, 10)] {
            let mut idle = having_sent(1, json!({}));
            idle.on_restore(SMSS * 40, SMSS * 8);
            idle.on_sent(&send_event(Duration::from_secs(seconds), SMSS, false));
            assert_eq!(idle.cwnd(), SMSS * left, "{seconds} s");
        }
        let mut kept = having_sent(1, json!({ "after_idle": false }));
        kept.on_restore(SMSS * 40, SMSS * 8);
        kept.on_sent(&send_event(Duration::from_secs(60), SMSS, false));
        assert_eq!(kept.cwnd(), SMSS * 40);
    }
}

//! Rules that are laid over another algorithm: `{ limited-slow-start = { over = "cubic" } }`.
//!
//! A [`Rule`] sees every event before the algorithm below, and passes it on as it is, changed, in pieces or not at all.
//! The windows stay the inner algorithm's; a rule sets them by [`CongestionControl::on_restore`]. Rules may lie over
//! one another in any order.

use std::sync::Arc;

use registry::Choice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use units::{Bytes, Instant};

use super::{AckSample, CongestionControl, CongestionEvent, PathModel, SendEvent, Traits};

/// The changes of a rule to the algorithm below it; events without a method of its own are passed on.
pub(super) trait Rule: std::fmt::Debug + Send {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        inner.on_segment_size(smss);
    }

    fn observe(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        inner.observe(ack);
    }

    fn on_ack(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        inner.on_ack(ack);
    }

    fn on_sent(&mut self, inner: &mut dyn CongestionControl, sent: &SendEvent) {
        inner.on_sent(sent);
    }

    /// Whether the rule itself observes departing segments.
    fn observes_sends(&self) -> bool {
        false
    }

    fn on_loss(&mut self, inner: &mut dyn CongestionControl, event: &CongestionEvent) {
        inner.on_loss(event);
    }

    fn on_timeout(&mut self, inner: &mut dyn CongestionControl, event: &CongestionEvent) {
        inner.on_timeout(event);
    }

    fn on_restore(&mut self, inner: &mut dyn CongestionControl, cwnd: Bytes, ssthresh: Bytes) {
        inner.on_restore(cwnd, ssthresh);
    }
}

/// The algorithm below a rule, with its parameters; `reno` where nothing else is said.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Over(Choice<dyn CongestionControl>);

/// A rule over an algorithm.
#[derive(Debug)]
struct Layer<R> {
    rule: R,
    inner: Box<dyn CongestionControl>,
}

/// A fresh connection's algorithm with `rule` over it.
pub(super) fn layered<R: Rule + 'static>(rule: R, over: &Over) -> Box<dyn CongestionControl> {
    Box::new(Layer { rule, inner: over.0.build() })
}

impl<R: Rule> CongestionControl for Layer<R> {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.rule.start(self.inner.as_mut(), smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.rule.on_segment_size(self.inner.as_mut(), smss);
    }

    fn observe(&mut self, ack: &AckSample) {
        self.rule.observe(self.inner.as_mut(), ack);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.rule.on_ack(self.inner.as_mut(), ack);
    }

    fn on_sent(&mut self, sent: &SendEvent) {
        self.rule.on_sent(self.inner.as_mut(), sent);
    }

    fn seed(&mut self, seed: u64) {
        self.inner.seed(seed);
    }

    fn traits(&self) -> Traits {
        let traits = self.inner.traits();
        Traits { observes_sends: traits.observes_sends || self.rule.observes_sends(), ..traits }
    }

    fn deadline(&self) -> Option<Instant> {
        self.inner.deadline()
    }

    fn on_deadline(&mut self, now: Instant) {
        self.inner.on_deadline(now);
    }

    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        self.inner.path_model()
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.rule.on_loss(self.inner.as_mut(), event);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        self.rule.on_timeout(self.inner.as_mut(), event);
    }

    fn on_mark(&mut self, event: &CongestionEvent) {
        self.inner.on_mark(event);
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.inner.on_recovery_exit(window);
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.rule.on_restore(self.inner.as_mut(), cwnd, ssthresh);
    }

    fn cwnd(&self) -> Bytes {
        self.inner.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.inner.ssthresh()
    }

    fn variables(&self) -> Vec<(Arc<str>, f64)> {
        self.inner.variables()
    }

    fn in_slow_start(&self) -> bool {
        self.inner.in_slow_start()
    }
}

impl Over {
    /// The choice that a default has `written`; there is such an algorithm, with such parameters.
    pub fn written(written: Value) -> Self {
        serde_json::from_value(written).expect("a default names an algorithm that there is")
    }
}

impl Default for Over {
    fn default() -> Self {
        Self::written(json!("reno"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use units::Duration;

    use super::super::testing::{Path, SMSS, ack, ack_sample, built, reduced, send_event};
    use super::*;
    use crate::Config;

    fn refusal(congestion: &Value) -> String {
        Config::from_profile(&json!({ "congestion": congestion })).expect_err("it makes no sense").to_string()
    }

    #[test]
    fn what_lies_below_is_checked_like_what_lies_above() {
        let unknown = refusal(&json!({ "packet-pair": { "over": "rino" } }));
        assert!(
            unknown.starts_with("congestion.packet-pair.over: there is no congestion control \"rino\""),
            "{unknown}"
        );
        assert!(unknown.contains("one of reno, aimd, "), "{unknown}");
        let key = refusal(&json!({ "packet-pair": { "over": { "aimd": { "betta": 0.5 } } } }));
        assert!(key.starts_with("congestion.packet-pair.over: aimd: unknown field `betta`"), "{key}");
        let value = refusal(&json!({ "packet-pair": { "over": { "aimd": { "beta": 2 } } } }));
        assert!(value.contains("between 0 and 1"), "{value}");
        let old = json!({ "increase": "per-window", "algorithm": "reno" });
        let old = refusal(&json!({ "packet-pair": { "over": old } }));
        assert!(old.contains("write { reno = { increase = \"per-window\" } }"), "{old}");
        let none = refusal(&json!({ "packet-pair": { "over": {} } }));
        assert!(none.contains("the congestion control has no name; one of reno, aimd, "), "{none}");
    }

    /// CDG backs off by chance when round trips grow.
    #[test]
    fn what_lies_below_draws_from_the_connections_seed() {
        let windows = |seed: u64| {
            let mut cdg = built("limited-slow-start", json!({ "over": "cdg" }));
            cdg.seed(seed);
            cdg.on_restore(SMSS * 100, SMSS * 2);
            let mut path = Path::new();
            let mut round = |round: u64| {
                path.round(cdg.as_mut(), Duration::from_millis(100 + round), Duration::ZERO);
                cdg.cwnd()
            };
            (0..40).map(&mut round).collect::<Vec<Bytes>>()
        };
        assert_eq!(windows(1), windows(1));
        assert_ne!(windows(1), windows(2));
    }

    #[test]
    fn the_window_after_recovery_reaches_what_lies_below() {
        let mut limited = built("limited-slow-start", json!({}));
        limited.on_restore(SMSS * 20, SMSS * 10);
        limited.on_recovery_exit(SMSS * 10);
        assert_eq!(limited.cwnd(), SMSS * 10);
    }

    #[test]
    fn rules_lie_over_one_another_and_each_does_its_own() {
        let aimd = json!({ "aimd": { "beta": "2/7", "slow_start_beta": "2/7", "increase": "per-window" } });
        let limited = json!({ "limited-slow-start": { "max_ssthresh": "20 segments", "over": aimd } });
        let counted = json!({ "byte-counting": { "limit": "unlimited", "over": limited } });
        let mut all = built("window-validation", json!({ "over": counted }));
        // Byte counting: an ACK for the window doubles it.
        all.on_restore(SMSS * 10, Bytes::MAX);
        all.on_ack(&ack_sample(SMSS * 10, SMSS * 10));
        assert_eq!(all.cwnd(), SMSS * 20);
        // Limited slow start: half of max_ssthresh a round trip at most.
        all.on_ack(&ack_sample(SMSS * 20, SMSS * 20));
        assert!(all.cwnd() > SMSS * 28 && all.cwnd() <= SMSS * 31, "{}", all.cwnd());
        // AIMD: 5/7 are left, and two windows add a segment.
        reduced(all.as_mut(), 14);
        assert_eq!(all.cwnd(), SMSS * 10);
        ack(all.as_mut(), 20);
        assert_eq!(all.cwnd(), SMSS * 11);
        // Window validation: nothing grows unused, and silence halves.
        all.on_ack(&ack_sample(SMSS * 5, SMSS * 5));
        assert_eq!(all.cwnd(), SMSS * 11);
        for secs in [0, 2] {
            all.on_sent(&send_event(units::Duration::from_secs(secs), SMSS, false));
        }
        assert_eq!((all.cwnd(), all.ssthresh()), (Bytes(2750), SMSS * 10));
    }
}

//! Rules that are laid over another algorithm: `{ algorithm = "limited-slow-start", over = { … } }`.
//!
//! A [`Rule`] sees every event before the algorithm below, and passes it on as it is, changed, in pieces or not at all.
//! The windows stay the inner algorithm's; a rule sets them by [`CongestionControl::on_restore`]. Rules may lie over
//! one another in any order.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use units::Bytes;

use super::{AckSample, CongestionControl, CongestionEvent, ENTRIES, PathModel, SendEvent, Traits};
use crate::config::axis_schema;
use crate::registry::{Choice, refusal};

/// The changes of a rule to the algorithm below it; events without a method of its own are passed on.
pub(super) trait Rule: std::fmt::Debug + Send {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        inner.start(smss, initial_window);
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
#[derive(Clone, Debug)]
pub(super) struct Over {
    written: Map<String, Value>,
    choice: Choice<dyn CongestionControl>,
}

/// A rule over an algorithm.
#[derive(Debug)]
struct Layer<R> {
    rule: R,
    inner: Box<dyn CongestionControl>,
}

/// A fresh connection's algorithm with `rule` over it.
pub(super) fn layered<R: Rule + 'static>(rule: R, over: &Over) -> Box<dyn CongestionControl> {
    Box::new(Layer { rule, inner: over.choice.build() })
}

impl<R: Rule> CongestionControl for Layer<R> {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.rule.start(self.inner.as_mut(), smss, initial_window);
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

    fn in_slow_start(&self) -> bool {
        self.inner.in_slow_start()
    }
}

impl Over {
    /// The algorithm and parameters that `written` names; those that a default names are there.
    pub fn written(written: Value) -> Self {
        serde_json::from_value(written).expect("a default names an algorithm that there is")
    }

    fn choose<E: Error>(mut keys: Map<String, Value>) -> Result<Self, E> {
        let written = keys.clone();
        let named = keys
            .remove("algorithm")
            .ok_or_else(|| refusal("no algorithm is named", "over = { algorithm = \"reno\" }"))?;
        let entry = ENTRIES.iter().find(|entry| named == entry.id).ok_or_else(|| {
            let names = ENTRIES.iter().map(|entry| entry.id).collect::<Vec<_>>().join(", ");
            refusal(
                format!("there is no congestion algorithm {named} to lie below"),
                format!("one of {names}"),
            )
        })?;
        let choice = Choice::new(entry, Value::Object(keys))
            .map_err(|wrong| E::custom(format!("{}: {wrong}", entry.id)))?;
        Ok(Self { written, choice })
    }
}

impl Default for Over {
    fn default() -> Self {
        Self::written(json!({ "algorithm": "reno" }))
    }
}

impl<'de> Deserialize<'de> for Over {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::choose(Map::deserialize(deserializer)?)
    }
}

impl Serialize for Over {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(serializer)
    }
}

impl JsonSchema for Over {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Over".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = axis_schema(ENTRIES, "reno", generator);
        schema.insert("description".to_owned(), "The congestion control below a rule.".into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack, ack_sample, built, reduced, send_event};
    use super::*;
    use crate::Config;

    fn refusal(congestion: &Value) -> String {
        Config::from_profile(&json!({ "congestion": congestion })).expect_err("it makes no sense").to_string()
    }

    #[test]
    fn what_lies_below_is_checked_like_what_lies_above() {
        let unknown = refusal(&json!({ "algorithm": "packet-pair", "over": { "algorithm": "rino" } }));
        assert!(
            unknown.starts_with("congestion.over: there is no congestion algorithm \"rino\""),
            "{unknown}"
        );
        assert!(unknown.contains("one of reno, aimd, "), "{unknown}");
        let key =
            refusal(&json!({ "algorithm": "packet-pair", "over": { "algorithm": "aimd", "betta": 0.5 } }));
        assert!(key.starts_with("congestion.over: aimd: unknown field `betta`"), "{key}");
        let value =
            refusal(&json!({ "algorithm": "packet-pair", "over": { "algorithm": "aimd", "beta": 2 } }));
        assert!(value.contains("between 0 and 1"), "{value}");
        let none = refusal(&json!({ "algorithm": "packet-pair", "over": {} }));
        assert!(none.contains("over = { algorithm = \"reno\" }"), "{none}");
    }

    #[test]
    fn rules_lie_over_one_another_and_each_does_its_own() {
        let aimd =
            json!({ "algorithm": "aimd", "beta": "2/7", "slow_start_beta": "2/7", "increase": "per-window" });
        let limited =
            json!({ "algorithm": "limited-slow-start", "max_ssthresh": "20 segments", "over": aimd });
        let counted = json!({ "limit": "unlimited", "algorithm": "byte-counting", "over": limited });
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

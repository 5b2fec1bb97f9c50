//! Appropriate byte counting (RFC 3465): slow start opens the window by what an ACK acknowledges, up to a
//! limit L, instead of by a segment for each ACK.
//!
//! A rule over another algorithm: an ACK of several segments reaches it in slow start as several ACKs of
//! one. In congestion avoidance the ACK passes whole, and the inner algorithm counts bytes where its
//! `increase` is `per-window` (RFC 3465 §2.1), as that of the default does.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use units::Bytes;
use units::text::{Segments, SegmentsOrBytes};

use super::layer::{Over, Rule, layered};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// L: the maximum growth of the window for one ACK in slow start. 2 segments (RFC 3465 §2.2).
    pub(super) limit: Limit,
    /// Limit of the slow start that follows a timeout.
    pub after_timeout: LimitAfterTimeout,
    /// The algorithm below.
    pub(super) over: Over,
}

/// L, or nothing where there is no limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit(Option<SegmentsOrBytes>);

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Value::deserialize(deserializer)?;
        if written == UNLIMITED {
            return Ok(Self(None));
        }
        SegmentsOrBytes::deserialize(written).map(|limit| Self(Some(limit))).map_err(D::Error::custom)
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_str(UNLIMITED),
            Some(limit) => limit.serialize(serializer),
        }
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a number of segments like \"2 segments\", a size like \"1220 bytes\", or \"unlimited\"",
            "pattern": "^([0-9]+ ?[A-Za-z]+|unlimited)$",
            "type": "string",
        })
    }
}

/// The limit in the slow start that follows a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitAfterTimeout {
    /// One segment (RFC 3465 §2.3): the ACK of a retransmission may acknowledge much that was received before.
    #[default]
    OneSegment,
    /// L, but no more than the window (Landström 2008 chapter 6): an ACK at most doubles it.
    Window,
    /// The usual L.
    Limit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            limit: Limit(Some(SegmentsOrBytes::Segments(Segments(2)))),
            after_timeout: LimitAfterTimeout::default(),
            over: Over::written(json!({ "reno": { "increase": "per-window" } })),
        }
    }
}

#[derive(Debug)]
struct ByteCounting {
    limit: Limit,
    style: LimitAfterTimeout,
    smss: Bytes,
    /// The slow start that follows a timeout is not over.
    after_timeout: bool,
}

impl ByteCounting {
    fn limit(&self, cwnd: Bytes) -> Bytes {
        let limit = self.limit.0.map_or(Bytes::MAX, |limit| limit.bytes(self.smss));
        match self.style {
            LimitAfterTimeout::OneSegment if self.after_timeout => limit.min(self.smss),
            LimitAfterTimeout::Window if self.after_timeout => limit.min(cwnd),
            _ => limit,
        }
    }
}

impl Rule for ByteCounting {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        self.smss = smss;
        inner.on_segment_size(smss);
    }

    fn on_ack(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        let mut left = ack.acked;
        if inner.in_slow_start() {
            left = left.min(self.limit(inner.cwnd()));
        }
        let before = inner.cwnd();
        // What the first of several ACKs opens the second finds used: whether the window was full when they came
        // must not be judged by what they add to it.
        let flight = |inner: &dyn CongestionControl| ack.flight + inner.cwnd().saturating_sub(before);
        while inner.in_slow_start() && !left.is_zero() {
            let piece = left.min(self.smss);
            inner.on_ack(&AckSample { acked: piece, flight: flight(inner), ..*ack });
            left = left.saturating_sub(piece);
        }
        if !inner.in_slow_start() {
            self.after_timeout = false;
        }
        if !left.is_zero() {
            inner.on_ack(&AckSample { acked: left, flight: flight(inner), ..*ack });
        }
    }

    fn on_loss(&mut self, inner: &mut dyn CongestionControl, event: &CongestionEvent) {
        self.after_timeout = false;
        inner.on_loss(event);
    }

    fn on_timeout(&mut self, inner: &mut dyn CongestionControl, event: &CongestionEvent) {
        self.after_timeout = true;
        inner.on_timeout(event);
    }

    fn on_restore(&mut self, inner: &mut dyn CongestionControl, cwnd: Bytes, ssthresh: Bytes) {
        self.after_timeout = false;
        inner.on_restore(cwnd, ssthresh);
    }
}

/// No limit, as profiles write it.
const UNLIMITED: &str = "unlimited";

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.limit.0.is_some_and(|limit| limit.bytes(Bytes(1)).is_zero()) {
            let wrong = "limit is 0, and slow start would never open the window";
            return Err(refusal(wrong, "\"1 segment\" or more"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "byte-counting",
    "slow start counts the bytes that ACKs acknowledge, up to L for each; over another algorithm",
    "RFC 3465; Landström 2008 chapter 6",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { limit, after_timeout: style, .. } = *parameters;
        layered(ByteCounting { limit, style, smss: Bytes::ZERO, after_timeout: false }, &parameters.over)
    }),
);

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::super::testing::{SMSS, ack_sample, built, send_event, timeout};
    use super::*;

    fn after_an_ack_of(segments: u64, keys: Value, times_out: bool) -> Bytes {
        let mut abc = built(ENTRY.id, keys);
        if times_out {
            abc.on_timeout(&timeout(SMSS * 40, false));
            abc.on_ack(&ack_sample(SMSS, SMSS));
            abc.on_ack(&ack_sample(SMSS, SMSS * 2));
        } else {
            abc.on_restore(SMSS * 3, Bytes::MAX);
        }
        abc.on_ack(&ack_sample(SMSS * segments, abc.cwnd()));
        abc.cwnd()
    }

    #[test]
    fn slow_start_grows_by_what_is_acknowledged_up_to_the_limit() {
        for (segments, opened) in [(1, 4), (2, 5), (3, 5)] {
            assert_eq!(after_an_ack_of(segments, json!({}), false), SMSS * opened);
        }
        assert_eq!(after_an_ack_of(8, json!({ "limit": "8 segments" }), false), SMSS * 11);
        assert_eq!(after_an_ack_of(30, json!({ "limit": "unlimited" }), false), SMSS * 33);
        let mut abc = built(ENTRY.id, json!({}));
        abc.on_ack(&ack_sample(Bytes(250), SMSS * 2));
        assert_eq!(abc.cwnd(), Bytes(2250));
    }

    #[test]
    fn a_window_that_was_full_grows_by_all_that_an_ack_acknowledges() {
        let over = json!({ "reno": { "validate": true } });
        for (flight, opened) in [(10, 18), (9, 10)] {
            let mut abc = built(ENTRY.id, json!({ "limit": "unlimited", "over": over }));
            abc.on_restore(SMSS * 10, Bytes::MAX);
            abc.on_ack(&ack_sample(SMSS * 8, SMSS * flight));
            assert_eq!(abc.cwnd(), SMSS * opened, "{flight} segments in flight");
        }
    }

    #[test]
    fn a_limit_is_written_as_it_is_read() {
        for written in ["unlimited", "4 segments", "2920 bytes"] {
            let limit: Limit = serde_json::from_value(json!(written)).unwrap();
            assert_eq!(serde_json::to_value(limit).unwrap(), json!(written));
        }
        assert!(serde_json::from_value::<Limit>(json!("none")).is_err());
        assert!(serde_json::from_value::<Limit>(json!(2)).is_err());
    }

    #[test]
    fn after_a_timeout_the_limit_is_a_segment_or_the_window_or_as_ever() {
        let with = |style: &str| json!({ "limit": "8 segments", "after_timeout": style });
        assert_eq!(after_an_ack_of(8, with("one-segment"), true), SMSS * 4);
        assert_eq!(after_an_ack_of(8, with("window"), true), SMSS * 6);
        assert_eq!(after_an_ack_of(8, with("limit"), true), SMSS * 11);
    }

    #[test]
    fn the_rule_after_a_timeout_ends_with_its_slow_start() {
        // After an idle time the algorithm below begins another slow start, in which L counts again.
        let mut abc = built(ENTRY.id, json!({ "over": "idle-restart" }));
        abc.on_timeout(&timeout(SMSS * 8, false));
        for _ in 0..3 {
            abc.on_ack(&ack_sample(SMSS * 2, SMSS * 4));
        }
        assert_eq!((abc.cwnd(), abc.in_slow_start()), (SMSS * 4, false));
        abc.on_ack(&ack_sample(SMSS, SMSS * 4));
        for secs in [0, 5] {
            abc.on_sent(&send_event(Duration::from_secs(secs), SMSS, false));
        }
        assert_eq!((abc.cwnd(), abc.in_slow_start()), (SMSS * 2, true));
        abc.on_ack(&ack_sample(SMSS * 2, SMSS * 2));
        assert_eq!(abc.cwnd(), SMSS * 4);
    }

    #[test]
    fn a_timeout_that_was_none_leaves_the_limit_as_it_was() {
        let mut abc = built(ENTRY.id, json!({}));
        abc.on_timeout(&timeout(SMSS * 8, false));
        abc.on_restore(SMSS * 8, Bytes::MAX);
        abc.on_ack(&ack_sample(SMSS * 2, SMSS * 8));
        assert_eq!(abc.cwnd(), SMSS * 10);
    }

    #[test]
    fn a_large_ack_leaves_slow_start_at_the_threshold() {
        let mut abc = built(ENTRY.id, json!({ "limit": "unlimited" }));
        abc.on_restore(SMSS * 4, SMSS * 6);
        abc.on_ack(&ack_sample(SMSS * 4, SMSS * 4));
        assert_eq!(abc.cwnd(), SMSS * 6);
        // The two segments beyond it count for congestion avoidance: four more make a window.
        abc.on_ack(&ack_sample(SMSS * 4, SMSS * 6));
        assert_eq!(abc.cwnd(), SMSS * 7);
    }
}

//! Limited slow start (RFC 3742): above `max_ssthresh` slow start grows by half of that a round trip,
//! instead of doubling the window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use units::text::{Segments, SegmentsOrBytes};

use super::layer::{Over, Rule, layered};
use super::{AckSample, CongestionControl};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The window above which slow start is limited. 100 segments (RFC 3742 §2).
    pub max_ssthresh: SegmentsOrBytes,
    /// The algorithm below.
    pub(super) over: Over,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { max_ssthresh: SegmentsOrBytes::Segments(Segments(100)), over: Over::default() }
    }
}

#[derive(Debug)]
struct LimitedSlowStart {
    max_ssthresh: SegmentsOrBytes,
    smss: Bytes,
}

impl Rule for LimitedSlowStart {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        self.smss = smss;
        inner.on_segment_size(smss);
    }

    fn on_ack(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        let (cwnd, most) = (inner.cwnd(), self.max_ssthresh.bytes(self.smss));
        if cwnd <= most || !inner.in_slow_start() {
            return inner.on_ack(ack);
        }
        // RFC 3742 §2: K = int(cwnd / (0.5 max_ssthresh)), and the window grows by int(MSS / K).
        let k = cwnd.0 * 2 / most.0;
        let acked = Bytes((ack.acked.min(self.smss).0 / k).max(1));
        inner.on_ack(&AckSample { acked, ..*ack });
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.max_ssthresh.bytes(Bytes(1)).is_zero() {
            let wrong = "max_ssthresh is 0, and no slow start would be left";
            return Err(refusal(wrong, "\"100 segments\" (RFC 3742)"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "limited-slow-start",
    "slow start above max_ssthresh adds half of it a round trip; over another algorithm",
    "RFC 3742",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let max_ssthresh = parameters.max_ssthresh;
        layered(LimitedSlowStart { max_ssthresh, smss: Bytes::ZERO }, &parameters.over)
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack, built};
    use super::*;

    fn limited(segments: u64) -> Box<dyn CongestionControl> {
        let mut limited = built(ENTRY.id, json!({ "max_ssthresh": "8 segments" }));
        limited.on_restore(SMSS * segments, Bytes::MAX);
        limited
    }

    #[test]
    fn up_to_max_ssthresh_it_doubles() {
        let mut limited = limited(4);
        ack(limited.as_mut(), 4);
        assert_eq!(limited.cwnd(), SMSS * 8);
    }

    #[test]
    fn above_it_a_round_trip_adds_half_of_it() {
        // RFC 3742 §2: with a window of 2 max_ssthresh K is 4, of 2.5 it is 5.
        for (window, k) in [(9, 2), (12, 3), (16, 4), (20, 5)] {
            let mut limited = limited(window);
            ack(limited.as_mut(), 1);
            assert_eq!(limited.cwnd(), SMSS * window + SMSS / k, "{window}");
        }
        let mut limited = limited(16);
        for _ in 0..10 {
            let before = limited.cwnd();
            ack(limited.as_mut(), before.whole(SMSS));
            let grown = limited.cwnd() - before;
            assert!(grown > SMSS * 3 && grown <= SMSS * 4, "{grown} from {before}");
        }
    }

    #[test]
    fn congestion_avoidance_is_not_touched() {
        let mut limited = limited(20);
        limited.on_restore(SMSS * 20, SMSS * 10);
        ack(limited.as_mut(), 1);
        assert_eq!(limited.cwnd(), SMSS * 20 + Bytes(50));
    }
}

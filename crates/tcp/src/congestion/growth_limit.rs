//! A limit on slow start's growth: from a window of `beyond` on, only one ACK in several opens it.
//!
//! Cheskis 2006 §3.1.2 saw rounds of 18, 22, 28 and 36 packets with Windows XP SP2 as the server of a client
//! that divides its acknowledgments, where each ACK counted would give 18, 32, 50 and 72. These two whole
//! numbers, and no others, give what was seen; see `docs/spec/tcp.md` for what is known of it.

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
    /// The window up to which each ACK opens it. Cheskis 2006, Table 3.2: 18 segments.
    pub beyond: SegmentsOrBytes,
    /// Number of ACKs of which one counts above that window. Cheskis 2006, Table 3.2: 3.
    pub one_of: u32,
    /// The algorithm below.
    pub(super) over: Over,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { beyond: SegmentsOrBytes::Segments(Segments(18)), one_of: 3, over: Over::default() }
    }
}

#[derive(Debug)]
struct GrowthLimit {
    beyond: SegmentsOrBytes,
    one_of: u32,
    smss: Bytes,
    /// ACKs beyond the window since one counted.
    passed_over: u32,
}

impl Rule for GrowthLimit {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        self.smss = smss;
        inner.on_segment_size(smss);
    }

    fn on_ack(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        if inner.in_slow_start() && inner.cwnd() >= self.beyond.bytes(self.smss) {
            self.passed_over += 1;
            if self.passed_over < self.one_of {
                return;
            }
        }
        self.passed_over = 0;
        inner.on_ack(ack);
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.one_of == 0 {
            return Err(refusal("one_of is 0, and no ACK would count", "1, which counts every ACK, or more"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "growth-limit",
    "slow start counts one ACK in three above 18 segments; over another algorithm",
    "Cheskis 2006 §3.1.2",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { beyond, one_of, .. } = *parameters;
        layered(GrowthLimit { beyond, one_of, smss: Bytes::ZERO, passed_over: 0 }, &parameters.over)
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;
    use units::Duration;

    use super::super::testing::{Path, SMSS, ack_sample, built};
    use super::*;

    /// The window after each of two round trips in which every segment draws `divided` ACKs.
    fn windows(divided: u64) -> Vec<u64> {
        let mut limited = built(ENTRY.id, json!({ "over": { "aimd": { "slow_start_counts": "acks" } } }));
        let round = |_| {
            for _ in 0..limited.cwnd().whole(SMSS) * divided {
                let cwnd = limited.cwnd();
                limited.on_ack(&ack_sample(SMSS / divided, cwnd));
            }
            limited.cwnd().whole(SMSS)
        };
        (0..2).map(round).collect()
    }

    #[test]
    fn the_rounds_are_those_of_the_documents_table() {
        assert_eq!(windows(1), [4, 8]);
        assert_eq!(windows(2), [6, 18]);
        assert_eq!(windows(3), [8, 22]);
        assert_eq!(windows(4), [10, 28]);
        assert_eq!(windows(5), [12, 36]);
    }

    #[test]
    fn congestion_avoidance_is_left_alone() {
        let (mut limited, mut reno) = (built(ENTRY.id, json!({})), built("reno", json!({})));
        for congestion in [&mut limited, &mut reno] {
            congestion.on_restore(SMSS * 30, SMSS * 20);
            Path::new().round(congestion.as_mut(), Duration::from_millis(100), Duration::ZERO);
        }
        assert_eq!(limited.cwnd(), reno.cwnd());
        assert!(limited.cwnd() > SMSS * 30);
    }

    #[test]
    fn the_limit_counts_segments_of_the_present_size() {
        // 9 segments, of which 18 halves are the limit: one ACK in three counts.
        let mut limited = built(ENTRY.id, json!({}));
        limited.on_restore(SMSS * 9, Bytes::MAX);
        limited.on_segment_size(SMSS / 2);
        let window = limited.cwnd();
        for expected in [window, window, window + SMSS / 2] {
            limited.on_ack(&ack_sample(SMSS / 2, window));
            assert_eq!(limited.cwnd(), expected);
        }
    }

    #[test]
    fn to_count_one_ack_of_none_is_refused() {
        assert!(ENTRY.choice(json!({ "one_of": 0 })).is_err());
        assert!(ENTRY.choice(json!({ "one_of": 1 })).is_ok());
    }
}

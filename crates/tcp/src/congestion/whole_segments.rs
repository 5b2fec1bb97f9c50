//! Only an ACK that completes a segment counts, as in the Linux of 2.4 and 2.6: `tcp_ack` opens the window
//! when something left the retransmission queue, and a segment leaves it whole. Divided acknowledgments
//! (Savage et al. 1999) gain nothing there; Cheskis 2006 §3.1.3 saw it with Linux 2.6.5.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::layer::{Over, Rule, layered};
use super::{AckSample, CongestionControl};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The algorithm below.
    pub(super) over: Over,
}

#[derive(Debug, Default)]
struct WholeSegments {
    /// Acknowledged of a segment that is not complete.
    part: Bytes,
}

impl Rule for WholeSegments {
    fn on_ack(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        self.part += ack.acked;
        if ack.segments > 0 {
            let acked = std::mem::replace(&mut self.part, Bytes::ZERO);
            inner.on_ack(&AckSample { acked, ..*ack });
        }
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "whole-segments",
    "only ACKs that complete a segment open the window; over another algorithm",
    "Linux 2.4 and 2.6, net/ipv4/tcp_input.c; Cheskis 2006 §3.1.3",
    &Build(|parameters: &Parameters| layered(WholeSegments::default(), &parameters.over)),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack_sample, built};
    use super::*;

    #[test]
    fn four_acks_for_a_segment_open_the_window_as_one_does() {
        let mut whole = built(ENTRY.id, json!({}));
        let mut reno = built("reno", json!({}));
        for part in 1..=4 {
            let ack = AckSample { segments: u32::from(part == 4), ..ack_sample(SMSS / 4, SMSS * 2) };
            whole.on_ack(&ack);
            reno.on_ack(&ack);
            assert_eq!(whole.cwnd(), SMSS * if part == 4 { 3 } else { 2 });
        }
        assert_eq!(reno.cwnd(), whole.cwnd());
    }
}

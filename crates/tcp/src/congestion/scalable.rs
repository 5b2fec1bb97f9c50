//! Scalable TCP (Kelly 2003): each acknowledged segment adds a fixed part of a segment, and a loss takes a fixed part
//! of the window, so that the time from one loss to the next is the same number of round trips at any rate.
//!
//! A round trip adds a·w segments, and w(p) = (a/b)/p: 0.08/p with Kelly's a and b.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use units::text::Segments;

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::proportion::Proportion;
use super::window::{Alpha, ReductionOf, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Fraction of a segment that each acknowledged segment adds. Kelly 2003 §3 and Linux (`TCP_SCALABLE_AI_CNT`):
    /// 0.01.
    pub(super) a: Proportion,
    /// Fraction of the window that a loss removes. Kelly 2003 §3 and Linux (`TCP_SCALABLE_MD_SCALE`): 1/8.
    pub(super) b: Proportion,
    /// Window up to which growth is that of a standard TCP, for fairness to others. Kelly 2003 §3: 16 segments; none in
    /// Linux.
    pub legacy_window: Segments,
    /// Whether a round trip adds a segment at least, as in Linux: up to 1/a segments the window then grows as that of a
    /// standard TCP.
    pub standard_growth: bool,
    /// Counting in congestion avoidance.
    #[serde(default = "Increase::of_linux")]
    pub increase: Increase,
    /// Base of the reduction after a loss.
    pub reduction_of: ReductionOf,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            a: Proportion(0.01),
            b: Proportion(0.125),
            legacy_window: Segments(16),
            standard_growth: false,
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
        }
    }
}

#[derive(Debug)]
struct Scalable {
    parameters: Parameters,
}

impl Scalable {
    fn is_standard(&self, window: &Window) -> bool {
        window.cwnd() <= window.smss * self.parameters.legacy_window.0
    }
}

impl Policy for Scalable {
    fn alpha(&mut self, window: &Window, _ack: &AckSample) -> Alpha {
        if self.is_standard(window) {
            return Alpha::ONE;
        }
        let least = if self.parameters.standard_growth { 1.0 } else { 0.0 };
        Alpha::new((self.parameters.a.0 * window.segments()).max(least))
    }

    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let part = if self.is_standard(window) { 0.5 } else { self.parameters.b.0 };
        self.parameters.reduction_of.kept(1.0 - part, event)
    }

    fn rules(&self) -> Rules {
        Rules { is_cwnd_limited_only: true, ..Rules::default() }
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "scalable",
    "Scalable TCP: each ACK adds a hundredth of a segment, a loss takes an eighth",
    "Kelly 2003; Linux net/ipv4/tcp_scalable.c",
    &Build(|parameters: &Parameters| {
        Box::new(Classic::new(Scalable { parameters: parameters.clone() }, parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack, built, mean_window_at, reduced};
    use super::*;

    #[test]
    fn each_ack_adds_a_hundredth_of_a_segment_and_a_loss_takes_an_eighth() {
        let mut scalable = built(ENTRY.id, json!({}));
        reduced(scalable.as_mut(), 800);
        assert_eq!((scalable.cwnd(), scalable.ssthresh()), (SMSS * 700, SMSS * 700));
        ack(scalable.as_mut(), 100);
        assert_eq!(scalable.cwnd(), SMSS * 701);
    }

    #[test]
    fn up_to_the_legacy_window_it_is_reno() {
        let (mut scalable, mut reno) =
            (built(ENTRY.id, json!({})), built("reno", json!({ "increase": "per-byte" })));
        for congestion in [&mut scalable, &mut reno] {
            reduced(congestion.as_mut(), 16);
            ack(congestion.as_mut(), 40);
            reduced(congestion.as_mut(), 12);
        }
        assert_eq!((scalable.cwnd(), scalable.ssthresh()), (reno.cwnd(), reno.ssthresh()));
    }

    #[test]
    fn as_linux_a_window_below_a_hundred_segments_grows_by_one_a_round_trip() {
        let mut scalable = built(ENTRY.id, json!({ "legacy_window": "0 segments", "standard_growth": true }));
        reduced(scalable.as_mut(), 64);
        assert_eq!(scalable.cwnd(), SMSS * 56);
        ack(scalable.as_mut(), 56);
        assert!(scalable.cwnd() > SMSS * 56 + Bytes(980) && scalable.cwnd() <= SMSS * 57);
    }

    /// Kelly 2003: w = (a/b)/p for small b. From one loss at W to the next a·N = b·W, so that W is (a/b)/p exactly; in
    /// between the window grows exponentially, and its mean is a little less, b/−ln(1 − b) = 0.936 of it.
    #[test]
    fn the_window_is_eight_hundredths_over_the_loss_rate() {
        let mean = 0.125 / -libm::log(0.875);
        for p in [1e-3, 1e-4, 1e-5] {
            let mut scalable = built(ENTRY.id, json!({}));
            let ratio = mean_window_at(scalable.as_mut(), p) / (0.08 / p * mean);
            assert!((0.97..1.03).contains(&ratio), "{ratio} of the law at {p}");
        }
    }
}

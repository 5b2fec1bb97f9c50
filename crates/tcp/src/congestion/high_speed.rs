//! HighSpeed TCP (RFC 3649): above 38 segments a(w) more each round trip and a part b(w) less on a loss, so
//! that a window of 83,000 segments needs a loss in ten million packets and not in five billion.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::classic::{Classic, Policy};
use super::increase::Increase;
use super::proportion::Proportion;
use super::window::{Alpha, ReductionOf, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Build};

/// Parameters. Those of the response function are RFC 3649's own (§5) and no keys.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Counting in congestion avoidance.
    pub increase: Increase,
    /// Base of the reduction after a loss.
    #[serde(alias = "halves")]
    pub reduction_of: ReductionOf,
}

#[derive(Debug)]
struct HighSpeed {
    reduction_of: ReductionOf,
    /// The windows that `alpha` and `beta` hold for: those of the same whole segments.
    looked_up: Range<Bytes>,
    alpha: Alpha,
    beta: Proportion,
}

impl HighSpeed {
    const fn new(reduction_of: ReductionOf) -> Self {
        let looked_up = Bytes::ZERO..Bytes::ZERO;
        Self { reduction_of, looked_up, alpha: Alpha::ONE, beta: Proportion(HIGH_PROPORTION) }
    }

    /// Computes the logarithms once for each whole segment that the window passes.
    fn look_up(&mut self, window: &Window) {
        let cwnd = window.cwnd();
        if !self.looked_up.contains(&cwnd) {
            let segments = cwnd.whole(window.smss);
            self.looked_up = window.smss * segments..window.smss * (segments + 1);
            let w = segments as f64;
            (self.alpha, self.beta) = (Alpha::new(a(w)), Proportion(b(w)));
        }
    }
}

impl Policy for HighSpeed {
    fn alpha(&mut self, window: &Window, _ack: &AckSample) -> Alpha {
        self.look_up(window);
        self.alpha
    }

    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        self.look_up(window);
        self.reduction_of.kept(1.0 - self.beta.0, event)
    }
}

/// RFC 3649 §5: the part of a window of `w` segments that a loss takes off.
fn b(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return HIGH_PROPORTION;
    }
    let climb = (libm::log(w) - libm::log(LOW_WINDOW)) / (libm::log(HIGH_WINDOW) - libm::log(LOW_WINDOW));
    // Beyond High_Window the line continues down, but a loss must take something.
    ((HIGH_DECREASE - HIGH_PROPORTION) * climb + HIGH_PROPORTION).max(LEAST_DECREASE)
}

/// RFC 3649 §5: the segments that a round trip adds to a window of `w`.
fn a(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = b(w);
    // p(w) = 0.078 / w^1.2, the response function of RFC 3649 §5 turned round.
    let p = RESPONSE / libm::pow(w, RESPONSE_POWER);
    (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
}

/// RFC 3649 §5, as are the others: up to here it is a standard TCP.
const LOW_WINDOW: f64 = 38.0;
const HIGH_WINDOW: f64 = 83_000.0;
/// `High_Decrease`: what a loss takes off a window of `High_Window`.
const HIGH_DECREASE: f64 = 0.1;
/// Reduction by a loss up to `Low_Window`, as from a standard TCP.
const HIGH_PROPORTION: f64 = 0.5;
const RESPONSE: f64 = 0.078;
const RESPONSE_POWER: f64 = 1.2;
/// Ours: the RFC says nothing of windows so large that b(w) would come to nothing (2^21 segments and more).
const LEAST_DECREASE: f64 = 0.01;

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "high-speed",
    "HighSpeed TCP: the larger the window, the more it grows and the less a loss takes",
    "RFC 3649",
    &Build(|parameters: &Parameters| {
        Box::new(Classic::new(HighSpeed::new(parameters.reduction_of), parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack, built, mean_window_at, reduced};
    use super::*;

    /// RFC 3649 appendix B: window, a(w), b(w); each row is the least window with that a(w).
    const TABLE: [(u32, u32, u32); 24] = [
        (38, 1, 50),
        (118, 2, 44),
        (221, 3, 41),
        (347, 4, 38),
        (495, 5, 37),
        (663, 6, 35),
        (851, 7, 34),
        (1058, 8, 33),
        (1284, 9, 32),
        (1529, 10, 31),
        (1793, 11, 30),
        (2076, 12, 29),
        (2378, 13, 28),
        (2699, 14, 28),
        (3039, 15, 27),
        (5497, 21, 24),
        (10_661, 30, 21),
        (18_955, 40, 18),
        (30_975, 50, 15),
        (48_961, 60, 13),
        (79_517, 70, 10),
        (84_035, 71, 10),
        (89_053, 72, 10),
        (94_717, 73, 9),
    ];

    #[test]
    fn the_functions_are_those_of_the_rfcs_table() {
        for (w, more, less) in TABLE {
            let (segments, percent) = (a(f64::from(w)), b(f64::from(w)) * 100.0);
            assert!((segments - f64::from(more)).abs() < 0.05, "a({w}) is {segments}");
            assert_eq!(percent.round(), f64::from(less), "b({w})");
        }
    }

    #[test]
    fn up_to_38_segments_it_is_reno() {
        let (mut high, mut reno) = (built(ENTRY.id, json!({})), built("reno", json!({})));
        for congestion in [&mut high, &mut reno] {
            reduced(congestion.as_mut(), 60);
            ack(congestion.as_mut(), 200);
            reduced(congestion.as_mut(), 38);
        }
        assert_eq!((high.cwnd(), high.ssthresh()), (reno.cwnd(), reno.ssthresh()));
    }

    #[test]
    fn a_round_trip_adds_what_the_table_says_however_the_window_counts() {
        for increase in ["per-ack", "per-byte", "per-window"] {
            for (w, more, _) in TABLE {
                let mut high = built(ENTRY.id, json!({ "increase": increase }));
                let window = SMSS * u64::from(w);
                high.on_restore(window, SMSS * 2);
                ack(high.as_mut(), u64::from(w));
                let grown = (high.cwnd() - window).0 as f64 / SMSS.0 as f64;
                // Each ACK divides by the window of then, and a counter keeps what is left of a segment.
                let (most, least) =
                    (f64::from(more) + 0.1, f64::from(more) * (1.0 - 2.0 / f64::from(w).sqrt()) - 1.0);
                assert!(grown <= most && grown >= least, "{increase}: {grown} from {w}");
            }
        }
        let mut high = built(ENTRY.id, json!({}));
        high.on_restore(SMSS * 10_661, SMSS * 2);
        ack(high.as_mut(), 10_661);
        let grown = (high.cwnd() - SMSS * 10_661).0 as f64 / SMSS.0 as f64;
        assert!((grown - 30.0).abs() < 0.2, "{grown}");
    }

    #[test]
    fn a_large_window_grows_and_shrinks_by_the_table() {
        let mut high = built(ENTRY.id, json!({ "increase": "per-window" }));
        high.on_restore(SMSS * 851, SMSS * 400);
        reduced(high.as_mut(), 851);
        let left = high.cwnd();
        // A third and not a half: 0.34 of 851 goes.
        assert_eq!(left.whole(SMSS), 563);
        ack(high.as_mut(), left.whole(SMSS) + 1);
        assert_eq!(high.cwnd(), left + SMSS * 5);
    }

    /// RFC 3649 §5, table 4: w = 0.12/p^0.835.
    #[test]
    fn the_window_is_that_of_the_rfcs_response_function() {
        for p in [1e-3, 1e-4, 1e-5, 1e-6] {
            let mut high = built(ENTRY.id, json!({}));
            let ratio = mean_window_at(high.as_mut(), p) / (0.12 / libm::pow(p, 0.835));
            assert!((0.85..1.15).contains(&ratio), "{ratio} of the law at {p}");
        }
    }
}

//! DCTCP (RFC 8257): the window is reduced by how much of it was marked, not by half for any mark.
//!
//! A queue that marks all beyond a shallow threshold K then stays about K long. It wants feedback that reports each
//! segment, `ecn = "dctcp"` or `"accurate"`; what only echoes that there was a mark is taken for a loss, as by Reno.
//! Growth and the reaction to losses are the standard's (§3.4, §3.5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::marked_share::MarkedShare;
use super::proportion::Proportion;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Weight g of a window of data in the average: 1/16 (RFC 8257 §4.2).
    gain: Proportion,
    /// The average at first, between 0 and 1: 1, so that the first mark halves (RFC 8257 §3.3).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub initial_alpha: f64,
    /// Counting in congestion avoidance.
    #[serde(default = "Increase::of_linux")]
    pub increase: Increase,
    /// Base that a loss halves.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            gain: Proportion(1.0 / 16.0),
            initial_alpha: 1.0,
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Dctcp {
    parameters: Parameters,
    share: MarkedShare,
}

impl Policy for Dctcp {
    fn alpha(&mut self, _: &Window, _: &AckSample) -> Alpha {
        Alpha::ONE
    }

    fn observe(&mut self, ack: &AckSample) {
        if self.share.ends_window(ack) {
            self.share.update();
        }
    }

    fn ssthresh_on_loss(&mut self, _: &Window, event: &CongestionEvent) -> Bytes {
        match event.signal {
            CongestionSignal::CountedMarks => ReductionOf::Cwnd.kept(self.share.kept(), event),
            _ => self.parameters.reduction_of.kept(0.5, event),
        }
    }

    fn rules(&self) -> Rules {
        Rules { ssthresh_unit: self.parameters.ssthresh_unit, ..Rules::default() }
    }
}

/// The registry's line.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "dctcp",
    "DCTCP: reduces by the share of its window that was marked",
    "RFC 8257",
    &Build(|parameters: &Parameters| {
        let share = MarkedShare::new(parameters.initial_alpha.clamp(0.0, 1.0), parameters.gain.0);
        Box::new(Classic::new(Dctcp { parameters: parameters.clone(), share }, parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack_sample, built, counted_marks, loss, mark};
    use super::*;
    use units::Seq;

    /// A connection in which `marked` of every window of ten segments were marked, for a long time.
    fn settled(marked: u64) -> Box<dyn CongestionControl> {
        let mut dctcp = built(ENTRY.id, json!({}));
        for window in 1..300_u32 {
            let (number, nxt) = (Seq(window * 10_000), Seq(window * 10_000 + 9_999));
            let acked = ack_sample(SMSS * 10, SMSS * 10);
            dctcp.observe(&AckSample { number, nxt, marked: SMSS * marked, ..acked });
        }
        dctcp.on_restore(SMSS * 100, SMSS * 50);
        dctcp
    }

    // RFC 8257 §3.3: cwnd = cwnd · (1 − alpha/2).
    #[test]
    fn a_mark_takes_half_the_marked_share_of_the_window() {
        for (marked, left) in [(1, 95_000), (4, 80_000), (10, 50_000)] {
            let mut dctcp = settled(marked);
            dctcp.on_mark(&counted_marks(SMSS * 100));
            let off = dctcp.cwnd().0.abs_diff(left);
            assert!(off < 10 && dctcp.ssthresh() == dctcp.cwnd(), "{} for {left}", dctcp.cwnd());
        }
    }

    // RFC 8257 §3.5.
    #[test]
    fn a_loss_and_an_echo_that_counts_nothing_halve() {
        let mut dctcp = settled(1);
        dctcp.on_loss(&loss(SMSS * 100));
        assert_eq!(dctcp.ssthresh(), SMSS * 50);
        let mut dctcp = settled(1);
        dctcp.on_mark(&mark(SMSS * 100));
        assert_eq!(dctcp.cwnd(), SMSS * 50);
    }

    #[test]
    fn the_first_mark_of_all_halves() {
        let mut dctcp = built(ENTRY.id, json!({}));
        dctcp.on_restore(SMSS * 100, Bytes::MAX);
        dctcp.on_mark(&counted_marks(SMSS * 100));
        assert_eq!(dctcp.cwnd(), SMSS * 50);
    }
}

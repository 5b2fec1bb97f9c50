//! Slow start, congestion avoidance and multiplicative decrease (RFC 5681 §3.1).
//!
//! Read it first: it has all of the standard in one place. Of what its relatives share it uses only the window
//! (`window.rs`). `aimd` with α = 1 and β = 1/2 behaves the same, which a property test there checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use units::text::Segments;

use super::increase::Increase;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, is_cwnd_limited};
use registry::{Algorithm, Build};

/// Parameters of the standard algorithm.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Counting in congestion avoidance.
    pub increase: Increase,
    /// Base that a loss halves.
    #[serde(alias = "halves")]
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
    /// Amount that fast recovery adds to cwnd at its start, above ssthresh: the three segments that have left the
    /// network (RFC 5681 §3.2 step 3), where the recovery algorithm does not add them. 0; 3 in the Linux of 2000.
    pub recovery_adds: Segments,
    /// Whether a window equal to the threshold still grows as in slow start: the standard leaves it open
    /// (RFC 5681 §3.1), the Linux of 2000 did so.
    pub slow_start_when_equal: bool,
    /// Whether every timeout reduces the threshold, as in BSD and ns-2, and not only the first of a segment (RFC 5681
    /// §3.1): the second leaves two segments.
    pub every_timeout_reduces: bool,
    /// Whether the window grows only while it is used to the full (RFC 2861 §3.1, RFC 7661 §4.3).
    pub validate: bool,
}

#[derive(Debug)]
struct Reno {
    parameters: Parameters,
    window: Window,
    /// Bytes or ACKs that count towards the next segment of congestion avoidance.
    counted: u64,
}

impl Reno {
    const fn new(parameters: Parameters) -> Self {
        Self { parameters, window: Window::UNSET, counted: 0 }
    }

    /// RFC 5681 §3.1: a segment for each round trip.
    fn avoid_congestion(&mut self, acked: Bytes) {
        let (smss, cwnd) = (self.window.smss, self.window.cwnd());
        match self.parameters.increase {
            Increase::PerAck => self.window.open_by_part(smss, Alpha::ONE),
            Increase::PerByte => self.window.open_by_part(acked.min(cwnd), Alpha::ONE),
            Increase::PerWindow => self.count(acked.0, cwnd.0),
            Increase::CountAcks => self.count(1, cwnd.whole(smss)),
        }
    }

    fn count(&mut self, step: u64, full: u64) {
        self.counted += step;
        if self.counted >= full {
            self.counted =
                if self.parameters.increase == Increase::CountAcks { 0 } else { self.counted - full };
            self.window.open(self.window.smss);
        }
    }

    fn restart_count(&mut self) {
        if self.parameters.increase != Increase::CountAcks {
            self.counted = 0;
        }
    }

    /// RFC 5681 equation 4.
    fn reduce_ssthresh(&mut self, event: &CongestionEvent) {
        let half = self.parameters.reduction_of.kept(0.5, event);
        self.window.reduce_ssthresh(half, self.parameters.ssthresh_unit);
        self.restart_count();
    }
}

impl CongestionControl for Reno {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn on_ack(&mut self, ack: &AckSample) {
        let Window { smss, .. } = self.window;
        if self.parameters.validate && !is_cwnd_limited(self.cwnd(), ack.flight, smss) {
            return;
        }
        if self.in_slow_start() {
            // RFC 5681 equation 2.
            self.window.open(ack.acked.min(smss));
        } else {
            self.avoid_congestion(ack.acked);
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.reduce_ssthresh(event);
        self.window.reduce_to_ssthresh();
        self.window.open(self.window.smss * self.parameters.recovery_adds.0);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        if !event.repeats_timeout() || self.parameters.every_timeout_reduces {
            self.reduce_ssthresh(event);
        }
        // RFC 5681 §3.1: the loss window, one segment.
        self.window.set_cwnd(self.window.smss);
        self.counted = 0;
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.window.set_cwnd(window);
        self.restart_count();
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
    }

    fn in_slow_start(&self) -> bool {
        self.window.is_below_ssthresh()
            || (self.parameters.slow_start_when_equal && self.cwnd() == self.ssthresh())
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "reno",
    "slow start, one segment per round trip, half on a loss",
    "RFC 5681",
    &Build(|parameters: &Parameters| Box::new(Reno::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use units::Seq;

    use super::super::testing::{loss, mark, timeout};
    use super::*;

    const SMSS: Bytes = Bytes(1000);

    fn reno(increase: Increase) -> Reno {
        let mut reno = Reno::new(Parameters { increase, ..Parameters::default() });
        reno.start(SMSS, SMSS * 2);
        reno
    }

    fn ack(reno: &mut Reno, segments: u64) {
        for _ in 0..segments {
            reno.on_ack(&ack_sample(reno.cwnd()));
        }
    }

    fn ack_sample(flight: Bytes) -> AckSample {
        let seq = Seq::default();
        AckSample { acked: SMSS, segments: 1, flight, number: seq, nxt: seq, ..AckSample::default() }
    }

    /// A loss with `segments` segments in flight, which fill the window.
    fn lose(reno: &mut Reno, flight: Bytes) {
        reno.on_restore(flight, reno.ssthresh());
        reno.on_loss(&loss(flight));
    }

    #[test]
    fn slow_start_doubles_each_round_trip() {
        let mut reno = reno(Increase::PerAck);
        ack(&mut reno, 2);
        assert_eq!(reno.cwnd(), SMSS * 4);
        ack(&mut reno, 4);
        assert_eq!(reno.cwnd(), SMSS * 8);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_round_trip() {
        for increase in [Increase::PerWindow, Increase::CountAcks] {
            let mut reno = reno(increase);
            lose(&mut reno, SMSS * 16);
            ack(&mut reno, 8);
            assert_eq!(reno.cwnd(), SMSS * 9, "{increase:?}");
            ack(&mut reno, 9);
            assert_eq!(reno.cwnd(), SMSS * 10, "{increase:?}");
        }
        let mut reno = reno(Increase::PerAck);
        lose(&mut reno, SMSS * 16);
        ack(&mut reno, 8);
        assert!(reno.cwnd() > SMSS * 8 && reno.cwnd() <= SMSS * 9);
    }

    #[test]
    fn an_ack_of_half_the_window_adds_half_a_segment_where_bytes_count_and_one_of_more_adds_one() {
        for (acked, opened) in [(4, 500), (8, 1000), (20, 1000)] {
            let mut reno = reno(Increase::PerByte);
            lose(&mut reno, SMSS * 16);
            reno.on_ack(&AckSample { acked: SMSS * acked, ..ack_sample(reno.cwnd()) });
            assert_eq!(reno.cwnd(), SMSS * 8 + Bytes(opened), "{acked} segments");
        }
    }

    #[test]
    fn the_counter_of_acks_outlives_a_fast_retransmit_and_equality_may_count_as_slow_start() {
        let parameters = Parameters {
            increase: Increase::CountAcks,
            slow_start_when_equal: true,
            ..Parameters::default()
        };
        let mut reno = Reno::new(parameters);
        reno.start(SMSS, SMSS * 9);
        reno.window.ssthresh = SMSS * 5;
        ack(&mut reno, 8);
        lose(&mut reno, SMSS * 8);
        // Equal to the threshold, one more; then the eight ACKs counted before are enough for the next.
        ack(&mut reno, 1);
        assert_eq!(reno.cwnd(), SMSS * 5);
        ack(&mut reno, 1);
        assert_eq!(reno.cwnd(), SMSS * 6);
        ack(&mut reno, 5);
        assert_eq!(reno.cwnd(), SMSS * 6);
    }

    #[test]
    fn a_loss_halves_the_flight_but_leaves_two_segments() {
        for (unit, left) in [(SsthreshUnit::Bytes, Bytes(4500)), (SsthreshUnit::Segments, Bytes(4000))] {
            let mut reno = Reno::new(Parameters { ssthresh_unit: unit, ..Parameters::default() });
            reno.start(SMSS, SMSS * 2);
            lose(&mut reno, SMSS * 9);
            assert_eq!((reno.cwnd(), reno.ssthresh()), (left, left));
            lose(&mut reno, SMSS * 2);
            assert_eq!(reno.ssthresh(), SMSS * 2);
        }
    }

    #[test]
    fn a_reduction_is_of_what_its_parameter_names_and_never_leaves_more_than_the_window() {
        // The window was reduced to 10 segments; most of 25 in flight are SACKed.
        let event = CongestionEvent { cwnd: SMSS * 10, flight: SMSS * 25, pipe: SMSS * 6, ..loss(SMSS) };
        for (of, left) in [
            (ReductionOf::Smaller, 5000),
            (ReductionOf::Cwnd, 5000),
            (ReductionOf::Pipe, 3000),
            (ReductionOf::FlightSize, 10_000),
        ] {
            let mut reno = Reno::new(Parameters { reduction_of: of, ..Parameters::default() });
            reno.start(SMSS, SMSS * 10);
            reno.on_loss(&event);
            assert_eq!((reno.cwnd(), reno.ssthresh()), (Bytes(left), Bytes(left)), "{of:?}");
        }
    }

    #[test]
    fn a_window_larger_than_a_segment_squared_grows_by_a_segment_a_round_trip() {
        let mut reno = Reno::new(Parameters::default());
        reno.start(SMSS, SMSS * 4000);
        reno.on_restore(SMSS * 4000, SMSS * 2);
        ack(&mut reno, 4000);
        let grown = reno.cwnd() - SMSS * 4000;
        assert!((Bytes(998)..=SMSS).contains(&grown), "{grown}");
    }

    #[test]
    fn what_fast_recovery_adds_is_not_due_after_a_mark() {
        let mut reno = Reno::new(Parameters { recovery_adds: Segments(3), ..Parameters::default() });
        reno.start(SMSS, SMSS * 20);
        reno.on_mark(&mark(SMSS * 20));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (SMSS * 10, SMSS * 10));
        lose(&mut reno, SMSS * 10);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (SMSS * 8, SMSS * 5));
    }

    #[test]
    fn a_second_timeout_of_the_same_segment_leaves_the_threshold() {
        let mut reno = reno(Increase::PerAck);
        reno.on_timeout(&timeout(SMSS * 20, false));
        reno.on_timeout(&timeout(SMSS, true));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (SMSS, SMSS * 10));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow_when_validated() {
        let mut reno = Reno::new(Parameters { validate: true, ..Parameters::default() });
        reno.start(SMSS, SMSS * 10);
        reno.on_ack(&ack_sample(SMSS * 3));
        assert_eq!(reno.cwnd(), SMSS * 10);
    }
}

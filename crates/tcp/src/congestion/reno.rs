//! Slow start, congestion avoidance and multiplicative decrease (RFC 5681 §3.1).
//!
//! It is the file to read first, and so has all of the standard in one place, in whole numbers: its relatives share
//! `window.rs` and `classic.rs`, of which it uses nothing. That `aimd` with α = 1 and β = 1/2 moves as this does, a test
//! there holds to.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use units::text::Segments;

use super::{Congestion, CongestionEvent, Growth, is_full};
use crate::registry::Entry;

/// Parameters of the standard algorithm.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How congestion avoidance counts.
    pub increase: Increase,
    /// What a loss halves.
    pub halves: Halves,
    /// What fast recovery starts with above the threshold, in cwnd itself: the three segments that have left the
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

/// How congestion avoidance counts its one segment per round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Increase {
    /// SMSS·SMSS/cwnd for each ACK (RFC 5681 equation 3).
    #[default]
    PerAck,
    /// SMSS·acked/cwnd: as equation 3 for each segment that an ACK acknowledges, however few the ACKs, and one
    /// segment at most. The window has fractions of a segment, and so opens later than with `per-window`.
    PerByte,
    /// One segment whenever a whole window of bytes is acknowledged (RFC 3465 §2.1 with L = 1 segment).
    PerWindow,
    /// One segment whenever as many ACKs came as the window has segments. As in the Linux of 2000, a timeout
    /// clears the counter and a fast retransmit does not; that kernel waited for one ACK more than the window has
    /// segments.
    CountAcks,
}

/// What a loss halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halves {
    /// FlightSize (RFC 5681 equation 4).
    #[default]
    Flight,
    /// The congestion window, as many kernels do.
    Cwnd,
    /// The smaller of the two, as the Linux of 2000 (`tcp_recalc_ssthresh`).
    Smaller,
}

#[derive(Debug)]
struct Reno {
    params: Params,
    smss: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    /// Towards the next segment of congestion avoidance: bytes, or ACKs.
    counted: u64,
}

impl Reno {
    const fn new(params: Params) -> Self {
        Self { params, smss: Bytes::ZERO, cwnd: Bytes::ZERO, ssthresh: Bytes::MAX, counted: 0 }
    }

    fn avoid_congestion(&mut self, acked: Bytes) {
        match self.params.increase {
            Increase::PerAck => self.open(self.smss),
            Increase::PerByte => self.open(acked.min(self.cwnd)),
            Increase::PerWindow => self.count(acked.0, self.cwnd.0),
            Increase::CountAcks => self.count(1, self.cwnd.whole(self.smss)),
        }
    }

    /// The share of a segment that `acked` is of the window; RFC 5681 §3.1: at least one byte.
    fn open(&mut self, acked: Bytes) {
        self.cwnd += Bytes((self.smss.0 * acked.0 / self.cwnd.0).max(1));
    }

    fn count(&mut self, step: u64, full: u64) {
        self.counted += step;
        if self.counted >= full {
            self.counted = if self.params.increase == Increase::CountAcks { 0 } else { self.counted - full };
            self.cwnd += self.smss;
        }
    }

    fn start_counting_anew(&mut self) {
        if self.params.increase != Increase::CountAcks {
            self.counted = 0;
        }
    }

    fn reduce(&mut self, event: &CongestionEvent) {
        let base = match self.params.halves {
            Halves::Flight => event.flight,
            Halves::Cwnd => self.cwnd,
            Halves::Smaller => self.cwnd.min(event.flight),
        };
        // RFC 5681 equation 4: two segments at least; in whole ones, which is ours (docs/spec/tcp.md).
        let half = self.smss * (base / 2).whole(self.smss);
        self.ssthresh = half.max(self.smss * 2);
        self.start_counting_anew();
    }
}

impl Congestion for Reno {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        self.cwnd = initial_window;
    }

    fn on_ack(&mut self, ack: &Growth) {
        if self.params.validate && !is_full(self.cwnd, ack.flight, self.smss) {
            return;
        }
        if self.in_slow_start() {
            // RFC 5681 equation 2.
            self.cwnd += ack.acked.min(self.smss);
        } else {
            self.avoid_congestion(ack.acked);
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.reduce(event);
        self.cwnd = self.ssthresh + self.smss * self.params.recovery_adds.0;
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        if !event.repeats_timeout() || self.params.every_timeout_reduces {
            self.reduce(event);
        }
        // RFC 5681 §3.1: the loss window, one segment.
        self.cwnd = self.smss;
        self.counted = 0;
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.cwnd = window;
        self.start_counting_anew();
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.cwnd = cwnd;
        self.ssthresh = ssthresh;
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh || (self.params.slow_start_when_equal && self.cwnd == self.ssthresh)
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Congestion> = Entry {
    id: "reno",
    summary: "slow start, one segment per round trip, half on a loss",
    source: "RFC 5681",
    parse: |value| {
        let params: Params = Entry::<dyn Congestion>::read(value)?;
        Ok(Arc::new(move || Box::new(Reno::new(params.clone()))))
    },
    schema: Entry::<dyn Congestion>::describe::<Params>,
};

#[cfg(test)]
mod tests {
    use units::{Instant, Seq};

    use super::super::trial::{loss, mark, timeout};
    use super::*;

    const SMSS: Bytes = Bytes(1000);

    fn reno(increase: Increase) -> Reno {
        let mut reno = Reno::new(Params { increase, ..Params::default() });
        reno.start(SMSS, SMSS * 2);
        reno
    }

    fn ack(reno: &mut Reno, segments: u64) {
        for _ in 0..segments {
            reno.on_ack(&growth(reno.cwnd));
        }
    }

    fn growth(flight: Bytes) -> Growth {
        let seq = Seq::default();
        Growth { now: Instant::START, acked: SMSS, segments: 1, flight, rtt: None, number: seq, nxt: seq }
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
            reno.on_loss(&loss(SMSS * 16));
            ack(&mut reno, 8);
            assert_eq!(reno.cwnd(), SMSS * 9, "{increase:?}");
            ack(&mut reno, 9);
            assert_eq!(reno.cwnd(), SMSS * 10, "{increase:?}");
        }
        let mut reno = reno(Increase::PerAck);
        reno.on_loss(&loss(SMSS * 16));
        ack(&mut reno, 8);
        assert!(reno.cwnd() > SMSS * 8 && reno.cwnd() <= SMSS * 9);
    }

    #[test]
    fn an_ack_of_half_the_window_adds_half_a_segment_where_bytes_count_and_one_of_more_adds_one() {
        for (acked, opened) in [(4, 500), (8, 1000), (20, 1000)] {
            let mut reno = reno(Increase::PerByte);
            reno.on_loss(&loss(SMSS * 16));
            reno.on_ack(&Growth { acked: SMSS * acked, ..growth(reno.cwnd) });
            assert_eq!(reno.cwnd(), SMSS * 8 + Bytes(opened), "{acked} segments");
        }
    }

    #[test]
    fn the_counter_of_acks_outlives_a_fast_retransmit_and_equality_may_count_as_slow_start() {
        let params =
            Params { increase: Increase::CountAcks, slow_start_when_equal: true, ..Params::default() };
        let mut reno = Reno::new(params);
        reno.start(SMSS, SMSS * 9);
        reno.ssthresh = SMSS * 5;
        ack(&mut reno, 8);
        reno.on_loss(&loss(SMSS * 8));
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
        let mut reno = reno(Increase::PerAck);
        reno.on_loss(&loss(SMSS * 9));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (SMSS * 4, SMSS * 4));
        reno.on_loss(&loss(SMSS * 2));
        assert_eq!(reno.ssthresh(), SMSS * 2);
    }

    #[test]
    fn what_fast_recovery_adds_is_not_due_after_a_mark() {
        let mut reno = Reno::new(Params { recovery_adds: Segments(3), ..Params::default() });
        reno.start(SMSS, SMSS * 20);
        reno.on_mark(&mark(SMSS * 20));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (SMSS * 10, SMSS * 10));
        reno.on_loss(&loss(SMSS * 10));
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
        let mut reno = Reno::new(Params { validate: true, ..Params::default() });
        reno.start(SMSS, SMSS * 10);
        reno.on_ack(&growth(SMSS * 3));
        assert_eq!(reno.cwnd(), SMSS * 10);
    }
}

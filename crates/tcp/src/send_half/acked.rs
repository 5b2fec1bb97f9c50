//! The ACK field of a segment, as it concerns the sender (RFC 9293 §3.10.7.4, fifth check).
//!
//! An [`Acknowledgment`] passes through the steps in this order: [`SendHalf::begin_ack`], [`SendHalf::acknowledge`],
//! [`SendHalf::advance`], [`SendHalf::judge`] (`judge.rs`). Congestion marks are counted between the first and the
//! third.

use units::{Bytes, Duration, Instant, SeqRange};
use wire::{Ecn, Flags, Segment};

use super::{Acknowledgment, SendHalf};
use crate::config::RoundTrip;
use crate::congestion::{AckSample, CongestionEvent, CongestionSignal};
use crate::options::Agreed;
use crate::poll::Acked;
use crate::rto::Sample;
use crate::timers::Timers;
use crate::{Cause, Decision};

impl SendHalf {
    /// Takes in an ACK: peer window and SACK blocks.
    pub(crate) fn begin_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        agreed: &Agreed,
        timers: &mut Timers,
    ) -> Acknowledgment {
        let duplicate = self.is_duplicate(segment, agreed);
        self.update_window(now, segment, agreed, timers);
        let observes = self.congestion_traits.observes_deliveries;
        let prior_in_flight = observes.then(|| self.recovery.pipe(&self.board));
        let newly_sacked = self.enter_sacks(segment, agreed);
        Acknowledgment {
            duplicate,
            dsack: reported_twice(segment).filter(|_| agreed.sack),
            prior_in_flight,
            newly_sacked,
            advances: segment.ack.after(self.una),
            ..Acknowledgment::new(now, segment, agreed, self.board.outstanding())
        }
    }

    /// Takes the acknowledged segments off the board.
    pub(crate) fn acknowledge(&mut self, ack: &mut Acknowledgment) {
        ack.acked = self.board.acknowledge(ack.number);
    }

    /// SND.UNA advances: samples the round trip, and restarts what waits for an answer.
    pub(crate) fn advance(&mut self, ack: &mut Acknowledgment, timers: &mut Timers) {
        self.una = ack.number;
        self.stream.on_acked(ack.acked.bytes);
        ack.rtt = self.take_sample(ack);
        self.rto.on_new_ack(ack.number, ack.rtt.is_some());
        if self.mtu.on_acked(ack.number) {
            self.on_mtu_probe_arrived(ack.now);
        }
        if self.has_nothing_left() {
            self.stop_probing(timers);
        }
    }

    /// Whether data are missing at the receiver, or a loss is being repaired.
    pub(crate) fn is_repairing(&self) -> bool {
        self.has_gap() || !self.is_open()
    }

    /// Reports an ACK to the policy that requests a rate of ACKs; `repairing`: the sender was repairing before it.
    pub(crate) fn observe_acks(&mut self, segment: &Segment, ack: &Acknowledgment, repairing: bool) {
        let acked = Acked {
            number: ack.number,
            len: ack.acked.bytes,
            marked: segment.ecn == Ecn::Experienced && segment.payload.is_empty(),
            repairing: repairing || self.is_repairing(),
            cwnd: self.congestion.cwnd(),
            smss: self.smss,
        };
        self.polls.on_ack(&acked);
    }

    /// Whether an ACK can report nothing but the window (V. Jacobson, "4BSD TCP header prediction", 1990).
    pub(crate) fn expects_nothing(&self, segment: &Segment) -> bool {
        self.board.is_empty() && segment.ack == self.una && segment.options.sack.is_empty()
    }

    /// Whether an ACK of new data means nothing to any algorithm but to the window, the estimators and the
    /// retransmission timer: the sender's half of header prediction.
    #[inline]
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.duplicates.count() == 0
            && !self.spurious.observes_advances()
            && !self.congestion_traits.observes_deliveries
            && self.recovery.is_idle()
            && !self.tail_probe.is_outstanding()
    }

    /// Takes in an ACK of new data while the sender [is undisturbed](Self::is_undisturbed).
    pub(crate) fn on_predicted_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        agreed: &Agreed,
        timers: &mut Timers,
    ) {
        self.update_window(now, segment, agreed, timers);
        self.board.begin_ack();
        let mut ack = Acknowledgment::new(now, segment, agreed, self.board.outstanding());
        self.acknowledge(&mut ack);
        self.advance(&mut ack, timers);
        let sample = AckSample {
            now,
            acked: ack.acked.bytes,
            segments: ack.acked.segments,
            flight: ack.flight,
            rtt: ack.rtt,
            newest_rtt: ack.newest_rtt(),
            last_rtt: ack.last_rtt(),
            one_way: ack.one_way,
            number: ack.number,
            nxt: self.nxt,
            marked: Bytes::ZERO,
        };
        self.congestion.observe(&sample);
        if !sample.acked.is_zero() {
            self.congestion.on_ack(&sample);
        }
        self.start_retransmission_timer(self.rto_deadline(now), timers);
        if self.tail_probe.is_on() {
            self.schedule_tail_probe(now, true, timers);
        }
        self.note(now, Decision::Ack, "", ack.number, u32::try_from(sample.acked.0).unwrap_or(u32::MAX));
    }

    /// RFC 5681 §2: outstanding data, no data in the segment, no SYN or FIN, the same acknowledgment, the same window.
    /// The answers to probes of a closed window are like that too, and report no loss.
    fn is_duplicate(&self, segment: &Segment, agreed: &Agreed) -> bool {
        segment.ack == self.una
            && !self.board.is_empty()
            && self.persist.is_idle()
            && segment.payload.is_empty()
            && !segment.flags.intersects(Flags::SYN.with(Flags::FIN))
            && agreed.window(segment) == self.peer_window.size()
    }

    /// RFC 9293 §3.10.7.4: a newer segment brings the window; an older one must not.
    pub(crate) fn update_window(
        &mut self,
        now: Instant,
        segment: &Segment,
        agreed: &Agreed,
        timers: &mut Timers,
    ) {
        let window = agreed.window(segment);
        if !self.peer_window.update(window, segment.seq, segment.ack) {
            return;
        }
        if window.is_zero() {
            // RFC 9293 §3.8.6.1: a peer that answers with a closed window is there, and is not given up.
            self.rto.on_answer();
        }
        if !self.persist.is_idle() {
            self.on_probe_answer(now, timers);
        }
    }

    /// The peer answers a probe: if its window has opened, probing ends, and a probe that it has not taken in is sent
    /// again.
    #[cold]
    fn on_probe_answer(&mut self, now: Instant, timers: &mut Timers) {
        self.rto.on_answer();
        if self.peer_window.is_closed() {
            return;
        }
        self.stop_probing(timers);
        if !self.board.is_empty() {
            self.board.mark_lost(0, Cause::Probe);
            self.set_retransmission_timer(self.rto_from(now), timers);
        }
    }

    /// Enters the SACK blocks on the board; a block below the acknowledgment is a D-SACK and marks nothing.
    fn enter_sacks(&mut self, segment: &Segment, agreed: &Agreed) -> Bytes {
        self.board.begin_ack();
        if !agreed.sack {
            return Bytes::ZERO;
        }
        let in_flight = SeqRange { start: self.una, end: self.nxt };
        let blocks = segment.options.sack.as_slice().iter();
        blocks.filter(|block| in_flight.covers(**block)).map(|block| self.board.sack(*block)).sum()
    }

    /// A round-trip sample, by the echoed clock (RFC 7323 §4.1) or by a segment that was sent only once.
    pub(super) fn take_sample(&mut self, ack: &Acknowledgment) -> Option<Duration> {
        let now = ack.now;
        let echoed = ack.echo.and_then(|echo| echo.age(now)).map(|age| now - age);
        let sent = match self.config.plain.round_trip {
            RoundTrip::ByEcho => echoed.or(ack.acked.sample)?,
            RoundTrip::ByOldest => ack.acked.first_sample.or(echoed)?,
        };
        let cwnd = self.congestion.cwnd().whole(self.smss);
        self.rto.on_sample(&Sample { sent, now, cwnd, flight: ack.flight.whole(self.smss) });
        Some(now - sent)
    }

    /// Whether a mark that an ACK reports may reduce the window.
    pub(crate) fn may_reduce_for_mark(&self, ack: &Acknowledgment) -> bool {
        self.is_open() && !ack.flight.is_zero()
    }

    /// Whether congestion control itself decides how often marks reduce the window.
    pub(crate) const fn governs_marks(&self) -> bool {
        self.congestion_traits.governs_marks
    }

    /// Reports a congestion mark to congestion control; `first`: it is the first of a window of data.
    pub(crate) fn on_mark(&mut self, ack: &Acknowledgment, signal: CongestionSignal, first: bool) {
        let (cwnd, pipe) = (self.congestion.cwnd(), self.board.pipe());
        let event = CongestionEvent { now: ack.now, signal, cwnd, flight: ack.flight, pipe };
        self.congestion.on_mark(&event);
        let reduced = self.congestion.cwnd() < cwnd;
        if reduced || first {
            self.note(ack.now, Decision::Mark, "the peer echoes a congestion mark", ack.number, 0);
        }
        if reduced && !self.congestion_traits.governs_marks {
            self.recovery.on_mark(cwnd, self.nxt);
        }
    }
}

/// RFC 2883 §4: the first block, if it lies below the acknowledgment or inside the second one.
fn reported_twice(segment: &Segment) -> Option<SeqRange> {
    let blocks = segment.options.sack.as_slice();
    let first = *blocks.first()?;
    let below = first.end.at_or_before(segment.ack);
    let inside = blocks.get(1).is_some_and(|second| second.covers(first));
    (below || inside).then_some(first)
}

//! Explicit congestion notification (RFC 3168): a congested queue marks packets instead of dropping them,
//! the receiver echoes the mark, and the sender reacts as it would to a loss, with nothing to repair.

use units::{Bytes, Instant, Seq};
use wire::{Ecn, Flags, Segment};

use crate::Decision;
use crate::congestion::{CongestionEvent, CongestionSignal};
use crate::endpoint::Endpoint;

/// The ECN state of one end, as receiver and as sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnState {
    /// The receiver has seen a mark, and echoes it until the sender says that it has reduced its window.
    echoing: bool,
    /// The sender has reduced its window, and has yet to say so.
    reduced: bool,
    /// Echoes on ACKs before this belong to a window that was reduced already.
    reduced_until: Option<Seq>,
}

impl EcnState {
    /// A packet with data arrived (RFC 3168 §6.1.3); whether it was marked.
    fn on_data(&mut self, flags: Flags, ecn: Ecn) -> bool {
        if flags.contains(Flags::CWR) {
            self.echoing = false;
        }
        let marked = ecn == Ecn::Experienced;
        self.echoing |= marked;
        marked
    }

    /// An ACK came; whether the echo that it carries is the first of its window and reduces it (RFC 3168 §6.1.2).
    /// `nxt` is SND.NXT, `may_reduce` whether no loss has reduced the window anyway.
    fn on_ack(&mut self, number: Seq, nxt: Seq, echoed: bool, may_reduce: bool) -> bool {
        self.reduced_until = self.reduced_until.filter(|until| number.before(*until));
        let reduces = echoed && may_reduce && self.reduced_until.is_none();
        if reduces {
            self.reduced_until = Some(nxt);
            self.reduced = true;
        }
        reduces
    }

    /// Flags and ECN field of a segment that is sent. Only new data may be marked: RFC 3168 §6.1.4 and
    /// §6.1.5 exempt acknowledgments and retransmissions.
    fn write(&mut self, segment: &mut Segment, new_data: bool) {
        if self.echoing {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if new_data {
            segment.ecn = Ecn::Capable;
            if std::mem::take(&mut self.reduced) {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
    }
}

/// Whether the flags of a SYN or SYN-ACK offer it (RFC 3168 §6.1.1). On a SYN-ACK both flags together would
/// be a mere copy of the SYN's, as broken peers send it.
pub(crate) fn offers(flags: Flags) -> bool {
    let expected = if flags.contains(Flags::ACK) { Flags::ECE } else { BOTH };
    flags.contains(expected) && (expected == BOTH || !flags.contains(Flags::CWR))
}

const BOTH: Flags = Flags::ECE.with(Flags::CWR);

impl Endpoint {
    /// Flags of our SYN, or of our SYN-ACK once the peer's SYN is known.
    pub(crate) fn ecn_offer(&self, answers: bool) -> Flags {
        match (answers, self.config.plain.ecn) {
            (true, _) if self.agreed.ecn => Flags::ECE,
            (false, true) => BOTH,
            _ => Flags::empty(),
        }
    }

    /// The peer does not take part: nothing is marked, queues drop instead (RFC 3168 §6.1.1).
    pub(crate) fn settle_marks(&mut self, now: Instant) {
        if self.config.plain.ecn && !self.agreed.ecn {
            self.note(
                now,
                Decision::Fallback,
                "the peer does not react to congestion marks: none",
                self.sending.una,
                0,
            );
        }
    }

    /// A packet with data came (RFC 3168 §6.1.3).
    pub(crate) fn note_mark(&mut self, segment: &Segment) {
        if !self.agreed.ecn || segment.payload.is_empty() {
            return;
        }
        if self.ecn.on_data(segment.flags, segment.ecn) {
            self.receiving.ack_due = crate::receiving::AckDue::Now;
        }
    }

    /// Whether the peer echoes a mark: once per window that counts as a loss (RFC 3168 §6.1.2).
    pub(crate) fn react_to_echo(&mut self, now: Instant, segment: &Segment, flight: Bytes) -> bool {
        let echoed = segment.flags.contains(Flags::ECE);
        let may_reduce = self.sending.is_open() && !self.sending.board.is_empty();
        if self.ecn.on_ack(segment.ack, self.sending.nxt, echoed, may_reduce) {
            let (cwnd, pipe) = (self.sending.congestion.cwnd(), self.sending.board.pipe());
            let signal = CongestionSignal::EcnEcho;
            self.sending.congestion.on_mark(&CongestionEvent { now, signal, cwnd, flight, pipe });
            self.note(now, Decision::Mark, "the peer echoes a congestion mark", segment.ack, 0);
        }
        echoed
    }

    /// Flags and ECN field of a segment that is sent.
    pub(crate) fn mark_outgoing(&mut self, segment: &mut Segment, new_data: bool) {
        if self.agreed.ecn {
            self.ecn.write(segment, new_data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_window_is_reduced_once_however_many_acks_echo() {
        let mut ecn = EcnState::default();
        assert!(ecn.on_ack(Seq(1000), Seq(5000), true, true));
        assert!(!ecn.on_ack(Seq(4000), Seq(8000), true, true));
        assert!(ecn.on_ack(Seq(5000), Seq(9000), true, true), "the window after it");
    }

    #[test]
    fn an_echo_while_a_loss_is_repaired_reduces_nothing() {
        let mut ecn = EcnState::default();
        assert!(!ecn.on_ack(Seq(1000), Seq(5000), true, false));
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_says_that_it_has_reduced() {
        let mut ecn = EcnState::default();
        assert!(ecn.on_data(Flags::ACK, Ecn::Experienced));
        for (arrives, echoes) in [(Flags::ACK, true), (Flags::ACK.with(Flags::CWR), false)] {
            ecn.on_data(arrives, Ecn::Capable);
            let mut ack = Segment::default();
            ecn.write(&mut ack, false);
            assert_eq!(ack.flags.contains(Flags::ECE), echoes);
        }
    }

    #[test]
    fn the_sender_says_once_that_it_has_reduced_and_on_new_data_only() {
        let mut ecn = EcnState::default();
        ecn.on_ack(Seq(1000), Seq(5000), true, true);
        for (new_data, says) in [(false, false), (true, true), (true, false)] {
            let mut segment = Segment::default();
            ecn.write(&mut segment, new_data);
            assert_eq!(segment.flags.contains(Flags::CWR), says);
        }
    }
}

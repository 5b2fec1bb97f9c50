//! Explicit congestion notification (RFC 3168): a congested queue marks packets instead of dropping them,
//! the receiver echoes the mark, and the sender reacts as it would to a loss, with nothing to repair.

use units::{Bytes, Instant, Seq};
use wire::{Ecn, Flags, Segment};

use crate::Decision;
use crate::congestion::{CongestionEvent, CongestionSignal};
use crate::endpoint::Endpoint;

/// What one end remembers of marks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// The receiver has seen a mark, and echoes it until the sender says that it has reacted.
    echoing: bool,
    /// The sender has reacted, and has yet to say so.
    reacted: bool,
    /// Echoes of marks on segments before this are of a window that was reduced already.
    reduced_until: Option<Seq>,
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
                "the peer does not heed congestion marks: none",
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
        if segment.flags.contains(Flags::CWR) {
            self.marks.echoing = false;
        }
        if segment.ecn == Ecn::Experienced {
            self.marks.echoing = true;
            self.receiving.ack_due = crate::receiving::AckDue::Now;
        }
    }

    /// Whether the peer echoes a mark: once per window that counts as a loss (RFC 3168 §6.1.2).
    pub(crate) fn react_to_echo(&mut self, now: Instant, segment: &Segment, flight: Bytes) -> bool {
        if !self.agreed.ecn {
            return false;
        }
        let echoed = segment.flags.contains(Flags::ECE);
        if self.marks.reduced_until.is_some_and(|until| segment.ack.at_or_after(until)) {
            self.marks.reduced_until = None;
        }
        let repairing = !self.sending.is_open();
        if !echoed || repairing || self.marks.reduced_until.is_some() || self.sending.board.is_empty() {
            return echoed;
        }
        self.marks.reduced_until = Some(self.sending.nxt);
        self.marks.reacted = true;
        let (cwnd, pipe) = (self.sending.congestion.cwnd(), self.sending.board.pipe());
        let signal = CongestionSignal::EcnEcho;
        self.sending.congestion.on_mark(&CongestionEvent { now, signal, cwnd, flight, pipe });
        self.note(now, Decision::Mark, "the peer echoes a congestion mark", segment.ack, 0);
        true
    }

    /// Flags and ECN field of a segment that goes out. Only new data may be marked: RFC 3168 §6.1.4 and
    /// §6.1.5 exempt acknowledgments and retransmissions.
    pub(crate) fn mark_outgoing(&mut self, segment: &mut Segment, new_data: bool) {
        if !self.agreed.ecn {
            return;
        }
        if self.marks.echoing {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if new_data {
            segment.ecn = Ecn::Capable;
            if std::mem::take(&mut self.marks.reacted) {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
    }
}

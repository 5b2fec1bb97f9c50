//! Explicit congestion notification: a congested queue marks packets instead of dropping them, the receiver tells the
//! sender, and the sender reacts, with nothing to repair.
//!
//! How the receiver tells is negotiated ([`EcnFeedback`]). By RFC 3168 it echoes a mark until the sender says that it has
//! reduced its window: one signal a round trip (`classic.rs`). DCTCP uses the same flags to echo each segment's mark (RFC
//! 8257 §3.2). Accurate ECN counts marks (RFC 9768, `accurate.rs`). How far the window is reduced is congestion control's.

mod accurate;
mod classic;
mod settings;

use units::{Bytes, Instant, Seq};
use wire::{Ecn, Flags, Payload, Segment};

use crate::congestion::{CongestionEvent, CongestionSignal};
use crate::endpoint::Endpoint;
use crate::receive_half::AckDue;
use crate::scoreboard::Acked;
use crate::state::State;
use crate::{Decision, Kind, Transmit};

use accurate::{Accurate, Fault};
use classic::Classic;
pub use settings::{EcnFeedback, EcnSetting};

/// The ECN state of one end, as receiver and as sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnState {
    classic: Classic,
    accurate: Accurate,
    /// Marks that ACKs before this tell of belong to a window that was reduced already.
    reduced_until: Option<Seq>,
    /// Whether data go out as ECN-capable: not where the path was found to spoil ECN.
    is_capable: bool,
    /// The flags of a segment that brings nothing but data, clock and window.
    quiet_flags: Flags,
}

impl Default for EcnState {
    fn default() -> Self {
        Self {
            classic: Classic::default(),
            accurate: Accurate::default(),
            reduced_until: None,
            is_capable: true,
            quiet_flags: Flags::ACK,
        }
    }
}

impl EcnState {
    /// Whether an ACK that tells of a mark reduces the window: only the first of each window does (RFC 3168 §6.1.2,
    /// RFC 8257 §3.3). `nxt` is SND.NXT, `may_reduce` whether no loss has reduced the window anyway.
    fn reduces(&mut self, number: Seq, nxt: Seq, marked: bool, may_reduce: bool) -> bool {
        self.reduced_until = self.reduced_until.filter(|until| number.before(*until));
        let reduces = marked && may_reduce && self.reduced_until.is_none();
        if reduces {
            self.reduced_until = Some(nxt);
        }
        reduces
    }

    /// Whether the window was reduced for a mark, and an ACK of what was sent before is still to come.
    pub(crate) const fn has_reduced_window(&self) -> bool {
        self.reduced_until.is_some()
    }
}

/// What a SYN or SYN-ACK with these flags agrees to, where we asked for `ours`.
pub(crate) fn agreed_feedback(ours: EcnSetting, syn: Flags) -> EcnFeedback {
    match (ours, syn.contains(Flags::ACK)) {
        (EcnSetting::Off, _) => EcnFeedback::Absent,
        (EcnSetting::Accurate, true) => accurate::feedback_of_syn_ack(syn),
        (EcnSetting::Accurate, false) if syn.contains(accurate::OFFER) => EcnFeedback::Accurate,
        _ if classic::offers(syn) => EcnFeedback::Classic,
        _ => EcnFeedback::Absent,
    }
}

impl Endpoint {
    /// Flags of our SYN, or of our SYN-ACK once the peer's SYN is known.
    pub(crate) fn ecn_offer(&self, answers: bool) -> Flags {
        match (answers, self.agreed.ecn, self.config.plain.ecn) {
            (true, EcnFeedback::Accurate, _) => self.ecn.accurate.answer(),
            (true, EcnFeedback::Classic, _) => Flags::ECE,
            (false, _, EcnSetting::Accurate) => self.accurate_offer(),
            (false, _, EcnSetting::Classic | EcnSetting::Dctcp) => classic::OFFER,
            _ => Flags::empty(),
        }
    }

    /// RFC 9768 §3.1.4.1: a path that drops SYNs with these flags gets the third one without them.
    fn accurate_offer(&self) -> Flags {
        let sent = self.sending.board.front().map_or(0, |syn| syn.transmissions);
        if sent > SYNS_WITH_OFFER { Flags::empty() } else { accurate::OFFER }
    }

    /// The peer's SYN or SYN-ACK has come, and the options that hold are known.
    pub(crate) fn take_ecn_of_syn(&mut self, now: Instant, segment: &Segment) {
        if self.agreed.ecn != EcnFeedback::Accurate {
            return;
        }
        if !segment.flags.contains(Flags::ACK) {
            return self.ecn.accurate.on_syn(segment.ecn);
        }
        let fault = self.ecn.accurate.on_syn_ack(segment);
        self.heed(now, fault);
    }

    /// The handshake is done. Where the peer does not take part nothing is marked, and queues drop instead.
    pub(crate) fn settle_marks(&mut self, now: Instant) {
        let reason = match (self.config.plain.ecn, self.agreed.ecn) {
            (EcnSetting::Off, _)
            | (_, EcnFeedback::Accurate)
            | (EcnSetting::Classic | EcnSetting::Dctcp, EcnFeedback::Classic) => return,
            (EcnSetting::Accurate, EcnFeedback::Classic) => "the peer knows classic ECN only: RFC 3168",
            (_, EcnFeedback::Absent) => "the peer does not react to congestion marks: none",
        };
        self.note(now, Decision::Fallback, reason, self.sending.una, 0);
    }

    /// The flags of a segment that brings nothing but data, clock and window: with Accurate ECN its ACE field says what we
    /// know.
    #[inline]
    pub(crate) const fn quiet_flags(&self) -> Flags {
        self.ecn.quiet_flags
    }

    /// An acceptable segment came.
    #[inline]
    pub(crate) fn note_mark(&mut self, now: Instant, segment: &Segment) {
        if self.agreed.ecn != EcnFeedback::Absent {
            self.note_ecn(now, segment);
        }
    }

    fn note_ecn(&mut self, now: Instant, segment: &Segment) {
        let len = segment.payload.len();
        if self.agreed.ecn == EcnFeedback::Accurate {
            let ends_handshake = self.state == State::SynReceived;
            let fault = self.ecn.accurate.check_first(segment.flags, ends_handshake);
            self.heed(now, fault);
            self.ecn.quiet_flags = Flags::ACK.with(self.ecn.accurate.expected_ace());
            if self.ecn.accurate.on_packet(segment.ecn, len) {
                self.receiving.ack_due = AckDue::Now;
            }
        } else if len > 0 && self.config.plain.ecn == EcnSetting::Dctcp {
            self.note_dctcp(now, segment.ecn);
        } else if len > 0 && self.ecn.classic.on_data(segment.flags, segment.ecn) {
            self.receiving.ack_due = AckDue::Now;
        }
    }

    /// RFC 8257 §3.2: as marks begin or end, what came before is acknowledged at once, with its own echo.
    fn note_dctcp(&mut self, now: Instant, ecn: Ecn) {
        if !self.ecn.classic.changes(ecn) {
            return;
        }
        if self.receiving.ack_due == AckDue::Delayed {
            let mut segment = self.segment(self.sending.acceptable_seq(), Flags::empty(), Payload::EMPTY);
            self.complete(now, &mut segment);
            self.outbox.push_back(Transmit { segment, kind: Kind::Ack });
        }
        self.ecn.classic.set_echo(ecn);
        self.receiving.ack_due = AckDue::Now;
    }

    /// Sends nothing more as ECN-capable where the path spoils ECN; what comes is still told of (RFC 9768 §3.2.2.3).
    fn heed(&mut self, now: Instant, fault: Option<Fault>) {
        if let Some(fault) = fault {
            self.ecn.is_capable = false;
            self.note(now, Decision::Fallback, fault.reason(), self.sending.una, 0);
        }
    }

    /// Whether a classic echo comes with this ACK; the first of each window counts as a loss (RFC 3168 §6.1.2).
    pub(crate) fn react_to_echo(&mut self, now: Instant, segment: &Segment, flight: Bytes) -> bool {
        let echoed = segment.flags.contains(Flags::ECE);
        if self.reduce_for_mark(now, segment.ack, echoed, flight) {
            self.ecn.classic.on_reduced();
        }
        echoed
    }

    /// Bytes that an ACK under Accurate ECN tells to be marked, once it is known what it newly delivers; those of earlier
    /// ACKs that did not advance among them.
    pub(crate) fn take_marks(
        &mut self,
        now: Instant,
        segment: &Segment,
        (acked, newly_sacked): (&Acked, Bytes),
        (advances, flight): (bool, Bytes),
    ) -> Bytes {
        let smss = self.sending.smss;
        let packets = acked.segments + newly_sacked.0.div_ceil(smss.0) as u32;
        let bytes = acked.bytes + newly_sacked;
        let marked = self.ecn.accurate.on_ack(segment, packets, bytes, smss);
        self.ecn.quiet_flags = Flags::ACK.with(self.ecn.accurate.expected_ace());
        self.reduce_for_mark(now, segment.ack, !marked.is_zero(), flight);
        self.ecn.accurate.carry(marked, advances)
    }

    /// Tells congestion control of a mark, once in a window of data unless it decides that itself; whether it was told.
    fn reduce_for_mark(&mut self, now: Instant, number: Seq, marked: bool, flight: Bytes) -> bool {
        let may_reduce = self.sending.is_open() && !flight.is_zero();
        let first = self.ecn.reduces(number, self.sending.nxt, marked, may_reduce);
        let signal = self.mark_signal();
        let every = signal == CongestionSignal::CountedMarks && marked && may_reduce;
        let told = first || (every && self.sending.congestion.traits().governs_marks);
        if told {
            let (cwnd, pipe) = (self.sending.congestion.cwnd(), self.sending.board.pipe());
            self.sending.congestion.on_mark(&CongestionEvent { now, signal, cwnd, flight, pipe });
            if self.sending.congestion.cwnd() < cwnd || first {
                self.note(now, Decision::Mark, "the peer echoes a congestion mark", number, 0);
            }
            if self.sending.congestion.cwnd() < cwnd && !self.sending.congestion.traits().governs_marks {
                self.sending.recovery.on_mark(cwnd, self.sending.nxt);
            }
        }
        told
    }

    /// Whether marks are counted, or one echo a round trip counts as a loss.
    fn mark_signal(&self) -> CongestionSignal {
        match (self.agreed.ecn, self.config.plain.ecn) {
            (EcnFeedback::Accurate, _) | (_, EcnSetting::Dctcp) => CongestionSignal::CountedMarks,
            _ => CongestionSignal::EcnEcho,
        }
    }

    /// Flags and ECN field of a segment that is sent. Only new data may be marked: RFC 3168 §6.1.4 and §6.1.5 exempt
    /// acknowledgments and retransmissions.
    pub(crate) fn mark_outgoing(&mut self, segment: &mut Segment, new_data: bool) {
        match self.agreed.ecn {
            EcnFeedback::Absent => {}
            EcnFeedback::Classic => self.ecn.classic.write(segment, new_data),
            EcnFeedback::Accurate => self.write_accurate(segment, new_data),
        }
    }

    fn write_accurate(&mut self, segment: &mut Segment, new_data: bool) {
        if new_data && self.ecn.is_capable {
            segment.ecn = if self.config.plain.l4s { Ecn::Capable1 } else { Ecn::Capable };
        }
        if !segment.flags.contains(Flags::SYN) {
            let ace = self.ecn.accurate.ace(segment.payload.is_empty());
            segment.flags = segment.flags.without(Flags::ACE).with(ace);
        }
    }

    /// The AccECN option on an ACK, behind all others.
    pub(crate) fn add_accecn_option(&mut self, segment: &mut Segment) {
        if self.agreed.ecn == EcnFeedback::Accurate && !segment.flags.contains(Flags::SYN) {
            self.ecn.accurate.add_option(&mut segment.options);
        }
    }
}

/// SYNs that ask for Accurate ECN before one without any ECN is tried (RFC 9768 §3.1.4.1).
const SYNS_WITH_OFFER: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_window_is_reduced_once_however_many_acks_echo() {
        let mut ecn = EcnState::default();
        assert!(ecn.reduces(Seq(1000), Seq(5000), true, true));
        assert!(!ecn.reduces(Seq(4000), Seq(8000), true, true));
        assert!(ecn.reduces(Seq(5000), Seq(9000), true, true), "the window after it");
    }

    #[test]
    fn an_echo_while_a_loss_is_repaired_reduces_nothing() {
        let mut ecn = EcnState::default();
        assert!(!ecn.reduces(Seq(1000), Seq(5000), true, false));
    }
}

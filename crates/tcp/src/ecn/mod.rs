//! Explicit congestion notification: a congested queue marks packets instead of dropping them, the receiver reports the
//! marks to the sender, and the sender reacts, with nothing to repair.
//!
//! The handshake negotiates the form of the report ([`EcnFeedback`]). By RFC 3168 the receiver echoes a mark until the
//! sender confirms that it has reduced its window: one signal per round trip (`classic.rs`). DCTCP uses the same flags
//! to echo each segment's mark (RFC 8257 §3.2). Accurate ECN counts marks (RFC 9768, `accurate.rs`). Congestion control
//! decides by how much the window is reduced.

mod accurate;
mod classic;
mod received;
mod settings;

use units::{Bytes, Duration, Instant, Seq};
use wire::{Ecn, Flags, Segment};

use crate::config::Plain;
use crate::congestion::CongestionSignal;
use accurate::Accurate;
pub use accurate::EcnCounters;
pub(crate) use accurate::Fault;
use classic::Classic;
pub use settings::{AccEcnOption, EcnCapable, EcnFeedback, EcnSetting};

/// The ECN state of one end, as receiver and as sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnState {
    classic: Classic,
    accurate: Accurate,
    /// Marks that ACKs below this number report belong to a window that was reduced already.
    reduced_until: Option<Seq>,
    /// Whether data go out as ECN-capable: not where the path was found to spoil ECN.
    is_capable: bool,
    /// The flags of a segment that brings nothing but data, clock and window.
    quiet_flags: Flags,
}

impl EcnState {
    pub(crate) fn new(plain: &Plain) -> Self {
        Self {
            classic: Classic::default(),
            accurate: Accurate::new(plain),
            reduced_until: None,
            is_capable: true,
            quiet_flags: Flags::ACK,
        }
    }

    /// Flags of our SYN; `syns` is the number of SYNs sent.
    pub(crate) fn offer(plain: &Plain, syns: u32) -> Flags {
        let accurate = plain.ecn == EcnSetting::Accurate;
        let most = plain.ecn_syns.unwrap_or(if accurate { SYNS_WITH_OFFER } else { u32::MAX });
        match plain.ecn {
            // On a path that drops SYNs with these flags.
            _ if syns > most => Flags::empty(),
            EcnSetting::Off => Flags::empty(),
            EcnSetting::Classic | EcnSetting::Dctcp => classic::OFFER,
            EcnSetting::Accurate => accurate::OFFER,
        }
    }

    /// Flags of our SYN-ACK.
    pub(crate) fn answer(&self, agreed: EcnFeedback) -> Flags {
        match agreed {
            EcnFeedback::Absent => Flags::empty(),
            EcnFeedback::Classic => Flags::ECE,
            EcnFeedback::Accurate => self.accurate.answer(),
        }
    }

    /// The peer's SYN or SYN-ACK has arrived, and Accurate ECN is agreed.
    pub(crate) fn on_accurate_syn(&mut self, segment: &Segment) -> Option<Fault> {
        if segment.flags.contains(Flags::ACK) {
            let fault = self.accurate.on_syn_ack(segment);
            return self.stop_if(fault);
        }
        self.accurate.on_syn(segment.ecn);
        None
    }

    /// A segment has arrived under Accurate ECN, which may end the handshake of a listener. Returns whether an ACK is
    /// due now, and the first fault of the path.
    pub(crate) fn on_accurate_segment(
        &mut self,
        segment: &Segment,
        ends_handshake: bool,
    ) -> (bool, Option<Fault>) {
        self.accurate.note_option(segment);
        let fault = self.accurate.check_first(segment.flags, ends_handshake);
        self.quiet_flags = Flags::ACK.with(self.accurate.expected_ace());
        let due = self.accurate.on_packet(segment.ecn, segment.payload.len());
        (due, self.stop_if(fault))
    }

    /// The peer repeats its SYN-ACK under Accurate ECN.
    pub(crate) const fn on_repeated_syn_ack(&mut self) {
        self.accurate.on_repeated_syn_ack();
    }

    /// Whether data need room for the AccECN option, once the peer has sent one.
    pub(crate) fn needs_room_on_data(&self) -> bool {
        self.accurate.is_always_on_data()
    }

    /// Whether data may carry the AccECN option.
    pub(crate) fn has_option_on_data(&self) -> bool {
        self.accurate.is_on_data()
    }

    /// What the peer has reported under Accurate ECN.
    pub(crate) fn counters(&self) -> EcnCounters {
        self.accurate.counters()
    }

    /// Sends nothing more as ECN-capable where the path spoils ECN. Arriving marks are still reported (RFC 9768
    /// §3.2.2.3).
    fn stop_if(&mut self, fault: Option<Fault>) -> Option<Fault> {
        self.is_capable &= fault.is_none();
        fault
    }

    /// A segment with data has arrived under classic ECN; returns whether it was marked.
    pub(crate) fn on_classic_data(&mut self, segment: &Segment) -> bool {
        self.classic.on_data(segment.flags, segment.ecn)
    }

    /// Whether a segment with this ECN field begins or ends a run of marks, which DCTCP acknowledges at once (RFC 8257
    /// §3.2).
    pub(crate) fn changes_marks(&self, ecn: Ecn) -> bool {
        self.classic.changes(ecn)
    }

    /// Echoes this ECN field from now on (DCTCP).
    pub(crate) fn echo(&mut self, ecn: Ecn) {
        self.classic.set_echo(ecn);
    }

    /// The window was reduced for a classic echo: the next new data say so.
    pub(crate) fn on_reduced(&mut self) {
        self.classic.on_reduced();
    }

    /// Marked bytes that an ACK reports under Accurate ECN, where it newly acknowledges these segments and bytes, or is
    /// newer by its clock than the last.
    pub(crate) fn count_marks(
        &mut self,
        segment: &Segment,
        delivered: (u32, Bytes),
        is_newer: bool,
        smss: Bytes,
    ) -> Bytes {
        let marked = self.accurate.on_ack(segment, delivered, is_newer, smss);
        self.quiet_flags = Flags::ACK.with(self.accurate.expected_ace());
        marked
    }

    /// Marked bytes for an ACK that `advances`, with those of earlier ACKs that did not.
    pub(crate) fn carry_marks(&mut self, marked: Bytes, advances: bool) -> Bytes {
        self.accurate.carry(marked, advances)
    }

    /// The flags of a segment that brings nothing but data, clock and window: with Accurate ECN its ACE field repeats
    /// the known count.
    #[inline]
    pub(crate) const fn quiet_flags(&self) -> Flags {
        self.quiet_flags
    }

    /// Writes flags and ECN field of a segment that is sent. Only new data may be marked: RFC 3168 §6.1.4 and §6.1.5
    /// exempt acknowledgments and retransmissions; with Accurate ECN it is a choice. `capable` is the field of a
    /// packet that may be marked.
    #[inline]
    pub(crate) fn write(&mut self, segment: &mut Segment, new_data: bool, agreed: EcnFeedback, capable: Ecn) {
        match agreed {
            EcnFeedback::Absent => {}
            EcnFeedback::Classic => self.classic.write(segment, new_data),
            EcnFeedback::Accurate => self.write_accurate(segment, new_data, capable),
        }
    }

    fn write_accurate(&mut self, segment: &mut Segment, new_data: bool, capable: Ecn) {
        if segment.flags.contains(Flags::SYN) {
            return;
        }
        if self.is_capable && self.accurate.is_capable(new_data) {
            segment.ecn = capable;
        }
        let ace = self.accurate.ace(segment.payload.is_empty());
        segment.flags = segment.flags.without(Flags::ACE).with(ace);
    }

    /// The ECN field of our SYN or SYN-ACK that offers or answers Accurate ECN.
    pub(crate) const fn of_syn(&self) -> Ecn {
        self.accurate.sent_syn()
    }

    /// Adds the AccECN option to a segment, after all others.
    pub(crate) fn add_option(&mut self, segment: &mut Segment, now: Instant, srtt: Option<Duration>) {
        if !segment.flags.contains(Flags::SYN) {
            self.accurate.add_option(&mut segment.options, now, srtt);
        }
    }

    /// Adds the first AccECN option to a SYN-ACK.
    pub(crate) fn add_first_option(&self, segment: &mut Segment) {
        self.accurate.add_first_option(&mut segment.options);
    }

    /// Whether an ACK that reports a mark reduces the window: only the first of each window does (RFC 3168 §6.1.2,
    /// RFC 8257 §3.3). `nxt` is SND.NXT, `may_reduce` whether no loss has reduced the window anyway.
    pub(crate) fn reduces(&mut self, number: Seq, nxt: Seq, marked: bool, may_reduce: bool) -> bool {
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

/// Counting of marks by congestion control: each of them, or one echo per round trip, which counts as a loss.
pub(crate) fn signal(ours: EcnSetting, agreed: EcnFeedback) -> CongestionSignal {
    match (agreed, ours) {
        (EcnFeedback::Accurate, _) | (_, EcnSetting::Dctcp) => CongestionSignal::CountedMarks,
        _ => CongestionSignal::EcnEcho,
    }
}

/// Mode agreed by a SYN or SYN-ACK with these flags, where we asked for `ours`.
pub(crate) fn agreed_feedback(ours: EcnSetting, syn: Flags) -> EcnFeedback {
    match (ours, syn.contains(Flags::ACK)) {
        (EcnSetting::Off, _) => EcnFeedback::Absent,
        (EcnSetting::Accurate, true) => accurate::feedback_of_syn_ack(syn),
        (EcnSetting::Accurate, false) if syn.contains(accurate::OFFER) => EcnFeedback::Accurate,
        _ if classic::offers(syn) => EcnFeedback::Classic,
        _ => EcnFeedback::Absent,
    }
}

/// Why fewer marks than asked for are used, where a handshake has agreed on `agreed`.
pub(crate) const fn fallback_reason(ours: EcnSetting, agreed: EcnFeedback) -> Option<&'static str> {
    match (ours, agreed) {
        (EcnSetting::Off, _)
        | (_, EcnFeedback::Accurate)
        | (EcnSetting::Classic | EcnSetting::Dctcp, EcnFeedback::Classic) => None,
        (EcnSetting::Accurate, EcnFeedback::Classic) => Some("the peer knows classic ECN only: RFC 3168"),
        (_, EcnFeedback::Absent) => Some("the peer does not react to congestion marks: none"),
    }
}

/// SYNs that ask for Accurate ECN before one without any ECN is tried (RFC 9768 §3.1.4.1).
const SYNS_WITH_OFFER: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_window_is_reduced_once_however_many_acks_echo() {
        let mut ecn = EcnState::new(&Plain::default());
        assert!(ecn.reduces(Seq(1000), Seq(5000), true, true));
        assert!(!ecn.reduces(Seq(4000), Seq(8000), true, true));
        assert!(ecn.reduces(Seq(5000), Seq(9000), true, true), "the window after it");
    }

    #[test]
    fn an_echo_while_a_loss_is_repaired_reduces_nothing() {
        let mut ecn = EcnState::new(&Plain::default());
        assert!(!ecn.reduces(Seq(1000), Seq(5000), true, false));
    }
}

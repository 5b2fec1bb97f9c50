//! Congestion marks (`ecn/`): what a segment reports of them, and what is reported to the peer.

use wire::{AccEcn, Ecn, Flags, Payload, Segment};

use super::Endpoint;
use crate::congestion::CongestionSignal;
use crate::ecn::{self, EcnFeedback, EcnSetting, EcnState, Fault};
use crate::receive_half::AckDue;
use crate::recovery::RecoveryState;
use crate::send_half::Acknowledgment;
use crate::state::State;
use crate::{Decision, Kind, Transmit};
use units::Instant;

impl Endpoint {
    /// Flags of our SYN, or of our SYN-ACK once the peer's SYN has arrived.
    pub(super) fn ecn_offer(&self, answers: bool) -> Flags {
        if answers {
            return self.ecn.answer(self.agreed.ecn);
        }
        EcnState::offer(&self.config.plain, self.send.syns_sent())
    }

    /// The peer's SYN or SYN-ACK has arrived, and the options are agreed.
    pub(super) fn take_ecn_of_syn(&mut self, now: Instant, segment: &Segment) {
        if self.agreed.ecn == EcnFeedback::Accurate {
            let fault = self.ecn.on_accurate_syn(segment);
            self.note_fault(now, fault);
        }
    }

    /// The handshake is done. Where the peer does not take part nothing is marked, and queues drop instead.
    pub(super) fn settle_marks(&mut self, now: Instant) {
        if let Some(reason) = ecn::fallback_reason(self.config.plain.ecn, self.agreed.ecn) {
            self.send.note(now, Decision::Fallback, reason, self.send.una(), 0);
        }
    }

    /// An acceptable segment has arrived.
    #[inline]
    pub(super) fn note_mark(&mut self, now: Instant, segment: &Segment) {
        if self.agreed.ecn != EcnFeedback::Absent {
            self.note_ecn(now, segment);
        }
    }

    fn note_ecn(&mut self, now: Instant, segment: &Segment) {
        let has_data = !segment.payload.is_empty();
        let due = if self.agreed.ecn == EcnFeedback::Accurate {
            let ends_handshake = self.state == State::SynReceived;
            if ends_handshake && segment.options.accecn.is_some() {
                self.make_room_for_accecn();
            }
            let (due, fault) = self.ecn.on_accurate_segment(segment, ends_handshake && !has_data);
            self.note_fault(now, fault);
            due
        } else if has_data && self.config.plain.ecn == EcnSetting::Dctcp {
            self.note_dctcp(now, segment.ecn)
        } else {
            has_data && self.ecn.on_classic_data(segment)
        };
        if due {
            self.receive.acknowledge_now();
        }
    }

    /// The peer of a listener sends AccECN options, so that data carry them too: from the start, as those
    /// of a client after a SYN-ACK with the option.
    fn make_room_for_accecn(&mut self) {
        if self.ecn.needs_room_on_data() && !self.fast_open.is_accepted() {
            self.agreed.make_room_for_accecn();
            self.send.take_segment_size(&self.agreed);
        }
    }

    /// The peer repeats its SYN-ACK.
    pub(super) fn note_repeated_syn_ack(&mut self, segment: &Segment) {
        if self.agreed.ecn == EcnFeedback::Accurate && segment.flags.contains(Flags::SYN.with(Flags::ACK)) {
            self.ecn.on_repeated_syn_ack();
        }
    }

    /// RFC 8257 §3.2: where a run of marks begins or ends, the data before it are acknowledged at once, with their own
    /// echo. Returns whether an ACK is due now.
    fn note_dctcp(&mut self, now: Instant, ecn: Ecn) -> bool {
        if !self.ecn.changes_marks(ecn) {
            return false;
        }
        if self.receive.ack_due() == AckDue::Delayed {
            let mut segment = self.segment(self.send.acceptable_seq(), Flags::empty(), Payload::EMPTY);
            self.complete(now, &mut segment);
            self.outbox.push_back(Transmit { segment, kind: Kind::Ack });
        }
        self.ecn.echo(ecn);
        true
    }

    fn note_fault(&mut self, now: Instant, fault: Option<Fault>) {
        if let Some(fault) = fault {
            self.send.note(now, Decision::Fallback, fault.reason(), self.send.una(), 0);
        }
    }

    /// Reacts to a classic echo; the first of each window counts as a loss (RFC 3168 §6.1.2).
    pub(super) fn react_to_echo(&mut self, segment: &Segment, ack: &mut Acknowledgment) {
        if self.agreed.ecn != EcnFeedback::Classic {
            return;
        }
        let echoed = segment.flags.contains(Flags::ECE);
        if self.reduce_for_mark(ack, echoed) {
            self.ecn.on_reduced();
        }
        if echoed {
            ack.set_echoes_mark();
        }
    }

    /// A loss has begun to be repaired since `before`, and has reduced the window (RFC 3168 §6.1.2).
    pub(super) fn note_reduction(&mut self, before: RecoveryState) {
        let begins = before == RecoveryState::Open && self.send.recovery_state() != RecoveryState::Open;
        if begins && self.agreed.ecn == EcnFeedback::Classic && self.config.plain.cwr_after_loss {
            self.ecn.on_reduced();
        }
    }

    /// Counts the marks that an ACK reports, once the data that it acknowledges are known.
    pub(super) fn count_marks(&mut self, segment: &Segment, ack: &mut Acknowledgment) {
        match self.agreed.ecn {
            EcnFeedback::Absent => {}
            EcnFeedback::Classic => ack.mark_by_echo(),
            // The ACE field of the segment that ends the handshake counts nothing: it reports how our SYN-ACK came.
            EcnFeedback::Accurate if ack.acks_syn() && segment.payload.is_empty() => {}
            EcnFeedback::Accurate => {
                let smss = self.send.smss();
                let delivered = (ack.segments(smss), ack.acknowledged());
                let is_newer =
                    self.agreed.timestamps && self.receive.is_newer_clock(segment.options.timestamps);
                let marked = self.ecn.count_marks(segment, delivered, is_newer, smss);
                self.reduce_for_mark(ack, !marked.is_zero());
                ack.set_marked(self.ecn.carry_marks(marked, ack.advances()));
            }
        }
    }

    /// Reports a mark to congestion control, once in a window of data unless it decides that itself; returns whether it
    /// was reported.
    fn reduce_for_mark(&mut self, ack: &Acknowledgment, marked: bool) -> bool {
        let may_reduce = self.send.may_reduce_for_mark(ack);
        let first = self.ecn.reduces(ack.number(), self.send.nxt(), marked, may_reduce);
        let signal = ecn::signal(self.config.plain.ecn, self.agreed.ecn);
        let counted = signal == CongestionSignal::CountedMarks && self.send.governs_marks();
        let reported = first || (counted && marked && may_reduce);
        if reported {
            self.send.on_mark(ack, signal, first);
        }
        reported
    }

    /// Writes flags and ECN field of a segment that is sent.
    #[inline]
    pub(super) fn mark_outgoing(&mut self, segment: &mut Segment, new_data: bool) {
        let capable = if self.config.plain.l4s { Ecn::Capable1 } else { Ecn::Capable };
        self.ecn.write(segment, new_data, self.agreed.ecn, capable);
    }

    /// RFC 5690 §4.1: with ACK congestion control a queue may mark a pure ACK, too, where ECN is agreed. Not with
    /// Accurate ECN, by which a mark on an ACK would be counted and reported as one on data (RFC 9768 §3.2.2).
    pub(super) fn mark_pure_ack(&self, segment: &mut Segment) {
        if self.agreed.ecn == EcnFeedback::Classic {
            segment.ecn = Ecn::Capable;
        }
    }

    /// Adds the AccECN option to a segment, after all others. Data carry it only where they leave room for it.
    pub(super) fn add_accecn_option(&mut self, now: Instant, segment: &mut Segment) {
        if self.agreed.ecn != EcnFeedback::Accurate {
            return;
        }
        let len = u64::from(segment.payload.len());
        let has_room = self.agreed.accecn_room || len + AccEcn::LARGEST <= self.send.smss().0;
        if len == 0 || (self.ecn.has_option_on_data() && has_room) {
            self.ecn.add_option(segment, now, self.send.srtt());
        }
    }

    /// Completes a SYN that offers Accurate ECN, or a SYN-ACK that answers it. One that was lost goes again without
    /// the option (RFC 9768 §3.2.3.2.1).
    pub(super) fn complete_ecn_of_syn(&mut self, segment: &mut Segment, answers: bool) {
        if !segment.flags.intersects(Flags::ACE) || self.config.plain.ecn != EcnSetting::Accurate {
            return;
        }
        if answers && self.agreed.ecn != EcnFeedback::Accurate {
            return;
        }
        segment.ecn = self.ecn.of_syn();
        if answers && self.send.syns_sent() <= 1 {
            self.ecn.add_first_option(segment);
        }
    }
}

//! Polls: the sender's side of sparse acknowledgments, and what sparse acknowledgments do to a sender.
//!
//! With few ACKs in a window, the first ACK that tells of a gap also acknowledges all that came before it
//! and was not acknowledged yet. Answered as usual, it would let out a burst of new data just before the
//! fast retransmit, whose loss then costs a timeout. The acknowledgment fixes (AF, Landström 2008 §6.4.3)
//! are two: such an ACK releases nothing, and the fast retransmit waits until the next ACK was due anyway,
//! when the flight is what the window says. Limited transmit goes on meanwhile.

use units::{Bytes, Instant, Seq};
use wire::Flags;

use crate::endpoint::Endpoint;
use crate::poll::Outgoing;
use crate::recovery::{Ack, Phase};

/// What the fixes remember.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fixes {
    /// The end of the first segment not yet acknowledged that asked.
    due: Option<Seq>,
    /// What an ACK has acknowledged and did not release.
    held_back: Bytes,
}

impl Endpoint {
    /// The flag of a data segment that asks for an acknowledgment, if it does.
    pub(crate) fn poll_flag(&mut self, len: Bytes, end: Seq, again: bool) -> Flags {
        if !self.agreed.polls || !self.sending.poll.is_on() {
            return Flags::empty();
        }
        let sending = &self.sending;
        let window = sending.congestion.cwnd().min(sending.wnd);
        let last = sending.queue.is_empty();
        let outgoing = Outgoing { len, end, window, smss: sending.smss, again, last };
        if !self.sending.poll.asks(&outgoing) {
            return Flags::empty();
        }
        if self.sending.poll.fixes() {
            self.sending.fixes.due.get_or_insert(end);
        }
        Flags::POLL
    }

    /// Applies the fixes to an ACK before recovery sees it.
    pub(crate) fn apply_fixes(&mut self, ack: &mut Ack) {
        if !self.sending.poll.fixes() {
            return;
        }
        let sending = &mut self.sending;
        let in_order = sending.board.sacked().is_zero();
        if in_order || sending.recovery.phase() != Phase::Open {
            sending.fixes.held_back = Bytes::ZERO;
        } else if ack.advances && !ack.newly_sacked.is_zero() {
            sending.fixes.held_back += ack.acked;
        }
        if sending.fixes.due.is_some_and(|due| ack.number.at_or_after(due)) {
            sending.fixes.due = None;
        }
        let heard = sending.board.highest_sacked();
        let waits = |due: Seq| heard.is_none_or(|highest| highest.before(due));
        if sending.recovery.phase() == Phase::Open && sending.fixes.due.is_some_and(waits) {
            ack.dupthresh = u32::MAX;
        }
    }

    /// What the window must not release yet.
    pub(crate) fn held_back(&self) -> Bytes {
        self.sending.fixes.held_back
    }

    /// The peer does not poll, or does not answer polls: each end goes on without.
    pub(crate) fn settle_polls(&mut self, now: Instant) {
        if self.agreed.polls || !self.config.understands_polls() {
            return;
        }
        self.sending.poll = crate::poll::unanswered();
        if self.receiving.ack_policy.answers_polls() {
            self.receiving.ack_policy = crate::ack::without_polls();
        }
        let reason = "the peer does not understand polls: delayed ACKs";
        self.note(now, "fallback", reason, self.sending.una, 0);
    }
}

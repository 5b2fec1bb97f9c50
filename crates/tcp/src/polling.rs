//! Polls: the sender's side of sparse acknowledgments, and what sparse acknowledgments do to a sender.
//!
//! With few ACKs in a window, the first ACK that tells of a gap also acknowledges all that came before it
//! and was not acknowledged yet. Answered as usual, it would let out a burst of new data just before the
//! fast retransmit, whose loss then costs a timeout. The acknowledgment fixes (AF, Landström 2008 §6.4.3)
//! are two: such an ACK releases nothing, and the fast retransmit waits until the next ACK was due anyway,
//! when the flight is what the window says. Limited transmit goes on meanwhile.

use std::collections::VecDeque;

use units::{Bytes, Instant, Seq};
use wire::Flags;

use crate::Decision;
use crate::endpoint::Endpoint;
use crate::poll::Outgoing;
use crate::recovery::AckEvent;

/// What the fixes remember.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fixes {
    /// The ends of the segments not yet acknowledged that asked, in order.
    due: VecDeque<Seq>,
    /// What an ACK would have let out and did not.
    held_back: Bytes,
}

impl Fixes {
    /// The retransmission timer ran out: nothing is due any more, and nothing may be held back.
    pub(crate) fn start_over(&mut self) {
        self.due.clear();
        self.held_back = Bytes::ZERO;
    }
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
        if self.sending.poll.fixes() && !again {
            self.sending.fixes.due.push_back(end);
        }
        Flags::POLL
    }

    /// The second fix, before recovery sees an ACK: no duplicates mean a loss before the next ACK is due.
    pub(crate) fn await_due_ack(&mut self, ack: &mut AckEvent) {
        if !self.agreed.polls || !self.sending.poll.fixes() {
            return;
        }
        let sending = &mut self.sending;
        while sending.fixes.due.front().is_some_and(|due| ack.number.at_or_after(*due)) {
            sending.fixes.due.pop_front();
        }
        let heard = sending.board.highest_sacked();
        let waits = |due: &Seq| heard.is_none_or(|highest| highest.before(*due));
        if sending.is_open() && sending.fixes.due.front().is_some_and(waits) {
            ack.dupthresh = u32::MAX;
        }
    }

    /// The first fix, once an ACK was dealt with: one that acknowledges and tells of a gap lets nothing out.
    /// What each later duplicate tells to have left the network goes out as ever.
    pub(crate) fn hold_back(&mut self, ack: &AckEvent) {
        if !self.agreed.polls {
            return;
        }
        let sending = &mut self.sending;
        let open = sending.is_open();
        if !open || sending.board.sacked().is_zero() {
            sending.fixes.held_back = Bytes::ZERO;
        } else if sending.poll.fixes() && ack.advances && !ack.newly_sacked.is_zero() {
            let pipe = sending.recovery.pipe(&sending.board);
            sending.fixes.held_back = sending.window().saturating_sub(pipe);
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
        let mut reason = "the peer does not answer polls: none are sent";
        self.sending.poll = crate::poll::unanswered();
        if self.receiving.ack_policy.answers_polls() {
            self.receiving.ack_policy = crate::ack::without_polls();
            reason = "the peer does not poll: delayed ACKs";
        }
        self.note(now, Decision::Fallback, reason, self.sending.una, 0);
    }
}

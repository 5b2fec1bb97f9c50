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
use crate::poll::{Outgoing, Poll};
use crate::recovery::AckEvent;

/// The polls of a sender, and the state of the acknowledgment fixes.
#[derive(Debug)]
pub(crate) struct Polls {
    policy: Box<dyn Poll>,
    /// The ends of the segments not yet acknowledged that asked for an ACK, in order.
    due: VecDeque<Seq>,
    /// What an ACK would have let out and did not.
    held_back: Bytes,
}

impl Polls {
    pub(crate) const fn new(policy: Box<dyn Poll>) -> Self {
        Self { policy, due: VecDeque::new(), held_back: Bytes::ZERO }
    }

    /// What the window must not release yet.
    pub(crate) const fn held_back(&self) -> Bytes {
        self.held_back
    }

    /// The retransmission timer ran out: nothing is due any more, and nothing may be held back.
    pub(crate) fn on_timeout(&mut self) {
        self.due.clear();
        self.held_back = Bytes::ZERO;
    }

    /// Whether a segment that is sent asks for an ACK.
    fn asks(&mut self, outgoing: &Outgoing) -> bool {
        let asks = self.policy.asks(outgoing);
        if asks && self.policy.fixes() && !outgoing.again {
            self.due.push_back(outgoing.end);
        }
        asks
    }

    /// The second fix: whether an ACK is due yet beyond the highest SACK, so that fast retransmit waits for it.
    fn awaits_due_ack(&mut self, number: Seq, highest_sacked: Option<Seq>) -> bool {
        if !self.policy.fixes() {
            return false;
        }
        while self.due.front().is_some_and(|due| number.at_or_after(*due)) {
            self.due.pop_front();
        }
        self.due.front().is_some_and(|due| highest_sacked.is_none_or(|highest| highest.before(*due)))
    }

    /// The first fix: an ACK that acknowledges and tells of a gap releases nothing of `usable`, the room that it makes.
    /// What each later duplicate tells to have left the network is sent as ever.
    fn hold_back(&mut self, ack: &AckEvent, usable: Bytes) {
        if self.policy.fixes() && ack.advances && !ack.newly_sacked.is_zero() {
            self.held_back = usable;
        }
    }
}

impl Endpoint {
    /// The flag of a data segment that asks for an acknowledgment, if it does.
    pub(crate) fn poll_flag(&mut self, len: Bytes, end: Seq, again: bool) -> Flags {
        if !self.agreed.polls || !self.sending.polls.policy.is_on() {
            return Flags::empty();
        }
        let sending = &mut self.sending;
        let window = sending.congestion.cwnd().min(sending.peer_window.size());
        let last = sending.queue.is_empty();
        let outgoing = Outgoing { len, end, window, smss: sending.smss, again, last };
        if sending.polls.asks(&outgoing) { Flags::POLL } else { Flags::empty() }
    }

    /// Before recovery sees an ACK: no duplicates mean a loss before the next ACK is due.
    pub(crate) fn await_due_ack(&mut self, ack: &mut AckEvent) {
        let sending = &mut self.sending;
        if sending.polls.awaits_due_ack(ack.number, sending.board.highest_sacked()) && sending.is_open() {
            ack.dupthresh = u32::MAX;
        }
    }

    /// After recovery has seen an ACK.
    pub(crate) fn hold_back(&mut self, ack: &AckEvent) {
        let sending = &mut self.sending;
        if !sending.is_open() || sending.board.sacked().is_zero() {
            sending.polls.held_back = Bytes::ZERO;
        } else {
            let usable = sending.window().saturating_sub(sending.pipe());
            sending.polls.hold_back(ack, usable);
        }
    }

    /// The peer does not poll, or does not answer polls: each end goes on without.
    pub(crate) fn settle_polls(&mut self, now: Instant) {
        if self.agreed.polls || !self.config.understands_polls() {
            return;
        }
        let mut reason = "the peer does not answer polls: none are sent";
        self.sending.polls = Polls::new(crate::poll::unanswered());
        if self.receiving.ack_policy.answers_polls() {
            self.receiving.ack_policy = crate::ack::without_polls();
            reason = "the peer does not poll: delayed ACKs";
        }
        self.note(now, Decision::Fallback, reason, self.sending.una, 0);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every second segment asks, and the fixes are on.
    fn polls() -> Polls {
        let entry = crate::poll::ENTRIES.iter().find(|entry| entry.id == "nth").expect("it is listed");
        Polls::new(
            entry
                .choice(json!({ "segments": "2 segments", "fixes": true }))
                .expect("they make sense")
                .build(),
        )
    }

    fn sent(polls: &mut Polls, number: u32) -> bool {
        let end = Seq(number * 1000);
        let (len, window) = (Bytes(1000), Bytes(10_000));
        polls.asks(&Outgoing { len, end, window, smss: len, again: false, last: false })
    }

    #[test]
    fn fast_retransmit_waits_until_the_highest_sack_is_where_an_ack_was_due() {
        let mut polls = polls();
        let asked: Vec<u32> = (1..=8).filter(|number| sent(&mut polls, *number)).collect();
        let (first, second) = (asked[0] * 1000, asked[1] * 1000);
        assert!(polls.awaits_due_ack(Seq(0), Some(Seq(first - 1000))));
        assert!(!polls.awaits_due_ack(Seq(0), Some(Seq(first))));
        assert!(
            polls.awaits_due_ack(Seq(first), Some(Seq(second - 1))),
            "what was acknowledged is due no more"
        );
    }

    #[test]
    fn an_ack_with_a_gap_releases_nothing_and_a_timeout_all() {
        let mut polls = polls();
        let event = AckEvent { advances: true, newly_sacked: Bytes(1000), ..AckEvent::default() };
        polls.hold_back(&event, Bytes(3000));
        assert_eq!(polls.held_back(), Bytes(3000));
        polls.hold_back(&AckEvent { advances: false, ..event }, Bytes(9000));
        assert_eq!(polls.held_back(), Bytes(3000), "a duplicate releases what it shows to have left");
        polls.on_timeout();
        assert_eq!(polls.held_back(), Bytes::ZERO);
    }
}

//! Polls: the sender's half of sparse acknowledgments, and the changes that these need in a sender.
//!
//! With few ACKs in a window, the first ACK that reports a gap also acknowledges all data before it. The usual reaction
//! would send a burst of new data just before the fast retransmit, and a loss in that burst would cost a timeout. The
//! acknowledgment fixes (AF, Landström 2008 §6.4.3) are two: such an ACK releases nothing, and the fast retransmit
//! waits until the next ACK was due anyway, when the flight is again what the window allows. Limited transmit continues
//! meanwhile.

use std::collections::VecDeque;

use units::{Bytes, Seq};

use crate::poll::{Acked, Outgoing, Poll};
use crate::recovery::AckEvent;

/// The polls of a sender, and the state of the acknowledgment fixes.
#[derive(Debug)]
pub(super) struct Polls {
    policy: Box<dyn Poll>,
    /// The ends of the segments not yet acknowledged that asked for an ACK, in order.
    due: VecDeque<Seq>,
    /// Data that an ACK would have released and did not.
    held_back: Bytes,
}

impl Polls {
    pub(super) const fn new(policy: Box<dyn Poll>) -> Self {
        Self { policy, due: VecDeque::new(), held_back: Bytes::ZERO }
    }

    /// Whether segments ask for ACKs.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.policy.is_on()
    }

    /// Data that the window must not release yet.
    #[inline]
    pub(super) const fn held_back(&self) -> Bytes {
        self.held_back
    }

    /// The retransmission timer has expired: no ACK is due any more, and nothing is held back.
    pub(super) fn on_timeout(&mut self) {
        self.due.clear();
        self.held_back = Bytes::ZERO;
        self.policy.on_timeout();
    }

    /// Whether a rate of ACKs is requested by an option.
    pub(super) fn requests(&self) -> bool {
        self.policy.scheme().is_some()
    }

    /// The ratio that a departing segment requests, if it does.
    pub(super) fn request(&mut self, outgoing: &Outgoing) -> Option<u8> {
        self.policy.request(outgoing)
    }

    /// An ACK has arrived.
    pub(super) fn on_ack(&mut self, ack: &Acked) {
        self.policy.on_ack(ack);
    }

    /// Whether a departing segment asks for an ACK.
    pub(super) fn asks(&mut self, outgoing: &Outgoing) -> bool {
        let asks = self.policy.asks(outgoing);
        if asks && self.policy.fixes() && !outgoing.again {
            self.due.push_back(outgoing.end);
        }
        asks
    }

    /// The second fix: whether an ACK is due yet beyond the highest SACK, so that fast retransmit waits for it.
    pub(super) fn awaits_due_ack(&mut self, number: Seq, highest_sacked: Option<Seq>) -> bool {
        if !self.policy.fixes() {
            return false;
        }
        while self.due.front().is_some_and(|due| number.at_or_after(*due)) {
            self.due.pop_front();
        }
        self.due.front().is_some_and(|due| highest_sacked.is_none_or(|highest| highest.before(*due)))
    }

    /// Holds nothing back: no gap is left, or a loss is being repaired.
    pub(super) const fn release(&mut self) {
        self.held_back = Bytes::ZERO;
    }

    /// The first fix: an ACK that acknowledges data and reports a gap releases nothing of `usable`, the room that it
    /// makes. Each later duplicate releases as usual what it shows to have left the network.
    pub(super) fn hold_back(&mut self, ack: &AckEvent, usable: Bytes) {
        if self.policy.fixes() && ack.advances && !ack.newly_sacked.is_zero() {
            self.held_back = usable;
        }
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

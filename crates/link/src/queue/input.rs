//! The input queue itself: who waits, the limits, and what the discipline says.

use std::collections::VecDeque;

use units::text::PacketsOrBytes;
use units::{Bytes, Instant, Rate, Stream};

use super::{Arrival, Departure, Policy, Verdict};
use crate::config::{self, Overflow};
use crate::event::DropRule;

/// A packet that waits: where it is stored, its size with framing, since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) slot: u32,
    pub(crate) size: Bytes,
    pub(crate) since: Instant,
}

/// A packet that comes to the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) now: Instant,
    pub(crate) size: Bytes,
    pub(crate) rate: Option<Rate>,
    /// Whether it would have to wait; one that would not is not stopped by a limit.
    pub(crate) waits: bool,
}

#[derive(Debug)]
pub(crate) struct InputQueue {
    waiting: VecDeque<Waiting>,
    bytes: Bytes,
    limit_packets: u64,
    limit_bytes: Bytes,
    overflow: Overflow,
    policy: Box<dyn Policy>,
}

impl InputQueue {
    pub(crate) fn new(config: &config::Queue, stream: Stream) -> Self {
        let (packets, bytes) = match config.limit {
            Some(PacketsOrBytes::Packets(packets)) => (packets.0, Bytes::MAX),
            Some(PacketsOrBytes::Bytes(bytes)) => (u64::MAX, bytes),
            None => (u64::MAX, Bytes::MAX),
        };
        Self {
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
            limit_packets: packets,
            limit_bytes: config.limit_bytes.map_or(bytes, |limit| limit.min(bytes)),
            overflow: config.overflow,
            policy: config.discipline.policy(stream),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) const fn overflow(&self) -> Overflow {
        self.overflow
    }

    pub(crate) fn average(&self) -> Option<f64> {
        self.policy.average()
    }

    /// Whether upstream should hold its packets back.
    pub(crate) fn holds_back(&self) -> bool {
        self.overflow == Overflow::FlowControl && self.is_at_limit()
    }

    /// What becomes of a packet that comes: the discipline first, then the limits.
    pub(crate) fn judge(&mut self, offer: &Offer) -> Verdict {
        let arrival = Arrival { now: offer.now, size: offer.size, waiting: self.len(), rate: offer.rate };
        let verdict = self.policy.on_arrival(&arrival);
        if verdict == Verdict::Pass && offer.waits && !self.has_room(offer.size) {
            return Verdict::Drop(DropRule::OVERFLOW);
        }
        verdict
    }

    pub(crate) fn push(&mut self, waiting: Waiting) {
        self.bytes += waiting.size;
        self.waiting.push_back(waiting);
    }

    /// The size of the packet that is next to leave.
    pub(crate) fn next_size(&self) -> Option<Bytes> {
        self.waiting.front().map(|head| head.size)
    }

    /// Takes the next packet, and what the discipline says of it.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Waiting, Verdict)> {
        let head = self.waiting.pop_front()?;
        self.bytes -= head.size;
        Some((head, self.leave(now, head.since)))
    }

    /// Since when the longest has been waiting.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|head| head.since)
    }

    /// Takes the packet that has been waiting longest, without a word of the discipline's.
    pub(crate) fn take_oldest(&mut self) -> Option<Waiting> {
        let head = self.waiting.pop_front()?;
        self.bytes -= head.size;
        Some(head)
    }

    /// A packet leaves that came at `since`: what the discipline says of it.
    pub(crate) fn leave(&mut self, now: Instant, since: Instant) -> Verdict {
        self.policy.on_departure(&Departure { now, waited: now - since, left: self.len() })
    }

    /// Under flow control one more packet always finds room, as upstream cannot know its size.
    fn has_room(&self, size: Bytes) -> bool {
        if self.overflow == Overflow::FlowControl {
            return !self.is_at_limit();
        }
        (self.waiting.len() as u64) < self.limit_packets
            && self.bytes.saturating_add(size) <= self.limit_bytes
    }

    fn is_at_limit(&self) -> bool {
        self.waiting.len() as u64 >= self.limit_packets || self.bytes >= self.limit_bytes
    }

    #[cfg(test)]
    pub(crate) fn set_policy(&mut self, policy: Box<dyn Policy>) {
        self.policy = policy;
    }
}

//! A line of packets that wait, with its policy.

use std::collections::VecDeque;

use units::{Bytes, Duration, Instant};

use super::{Arrival, Departure, Policy, Verdict};
use crate::packet::Ecn;

/// A packet that waits: where it is stored, its size with framing, since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) slot: u32,
    pub(crate) ecn: Ecn,
    pub(crate) size: Bytes,
    pub(crate) since: Instant,
}

/// First in, first out.
#[derive(Debug)]
pub struct Lane {
    waiting: VecDeque<Waiting>,
    bytes: Bytes,
    policy: Box<dyn Policy>,
}

impl Lane {
    pub(super) fn new(policy: Box<dyn Policy>) -> Self {
        Self { waiting: VecDeque::new(), bytes: Bytes::ZERO, policy }
    }

    /// Packets that wait.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Their bytes, framing included.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(super) fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    #[cfg(test)]
    pub(super) fn set_policy(&mut self, policy: Box<dyn Policy>) {
        self.policy = policy;
    }

    pub(super) fn on_arrival(&mut self, arrival: &Arrival) -> Verdict {
        self.policy.on_arrival(arrival)
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.bytes += waiting.size;
        self.waiting.push_back(waiting);
    }

    /// The packet that is next to leave.
    pub(super) fn head(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    /// Takes the next packet, where the policy has nothing to say.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Waiting> {
        let head = self.waiting.pop_front()?;
        self.bytes -= head.size;
        Some(head)
    }

    /// Takes the next packet, and what the policy says of it.
    pub(super) fn pop(&mut self, now: Instant) -> Option<(Waiting, Verdict)> {
        let head = self.take()?;
        Some((head, self.leave(now, &head)))
    }

    /// A packet leaves: what the policy says of it.
    pub(super) fn leave(&mut self, now: Instant, head: &Waiting) -> Verdict {
        let waited: Duration = now - head.since;
        let (left, left_bytes) = (self.len(), self.bytes);
        self.policy.on_departure(&Departure { now, size: head.size, ecn: head.ecn, waited, left, left_bytes })
    }

    /// Takes the packet at the head away, without asking the policy.
    pub(super) fn remove_head(&mut self, now: Instant) -> Option<Waiting> {
        let head = self.take()?;
        self.policy.on_removal(now, self.waiting.len() as u32);
        Some(head)
    }
}

//! A line of packets with its policy: the whole queue, or one class of a classful queue.

use units::{Bytes, Instant};

use super::fifo::{Fifo, QueuedPacket};
use super::policy::{Arrival, Decision, Departure, Policy};

/// A first-in-first-out line governed by a policy.
#[derive(Debug)]
pub struct SubQueue {
    fifo: Fifo,
    policy: Box<dyn Policy>,
}

impl SubQueue {
    pub(super) fn new(policy: Box<dyn Policy>) -> Self {
        Self { fifo: Fifo::default(), policy }
    }

    /// Packets in the line.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.fifo.len()
    }

    /// Whether the line is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fifo.head().is_none()
    }

    /// Bytes in the line, framing included.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        self.fifo.bytes()
    }

    pub(super) fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    pub(super) fn on_arrival(&mut self, arrival: &Arrival) -> Decision {
        self.policy.on_arrival(arrival)
    }

    #[inline]
    pub(super) fn push(&mut self, packet: QueuedPacket) {
        self.fifo.push(packet);
    }

    /// The packet that leaves next.
    #[inline]
    pub(super) fn head(&self) -> Option<&QueuedPacket> {
        self.fifo.head()
    }

    /// Time at which the packet at the head arrived.
    pub(super) fn head_arrived(&self) -> Option<Instant> {
        self.fifo.head().map(|head| head.arrived)
    }

    /// Takes the next packet, with the policy's decision on it.
    #[inline]
    pub(super) fn pop(&mut self, now: Instant) -> Option<(QueuedPacket, Decision)> {
        let (head, departure) = self.take_head(now)?;
        Some((head, self.on_departure(&departure)))
    }

    /// Takes the next packet, and describes its leaving.
    #[inline]
    pub(super) fn take_head(&mut self, now: Instant) -> Option<(QueuedPacket, Departure)> {
        let head = self.fifo.pop()?;
        Some((head, self.departure(now, &head)))
    }

    /// The leaving of a packet that was at the head, or that passes without waiting.
    #[inline]
    pub(super) fn departure(&self, now: Instant, head: &QueuedPacket) -> Departure {
        Departure {
            now,
            size: head.size,
            ecn: head.ecn,
            waited: now - head.arrived,
            left: self.len(),
            left_bytes: self.bytes(),
        }
    }

    /// The policy's decision on a departing packet.
    #[inline]
    pub(super) fn on_departure(&mut self, departure: &Departure) -> Decision {
        self.policy.on_departure(departure)
    }

    /// Takes out the packet at this place, counted from the head.
    pub(super) fn remove(&mut self, place: usize) -> Option<QueuedPacket> {
        self.fifo.remove(place)
    }

    /// Removes the packet at the head without a decision of the policy.
    pub(super) fn remove_head(&mut self, now: Instant) -> Option<QueuedPacket> {
        let head = self.fifo.pop()?;
        self.policy.on_removal(now, self.len());
        Some(head)
    }
}

//! Packets in a line: first in, first out.

use std::collections::VecDeque;

use units::{Bytes, Instant};

use crate::packet::Ecn;
use crate::store::Handle;

/// A packet in the queue: its handle in the store, its ECN field, its size with framing, and when it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedPacket {
    pub(crate) handle: Handle,
    pub(crate) ecn: Ecn,
    pub(crate) size: Bytes,
    pub(crate) arrived: Instant,
}

/// First in, first out.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    packets: VecDeque<QueuedPacket>,
    bytes: Bytes,
}

impl Fifo {
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    #[inline]
    pub(super) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    #[inline]
    pub(super) fn push(&mut self, packet: QueuedPacket) {
        self.bytes += packet.size;
        self.packets.push_back(packet);
    }

    /// The packet that leaves next.
    #[inline]
    pub(super) fn head(&self) -> Option<&QueuedPacket> {
        self.packets.front()
    }

    /// Takes out the packet at this place, counted from the head.
    pub(super) fn remove(&mut self, place: usize) -> Option<QueuedPacket> {
        let packet = self.packets.remove(place)?;
        self.bytes -= packet.size;
        Some(packet)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<QueuedPacket> {
        let head = self.packets.pop_front()?;
        self.bytes -= head.size;
        Some(head)
    }
}

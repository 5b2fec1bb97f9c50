//! The limits of a queue, and the effect of a full queue on its upstream neighbour.

use units::Bytes;
use units::text::QueueLimit;

use super::settings::{Overflow, Queue};

/// Limits of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    packets: u64,
    bytes: Bytes,
    overflow: Overflow,
}

impl Limits {
    /// The limits of a link's queue, in packets and bytes; the configuration has passed its check.
    pub(crate) fn new(config: &Queue) -> Self {
        let (packets, bytes) = match config.limit {
            Some(QueueLimit::Packets(packets)) => (packets.0, Bytes::MAX),
            Some(QueueLimit::Bytes(bytes)) => (u64::MAX, bytes),
            Some(QueueLimit::Time(_)) | None => (u64::MAX, Bytes::MAX),
        };
        // A packet that finds the transmitter idle does not wait and meets no limit, so the one in transmission
        // can be counted by making the limit smaller.
        let in_transmission = u64::from(config.counts_transmission && packets < u64::MAX);
        Self {
            packets: packets.saturating_sub(in_transmission),
            bytes: config.limit_bytes.map_or(bytes, |limit| limit.min(bytes)),
            overflow: config.overflow,
        }
    }

    /// Action at the limit.
    pub(crate) const fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// Whether a packet of `size` may wait with `len` packets of `bytes`. Under flow control one more packet always
    /// fits below the limit, because the upstream neighbour does not know the room.
    #[inline]
    pub(crate) fn has_room(&self, len: u32, bytes: Bytes, size: Bytes) -> bool {
        if self.overflow == Overflow::FlowControl {
            return !self.are_reached(len, bytes);
        }
        u64::from(len) < self.packets && bytes.saturating_add(size) <= self.bytes
    }

    /// Whether the upstream neighbour must hold its packets back.
    pub(crate) fn hold_back(&self, len: u32, bytes: Bytes) -> bool {
        self.overflow == Overflow::FlowControl && self.are_reached(len, bytes)
    }

    fn are_reached(&self, len: u32, bytes: Bytes) -> bool {
        u64::from(len) >= self.packets || bytes >= self.bytes
    }
}

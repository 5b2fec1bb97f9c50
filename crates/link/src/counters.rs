//! What a link adds up, whether or not anybody observes it.

use units::Bytes;

/// Totals since the start. A packet that came in is out, dropped (one of the three kinds) or inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets handed to the link.
    pub packets_in: u64,
    /// Their bytes at the network layer, without the link's framing.
    pub bytes_in: Bytes,
    /// Packets that left at the other end, damaged ones included.
    pub packets_out: u64,
    /// Their bytes at the network layer.
    pub bytes_out: Bytes,
    /// Dropped by the input queue: overflow, or its discipline.
    pub queue_drops: u64,
    /// Dropped by the error stage, at random or by script.
    pub error_drops: u64,
    /// Dropped by the output dropper.
    pub dropper_drops: u64,
    /// Damaged by the error stage.
    pub corrupted: u64,
    /// Delayed by the error stage, at random or by script; each packet once.
    pub delayed: u64,
    /// The most packets that ever waited in the input queue.
    pub queue_max: u64,
}

impl Counters {
    /// Packets dropped anywhere.
    #[must_use]
    pub const fn drops(&self) -> u64 {
        self.queue_drops + self.error_drops + self.dropper_drops
    }

    /// Packets that are still inside.
    #[must_use]
    pub const fn inside(&self) -> u64 {
        self.packets_in - self.packets_out - self.drops()
    }
}

//! The counters of a link, kept with and without an observer.

use units::Bytes;

use crate::compression::HeaderKind;

/// Adds the fields that are named.
macro_rules! add_each {
    ($total:ident, $more:ident: $($field:ident),+) => {
        $($total.$field += $more.$field;)+
    };
}

/// Totals since the start. A packet that came in, or a copy that was made, is out, dropped (one of the
/// three kinds) or inside.
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
    /// Dropped by the input queue: overflow, its discipline, its age, or a reset or handover that empties it.
    pub queue_drops: u64,
    /// Marked by the input queue as having met congestion (ECN).
    pub marked: u64,
    /// Lost beyond the input queue: by an error, a script, an outage, the link layer's limit, its age, a reset, a
    /// handover, or a decompressor out of step.
    pub error_drops: u64,
    /// Dropped by the output dropper.
    pub dropper_drops: u64,
    /// Damaged by the error stage.
    pub corrupted: u64,
    /// Delayed beyond the propagation: by an error, a script, the link layer, or to be overtaken; each packet
    /// once, those included that are then given up.
    pub delayed: u64,
    /// Copies that the link made.
    pub duplicates: u64,
    /// The most packets that ever waited in the input queue.
    pub queue_max: u64,
    /// Headers and octets on the wire, where the link compresses headers or stuffs octets.
    pub wire: WireCounters,
}

/// Totals of what a link with compression or stuffing sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCounters {
    /// Packets with compressed headers.
    pub compressed: u64,
    /// Packets with all fields of their headers, or all that change, to set the decompressor's state.
    pub refreshes: u64,
    /// Packets with headers that the compressor does not touch.
    pub plain: u64,
    /// Packets that the decompressor discarded, because it was out of step; among the `error_drops`.
    pub decompressor_drops: u64,
    /// Octets that stuffing added.
    pub escaped: u64,
    /// Bytes sent, with framing, compressed headers and stuffing.
    pub bytes: Bytes,
    /// Bytes of headers among them.
    pub headers: Bytes,
    /// Bytes that the decompressor sent back.
    pub feedback: Bytes,
}

impl WireCounters {
    /// Counts a packet by the form of its headers.
    pub const fn count(&mut self, headers: HeaderKind) {
        match headers {
            HeaderKind::Plain => self.plain += 1,
            HeaderKind::Full | HeaderKind::Dynamic => self.refreshes += 1,
            HeaderKind::Compressed => self.compressed += 1,
        }
    }

    /// Adds the totals of another link.
    pub fn add(&mut self, more: &Self) {
        add_each!(self, more: compressed, refreshes, plain, decompressor_drops, escaped, bytes, headers, feedback);
    }
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
        self.packets_in + self.duplicates - self.packets_out - self.drops()
    }

    /// Adds the totals of a link whose waiting packets passed to another one: they were subtracted there before they
    /// were counted here, so that these sums wrap.
    pub(crate) fn add(&mut self, more: &Self) {
        self.packets_in = self.packets_in.wrapping_add(more.packets_in);
        self.bytes_in = Bytes(self.bytes_in.0.wrapping_add(more.bytes_in.0));
        add_each!(self, more: packets_out, bytes_out, queue_drops, marked, error_drops, dropper_drops, corrupted);
        add_each!(self, more: delayed, duplicates);
        self.queue_max = self.queue_max.max(more.queue_max);
        self.wire.add(&more.wire);
    }
}

//! The memory of the packets in a receive buffer, where it counts as in Linux, and what a buffer does that has too much
//! in it: it puts packets together (`tcp_collapse`), then drops data beyond a gap (`tcp_prune_ofo_queue`).

use units::{Bytes, Seq};

use super::{Packet, Reassembly};
use crate::window::{COLLAPSED, COLLAPSED_MEMORY, PacketMemory};

impl Reassembly {
    /// Memory of a packet with `len` bytes of data.
    #[inline]
    pub(super) fn memory_of(&self, len: u32) -> Bytes {
        self.packets.map_or(Bytes::ZERO, |packets| packets.of(Bytes(u64::from(len))))
    }

    /// Counts a packet in order: its data are copied behind those before it if there is room (`tcp_try_coalesce`).
    pub(super) fn count(&mut self, packet: &mut Packet, packets: PacketMemory) {
        let len = packet.len();
        if len <= self.spare && !self.ready.is_empty() {
            packet.memory = Bytes::ZERO;
            self.spare -= len;
        } else {
            self.spare = packets.spare(len);
        }
        self.memory += packet.memory;
    }

    /// Copies data that waste memory, and all that follow them without a gap, into full blocks; `share` tells how much
    /// data a packet of some memory should have.
    pub(crate) fn collapse(&mut self, share: impl Fn(Bytes) -> Bytes) {
        let mut copied = false;
        for packet in &mut self.ready {
            copied |= packet.wastes(&share);
            self.memory -= if copied { packet.copy() } else { Bytes::ZERO };
        }
        let mut end = self.next;
        for piece in &mut self.pieces {
            copied = (copied && piece.range.start == end) || piece.packet.wastes(&share);
            self.memory -= if copied { piece.packet.copy() } else { Bytes::ZERO };
            end = piece.range.end;
        }
        self.spare = Bytes::ZERO;
    }

    /// Drops what waits beyond a gap, the last first, in portions of `step`, until `fits` says that the rest does; but
    /// nothing for data that would come last themselves, at `seq`.
    pub(crate) fn prune(&mut self, seq: Seq, step: Bytes, fits: impl Fn(&Self) -> bool) {
        let mut freed = Bytes::ZERO;
        while let Some(last) = self.pieces.back() {
            if seq.after(last.range.start) || (freed >= step && fits(self)) {
                break;
            }
            let last = self.pieces.pop_back().expect("it was just seen");
            freed = if freed >= step { Bytes::ZERO } else { freed } + last.packet.memory;
            self.memory -= last.packet.memory;
            self.pieces_bytes -= Bytes(u64::from(last.range.len()));
            self.islands.remove_from(last.range.start);
        }
    }
}

impl Packet {
    fn len(&self) -> Bytes {
        Bytes(u64::from(self.payload.len()))
    }

    fn wastes(&self, share: impl Fn(Bytes) -> Bytes) -> bool {
        share(self.memory) > self.len()
    }

    /// Its data take their part of a full block from now on; returns the memory that this saves.
    fn copy(&mut self) -> Bytes {
        let part = Bytes((COLLAPSED_MEMORY * self.len().0).0.div_ceil(COLLAPSED.0));
        let (before, after) = (self.memory, part.min(self.memory));
        self.memory = after;
        before - after
    }
}

#[cfg(test)]
mod tests {
    use units::SeqRange;
    use wire::Payload;

    use super::*;
    use crate::window::Held;

    /// A buffer with packets of `len` bytes at these positions.
    fn buffer(len: u32, starts: &[u32]) -> Reassembly {
        let mut buffer = Reassembly::counting(Seq(0), Some(PacketMemory::BySize));
        for start in starts {
            let payload = Payload::Pattern { offset: u64::from(*start), len };
            buffer.insert(SeqRange::new(Seq(*start), len), payload);
        }
        buffer
    }

    #[test]
    fn memory_is_that_of_packets_until_they_are_read() {
        let mut buffer = buffer(1000, &[0, 2000, 1000]);
        assert_eq!(buffer.held().memory, Bytes(3 * 2304));
        while buffer.read().is_some() {}
        assert_eq!(buffer.held(), Held::default());
    }

    #[test]
    fn small_packets_in_order_are_copied_behind_each_other() {
        // As Linux 6.18 shows: three of 100 bytes in a block of 576 have no room next to the first.
        assert_eq!(buffer(100, &[0, 100]).held().memory, Bytes(2 * 832));
        assert_eq!(buffer(300, &[0, 300, 600]).held().memory, Bytes(2 * 1280));
        assert_eq!(buffer(300, &[300, 900]).held().memory, Bytes(2 * 1280), "beyond gaps each has its block");
    }

    #[test]
    fn small_packets_are_put_together_and_full_ones_stay() {
        let mut small = buffer(150, &[1000, 1150, 1300]);
        small.collapse(|memory| memory / 2);
        assert_eq!(small.held().memory, Bytes(3 * 173));
        let mut full = buffer(1448, &[0, 1448, 4000]);
        full.collapse(|memory| memory / 2);
        assert_eq!(full.held().memory, Bytes(3 * 2304));
    }

    #[test]
    fn what_lies_last_is_dropped_first() {
        let mut full = buffer(1000, &[2000, 4000, 6000]);
        full.prune(Seq(1000), Bytes(3000), |_| true);
        assert_eq!((full.held().memory, full.highest()), (Bytes(2304), Some(Seq(3000))));
        assert_eq!(full.sack_blocks(4).as_slice(), [SeqRange::new(Seq(2000), 1000)]);
        full.prune(Seq(8000), Bytes(3000), |_| false);
        assert_eq!(full.highest(), Some(Seq(3000)), "data that come last themselves drop nothing");
    }
}

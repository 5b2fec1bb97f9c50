//! The memory that a packet takes in a receive buffer (`skb->truesize`): the block in which the driver of the network
//! has put it, and its record.

use units::Bytes;

/// How large a block is in which a driver puts a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketMemory {
    /// As large as the packet wants, rounded up to a power of two or to pages, as virtual devices allocate it (TUN).
    BySize,
    /// The same for each packet that fits, block and record together.
    Constant(Bytes),
}

impl PacketMemory {
    /// Memory of a packet with `len` bytes of data.
    #[must_use]
    pub fn of(self, len: Bytes) -> Bytes {
        self.block(len) + RECORD
    }

    /// Room for later data behind those of a packet (`skb_tailroom`): data that fit are copied there, and take no
    /// memory of their own (`skb_try_coalesce`).
    #[must_use]
    pub fn spare(self, len: Bytes) -> Bytes {
        self.block(len).saturating_sub(len + OVERHEAD)
    }

    fn block(self, len: Bytes) -> Bytes {
        let wanted = len + OVERHEAD;
        match self {
            Self::Constant(memory) if len + RECORD <= memory => memory - RECORD,
            _ if wanted <= SMALL_BLOCK => SMALL_BLOCK,
            _ if wanted <= PAGE => Bytes(wanted.0.next_power_of_two()),
            _ => Bytes(wanted.0.next_multiple_of(PAGE.0)),
        }
    }
}

/// A receive buffer in which the memory of packets counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketBuffer {
    /// Its size.
    pub size: Bytes,
    /// The share of data in memory, in 256ths (`scaling_ratio`).
    pub data_share: u64,
}

impl PacketBuffer {
    /// The window that `memory` stands for: data below it waste memory.
    #[must_use]
    pub const fn window_of(self, memory: Bytes) -> Bytes {
        Bytes(memory.0 * self.data_share / 256)
    }

    /// The free part, where packets take `memory`, as a window (`tcp_space`).
    #[must_use]
    pub fn free(self, memory: Bytes) -> Bytes {
        self.window_of(self.size.saturating_sub(memory))
    }

    /// Whether it takes one more packet: the last may pass the limit (`tcp_can_ingest`).
    #[must_use]
    pub fn admits(self, memory: Bytes) -> bool {
        memory <= self.size
    }

    /// Whether less than half of it is free, so that ACKs which only narrow the window are not urgent
    /// (`__tcp_select_window`).
    #[must_use]
    pub fn is_tight(self, memory: Bytes) -> bool {
        self.free(memory) < self.window_of(self.size) / 2
    }

    /// The part that is freed at once where data beyond a gap are dropped (`tcp_prune_ofo_queue`).
    #[must_use]
    pub fn prune_step(self) -> Bytes {
        self.size / 8
    }
}

/// `struct sk_buff`, rounded up to a cache line, on a machine of 64 bits.
const RECORD: Bytes = Bytes(256);
/// Inside a block: `struct skb_shared_info`, the free room before headers (`NET_SKB_PAD`), headers of TCP over IPv4.
const OVERHEAD: Bytes = Bytes(320 + 64 + 40);
/// The block of small packets (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_BLOCK: Bytes = Bytes(576);
const PAGE: Bytes = Bytes(4096);

/// Data that a new block takes where packets are put together (`SKB_MAX_ORDER(0, 0)`): a page without its end.
pub const COLLAPSED: Bytes = Bytes(4096 - 320);
/// Its memory: the page and a record.
pub const COLLAPSED_MEMORY: Bytes = Bytes(4096 + 256);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_what_linux_6_18_shows_for_it_behind_a_tun_device() {
        let shown = [
            (1, 832),
            (100, 832),
            (300, 1280),
            (500, 1280),
            (1000, 2304),
            (1460, 2304),
            (3640, 4352),
            (3700, 8448),
            (5000, 8448),
            (8000, 12_544),
            (10_000, 12_544),
            (20_000, 20_736),
            (60_000, 61_696),
        ];
        for (len, memory) in shown {
            assert_eq!(PacketMemory::BySize.of(Bytes(len)), Bytes(memory), "{len}");
        }
    }

    #[test]
    fn the_end_of_a_block_has_room_for_later_data() {
        let spare = [100, 300, 1000, 3700].map(|len| PacketMemory::BySize.spare(Bytes(len)).0);
        assert_eq!(spare, [52, 300, 624, 4068]);
    }

    #[test]
    fn blocks_of_one_size_take_what_fits() {
        let memory = PacketMemory::Constant(Bytes(2304));
        assert_eq!([1, 1448, 5000].map(|len| memory.of(Bytes(len)).0), [2304, 2304, 8448]);
    }
}

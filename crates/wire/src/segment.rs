//! A TCP segment as a value (RFC 9293 §3.1, options of RFC 2018, 2883 and 7323).

use std::fmt;

use units::{Seq, SeqRange};

use crate::Payload;

/// One TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Number of the first byte of `payload`, or of the SYN.
    pub seq: Seq,
    /// The next number that the sender expects; meaningful with [`Flags::ACK`].
    pub ack: Seq,
    /// The control bits.
    pub flags: Flags,
    /// The window field as it stands in the header, not yet scaled.
    pub window: u16,
    /// The options.
    pub options: Options,
    /// The packet's ECN field. It stands in the IP header (RFC 3168 §5); it is kept here because only the
    /// two ends of a connection, and queues that mark, ever look at it.
    pub ecn: Ecn,
    /// The bytes carried.
    pub payload: Payload,
}

/// The ECN field of a packet (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: the ends do not understand marks, and a queue must drop.
    #[default]
    NotCapable = 0b00,
    /// ECT(1).
    Capable1 = 0b01,
    /// ECT(0): what RFC 3168 §5 wants senders to use.
    Capable = 0b10,
    /// CE: a queue on the way was congested.
    Experienced = 0b11,
}

/// The control bits of the header (RFC 9293 §3.1), with ECN's (RFC 3168 §6.1), and the four bits before
/// them that are reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

/// The options that we know. Padding and unknown options are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size that the sender can receive; on a SYN (RFC 9293 §3.7.1).
    pub mss: Option<u16>,
    /// Shift of the sender's window fields; on a SYN (RFC 7323 §2.2).
    pub window_scale: Option<u8>,
    /// Selective acknowledgments are welcome; on a SYN (RFC 2018 §2).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3.2).
    pub timestamps: Option<Timestamps>,
    /// Blocks that arrived out of order (RFC 2018 §3), or twice (RFC 2883 §4).
    pub sack: SackBlocks,
}

/// The timestamps option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The clock value that the sender echoes (TSecr); meaningful with [`Flags::ACK`].
    pub echo: u32,
}

/// Up to four blocks, most recent first.
#[derive(Clone, Copy, Default)]
pub struct SackBlocks {
    /// The first `count` of these; the others are left over from earlier use.
    blocks: [SeqRange; Self::MAX],
    count: u8,
}

impl Segment {
    /// Bytes of the fixed TCP header (RFC 9293 §3.1).
    pub const HEADER_LEN: u32 = 20;

    /// How many sequence numbers the segment takes: its bytes, and one each for SYN and FIN.
    #[must_use]
    pub fn seq_len(&self) -> u32 {
        self.payload.len()
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }

    /// The sequence numbers that the segment takes.
    #[must_use]
    pub fn seq_range(&self) -> SeqRange {
        SeqRange::new(self.seq, self.seq_len())
    }

    /// Bytes of TCP header with options, padded to a multiple of four.
    #[must_use]
    pub fn header_len(&self) -> u32 {
        Self::HEADER_LEN + self.options.wire_len()
    }

    /// Bytes of header and payload.
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        self.header_len() + self.payload.len()
    }
}

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field counts.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer counts.
    pub const URG: Self = Self(0x20);
    /// Echo of a congestion mark (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// The congestion window was reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// The sender wants this segment acknowledged: the poll bit of Landström 2008 §6.3. It is the first of
    /// the reserved bits; the document names none.
    pub const POLL: Self = Self(0x800);

    /// No flag at all.
    #[must_use]
    pub const fn empty() -> Self {
        Self(0)
    }

    /// The flags in the low twelve bits of a header's bytes 12 and 13.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0xfff)
    }

    /// The low twelve bits of the header's bytes 12 and 13.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set less `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` is set here.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other` is set here.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Ecn {
    /// The low two bits of the IP header's traffic class.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable,
            _ => Self::Experienced,
        }
    }

    /// What a congested queue makes of it; `None` where it must drop the packet.
    #[must_use]
    pub const fn marked(self) -> Option<Self> {
        match self {
            Self::NotCapable => None,
            _ => Some(Self::Experienced),
        }
    }
}

impl fmt::Display for Flags {
    /// As tcpdump writes them: `S`, `F`, `R`, `P`, `.` for ACK, `U`, `E`, `W`; and `Q` for a poll.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LETTERS: [(Flags, char); 9] = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ACK, '.'),
            (Flags::URG, 'U'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::POLL, 'Q'),
        ];
        LETTERS
            .iter()
            .filter(|(flag, _)| self.contains(*flag))
            .try_for_each(|(_, letter)| write!(f, "{letter}"))
    }
}

impl Options {
    /// Takes all options out.
    #[inline]
    pub const fn clear(&mut self) {
        self.mss = None;
        self.window_scale = None;
        self.sack_permitted = false;
        self.timestamps = None;
        self.sack.clear();
    }

    /// Bytes that the options take in the header, padded to a multiple of four. Timestamps are
    /// laid out with two leading NOPs (RFC 7323 appendix A), SACK blocks likewise.
    #[must_use]
    pub const fn wire_len(&self) -> u32 {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        // SACK-permitted rides in the two NOPs of the timestamps where both are present.
        let permitted = if self.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.count as u32 };
        mss + scale + timestamps + permitted + sack
    }
}

impl SackBlocks {
    /// As many blocks as the option space of 40 bytes holds (RFC 2018 §3).
    pub const MAX: usize = 4;

    /// Adds a block at the end; returns whether there was room.
    pub fn push(&mut self, block: SeqRange) -> bool {
        let Some(place) = self.blocks.get_mut(self.count as usize) else { return false };
        *place = block;
        self.count += 1;
        true
    }

    /// Takes all blocks out.
    #[inline]
    pub const fn clear(&mut self) {
        self.count = 0;
    }

    /// The blocks, most recent first.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[SeqRange] {
        &self.blocks[..self.count as usize]
    }

    /// How many blocks there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_take_the_room_that_linux_gives_them() {
        let mut options = Options { mss: Some(1460), ..Options::default() };
        assert_eq!(options.wire_len(), 4);
        options.sack_permitted = true;
        options.timestamps = Some(Timestamps::default());
        options.window_scale = Some(7);
        // The SYN of a current Linux: MSS, SACK-permitted, timestamps, NOP, window scale.
        assert_eq!(options.wire_len(), 20);
    }

    #[test]
    fn a_fifth_block_finds_no_room() {
        let mut blocks = SackBlocks::default();
        for i in 0..4 {
            assert!(blocks.push(SeqRange::new(Seq(i * 10), 5)));
        }
        assert!(!blocks.push(SeqRange::new(Seq(90), 5)));
        assert_eq!(blocks.as_slice()[3], SeqRange::new(Seq(30), 5));
    }

    #[test]
    fn blocks_that_were_taken_out_do_not_count() {
        let mut blocks = SackBlocks::default();
        blocks.push(SeqRange::new(Seq(1), 5));
        blocks.clear();
        assert_eq!(blocks, SackBlocks::default());
        assert!(blocks.is_empty() && blocks.as_slice().is_empty());
    }

    #[test]
    fn flags_print_as_tcpdump_writes_them() {
        assert_eq!(Flags::SYN.with(Flags::ACK).to_string(), "S.");
        assert_eq!(Flags::FIN.with(Flags::PSH).with(Flags::ACK).to_string(), "FP.");
    }
}

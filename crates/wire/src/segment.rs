//! A TCP segment as a value (RFC 9293 §3.1, options of RFC 2018, 2883, 7323, 7413 and 9768).

use std::fmt;

use units::{Seq, SeqRange};

use crate::{AccEcn, AckRate, FastOpenCookie, OptionLayout, Payload};

/// One TCP segment.
///
/// The fields are in memory in this order: those of every segment come first, and SACK blocks, which few have, last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// The bytes carried.
    pub payload: Payload,
    /// Number of the first byte of `payload`, or of the SYN.
    pub seq: Seq,
    /// The next number that the sender expects; meaningful with [`Flags::ACK`].
    pub ack: Seq,
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// The control bits.
    pub flags: Flags,
    /// The window field of the header, not scaled.
    pub window: u16,
    /// The packet's ECN field, part of the IP header (RFC 3168 §5). It is kept here because only the ends of a
    /// connection, and queues that mark, read it.
    pub ecn: Ecn,
    /// The options.
    pub options: Options,
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

/// The known options. Padding and unknown options are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Options {
    /// Timestamps (RFC 7323 §3.2).
    pub timestamps: Option<Timestamps>,
    /// Maximum segment size that the sender can receive; on a SYN (RFC 9293 §3.7.1).
    pub mss: Option<u16>,
    /// Shift of the sender's window fields; on a SYN (RFC 7323 §2.2).
    pub window_scale: Option<u8>,
    /// Selective acknowledgments are welcome; on a SYN (RFC 2018 §2).
    pub sack_permitted: bool,
    /// Their order in the header. Parsing does not determine it.
    pub layout: OptionLayout,
    /// Counts of bytes that arrived with each ECN field (RFC 9768 §3.2.3).
    pub accecn: Option<AccEcn>,
    /// Blocks that arrived out of order (RFC 2018 §3), or twice (RFC 2883 §4).
    pub sack: SackBlocks,
    /// The number of segments for each ACK that the sender requests, or that such requests are complied with.
    pub ack_rate: Option<AckRate>,
    /// A Fast Open cookie, or the request for one; on a SYN (RFC 7413 §4.1.1).
    pub fast_open: Option<FastOpenCookie>,
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
#[repr(C)]
pub struct SackBlocks {
    count: u8,
    /// The first `count` of these; the others are left over from earlier use.
    blocks: [SeqRange; Self::MAX],
}

impl Segment {
    /// Bytes of the fixed TCP header (RFC 9293 §3.1).
    pub const HEADER_LEN: u32 = 20;

    /// Number of sequence numbers that the segment occupies: its bytes, and one each for SYN and FIN.
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

    /// Accurate ECN (RFC 9768 §3.1), once the nonce sum of RFC 3540. After the handshake it is the highest of the three
    /// bits of [`Flags::ACE`].
    pub const AE: Self = Self(0x100);
    /// The three bits of the ACE field (RFC 9768 §3.2.2).
    pub const ACE: Self = Self::AE.with(Self::CWR).with(Self::ECE);

    /// The sender wants this segment acknowledged: the poll bit of Landström 2008 §6.3. It is the first of
    /// the reserved bits; the document names none.
    pub const POLL: Self = Self(0x800);

    /// The segment is a dummy, or the ACK of one (TCP Peach, Akyildiz, Morabito and Palazzo 2001): the second of the
    /// reserved bits; the paper says that it is one of them.
    pub const DUMMY: Self = Self(0x400);

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

    /// The ACE field with the low three bits of `number` (RFC 9768 §3.2.2).
    #[must_use]
    pub const fn ace(number: u32) -> Self {
        Self(((number & 0b111) as u16) << ACE_SHIFT)
    }

    /// The number in the ACE field.
    #[must_use]
    pub const fn ace_number(self) -> u32 {
        ((self.0 & Self::ACE.0) >> ACE_SHIFT) as u32
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

    /// The codepoint after marking by a congested queue; `None` if it must drop the packet.
    #[must_use]
    pub const fn marked(self) -> Option<Self> {
        match self {
            Self::NotCapable => None,
            _ => Some(Self::Experienced),
        }
    }
}

impl fmt::Display for Flags {
    /// As tcpdump writes them: `S`, `F`, `R`, `P`, `.` for ACK, `U`, `E`, `W`, `e` for AE; and `Q` for a poll.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LETTERS: [(Flags, char); 11] = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ACK, '.'),
            (Flags::URG, 'U'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::AE, 'e'),
            (Flags::POLL, 'Q'),
            (Flags::DUMMY, 'D'),
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
        self.accecn = None;
        self.ack_rate = None;
        self.fast_open = None;
        self.layout = OptionLayout::Linux;
    }

    /// Bytes that the options take in the header, padded to a multiple of four. Timestamps are
    /// laid out with two leading NOPs (RFC 7323 appendix A), SACK blocks likewise.
    #[must_use]
    pub const fn wire_len(&self) -> u32 {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let tail = if self.sack_permitted || self.fast_open.is_some() { self.tail_len() } else { 0 };
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.count as u32 };
        let accecn = match self.accecn {
            Some(counters) if counters.option_len() % 4 <= self.nops_after_accecn() => {
                counters.option_len() & !3
            }
            Some(counters) => counters.option_len().next_multiple_of(4),
            None => 0,
        };
        let ack_rate = match self.ack_rate {
            Some(rate) => rate.option_len().next_multiple_of(4),
            None => 0,
        };
        mss + scale + timestamps + tail + sack + accecn + ack_rate
    }

    /// Bytes of the options that come before the one of Accurate ECN.
    pub(crate) const fn len_before_accecn(&self) -> u32 {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        mss + if self.timestamps.is_some() { 12 } else { 0 }
    }

    /// NOPs with which the option after the one of Accurate ECN begins. Only with the layout of Linux it is known.
    pub(crate) const fn nops_after_accecn(&self) -> u32 {
        if !matches!(self.layout, OptionLayout::Linux) {
            0
        } else if self.sack_permitted && self.timestamps.is_none() {
            2
        } else if self.window_scale.is_some() {
            1
        } else if self.sack.is_empty() {
            0
        } else {
            2
        }
    }

    /// Bytes of Fast Open, and of SACK-permitted unless it replaces the two NOPs of the timestamps.
    const fn tail_len(&self) -> u32 {
        let has_timestamps = self.timestamps.is_some();
        let permitted = match self.sack_permitted {
            true if self.layout.ends_with_sack_permitted(has_timestamps) => 2,
            true if !has_timestamps => 4,
            _ => 0,
        };
        let cookie = match &self.fast_open {
            Some(cookie) => cookie.option_len(),
            None => 0,
        };
        (permitted + cookie).next_multiple_of(4)
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

    /// Takes the last block out.
    pub const fn pop(&mut self) {
        self.count = self.count.saturating_sub(1);
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

    /// Number of blocks.
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

/// Shift of the ACE field within the flags.
const ACE_SHIFT: u16 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ace_field_is_ae_cwr_and_ece() {
        assert_eq!((Flags::ace(0b100), Flags::ace(0b011)), (Flags::AE, Flags::CWR.with(Flags::ECE)));
        assert_eq!(Flags::ace(13), Flags::AE.with(Flags::ECE));
        assert_eq!((0..8).map(|number| Flags::ace(number).with(Flags::ACK).ace_number()).sum::<u32>(), 28);
    }

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

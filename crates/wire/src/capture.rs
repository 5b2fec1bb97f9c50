//! Captures: what was seen of packets at points of observation, and reading it from files.
//!
//! [`open`] takes a pcap or pcapng file, in either byte order, and gives [`Frame`]s in the order of
//! the file. A file that is torn gives the frames before the tear, then an error that says where.

use std::io::{self, Read};

use units::{Instant, PacketId};

use crate::source::Source;
use crate::{pcap, pcapng};

/// One packet as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Where: an index into the capture's interfaces.
    pub interface: u32,
    /// When. In files that the world writes, [`VIRTUAL_EPOCH`] plus the time of the run; in others
    /// the time since 1970-01-01 00:00 UTC. Zero where a file does not say.
    pub at: Instant,
    /// The bytes that were captured.
    pub data: Vec<u8>,
    /// How many bytes the packet had: more than in `data`, if its end was cut off.
    pub original_len: u32,
    /// Whether the packet came in at the interface or went out.
    pub direction: Option<Direction>,
    /// Who the packet is: the same packet seen at several points has one identity.
    pub packet: Option<PacketId>,
    /// What was said of it, such as its fate.
    pub comment: Option<String>,
}

/// Which way a packet passed an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// In.
    Inbound,
    /// Out.
    Outbound,
}

/// A point of observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name: the point.
    pub name: String,
    /// More on it, or empty.
    pub description: String,
    /// What its frames begin with.
    pub link_type: LinkType,
    /// Most bytes that are captured of a packet; 0 for no limit.
    pub snap_len: u32,
}

/// What the frames of an interface begin with, by its number in the registry of link types
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

/// Reads the frames of a capture.
#[derive(Debug)]
pub struct Reader<R>(Format<R>);

/// Why a capture could not be read on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system could not read.
    #[error("cannot read on at byte {at}: {error}")]
    Io {
        /// Where.
        at: u64,
        /// What the system says.
        error: io::Error,
    },
    /// The file is empty, or of another kind.
    #[error("not a pcap or pcapng file: it begins with {start:02x?}")]
    Unknown {
        /// Its first bytes, at most four.
        start: Vec<u8>,
    },
    /// The file ends in the middle of something.
    #[error("torn: the file ends at byte {at}, inside the {part} that begins at byte {begins}")]
    Torn {
        /// Where the file ends.
        at: u64,
        /// In the middle of what.
        part: &'static str,
        /// Where that begins.
        begins: u64,
    },
    /// The file says something impossible.
    #[error("damaged: the {part} that begins at byte {begins} {fault}")]
    Damaged {
        /// What is damaged.
        part: &'static str,
        /// Where it begins.
        begins: u64,
        /// What is wrong with it.
        fault: String,
    },
}

/// The date of the start of a run in captures: 2000-01-01 00:00 UTC. Not 1970, for tools
/// (tcptrace) take a time of zero for none at all; and never today, for the same run gives the
/// same bytes.
pub const VIRTUAL_EPOCH: Instant = Instant::from_nanos(946_684_800 * 1_000_000_000);

/// Reads the head of a capture.
///
/// # Errors
/// If it is neither pcap nor pcapng, or its head is torn or damaged.
pub fn open<R: Read>(input: R) -> Result<Reader<R>, ReadError> {
    let mut source = Source::new(input);
    let start = source.up_to(4)?;
    let magic =
        <[u8; 4]>::try_from(start.as_slice()).map_err(|_| ReadError::Unknown { start: start.clone() })?;
    if magic == pcapng::SECTION_HEADER {
        Ok(Reader(Format::Pcapng(pcapng::Reader::open(source)?)))
    } else if let Some(variant) = pcap::Variant::of(magic) {
        Ok(Reader(Format::Pcap(pcap::Reader::open(source, variant)?)))
    } else {
        Err(ReadError::Unknown { start })
    }
}

impl<R: Read> Reader<R> {
    /// The interfaces met so far: all that the frames read so far speak of.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match &self.0 {
            Format::Pcap(reader) => reader.interfaces(),
            Format::Pcapng(reader) => reader.interfaces(),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Frame, ReadError>;

    /// The next frame. After an error there is none.
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Format::Pcap(reader) => reader.next(),
            Format::Pcapng(reader) => reader.next(),
        }
    }
}

impl Frame {
    /// A whole packet, seen at an interface, with nothing more said of it.
    #[must_use]
    pub fn new(interface: u32, at: Instant, data: Vec<u8>) -> Self {
        let original_len = u32::try_from(data.len()).expect("a packet is at most 64 KiB");
        Self { interface, at, data, original_len, ..Self::default() }
    }
}

impl Interface {
    /// A point that sees IP packets without anything before them.
    #[must_use]
    pub fn raw_ip(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: String::new(), link_type: LinkType::RAW, snap_len: 0 }
    }
}

impl LinkType {
    /// Loopback of BSD: four bytes of address family in the host's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP as in RFC 1661, perhaps framed as in HDLC.
    pub const PPP: Self = Self(9);
    /// IPv4 or IPv6 without anything before it.
    pub const RAW: Self = Self(101);
    /// Loopback of OpenBSD: four bytes of address family in network order.
    pub const LOOP: Self = Self(108);
    /// Linux "any" interface.
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4 without anything before it.
    pub const IPV4: Self = Self(228);
    /// IPv6 without anything before it.
    pub const IPV6: Self = Self(229);
    /// Linux "any" interface, second form.
    pub const LINUX_SLL2: Self = Self(276);
}

#[derive(Debug)]
enum Format<R> {
    Pcap(pcap::Reader<R>),
    Pcapng(pcapng::Reader<R>),
}

//! Frames of captures, the interfaces at which they were seen, and the errors of reading them.

use std::io;

use units::{Instant, PacketId};

/// One packet as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Index into the capture's interfaces.
    pub interface: u32,
    /// Time: in files that the world writes, [`VIRTUAL_EPOCH`] plus the time of the run; in others the time since
    /// 1970-01-01 00:00 UTC. Zero if the file does not give it.
    pub at: Instant,
    /// The captured bytes.
    pub data: Vec<u8>,
    /// Length of the packet in bytes: more than that of `data`, if its end was cut off.
    pub original_len: u32,
    /// Whether the packet came in at the interface or went out.
    pub direction: Option<Direction>,
    /// Identity of the packet: the same packet seen at several points has one identity.
    pub packet: Option<PacketId>,
    /// A comment, such as its fate.
    pub comment: Option<String>,
}

/// The direction in which a packet passed an interface.
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
    /// Name of the point.
    pub name: String,
    /// Description, or empty.
    pub description: String,
    /// The type of its frames' first header.
    pub link_type: LinkType,
    /// Maximum number of captured bytes of a packet; 0 for no limit.
    pub snap_len: u32,
}

/// The type of the first header of an interface's frames, by its number in the registry of link types
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// Why the reading of a capture ended.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system could not read.
    #[error("cannot read on at byte {at}: {error}")]
    Io {
        /// Position in the file.
        at: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The file is empty, or of another kind.
    #[error("not a pcap or pcapng file: {}", if start.is_empty() { "it is empty".into() } else {
        format!("it begins with \"{}\"", start.escape_ascii())
    })]
    Unknown {
        /// Its first bytes, at most four.
        start: Vec<u8>,
    },
    /// The file is truncated.
    #[error("torn: the file ends at byte {at}, inside the {part} that begins at byte {begins}")]
    Torn {
        /// Where the file ends.
        at: u64,
        /// The truncated part.
        part: &'static str,
        /// Where it begins.
        begins: u64,
    },
    /// The contents of the file are impossible.
    #[error("damaged: the {part} that begins at byte {begins} {fault}")]
    Damaged {
        /// The damaged part.
        part: &'static str,
        /// Where it begins.
        begins: u64,
        /// The error.
        fault: String,
    },
}

/// The date of the start of a run in captures: 2000-01-01 00:00 UTC. It is not 1970, because tools (tcptrace) take a
/// time of zero for none, and not today, because the same run gives the same bytes.
pub const VIRTUAL_EPOCH: Instant = Instant::from_nanos(946_684_800 * 1_000_000_000);

impl Frame {
    /// A whole packet, seen at an interface, without a comment.
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
    /// Fiber distributed data interface.
    pub const FDDI: Self = Self(10);
    /// PPP framed as in HDLC, or Cisco's HDLC.
    pub const PPP_SERIAL: Self = Self(50);
    /// PPP over Ethernet, without the Ethernet header.
    pub const PPP_ETHER: Self = Self(51);
    /// IPv4 or IPv6 without anything before it.
    pub const RAW: Self = Self(101);
    /// Cisco's HDLC.
    pub const CISCO_HDLC: Self = Self(104);
    /// IEEE 802.11.
    pub const IEEE_802_11: Self = Self(105);
    /// Loopback of OpenBSD: four bytes of address family in network order.
    pub const LOOP: Self = Self(108);
    /// OpenBSD's IPsec interface.
    pub const ENC: Self = Self(109);
    /// Linux "any" interface.
    pub const LINUX_SLL: Self = Self(113);
    /// OpenBSD's log of its packet filter.
    pub const PFLOG: Self = Self(117);
    /// IEEE 802.11 after the header of Prism cards.
    pub const PRISM: Self = Self(119);
    /// IEEE 802.11 after a radiotap header.
    pub const RADIOTAP: Self = Self(127);
    /// PPP after one byte of direction and one of HDLC.
    pub const PPP_PPPD: Self = Self(166);
    /// PPP after one byte of direction.
    pub const PPP_WITH_DIRECTION: Self = Self(204);
    /// IPv4 without anything before it.
    pub const IPV4: Self = Self(228);
    /// IPv6 without anything before it.
    pub const IPV6: Self = Self(229);
    /// The log of the Linux packet filter.
    pub const NFLOG: Self = Self(239);
    /// Linux "any" interface, second form.
    pub const LINUX_SLL2: Self = Self(276);
}

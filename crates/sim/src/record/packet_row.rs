//! A packet as it was sent.

use tcp::Kind;
use units::PacketId;
use wire::{Flags, Segment, Transport, dccp};

use crate::ids::{ConversationId, Id, NodeId};
use crate::packet::{Body, Packet};

/// A packet as it was sent. Sequence numbers are positions in the stream, which do not wrap: a direction's SYN is 0,
/// its first byte 1.
#[derive(Clone, Debug)]
pub(super) struct PacketRow {
    pub(super) id: PacketId,
    pub(super) conversation: ConversationId,
    /// Node that sent it.
    pub(super) from: NodeId,
    /// Node that receives it.
    pub(super) to: NodeId,
    /// Hosts of its IP header, whose addresses a proxy takes.
    pub(super) addresses: [NodeId; 2],
    /// Traffic class; that of a packet from outside is in its content.
    pub(super) class: u8,
    pub(super) kind: &'static str,
    pub(super) retransmission: bool,
    pub(super) cause: Option<&'static str>,
    pub(super) seq: i64,
    pub(super) len: u32,
    pub(super) ack: i64,
    pub(super) flags: Flags,
    /// Advertised window in bytes, scaled.
    pub(super) window: u32,
    /// "5-9 12-14": of each SACK block the first byte and the first byte after it.
    pub(super) sack: Option<Box<str>>,
    /// Kept for captures only.
    pub(super) content: Option<Box<Content>>,
    /// Number of copies in flight, the original included: links may duplicate a packet.
    pub(super) in_flight: u32,
}

/// Contents of a packet.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Segment(Segment),
    Datagram {
        size: u32,
    },
    /// The captured bytes of a packet from outside, and its size.
    Raw {
        start: Vec<u8>,
        size: u32,
    },
}

/// Part of a packet that a capture keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnapLength {
    Headers,
    Whole,
}

impl PacketRow {
    /// A packet that is neither a segment nor a datagram.
    pub(super) fn other() -> Self {
        Self {
            id: PacketId(0),
            conversation: ConversationId::from_index(0),
            from: NodeId::from_index(0),
            to: NodeId::from_index(0),
            addresses: [NodeId::from_index(0); 2],
            class: 0,
            kind: "other",
            retransmission: false,
            cause: None,
            seq: 0,
            len: 0,
            ack: 0,
            flags: Flags::empty(),
            window: 0,
            sack: None,
            content: None,
            in_flight: 0,
        }
    }
}

impl Content {
    /// Contents of a packet in a capture.
    pub(super) fn of(packet: &Packet, snap_length: SnapLength) -> Self {
        match &packet.body {
            Body::Segment(sent) => Self::Segment(sent.segment.clone()),
            Body::Datagram(_) => Self::Datagram { size: packet.size },
            Body::Raw(raw) => {
                let bytes = raw.to_bytes();
                Self::Raw { start: bytes[..captured_len(&bytes, snap_length)].to_vec(), size: packet.size }
            }
        }
    }
}

/// Number of a packet's first bytes that a capture keeps.
pub(super) fn captured_len(bytes: &[u8], snap_length: SnapLength) -> usize {
    match snap_length {
        SnapLength::Whole => bytes.len(),
        SnapLength::Headers => headers_len(bytes).unwrap_or(LONGEST_HEADERS as usize).min(bytes.len()),
    }
}

/// Length of the headers of a packet with TCP, UDP or DCCP.
fn headers_len(bytes: &[u8]) -> Option<usize> {
    let payload = match wire::parse(bytes).ok()?.transport {
        Transport::Tcp(segment) => segment.payload.len(),
        Transport::Udp(datagram) => datagram.payload.len(),
        Transport::Dccp(packet) => packet.payload.len(),
        Transport::Fragment(_) | Transport::Other(_) => return None,
    };
    Some(bytes.len() - payload as usize)
}

/// The longest headers: IPv6 (RFC 8200 §3, without extension headers) and TCP with all its options (RFC 9293 §3.1).
pub(super) const LONGEST_HEADERS: u32 = 40 + 60;

/// The kind of a segment of ours, and the cause of a retransmission.
pub(super) fn kind_and_cause(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::Syn => ("syn", None),
        Kind::Data => ("data", None),
        Kind::Fin => ("fin", None),
        Kind::Retransmission { cause, .. } => ("retransmission", Some(cause.id())),
        Kind::Ack => ("ack", None),
        Kind::WindowUpdate => ("window_update", None),
        Kind::ZeroWindowProbe => ("zero_window_probe", None),
        Kind::KeepAlive => ("keep_alive", None),
        Kind::Dummy => ("dummy", None),
        Kind::Reset => ("reset", None),
    }
}

/// The kind of a segment from outside, by its flags.
pub(super) fn raw_kind(segment: &Segment) -> &'static str {
    let flags = segment.flags;
    match () {
        () if flags.contains(Flags::RST) => "reset",
        () if flags.contains(Flags::SYN) => "syn",
        () if flags.contains(Flags::FIN) => "fin",
        () if !segment.payload.is_empty() => "data",
        () => "ack",
    }
}

/// The kind of a packet of DCCP: with data it is a datagram.
pub(super) const fn dccp_kind(kind: dccp::Kind) -> &'static str {
    match kind {
        dccp::Kind::Data | dccp::Kind::DataAck => "datagram",
        dccp::Kind::Request | dccp::Kind::Response => "syn",
        dccp::Kind::Ack | dccp::Kind::Sync | dccp::Kind::SyncAck => "ack",
        dccp::Kind::CloseReq | dccp::Kind::Close => "fin",
        dccp::Kind::Reset => "reset",
    }
}

/// IPv4 (RFC 791) and UDP (RFC 768).
pub(super) const DATAGRAM_HEADERS: u32 = 20 + 8;

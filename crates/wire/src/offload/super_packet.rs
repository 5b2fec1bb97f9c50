//! Many segments under one header.

use std::net::Ipv4Addr;

use super::virtio::{ChecksumPlace, Gso, GsoKind};
use super::{MARKED, TRAFFIC_CLASS, write_header_checksum};
use crate::checksum::Checksum;
use crate::ip::{Protocol, v4};
use crate::{Flags, udp};

/// An IPv4 packet that represents several packets of one connection, whose headers differ only in fields that follow
/// from their positions.
#[derive(Debug)]
pub struct SuperPacket {
    bytes: Vec<u8>,
    /// Bytes of the IP header.
    ip_len: usize,
    /// Bytes of the IP header and that of its transport.
    headers_len: usize,
    gso: Gso,
}

/// Why bytes are not many segments under one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuperPacketError {
    /// Not IPv4, or part of a fragmented packet.
    #[error("a packet to be segmented that is not a whole IPv4 packet")]
    Ip,
    /// The headers contradict the kind of segmentation.
    #[error("a packet to be segmented whose headers are not those of {0:?}")]
    Transport(GsoKind),
    /// There is no payload, or segments have no length.
    #[error("a packet to be segmented without segments: {payload} bytes in segments of {size}")]
    Segments {
        /// Bytes of payload.
        payload: usize,
        /// Bytes of payload of a segment.
        size: u16,
    },
}

impl SuperPacket {
    /// Looks at the headers of a packet.
    pub(super) fn new(bytes: Vec<u8>, gso: Gso) -> Result<Self, SuperPacketError> {
        let decoded = v4::decode(&bytes).map_err(|_| SuperPacketError::Ip)?;
        let header = decoded.header;
        if bytes[0] >> 4 != 4 || header.fragment.is_some() {
            return Err(SuperPacketError::Ip);
        }
        let ip_len = decoded.payload.start;
        let transport = bytes.get(ip_len..).unwrap_or_default();
        let transport_len = match (gso.kind, header.protocol) {
            (GsoKind::TcpV4, Protocol::TCP) => {
                transport.get(TCP_DATA_OFFSET).map(|byte| usize::from(byte >> 4) * 4)
            }
            (GsoKind::Udp, Protocol::UDP) => Some(udp::HEADER_LEN),
            _ => None,
        };
        let transport_len = transport_len.filter(|len| (least(gso.kind)..=transport.len()).contains(len));
        let headers_len = ip_len + transport_len.ok_or(SuperPacketError::Transport(gso.kind))?;
        let payload = bytes.len() - headers_len;
        if gso.size == 0 || payload == 0 {
            return Err(SuperPacketError::Segments { payload, size: gso.size });
        }
        Ok(Self { bytes, ip_len, headers_len, gso })
    }

    /// Number of segments in it.
    #[must_use]
    pub fn segments(&self) -> u16 {
        let payload = self.bytes.len() - self.headers_len;
        // At least one byte each, of at most 65,535.
        payload.div_ceil(usize::from(self.gso.size)) as u16
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn headers_len(&self) -> usize {
        self.headers_len
    }

    pub(super) fn kind(&self) -> GsoKind {
        self.gso.kind
    }

    pub(super) fn gso(&self) -> Gso {
        self.gso
    }

    /// Whether it carries CWR, which only its first segment carries.
    pub(super) fn has_cwr(&self) -> bool {
        self.gso.kind == GsoKind::TcpV4 && self.bytes[self.ip_len + TCP_FLAGS] & CWR != 0
    }

    pub(super) fn checksum_place(&self) -> ChecksumPlace {
        ChecksumPlace { start: self.ip_len as u16, offset: checksum_of(self.gso.kind) }
    }

    /// The payload of `count` segments from `first` on.
    pub(super) fn payload(&self, first: u16, count: u16) -> &[u8] {
        let payload = &self.bytes[self.headers_len..];
        let size = usize::from(self.gso.size);
        let begin = usize::from(first) * size;
        &payload[begin..(begin + usize::from(count) * size).min(payload.len())]
    }

    /// Appends the headers of `count` segments from `first` on, with the sum of the pseudo-header in place of the
    /// checksum, as Linux does it (net/ipv4/af_inet.c, inet_gso_segment; tcp_offload.c; udp_offload.c).
    pub(super) fn write_headers(&self, first: u16, count: u16, is_marked: bool, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes[..self.headers_len]);
        let transport_len = self.headers_len - self.ip_len + self.payload(first, count).len();
        let (ip, transport) = out[start..].split_at_mut(self.ip_len);
        if is_marked {
            ip[TRAFFIC_CLASS] |= MARKED;
        }
        put(ip, IP_IDENTIFICATION, get(ip, IP_IDENTIFICATION).wrapping_add(first));
        if self.gso.kind == GsoKind::TcpV4 {
            self.write_tcp(first, count, transport);
        }
        finish_headers(self.gso.kind, ip, transport, transport_len);
    }

    /// Writes the fields that differ between the segments: only the last one has FIN and PSH, only the first one CWR.
    fn write_tcp(&self, first: u16, count: u16, transport: &mut [u8]) {
        let skipped = u32::from(first) * u32::from(self.gso.size);
        let number: &mut [u8; 4] = (&mut transport[TCP_SEQ..TCP_SEQ + 4]).try_into().expect("four bytes");
        *number = u32::from_be_bytes(*number).wrapping_add(skipped).to_be_bytes();
        if first + count < self.segments() {
            transport[TCP_FLAGS] &= !FIN_AND_PSH;
        }
        if first > 0 {
            transport[TCP_FLAGS] &= !CWR;
        }
    }
}

/// Bytes of a header without options.
const fn least(kind: GsoKind) -> usize {
    match kind {
        GsoKind::TcpV4 => crate::Segment::HEADER_LEN as usize,
        GsoKind::Udp => udp::HEADER_LEN,
    }
}

/// The place of the checksum in the header of a transport.
const fn checksum_of(kind: GsoKind) -> u16 {
    match kind {
        GsoKind::TcpV4 => TCP_CHECKSUM,
        GsoKind::Udp => UDP_CHECKSUM,
    }
}

/// Writes the fields that follow from the lengths of the transport header and the payload: lengths and sums.
pub(super) fn finish_headers(kind: GsoKind, ip: &mut [u8], transport: &mut [u8], transport_len: usize) {
    put(ip, IP_TOTAL_LEN, (ip.len() + transport_len) as u16);
    write_header_checksum(ip);
    if kind == GsoKind::Udp {
        put(transport, UDP_LEN, transport_len as u16);
    }
    put(transport, usize::from(checksum_of(kind)), pseudo_sum(ip, transport_len));
}

/// The sum of the pseudo-header, which an unfinished checksum field holds.
fn pseudo_sum(ip: &[u8], transport_len: usize) -> u16 {
    let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
    let protocol = Protocol(ip[IP_PROTOCOL]);
    !Checksum::pseudo_v4(address(IP_SOURCE), address(IP_DESTINATION), protocol, transport_len as u32).finish()
}

pub(super) fn get(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, number: u16) {
    bytes[at..at + 2].copy_from_slice(&number.to_be_bytes());
}

/// Places in the IPv4 header (RFC 791 §3.1).
const IP_TOTAL_LEN: usize = 2;
pub(super) const IP_IDENTIFICATION: usize = 4;
pub(super) const IP_PROTOCOL: usize = 9;
pub(super) const IP_SOURCE: usize = 12;
const IP_DESTINATION: usize = 16;
/// Places in the header of TCP (RFC 9293 §3.1).
const TCP_SEQ: usize = 4;
const TCP_DATA_OFFSET: usize = 12;
const TCP_FLAGS: usize = 13;
const TCP_CHECKSUM: u16 = 16;
/// Places in the header of UDP (RFC 768).
const UDP_LEN: usize = 4;
pub(super) const UDP_CHECKSUM: u16 = 6;
const FIN_AND_PSH: u8 = Flags::FIN.with(Flags::PSH).bits() as u8;
const CWR: u8 = Flags::CWR.bits() as u8;

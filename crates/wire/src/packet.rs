//! Whole packets: from values to bytes and back.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::checksum::Checksum;
use crate::ip::{self, Protocol, v4, v6};
use crate::udp::Datagram;
use crate::{Ecn, ParseError, Segment, dccp, tcp, udp};

/// A packet that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The IP header.
    pub header: ip::Header,
    /// The payload.
    pub transport: Transport,
    /// Bytes of payload that were sent and are not here, because a capture cut them off: what
    /// [`Segment::seq_len`] is short of.
    pub missing: u32,
    /// Its oddities; none for a valid packet.
    pub oddities: Vec<Oddity>,
}

/// The payload of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
    /// A DCCP packet.
    Dccp(dccp::Packet),
    /// A part of a fragmented packet; parts are not put together.
    Fragment(Protocol),
    /// Something else.
    Other(Protocol),
}

/// An oddity of a packet that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oddity {
    /// The checksum of the IPv4 header is wrong.
    HeaderChecksum,
    /// The checksum of the segment or datagram is wrong: damaged on the way, or captured before
    /// the sender's network card had filled it in.
    Checksum,
    /// The options of TCP or DCCP could not be read to their end.
    Options,
    /// The end of the packet was not captured.
    CutOff,
}

impl Parsed {
    /// The segment, if the packet carries one.
    #[must_use]
    pub fn segment(&self) -> Option<&Segment> {
        match &self.transport {
            Transport::Tcp(segment) => Some(segment),
            _ => None,
        }
    }
}

/// The bytes of an IPv4 packet that carries `segment`.
///
/// # Panics
/// If the segment's options take over 40 bytes, or the packet is over 65,535.
#[must_use]
pub fn emit_ipv4(source: Ipv4Addr, destination: Ipv4Addr, identification: u16, segment: &Segment) -> Vec<u8> {
    emit_ipv4_behind(v4::Header::new(source, destination, Protocol::TCP, identification), segment)
}

/// The same after a given header, to which the segment adds its ECN field.
///
/// # Panics
/// As [`emit_ipv4`].
#[must_use]
pub fn emit_ipv4_behind(header: v4::Header, segment: &Segment) -> Vec<u8> {
    let len = segment.wire_len();
    let mut out = Vec::with_capacity(v4::HEADER_LEN + len as usize);
    let traffic_class = header.traffic_class | segment.ecn as u8;
    v4::Header { traffic_class, ..header }.encode(len as usize, &mut out);
    tcp::encode(
        segment,
        Checksum::pseudo_v4(header.source, header.destination, Protocol::TCP, len),
        &mut out,
    );
    out
}

/// The bytes of an IPv6 packet that carries `segment`.
///
/// # Panics
/// If the segment's options take over 40 bytes, or the segment is over 65,535.
#[must_use]
pub fn emit_ipv6(source: Ipv6Addr, destination: Ipv6Addr, segment: &Segment) -> Vec<u8> {
    let len = segment.wire_len();
    let mut out = Vec::with_capacity(v6::HEADER_LEN + len as usize);
    let header = v6::Header::new(source, destination, Protocol::TCP);
    v6::Header { traffic_class: segment.ecn as u8, ..header }.encode(len as usize, &mut out);
    tcp::encode(segment, Checksum::pseudo_v6(source, destination, Protocol::TCP, len), &mut out);
    out
}

/// The bytes of an IPv4 packet that carries `datagram`.
///
/// # Panics
/// If the packet is over 65,535 bytes.
#[must_use]
pub fn emit_udp_ipv4(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    identification: u16,
    datagram: &Datagram,
) -> Vec<u8> {
    emit_udp_ipv4_behind(v4::Header::new(source, destination, Protocol::UDP, identification), datagram)
}

/// The same after a given header.
///
/// # Panics
/// As [`emit_udp_ipv4`].
#[must_use]
pub fn emit_udp_ipv4_behind(header: v4::Header, datagram: &Datagram) -> Vec<u8> {
    let len = datagram.wire_len();
    let mut out = Vec::with_capacity(v4::HEADER_LEN + len as usize);
    header.encode(len as usize, &mut out);
    udp::encode(
        datagram,
        Checksum::pseudo_v4(header.source, header.destination, Protocol::UDP, len),
        &mut out,
    );
    out
}

/// The bytes of an IPv4 packet that carries a packet of DCCP after a given header.
///
/// # Panics
/// If the packet is over 65,535 bytes, its header over 1020.
#[must_use]
pub fn emit_dccp_ipv4_behind(header: v4::Header, packet: &dccp::Packet) -> Vec<u8> {
    let len = packet.wire_len();
    let mut out = Vec::with_capacity(v4::HEADER_LEN + len as usize);
    header.encode(len as usize, &mut out);
    dccp::encode(
        packet,
        Checksum::pseudo_v4(header.source, header.destination, Protocol::DCCP, len),
        &mut out,
    );
    out
}

/// The bytes of an IPv6 packet that carries `datagram`.
///
/// # Panics
/// If the datagram is over 65,535 bytes.
#[must_use]
pub fn emit_udp_ipv6(source: Ipv6Addr, destination: Ipv6Addr, datagram: &Datagram) -> Vec<u8> {
    let len = datagram.wire_len();
    let mut out = Vec::with_capacity(v6::HEADER_LEN + len as usize);
    v6::Header::new(source, destination, Protocol::UDP).encode(len as usize, &mut out);
    udp::encode(datagram, Checksum::pseudo_v6(source, destination, Protocol::UDP, len), &mut out);
    out
}

/// Reads the IP packet that `bytes` hold. Bytes after its end are ignored; an end that was not captured is an
/// [`Oddity`], as are wrong checksums.
///
/// # Errors
/// If a header is cut off or contradicts itself.
pub fn parse(bytes: &[u8]) -> Result<Parsed, ParseError> {
    parse_to(bytes, Depth::Payload)
}

/// The same for whoever counts data and does not read them: the payload of a segment or datagram has its length only,
/// and no checksum of a payload is verified.
///
/// # Errors
/// As [`parse`].
pub fn parse_headers(bytes: &[u8]) -> Result<Parsed, ParseError> {
    parse_to(bytes, Depth::Headers)
}

/// The same for a packet whose IP header is decoded.
pub(crate) fn parse_headers_after(
    bytes: &[u8],
    decoded: &ip::Decoded<ip::Header>,
) -> Result<Parsed, ParseError> {
    parse_after(bytes, decoded, Depth::Headers)
}

/// How much of a packet is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    Headers,
    Payload,
}

fn parse_to(bytes: &[u8], depth: Depth) -> Result<Parsed, ParseError> {
    parse_after(bytes, &ip::decode(bytes)?, depth)
}

fn parse_after(bytes: &[u8], decoded: &ip::Decoded<ip::Header>, depth: Depth) -> Result<Parsed, ParseError> {
    let &ip::Decoded { header, ref payload, mut missing, checksum_holds } = decoded;
    let payload = &bytes[payload.clone()];
    let mut oddities = Vec::new();
    let mut note = |odd: bool, oddity| {
        if odd {
            oddities.push(oddity)
        }
    };
    note(!checksum_holds, Oddity::HeaderChecksum);
    note(missing > 0, Oddity::CutOff);
    let whole = missing == 0;
    let verified = whole && depth == Depth::Payload;
    let transport = match header.protocol() {
        protocol if header.fragment().is_some() => Transport::Fragment(protocol),
        Protocol::TCP => {
            let decoded = match depth {
                Depth::Headers => tcp::decode_header(payload, missing)?,
                Depth::Payload => tcp::decode(payload, missing)?,
            };
            note(whole && !decoded.options_sound, Oddity::Options);
            note(verified && !checksum_of(&header, payload), Oddity::Checksum);
            missing = decoded.missing;
            Transport::Tcp(Segment { ecn: Ecn::from_bits(header.traffic_class()), ..decoded.segment })
        }
        Protocol::UDP => {
            let datagram = match depth {
                Depth::Headers => udp::decode_header(payload)?,
                Depth::Payload => udp::decode(payload)?,
            };
            let covered = &payload[..(datagram.wire_len() as usize).min(payload.len())];
            let summed = verified && !udp::without_checksum(payload);
            note(summed && !checksum_of(&header, covered), Oddity::Checksum);
            Transport::Udp(datagram)
        }
        Protocol::DCCP if dccp::has_known_type(payload) => {
            let (packet, options_sound) = dccp::decode(payload)?;
            note(whole && !options_sound, Oddity::Options);
            let covered = dccp::covered(payload, packet.coverage);
            note(verified && !checksum_over(&header, covered, payload.len() as u32), Oddity::Checksum);
            Transport::Dccp(packet)
        }
        other => Transport::Other(other),
    };
    Ok(Parsed { header, transport, missing, oddities })
}

/// Whether the checksum of the segment or datagram in `payload` is right.
fn checksum_of(header: &ip::Header, payload: &[u8]) -> bool {
    checksum_over(header, payload, payload.len() as u32)
}

/// The same for a payload of `len` bytes of which the checksum covers these.
fn checksum_over(header: &ip::Header, covered: &[u8], len: u32) -> bool {
    let mut checksum = match header {
        ip::Header::V4(v4) => Checksum::pseudo_v4(v4.source, v4.destination, v4.protocol, len),
        ip::Header::V6(v6) => Checksum::pseudo_v6(v6.source, v6.destination, v6.protocol, len),
    };
    checksum.add(covered);
    checksum.finish() == 0
}

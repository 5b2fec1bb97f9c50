//! IP packets inside of IP packets.

use crate::ip::Protocol;

use super::{NotIp, Unpacked, ether, ppp};

/// The IP packet inside `packet`, if it carries one.
pub(super) fn inner<'a>(packet: &Unpacked<'a>) -> Option<Unpacked<'a>> {
    let decoded = packet.decoded()?;
    let payload = &packet.bytes()[decoded.payload.clone()];
    let inside = match decoded.header.protocol() {
        IPV4_INSIDE | IPV6_INSIDE => payload,
        GRE => generic(payload).ok()?,
        Protocol::UDP => in_datagram(payload)?,
        _ => return None,
    };
    let start = inside.as_ptr() as usize - packet.bytes().as_ptr() as usize;
    packet.inside(start..start + inside.len())
}

/// Generic routing encapsulation (RFC 2784, RFC 2890), and that of PPTP (RFC 2637 §4.1).
fn generic(bytes: &[u8]) -> Result<&[u8], NotIp> {
    let [flags, version, high, low, rest @ ..] = bytes else { return Err(NotIp::CutOff) };
    let protocol = u16::from_be_bytes([*high, *low]);
    let bits = [*flags & (CHECKSUM | ROUTING), *flags & KEY, *flags & SEQUENCE, *version & ACKNOWLEDGMENT];
    let options = 4 * bits.iter().filter(|bit| **bit != 0).count();
    let payload = rest.get(options..).ok_or(NotIp::CutOff)?;
    match protocol {
        PPP => ppp::frame(payload),
        // Mirrored frames: with a sequence number they have a header of eight bytes more.
        ERSPAN if flags & SEQUENCE != 0 => ether::frame(payload.get(8..).ok_or(NotIp::CutOff)?),
        ERSPAN => ether::frame(payload),
        ERSPAN_3 => ether::frame(payload.get(12..).ok_or(NotIp::CutOff)?),
        other => ether::protocol(other, payload),
    }
}

/// The packet in a UDP datagram to a well-known port of a tunnel.
fn in_datagram(datagram: &[u8]) -> Option<&[u8]> {
    let port = u16::from_be_bytes([*datagram.get(2)?, *datagram.get(3)?]);
    let payload = datagram.get(8..)?;
    match port {
        GTP_U => mobile(payload),
        VXLAN | LINUX_VXLAN => extensible(payload),
        GENEVE => general(payload),
        _ => None,
    }
}

/// The user plane of mobile networks (3GPP TS 29.281 §5).
fn mobile(bytes: &[u8]) -> Option<&[u8]> {
    let (flags, kind) = (*bytes.first()?, *bytes.get(1)?);
    if flags >> 4 != 3 || kind != USER_DATA {
        return None;
    }
    let mut place = if flags & 7 == 0 { 8 } else { 12 };
    let mut extension = if flags & 4 == 0 { 0 } else { *bytes.get(11)? };
    while extension != 0 {
        let len = 4 * usize::from(*bytes.get(place)?);
        if len == 0 {
            return None;
        }
        place += len;
        extension = *bytes.get(place - 1)?;
    }
    bytes.get(place..)
}

/// VXLAN (RFC 7348 §5).
fn extensible(bytes: &[u8]) -> Option<&[u8]> {
    if bytes.first()? & 0x08 == 0 {
        return None;
    }
    ether::frame(bytes.get(8..)?).ok()
}

/// Geneve (RFC 8926 §3.4).
fn general(bytes: &[u8]) -> Option<&[u8]> {
    let first = *bytes.first()?;
    if first >> 6 != 0 {
        return None;
    }
    let protocol = u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]);
    ether::protocol(protocol, bytes.get(8 + 4 * usize::from(first & 0x3f)..)?).ok()
}

const IPV4_INSIDE: Protocol = Protocol(4);
const IPV6_INSIDE: Protocol = Protocol(41);
const GRE: Protocol = Protocol(47);
/// Flags of GRE: the first byte's, and the second's of PPTP.
const CHECKSUM: u8 = 0x80;
const ROUTING: u8 = 0x40;
const KEY: u8 = 0x20;
const SEQUENCE: u8 = 0x10;
const ACKNOWLEDGMENT: u8 = 0x80;
const PPP: u16 = 0x880b;
const ERSPAN: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
const GTP_U: u16 = 2152;
/// The type of GTP-U's messages that carry a packet (G-PDU).
const USER_DATA: u8 = 255;
const VXLAN: u16 = 4789;
/// The port that Linux used before one was assigned.
const LINUX_VXLAN: u16 = 8472;
const GENEVE: u16 = 6081;

//! The IPv6 header (RFC 8200 §3). Extension headers are read over and never written.

use std::net::Ipv6Addr;

use super::{Decoded, Fragment, Protocol};
use crate::ParseError;

/// An IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// Protocol of the payload after all extension headers.
    pub protocol: Protocol,
    /// Routers that it may still pass.
    pub hop_limit: u8,
    /// Differentiated services code point and, in the low two bits, ECN (RFC 3168 §5).
    pub traffic_class: u8,
    /// Flow label; 20 bits.
    pub flow_label: u32,
    /// The part, if the packet was fragmented.
    pub fragment: Option<Fragment>,
}

/// Bytes of the header without extension headers.
pub const HEADER_LEN: usize = 40;

impl Header {
    /// A header with hop limit 64 and no label.
    #[must_use]
    pub const fn new(source: Ipv6Addr, destination: Ipv6Addr, protocol: Protocol) -> Self {
        Self { source, destination, protocol, hop_limit: 64, traffic_class: 0, flow_label: 0, fragment: None }
    }

    /// Appends the header of a packet with `payload_len` bytes of payload. Never writes a
    /// fragment header.
    ///
    /// # Panics
    /// If the payload is over 65,535 bytes.
    pub fn encode(&self, payload_len: usize, out: &mut Vec<u8>) {
        let len = u16::try_from(payload_len).expect("an IPv6 payload is at most 65,535 bytes");
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & FLOW_LABEL;
        out.extend_from_slice(&first.to_be_bytes());
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(&[self.protocol.0, self.hop_limit]);
        out.extend_from_slice(&self.source.octets());
        out.extend_from_slice(&self.destination.octets());
    }
}

/// Decodes the header, and its extension headers, that `packet` begins with.
///
/// # Errors
/// If they are truncated, or exceed the length of the packet.
pub fn decode(packet: &[u8]) -> Result<Decoded<Header>, ParseError> {
    let cut_off = || ParseError::CutOff { header: "IPv6", need: HEADER_LEN, have: packet.len() };
    let fixed: &[u8; HEADER_LEN] = packet.first_chunk().ok_or_else(cut_off)?;
    let end = match usize::from(u16::from_be_bytes([fixed[4], fixed[5]])) {
        // As in IPv4: a super-packet that is yet to be segmented (or a jumbogram, RFC 2675).
        0 => packet.len(),
        total => HEADER_LEN + total,
    };
    let bytes = &packet[..end.min(packet.len())];
    let (protocol, fragment, start) = read_over_extensions(Protocol(fixed[6]), bytes)?;
    Ok(Decoded {
        header: Header { protocol, fragment, ..fields(fixed) },
        payload: start..bytes.len(),
        missing: end.saturating_sub(packet.len()) as u32,
        checksum_holds: true,
    })
}

/// The identification that the fragments of one packet have in common, if `packet` is one of them.
pub(crate) fn fragment_identification(packet: &[u8]) -> Option<u32> {
    let (mut next, mut at) = (Protocol(*packet.get(6)?), HEADER_LEN);
    while is_extension(next) {
        let head: &[u8; 8] = packet.get(at..)?.first_chunk()?;
        if next == Protocol::FRAGMENT {
            return Some(u32::from_be_bytes([head[4], head[5], head[6], head[7]]));
        }
        (next, at) = (Protocol(head[0]), at + 8 + usize::from(head[1]) * 8);
    }
    None
}

fn fields(fixed: &[u8; HEADER_LEN]) -> Header {
    let first = u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
    let address = |from: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&fixed[from..from + 16]);
        Ipv6Addr::from(octets)
    };
    Header {
        source: address(8),
        destination: address(24),
        protocol: Protocol(fixed[6]),
        hop_limit: fixed[7],
        traffic_class: (first >> 20) as u8,
        flow_label: first & FLOW_LABEL,
        fragment: None,
    }
}

/// The protocol after the extension headers, the fragment that they describe, and the start of the payload.
fn read_over_extensions(
    mut next: Protocol,
    bytes: &[u8],
) -> Result<(Protocol, Option<Fragment>, usize), ParseError> {
    let mut at = HEADER_LEN;
    let mut fragment = None;
    while is_extension(next) {
        let rest = &bytes[at..];
        let cut_off = |need| ParseError::CutOff { header: "IPv6 extension", need, have: rest.len() };
        let head: &[u8; 8] = rest.first_chunk().ok_or_else(|| cut_off(8))?;
        let len = if next == Protocol::FRAGMENT { 8 } else { 8 + usize::from(head[1]) * 8 };
        if rest.len() < len {
            return Err(cut_off(len));
        }
        if next == Protocol::FRAGMENT {
            fragment = part(u16::from_be_bytes([head[2], head[3]]));
        }
        next = Protocol(head[0]);
        at += len;
        if fragment.is_some_and(|part| part.offset > 0) {
            break; // The middle of a payload follows, not a header.
        }
    }
    Ok((next, fragment, at))
}

/// The fragment of a fragment header's offset field; none for an "atomic" fragment, which is a whole packet (RFC 6946).
fn part(field: u16) -> Option<Fragment> {
    let part = Fragment { offset: field & !7, more: field & 1 != 0 };
    (part.more || part.offset > 0).then_some(part)
}

fn is_extension(protocol: Protocol) -> bool {
    matches!(
        protocol,
        Protocol::HOP_BY_HOP | Protocol::ROUTING | Protocol::FRAGMENT | Protocol::DESTINATION_OPTIONS
    )
}

const FLOW_LABEL: u32 = 0x000f_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(protocol: Protocol, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED, protocol).encode(payload.len(), &mut out);
        out.extend_from_slice(payload);
        out
    }

    #[test]
    fn extension_headers_are_read_over() {
        // Destination options of 8 bytes, an atomic fragment header, then UDP.
        let mut payload = vec![Protocol::FRAGMENT.0, 0, 1, 4, 0, 0, 0, 0];
        payload.extend_from_slice(&[Protocol::UDP.0, 0, 0, 0, 0, 0, 0, 1]);
        payload.extend_from_slice(b"datagram");
        let decoded = decode(&packet(Protocol::DESTINATION_OPTIONS, &payload)).expect("a sound packet");
        assert_eq!(decoded.payload, 56..64);
        assert_eq!(decoded.header.protocol, Protocol::UDP);
        assert_eq!(decoded.header.fragment, None);
    }

    #[test]
    fn a_later_fragment_is_not_taken_for_a_header() {
        let payload = [Protocol::ROUTING.0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff];
        let decoded = decode(&packet(Protocol::FRAGMENT, &payload)).expect("a fragment");
        assert_eq!(decoded.header.fragment, Some(Fragment { offset: 8, more: false }));
    }

    #[test]
    fn an_extension_header_longer_than_the_packet_is_refused() {
        let error = decode(&packet(Protocol::HOP_BY_HOP, &[6, 9, 0, 0, 0, 0, 0, 0])).expect_err("too long");
        assert_eq!(error, ParseError::CutOff { header: "IPv6 extension", need: 80, have: 8 });
    }
}

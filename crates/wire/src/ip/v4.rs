//! The IPv4 header (RFC 791 §3.1). Its options are read over and never written.

use std::net::Ipv4Addr;

use super::{Decoded, Fragment, Protocol};
use crate::{ParseError, checksum};

/// An IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Protocol of the payload.
    pub protocol: Protocol,
    /// Routers that it may still pass (TTL).
    pub ttl: u8,
    /// Differentiated services code point and, in the low two bits, ECN (RFC 3168 §5).
    pub traffic_class: u8,
    /// Distinguishes the fragments of different packets.
    pub identification: u16,
    /// Routers must not fragment it.
    pub dont_fragment: bool,
    /// The part, if the packet was fragmented.
    pub fragment: Option<Fragment>,
}

/// Shift of the precedence within its byte, the first three bits (RFC 2474 §4.2.2.1).
pub const PRECEDENCE_SHIFT: u8 = 5;

/// Bytes of the header without options.
pub const HEADER_LEN: usize = 20;

impl Header {
    /// A header as Linux writes it for TCP: TTL 64 (RFC 1700), not to be fragmented (path MTU
    /// discovery, RFC 1191 §2).
    #[must_use]
    pub const fn new(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: Protocol,
        identification: u16,
    ) -> Self {
        Self {
            source,
            destination,
            protocol,
            ttl: 64,
            traffic_class: 0,
            identification,
            dont_fragment: true,
            fragment: None,
        }
    }

    /// Appends the header of a packet with `payload_len` bytes of payload.
    ///
    /// # Panics
    /// If the packet is over 65,535 bytes.
    pub fn encode(&self, payload_len: usize, out: &mut Vec<u8>) {
        let total = u16::try_from(HEADER_LEN + payload_len).expect("an IPv4 packet is at most 65,535 bytes");
        let start = out.len();
        out.extend_from_slice(&[VERSION_AND_LEN, self.traffic_class]);
        out.extend_from_slice(&total.to_be_bytes());
        out.extend_from_slice(&self.identification.to_be_bytes());
        out.extend_from_slice(&self.fragment_field().to_be_bytes());
        out.extend_from_slice(&[self.ttl, self.protocol.0, 0, 0]);
        out.extend_from_slice(&self.source.octets());
        out.extend_from_slice(&self.destination.octets());
        let checksum = checksum::of(&out[start..]);
        out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    }

    fn fragment_field(&self) -> u16 {
        let dont = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let part = self.fragment.map_or(0, |part| {
            let more = if part.more { MORE_FRAGMENTS } else { 0 };
            more | (part.offset / 8)
        });
        dont | part
    }
}

/// Decodes the header that `packet` begins with.
///
/// # Errors
/// If the header is cut off, or its lengths contradict each other.
pub fn decode(packet: &[u8]) -> Result<Decoded<Header>, ParseError> {
    let cut_off = |need| ParseError::CutOff { header: "IPv4", need, have: packet.len() };
    let fixed: &[u8; HEADER_LEN] = packet.first_chunk().ok_or_else(|| cut_off(HEADER_LEN))?;
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    if header_len < HEADER_LEN {
        return Err(ParseError::HeaderLength { header: "IPv4", said: header_len, least: HEADER_LEN });
    }
    let bytes = packet.get(..header_len).ok_or_else(|| cut_off(header_len))?;
    let total = match usize::from(u16::from_be_bytes([fixed[2], fixed[3]])) {
        // A host that leaves segmentation to its network card hands captures a total length of 0.
        0 => packet.len(),
        total if total < header_len => {
            return Err(ParseError::TotalLength { said: total, header_len });
        }
        total => total,
    };
    Ok(Decoded {
        header: fields(fixed),
        payload: header_len..total.min(packet.len()),
        missing: total.saturating_sub(packet.len()) as u32,
        checksum_holds: checksum::of(bytes) == 0,
    })
}

fn fields(fixed: &[u8; HEADER_LEN]) -> Header {
    let fragment_field = u16::from_be_bytes([fixed[6], fixed[7]]);
    let part = Fragment { offset: fragment_field << 3, more: fragment_field & MORE_FRAGMENTS != 0 };
    Header {
        source: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]),
        destination: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]),
        protocol: Protocol(fixed[9]),
        ttl: fixed[8],
        traffic_class: fixed[1],
        identification: u16::from_be_bytes([fixed[4], fixed[5]]),
        dont_fragment: fragment_field & DONT_FRAGMENT != 0,
        fragment: (part.more || part.offset > 0).then_some(part),
    }
}

/// Version 4, and a header of five words.
const VERSION_AND_LEN: u8 = 0x45;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Vec<u8> {
        let mut out = Vec::new();
        Header::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), Protocol::TCP, 7)
            .encode(4, &mut out);
        out.extend_from_slice(b"data");
        out
    }

    #[test]
    fn padding_behind_the_packet_is_not_its_payload() {
        let mut packet = packet();
        packet.extend_from_slice(&[0; 22]);
        assert_eq!(decode(&packet).expect("a sound packet").payload, 20..24);
    }

    #[test]
    fn what_a_capture_cut_off_is_counted() {
        let packet = packet();
        let decoded = decode(&packet[..21]).expect("the header is whole");
        assert_eq!((decoded.payload, decoded.missing), (20..21, 3));
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let mut packet = packet();
        packet[8] ^= 1;
        assert!(!decode(&packet).expect("still readable").checksum_holds);
    }

    #[test]
    fn a_header_that_contradicts_itself_is_refused() {
        let mut short = packet();
        short[0] = 0x44;
        assert_eq!(decode(&short), Err(ParseError::HeaderLength { header: "IPv4", said: 16, least: 20 }));
        let mut total = packet();
        total[3] = 19;
        assert_eq!(decode(&total), Err(ParseError::TotalLength { said: 19, header_len: 20 }));
    }

    #[test]
    fn a_total_length_of_zero_means_all_that_is_there() {
        let mut packet = packet();
        packet[2..4].fill(0);
        assert_eq!(decode(&packet).expect("a super-packet").payload, 20..24);
    }
}

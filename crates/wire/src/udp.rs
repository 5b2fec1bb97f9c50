//! UDP (RFC 768).

use crate::checksum::Checksum;
use crate::tcp::payload_of;
use crate::{ParseError, Payload};

/// One UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// The bytes carried.
    pub payload: Payload,
}

/// Bytes of the header.
pub const HEADER_LEN: usize = 8;

impl Datagram {
    /// Bytes of header and payload.
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        HEADER_LEN as u32 + self.payload.len()
    }
}

/// Appends `datagram`. `pseudo` is the sum of the IP pseudo-header.
pub(crate) fn encode(datagram: &Datagram, pseudo: Checksum, out: &mut Vec<u8>) {
    let len = u16::try_from(datagram.wire_len()).expect("a datagram is at most 65,535 bytes");
    let start = out.len();
    out.extend_from_slice(&datagram.source_port.to_be_bytes());
    out.extend_from_slice(&datagram.destination_port.to_be_bytes());
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    datagram.payload.write_to(out);
    let mut checksum = pseudo;
    checksum.add(&out[start..]);
    // RFC 768: a checksum of zero is sent as all ones, because zero means no checksum.
    let sum = match checksum.finish() {
        0 => u16::MAX,
        sum => sum,
    };
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
}

/// Decodes the datagram that `bytes` hold, of which a capture may have cut off the end.
///
/// # Errors
/// If the header is truncated, or its length field is less than the header.
pub fn decode(bytes: &[u8]) -> Result<Datagram, ParseError> {
    let (ports, payload) = split(bytes)?;
    Ok(of_ports(ports, payload_of(payload)))
}

/// The same with the length of the payload only.
pub(crate) fn decode_header(bytes: &[u8]) -> Result<Datagram, ParseError> {
    let (ports, payload) = split(bytes)?;
    Ok(of_ports(ports, Payload::Pattern { offset: 0, len: payload.len() as u32 }))
}

const fn of_ports([source_port, destination_port]: [u16; 2], payload: Payload) -> Datagram {
    Datagram { source_port, destination_port, payload }
}

/// The ports, and the bytes carried, as far as they are there.
pub(crate) fn split(bytes: &[u8]) -> Result<([u16; 2], &[u8]), ParseError> {
    let cut_off = || ParseError::CutOff { header: "UDP", need: HEADER_LEN, have: bytes.len() };
    let head: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or_else(cut_off)?;
    let len = usize::from(u16::from_be_bytes([head[4], head[5]]));
    // A length of zero is a jumbogram's (RFC 2675 §4) or a super-packet's: all that is there.
    if (1..HEADER_LEN).contains(&len) {
        return Err(ParseError::HeaderLength { header: "UDP", said: len, least: HEADER_LEN });
    }
    let end = if len == 0 { bytes.len() } else { len.min(bytes.len()) };
    let ports = [u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]])];
    Ok((ports, &bytes[HEADER_LEN..end]))
}

/// Whether the datagram has no checksum, which IPv4 allows.
pub(crate) fn without_checksum(bytes: &[u8]) -> bool {
    bytes.get(6..8) == Some(&[0, 0])
}

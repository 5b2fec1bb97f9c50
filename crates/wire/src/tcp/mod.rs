//! TCP segments as bytes (RFC 9293 §3.1).

mod options;

use units::Seq;

use crate::checksum::Checksum;
use crate::{Ecn, Flags, ParseError, Payload, Segment};

/// A decoded segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The segment, with as much of its payload as is there.
    pub segment: Segment,
    /// Whether its options could be read to their end. If not, those before the fault count,
    /// as they do in Linux.
    pub options_sound: bool,
    /// Bytes of payload that were cut off.
    pub missing: u32,
}

/// Appends `segment`: exactly [`Segment::wire_len`] bytes. `pseudo` is the sum of the IP
/// pseudo-header.
///
/// # Panics
/// If the options take more than the 40 bytes that the header has for them.
pub(crate) fn encode(segment: &Segment, pseudo: Checksum, out: &mut Vec<u8>) {
    let header_len = segment.header_len();
    assert!(header_len <= MAX_HEADER_LEN, "{header_len} bytes of TCP header: 60 is the most");
    let start = out.len();
    out.extend_from_slice(&segment.source_port.to_be_bytes());
    out.extend_from_slice(&segment.destination_port.to_be_bytes());
    out.extend_from_slice(&segment.seq.0.to_be_bytes());
    out.extend_from_slice(&segment.ack.0.to_be_bytes());
    let offset_and_flags = (header_len as u16 / 4) << 12 | segment.flags.bits();
    out.extend_from_slice(&offset_and_flags.to_be_bytes());
    out.extend_from_slice(&segment.window.to_be_bytes());
    out.extend_from_slice(&[0; 4]); // Checksum, for now, and urgent pointer.
    options::encode(&segment.options, out);
    debug_assert_eq!(out.len() - start, header_len as usize, "options: {:?}", segment.options);
    segment.payload.write_to(out);
    let mut checksum = pseudo;
    checksum.add(&out[start..]);
    out[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&checksum.finish().to_be_bytes());
}

/// The bytes of `options` in a header.
#[must_use]
pub fn option_bytes(options: &crate::Options) -> Vec<u8> {
    let mut out = Vec::new();
    options::encode(options, &mut out);
    out
}

/// Decodes the segment that `bytes` hold. A capture may have cut them off: the segment was
/// `bytes` and `missing` more.
///
/// # Errors
/// If the fixed header is cut off, or the header is longer than the segment or shorter than 20.
pub fn decode(bytes: &[u8], missing: u32) -> Result<Decoded, ParseError> {
    let mut decoded = decode_header(bytes, missing)?;
    let len = decoded.segment.payload.len() as usize;
    decoded.segment.payload = payload_of(&bytes[bytes.len() - len..]);
    Ok(decoded)
}

/// The same, with the length of the payload only.
pub(crate) fn decode_header(bytes: &[u8], missing: u32) -> Result<Decoded, ParseError> {
    let cut_off = |need| ParseError::CutOff { header: "TCP", need, have: bytes.len() };
    let fixed: &[u8; FIXED_LEN] = bytes.first_chunk().ok_or_else(|| cut_off(FIXED_LEN))?;
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < FIXED_LEN {
        return Err(ParseError::HeaderLength { header: "TCP", said: header_len, least: FIXED_LEN });
    }
    let whole = bytes.len() + missing as usize;
    if header_len > whole {
        return Err(cut_off(header_len));
    }
    let (head, payload) = bytes.split_at(header_len.min(bytes.len()));
    let (options, options_sound) = options::decode(&head[FIXED_LEN..]);
    let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let segment = Segment {
        source_port: u16::from_be_bytes([fixed[0], fixed[1]]),
        destination_port: u16::from_be_bytes([fixed[2], fixed[3]]),
        seq: Seq(word(4)),
        ack: Seq(word(8)),
        flags: Flags::from_bits(u16::from_be_bytes([fixed[12], fixed[13]])),
        window: u16::from_be_bytes([fixed[14], fixed[15]]),
        options,
        ecn: Ecn::NotCapable,
        payload: Payload::Pattern { offset: 0, len: payload.len() as u32 },
    };
    Ok(Decoded { segment, options_sound, missing: (whole - header_len - payload.len()) as u32 })
}

/// The payload of `bytes`; no bytes are [`Payload::EMPTY`], so that values compare as one expects.
pub(crate) fn payload_of(bytes: &[u8]) -> Payload {
    if bytes.is_empty() { Payload::EMPTY } else { Payload::Data(bytes.into()) }
}

/// Bytes of the header without options.
const FIXED_LEN: usize = Segment::HEADER_LEN as usize;
/// Most that the four bits of the data offset can say.
const MAX_HEADER_LEN: u32 = 60;
/// Position of the checksum in the header.
const CHECKSUM_AT: usize = 16;

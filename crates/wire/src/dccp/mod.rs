//! DCCP (RFC 4340 §5): packets as values and as bytes.
//!
//! [`options`] has the options. A packet has long sequence numbers of 48 bits, or in its short form (X = 0) the low 24
//! bits of each (§5.1); who keeps the connection extends those.

pub mod options;

pub use options::{DccpOption, Feature, FeatureOption};

use crate::checksum::Checksum;
use crate::tcp::payload_of;
use crate::{ParseError, Payload};

/// One DCCP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// The four bits of the sender's congestion control (CCVal): the window counter of CCID 3.
    pub ccval: u8,
    /// Checksum coverage (CsCov, §9.2): 0 for the whole packet, n for the header and 4(n − 1) bytes of the data.
    pub coverage: u8,
    /// Its type.
    pub kind: Kind,
    /// Whether sequence numbers are short: of 24 bits. Only Data, Ack and DataAck packets can have them.
    pub is_short: bool,
    /// The sequence number.
    pub seq: u64,
    /// The acknowledgment number, which all types except Request and Data have.
    pub ack: u64,
    /// The service code of a Request or Response.
    pub service: u32,
    /// The code of a Reset and its three bytes of data.
    pub reset: [u8; 4],
    /// The options.
    pub options: Vec<DccpOption>,
    /// The application data.
    pub payload: Payload,
}

/// The type of a packet (§5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The client opens a connection.
    Request = 0,
    /// The server answers.
    Response = 1,
    /// Data.
    Data = 2,
    /// An acknowledgment.
    Ack = 3,
    /// Data and an acknowledgment.
    DataAck = 4,
    /// The server asks the client to close.
    CloseReq = 5,
    /// An end closes.
    Close = 6,
    /// The connection ends, normally or not.
    Reset = 7,
    /// An end asks for the sequence numbers of the other.
    Sync = 8,
    /// The answer to a Sync.
    SyncAck = 9,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Request,
        Self::Response,
        Self::Data,
        Self::Ack,
        Self::DataAck,
        Self::CloseReq,
        Self::Close,
        Self::Reset,
        Self::Sync,
        Self::SyncAck,
    ];

    /// The type in the byte of a header that holds it.
    const fn of(byte: u8) -> Option<Self> {
        let place = (byte >> 1 & 0xf) as usize;
        if place < Self::ALL.len() { Some(Self::ALL[place]) } else { None }
    }

    /// Whether such packets have an acknowledgment number (§5.1).
    #[must_use]
    pub const fn has_ack(self) -> bool {
        !matches!(self, Self::Request | Self::Data)
    }

    /// Whether such packets carry data of the application.
    #[must_use]
    pub const fn has_data(self) -> bool {
        matches!(self, Self::Data | Self::DataAck)
    }

    /// Whether such packets may have short sequence numbers (§7.6.1).
    #[must_use]
    pub const fn can_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    const fn has_service(self) -> bool {
        matches!(self, Self::Request | Self::Response)
    }
}

/// Codes of Resets (§5.6).
pub mod reset {
    /// Normal end of a connection.
    pub const CLOSED: u8 = 1;
    /// The end gave up.
    pub const ABORTED: u8 = 2;
    /// There is no such connection.
    pub const NO_CONNECTION: u8 = 3;
    /// A packet of an unexpected type.
    pub const PACKET_ERROR: u8 = 4;
    /// An option that is invalid, and mandatory.
    pub const OPTION_ERROR: u8 = 5;
    /// An option that is mandatory and not understood.
    pub const MANDATORY_ERROR: u8 = 6;
}

impl Packet {
    /// A packet without options or data.
    #[must_use]
    pub const fn new(source_port: u16, destination_port: u16, kind: Kind, seq: u64, ack: u64) -> Self {
        Self {
            source_port,
            destination_port,
            ccval: 0,
            coverage: 0,
            kind,
            is_short: false,
            seq,
            ack,
            service: 0,
            reset: [0; 4],
            options: Vec::new(),
            payload: Payload::EMPTY,
        }
    }

    /// Bytes of the header, options and their padding included.
    #[must_use]
    pub fn header_len(&self) -> u32 {
        let options: u32 = self.options.iter().map(DccpOption::wire_len).sum();
        fixed_len(self.kind, self.is_short) + options.next_multiple_of(WORD)
    }

    /// Bytes of header and data.
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        self.header_len() + self.payload.len()
    }
}

/// Bytes of the generic header and the fields of a type (§5.1 to §5.7).
const fn fixed_len(kind: Kind, is_short: bool) -> u32 {
    let (generic, ack) = if is_short { (12, 4) } else { (16, 8) };
    let ack = if kind.has_ack() { ack } else { 0 };
    let more = if kind.has_service() || matches!(kind, Kind::Reset) { 4 } else { 0 };
    generic + ack + more
}

/// Appends `packet`. `pseudo` is the sum of the IP pseudo-header.
pub(crate) fn encode(packet: &Packet, pseudo: Checksum, out: &mut Vec<u8>) {
    let (start, header_len) = (out.len(), packet.header_len());
    let offset = u8::try_from(header_len / WORD).expect("a header has at most 1020 bytes");
    out.extend_from_slice(&packet.source_port.to_be_bytes());
    out.extend_from_slice(&packet.destination_port.to_be_bytes());
    out.extend_from_slice(&[offset, packet.ccval << 4 | packet.coverage & 0xf, 0, 0]);
    let type_and_x = (packet.kind as u8) << 1 | u8::from(!packet.is_short);
    put_number(type_and_x, packet.seq, packet.is_short, out);
    if packet.kind.has_ack() {
        put_ack(packet.ack, packet.is_short, out);
    }
    if packet.kind.has_service() {
        out.extend_from_slice(&packet.service.to_be_bytes());
    }
    if packet.kind == Kind::Reset {
        out.extend_from_slice(&packet.reset);
    }
    packet.options.iter().for_each(|option| option.encode(out));
    out.resize(start + header_len as usize, 0);
    packet.payload.write_to(out);
    let mut checksum = pseudo;
    checksum.add(covered(&out[start..], packet.coverage));
    let sum = checksum.finish();
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
}

/// The type, X and the sequence number: 24 bits of it, or a reserved byte and 48 bits.
fn put_number(type_and_x: u8, seq: u64, is_short: bool, out: &mut Vec<u8>) {
    out.push(type_and_x);
    let bytes = seq.to_be_bytes();
    if is_short {
        out.extend_from_slice(&bytes[5..]);
    } else {
        out.push(0);
        out.extend_from_slice(&bytes[2..]);
    }
}

/// The acknowledgment number after its reserved bits.
fn put_ack(ack: u64, is_short: bool, out: &mut Vec<u8>) {
    let bytes = ack.to_be_bytes();
    if is_short {
        out.push(0);
        out.extend_from_slice(&bytes[5..]);
    } else {
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&bytes[2..]);
    }
}

/// Whether a packet may be one of a known type. Others are ignored (§5.1).
pub(crate) fn has_known_type(bytes: &[u8]) -> bool {
    bytes.get(8).is_none_or(|byte| Kind::of(*byte).is_some())
}

/// The packet in `bytes`, which has a known type, of which a capture may have cut off the end, and whether its
/// options could be read to their end.
///
/// # Errors
/// If the header is cut off, or is shorter than its type needs.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Packet, bool), ParseError> {
    let cut_off = |need: usize| ParseError::CutOff { header: "DCCP", need, have: bytes.len() };
    let head: &[u8; 12] = bytes.first_chunk().ok_or_else(|| cut_off(12))?;
    let kind = Kind::of(head[8]).expect("the caller has asked");
    let is_short = head[8] & 1 == 0;
    let (fixed, said) = (fixed_len(kind, is_short) as usize, usize::from(head[4]) * WORD as usize);
    if said < fixed {
        return Err(ParseError::HeaderLength { header: "DCCP", said, least: fixed });
    }
    if bytes.len() < said {
        return Err(cut_off(said));
    }
    let mut fields = Fields { rest: &bytes[8..fixed] };
    let seq = fields.number(is_short);
    let ack = if kind.has_ack() { fields.number(is_short) } else { 0 };
    let last: [u8; 4] = fields.rest.first_chunk().copied().unwrap_or_default();
    let (options, is_sound) = options::decode_all(&bytes[fixed..said]);
    let packet = Packet {
        source_port: u16::from_be_bytes([head[0], head[1]]),
        destination_port: u16::from_be_bytes([head[2], head[3]]),
        ccval: head[5] >> 4,
        coverage: head[5] & 0xf,
        kind,
        is_short,
        seq,
        ack,
        service: if kind.has_service() { u32::from_be_bytes(last) } else { 0 },
        reset: if kind == Kind::Reset { last } else { [0; 4] },
        options,
        payload: payload_of(&bytes[said..]),
    };
    Ok((packet, is_sound))
}

/// The fields of a header that are left.
struct Fields<'a> {
    rest: &'a [u8],
}

impl Fields<'_> {
    /// A sequence or acknowledgment number after a byte, or two, of other contents.
    fn number(&mut self, is_short: bool) -> u64 {
        let len = if is_short { 4 } else { 8 };
        let (field, rest) = self.rest.split_at(len);
        self.rest = rest;
        field[len / 4..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// The bytes of a packet that its checksum covers (§9.2); all where the coverage reaches past the end.
pub(crate) fn covered(bytes: &[u8], coverage: u8) -> &[u8] {
    let header = usize::from(bytes.get(4).copied().unwrap_or(0)) * WORD as usize;
    match coverage {
        0 => bytes,
        more => &bytes[..(header + usize::from(more - 1) * WORD as usize).min(bytes.len())],
    }
}

/// The data offset counts words of 32 bits.
const WORD: u32 = 4;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::ip::{Protocol, v4};
    use crate::{Oddity, Transport, emit_dccp_ipv4_behind, parse};

    fn header() -> v4::Header {
        v4::Header::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), Protocol::DCCP, 7)
    }

    fn full(kind: Kind, is_short: bool) -> Packet {
        let mask = if is_short { 0xff_ffff } else { 0xffff_ffff_ffff };
        let options = vec![
            DccpOption::NdpCount(3),
            DccpOption::AckVector { nonce: false, vector: vec![0x05, 0xc0, 0x3f] },
            DccpOption::ElapsedTime(70_000),
        ];
        Packet {
            ccval: 9,
            is_short,
            service: if kind.has_service() { 77 } else { 0 },
            reset: if kind == Kind::Reset { [1, 2, 3, 4] } else { [0; 4] },
            options,
            payload: if kind.has_data() {
                Payload::Data(vec![1, 2, 3, 4, 5, 6, 7].into())
            } else {
                Payload::EMPTY
            },
            ..Packet::new(
                5001,
                6001,
                kind,
                0x1234_5678_9abc & mask,
                if kind.has_ack() { 0xfedc_ba98_7654 & mask } else { 0 },
            )
        }
    }

    #[test]
    fn every_type_in_both_forms_comes_back_as_it_was() {
        for kind in Kind::ALL {
            for is_short in [false, true] {
                if is_short && !kind.can_be_short() {
                    continue;
                }
                let packet = full(kind, is_short);
                let bytes = emit_dccp_ipv4_behind(header(), &packet);
                let parsed = parse(&bytes).expect("it can be read");
                assert_eq!((parsed.oddities.as_slice(), parsed.missing), (&[][..], 0), "{kind:?}");
                assert_eq!(bytes.len() as u32, 20 + packet.wire_len());
                let Transport::Dccp(mut back) = parsed.transport else { panic!("{kind:?}") };
                if let Payload::Data(data) = &back.payload
                    && data.is_empty()
                {
                    back.payload = Payload::EMPTY;
                }
                assert_eq!(back, packet);
            }
        }
    }

    #[test]
    fn damage_beyond_the_coverage_is_not_noticed() {
        for (coverage, noticed) in [(0, true), (1, false), (2, false), (3, true)] {
            let packet = Packet { coverage, ..full(Kind::Data, false) };
            let mut bytes = emit_dccp_ipv4_behind(header(), &packet);
            *bytes.last_mut().expect("it has data") ^= 1;
            let odd = parse(&bytes).expect("it can be read").oddities.contains(&Oddity::Checksum);
            assert_eq!(odd, noticed, "{coverage}");
        }
        let mut bytes = emit_dccp_ipv4_behind(header(), &Packet { coverage: 1, ..full(Kind::Data, false) });
        bytes[20] ^= 1;
        assert!(
            parse(&bytes).expect("it can be read").oddities.contains(&Oddity::Checksum),
            "the header is covered"
        );
    }

    #[test]
    fn no_bytes_panic() {
        let bytes = emit_dccp_ipv4_behind(header(), &full(Kind::DataAck, false));
        for len in 0..bytes.len() {
            drop(parse(&bytes[..len]));
        }
        for place in 20..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut odd = bytes.clone();
                odd[place] = value;
                drop(parse(&odd));
            }
        }
    }
}

//! Packets that a kernel leaves for a device to finish: without a checksum, or as many segments under one header
//! (generic segmentation offload; Linux, Documentation/networking/segmentation-offloads.rst).
//!
//! A link handles single segments. [`segments`] splits a [`SuperPacket`] without copying it: each [`RawPacket`] is a
//! view, and its headers are written on request. [`Coalesced`] joins neighbours again for a kernel that accepts them as
//! one, and separate datagrams too.

mod coalesced;
mod super_packet;
#[cfg(test)]
mod tests;
mod train;
mod virtio;

use std::borrow::Cow;
use std::sync::Arc;

pub use coalesced::Coalesced;
pub use super_packet::{SuperPacket, SuperPacketError};
pub use virtio::{ChecksumPlace, Gso, GsoKind, UnknownGso, VirtioNetHeader};

use crate::checksum::{self, Checksum};
use crate::ip::v4;

/// An IP packet as bytes, alone or within a larger packet.
#[derive(Clone, Debug)]
pub struct RawPacket(Form);

#[derive(Clone, Debug)]
enum Form {
    /// A packet alone. Its transport checksum may be unfinished.
    Whole { bytes: Vec<u8>, checksum: Option<ChecksumPlace> },
    /// A segment of a larger packet, with its own mark (CE, RFC 3168 §5).
    Segment { of: Arc<SuperPacket>, index: u16, is_marked: bool },
}

/// The packets, as on a wire, that a kernel has handed over.
#[derive(Debug)]
pub struct Segments(Rest);

#[derive(Debug)]
enum Rest {
    One(Option<RawPacket>),
    Many { of: Arc<SuperPacket>, next: u16 },
}

/// Splits what a kernel has handed over into packets.
///
/// # Errors
/// If the header promises segments that the bytes do not have.
pub fn segments(header: VirtioNetHeader, bytes: Vec<u8>) -> Result<Segments, SuperPacketError> {
    let rest = match header.gso {
        None => Rest::One(Some(RawPacket(Form::Whole { bytes, checksum: header.checksum }))),
        Some(gso) => Rest::Many { of: Arc::new(SuperPacket::new(bytes, gso)?), next: 0 },
    };
    Ok(Segments(rest))
}

impl Segments {
    /// No packet.
    #[must_use]
    pub fn none() -> Self {
        Self(Rest::One(None))
    }
}

impl Iterator for Segments {
    type Item = RawPacket;

    fn next(&mut self) -> Option<RawPacket> {
        match &mut self.0 {
            Rest::One(packet) => packet.take(),
            Rest::Many { of, next } => {
                let index = *next;
                *next += 1;
                let segment = || RawPacket(Form::Segment { of: Arc::clone(of), index, is_marked: false });
                (index < of.segments()).then(segment)
            }
        }
    }
}

impl RawPacket {
    /// Its length, headers included.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Whole { bytes, .. } => bytes.len(),
            Form::Segment { of, index, .. } => of.headers_len() + of.payload(*index, 1).len(),
        }
    }

    /// Whether it has no bytes at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that begin with headers whose addresses, ports and traffic class are those of this packet, without its
    /// mark. Lengths, numbers and checksums may be those of a larger packet.
    #[must_use]
    pub fn common_header(&self) -> &[u8] {
        match &self.0 {
            Form::Whole { bytes, .. } => bytes,
            Form::Segment { of, .. } => of.bytes(),
        }
    }

    /// Its bytes as they are on a wire, with the right checksums.
    #[must_use]
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        let place = match &self.0 {
            Form::Whole { bytes, checksum: None } => return Cow::Borrowed(bytes),
            Form::Whole { checksum: Some(place), .. } => *place,
            Form::Segment { of, .. } => of.checksum_place(),
        };
        let mut bytes = self.unfinished();
        finish_checksum(&mut bytes, place);
        Cow::Owned(bytes)
    }

    /// The same, or only the headers if the rest is not needed: those of a segment of a larger TCP packet. The rest
    /// counts as not captured.
    #[must_use]
    pub fn to_headers(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Form::Segment { of, index, is_marked } if of.kind() == GsoKind::TcpV4 => {
                let mut headers = Vec::with_capacity(of.headers_len());
                of.write_headers(*index, 1, *is_marked, &mut headers);
                Cow::Owned(headers)
            }
            _ => self.to_bytes(),
        }
    }

    /// The ECN field (RFC 3168 §5); zero if it is not IPv4.
    #[must_use]
    pub fn ecn(&self) -> u8 {
        match &self.0 {
            Form::Segment { is_marked: true, .. } => MARKED,
            _ if self.is_ipv4() => self.common_header()[TRAFFIC_CLASS] & MARKED,
            _ => 0,
        }
    }

    /// Marks it with CE, if its sender is ECN-capable.
    pub fn mark_ce(&mut self) {
        if self.ecn() == 0 {
            return;
        }
        match &mut self.0 {
            Form::Whole { bytes, .. } => mark(bytes),
            Form::Segment { is_marked, .. } => *is_marked = true,
        }
    }

    /// The memory of the larger packet that it was part of, to be used again, if this is the last that is left of that.
    #[must_use]
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        match self.0 {
            Form::Whole { .. } => None,
            Form::Segment { of, .. } => Arc::into_inner(of).map(SuperPacket::into_bytes),
        }
    }

    /// Damages it: any checksum over the packet finds one inverted byte.
    pub fn corrupt(&mut self) {
        let mut bytes = self.to_bytes().into_owned();
        if let Some(last) = bytes.last_mut() {
            *last = !*last;
        }
        // A kernel does not check a checksum that it is asked to complete.
        self.0 = Form::Whole { bytes, checksum: None };
    }

    /// The packet `places` after this one in the larger packet.
    fn following(&self, places: u16) -> Self {
        let mut packet = self.clone();
        if let Form::Segment { index, .. } = &mut packet.0 {
            *index += places;
        }
        packet
    }

    fn is_ipv4(&self) -> bool {
        let header = self.common_header();
        header.len() >= v4::HEADER_LEN && header[0] >> 4 == 4
    }

    /// Its bytes with the sum of the pseudo-header where the checksum is to be.
    fn unfinished(&self) -> Vec<u8> {
        match &self.0 {
            Form::Whole { bytes, .. } => bytes.clone(),
            Form::Segment { of, index, is_marked } => {
                let mut bytes = Vec::with_capacity(self.len());
                of.write_headers(*index, 1, *is_marked, &mut bytes);
                bytes.extend_from_slice(of.payload(*index, 1));
                bytes
            }
        }
    }
}

impl Default for RawPacket {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl From<Vec<u8>> for RawPacket {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Form::Whole { bytes, checksum: None })
    }
}

/// Packets are equal if they are on a wire.
impl PartialEq for RawPacket {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Eq for RawPacket {}

impl PartialEq<Vec<u8>> for RawPacket {
    fn eq(&self, other: &Vec<u8>) -> bool {
        *self.to_bytes() == **other
    }
}

/// Sets both bits of the ECN field of an IPv4 packet.
fn mark(bytes: &mut [u8]) {
    bytes[TRAFFIC_CLASS] |= MARKED;
    let header_len = (usize::from(bytes[0] & 0x0f) * 4).clamp(v4::HEADER_LEN, bytes.len());
    write_header_checksum(&mut bytes[..header_len]);
}

/// Writes the checksum of an IPv4 header (RFC 791 §3.1).
fn write_header_checksum(header: &mut [u8]) {
    header[HEADER_CHECKSUM..HEADER_CHECKSUM + 2].fill(0);
    let checksum = checksum::of(header);
    header[HEADER_CHECKSUM..HEADER_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Finishes a checksum whose field holds the sum of the pseudo-header. A field outside the packet is left alone.
fn finish_checksum(bytes: &mut [u8], place: ChecksumPlace) {
    let (start, at) = (usize::from(place.start), usize::from(place.start) + usize::from(place.offset));
    if at + 2 > bytes.len() {
        return;
    }
    let mut sum = Checksum::default();
    sum.add(&bytes[start..]);
    // RFC 768: a checksum of zero is sent as all ones. To TCP both are the same (RFC 1624 §3), but only one is usual.
    let finished = match sum.finish() {
        0 if place.offset == super_packet::UDP_CHECKSUM => u16::MAX,
        finished => finished,
    };
    bytes[at..at + 2].copy_from_slice(&finished.to_be_bytes());
}

/// Positions of the traffic class and the checksum in an IPv4 header (RFC 791 §3.1).
const TRAFFIC_CLASS: usize = 1;
const HEADER_CHECKSUM: usize = 10;
/// "Congestion experienced", and the bits of the whole field.
const MARKED: u8 = 0b11;

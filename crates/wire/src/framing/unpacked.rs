//! An IP packet out of a frame, whose header is decoded once.

use std::borrow::Cow;
use std::ops::Range;

use crate::ip::{self, Decoded, Header};
use crate::udp::{self, Datagram};
use crate::{ParseError, Parsed, packet};

/// An IP packet, and its header if that can be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked<'a> {
    bytes: Cow<'a, [u8]>,
    decoded: Result<Decoded<Header>, ParseError>,
}

impl<'a> Unpacked<'a> {
    pub(super) fn new(bytes: Cow<'a, [u8]>) -> Self {
        let decoded = ip::decode(&bytes);
        Self { bytes, decoded }
    }

    /// The bytes of the packet, and what follows it in the frame.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The packet with the lengths of what it carries, as [`crate::parse_headers`] gives it.
    ///
    /// # Errors
    /// If a header is cut off or contradicts itself.
    pub fn parse_headers(&self) -> Result<Parsed, ParseError> {
        packet::parse_headers_after(&self.bytes, self.decoded.as_ref().map_err(Clone::clone)?)
    }

    /// The bytes that `datagram` carries, with which this packet was parsed, as far as they were captured.
    #[must_use]
    pub fn carried_by(&self, datagram: &Datagram) -> &[u8] {
        let start = self.decoded.as_ref().map_or(0, |decoded| decoded.payload.start) + udp::HEADER_LEN;
        self.bytes.get(start..start + datagram.payload.len() as usize).unwrap_or_default()
    }

    /// The header, if it can be decoded.
    pub(super) fn decoded(&self) -> Option<&Decoded<Header>> {
        self.decoded.as_ref().ok()
    }

    /// The packet that lies in `range` of this one, if its header can be decoded.
    pub(super) fn inside(&self, range: Range<usize>) -> Option<Self> {
        let inner = Self::new(match &self.bytes {
            Cow::Borrowed(outer) => Cow::Borrowed(&outer[range]),
            Cow::Owned(outer) => Cow::Owned(outer[range].to_vec()),
        });
        inner.decoded.is_ok().then_some(inner)
    }
}

//! Result of the decoders of both versions.

use std::ops::Range;

/// The part of a fragmented packet that a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Position of its first byte in the whole packet's payload, in bytes.
    pub offset: u16,
    /// Whether more parts follow.
    pub more: bool,
}

/// A decoded header `H`, and the position of its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<H> {
    /// The header.
    pub header: H,
    /// Position of the payload in the decoded bytes.
    pub payload: Range<usize>,
    /// Bytes of payload that the header counts and a capture cut off.
    pub missing: u32,
    /// Whether the header's checksum is correct; always true for IPv6, which has none.
    pub checksum_holds: bool,
}

impl<H> Decoded<H> {
    /// The same with another type of header.
    pub(super) fn map<T>(self, header: impl FnOnce(H) -> T) -> Decoded<T> {
        let Self { header: own, payload, missing, checksum_holds } = self;
        Decoded { header: header(own), payload, missing, checksum_holds }
    }
}

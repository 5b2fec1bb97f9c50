//! The bytes that a segment carries, without copying them around.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A run of bytes of a stream.
///
/// Bulk transfers send a *pattern*: byte `i` of the stream is [`Payload::pattern_byte`]`(i)`, so that a payload is
/// described by its position in the stream, costs no memory, and the receiver can still detect a wrong byte. Programs
/// with real data send bytes, shared and not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// `len` bytes of the pattern, from stream position `offset`.
    Pattern {
        /// Position of the first byte in the sender's stream.
        offset: u64,
        /// Number of bytes.
        len: u32,
    },
    /// Bytes that a program wrote.
    Data(Data),
}

/// Bytes that a program wrote: a piece of a buffer, which all its pieces share.
#[derive(Clone)]
pub struct Data {
    len: u32,
    start: u32,
    buffer: Arc<[u8]>,
}

impl Default for Payload {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Payload {
    /// No bytes.
    pub const EMPTY: Self = Self::Pattern { offset: 0, len: 0 };

    /// Number of bytes.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        match self {
            Self::Pattern { len, .. } | Self::Data(Data { len, .. }) => *len,
        }
    }

    /// Whether there are no bytes.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `len` bytes from position `start` of this payload.
    ///
    /// # Panics
    /// If that reaches past the end.
    #[must_use]
    pub fn slice(&self, start: u32, len: u32) -> Self {
        assert!(start + len <= self.len(), "slice {start}+{len} of a payload of {}", self.len());
        match self {
            Self::Pattern { offset, .. } => Self::Pattern { offset: offset + u64::from(start), len },
            Self::Data(data) => {
                Self::Data(Data { len, start: data.start + start, buffer: Arc::clone(&data.buffer) })
            }
        }
    }

    /// Appends the bytes to `out`.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Pattern { offset, len } => {
                out.extend((*offset..offset + u64::from(*len)).map(Self::pattern_byte));
            }
            Self::Data(data) => out.extend_from_slice(data),
        }
    }

    /// Byte `position` of the pattern. Neighbours differ, and so do places that are a segment, a
    /// window or a power of two apart, so that a misplaced run of bytes never looks right.
    #[must_use]
    pub const fn pattern_byte(position: u64) -> u8 {
        // Multiplicative hashing by 2⁶⁴/φ (Knuth, TAOCP vol. 3, §6.4); the top byte mixes best.
        (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    }
}

/// A buffer of one's own.
///
/// # Panics
/// If it is longer than 4 GiB: no segment is.
impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Self {
        let len = u32::try_from(bytes.len()).expect("a payload is at most 4 GiB");
        Self { len, start: 0, buffer: bytes.into() }
    }
}

/// A copy of the bytes.
///
/// # Panics
/// As that of a `Vec`.
impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl Deref for Data {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.start as usize..][..self.len as usize]
    }
}

impl<'a> IntoIterator for &'a Data {
    type Item = &'a u8;
    type IntoIter = std::slice::Iter<'a, u8>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Data {}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_data_holds_the_bytes_of_that_place() {
        let data = Payload::Data(b"hello world"[..].into());
        assert_eq!(data.slice(6, 5).slice(1, 3), Payload::Data(b"orl"[..].into()));
        assert_eq!(data.slice(11, 0).len(), 0);
    }

    #[test]
    fn a_payload_is_small_to_move() {
        assert_eq!(size_of::<Payload>(), 24);
    }

    #[test]
    fn a_slice_of_a_pattern_holds_the_bytes_of_that_place() {
        let mut whole = Vec::new();
        Payload::Pattern { offset: 100, len: 50 }.write_to(&mut whole);
        let mut part = Vec::new();
        Payload::Pattern { offset: 100, len: 50 }.slice(10, 5).write_to(&mut part);
        assert_eq!(part, whole[10..15]);
    }

    #[test]
    fn a_misplaced_segment_never_looks_right() {
        for apart in [1, 256, 536, 1000, 1448, 1460, 4096, 65_535, 65_536] {
            let differing =
                (0..1000).filter(|&i| Payload::pattern_byte(i) != Payload::pattern_byte(i + apart)).count();
            assert!(differing > 500, "{apart} apart: only {differing} of 1000 bytes differ");
        }
    }
}

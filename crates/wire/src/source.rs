//! Reading a file piece by piece, knowing at which byte one is, in its own byte order.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use crate::frame::ReadError;

/// A file being read, by pieces of a buffer.
#[derive(Debug)]
pub(crate) struct Source<R> {
    input: R,
    buffer: Box<[u8]>,
    /// What was read into the buffer and not taken.
    unread: Range<usize>,
    at: u64,
}

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endian {
    Big,
    Little,
}

/// A piece of a file, from whose front numbers are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    endian: Endian,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BUFFER].into(), unread: 0..0, at: 0 }
    }

    /// The byte that is read next.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// Fills `buffer` as far as the file reaches. Returns the number of bytes.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while filled < buffer.len() {
            let piece = self.take(buffer.len() - filled)?;
            if piece.is_empty() {
                break;
            }
            buffer[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
        }
        Ok(filled)
    }

    /// At most `most` of the next bytes; none at the end of the file only.
    fn take(&mut self, most: usize) -> Result<&[u8], ReadError> {
        if self.unread.is_empty() {
            self.unread = 0..self.read()?;
        }
        let start = self.unread.start;
        let end = self.unread.end.min(start.saturating_add(most));
        self.unread.start = end;
        self.at += (end - start) as u64;
        Ok(&self.buffer[start..end])
    }

    /// Reads what there is, at least a byte, into the buffer; the rest of a pipe may come much later.
    fn read(&mut self) -> Result<usize, ReadError> {
        loop {
            match self.input.read(&mut self.buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result.map_err(|error| ReadError::Io { at: self.at, error }),
            }
        }
    }

    /// The next `N` bytes, with which a `part` begins; `None` at the end of the file.
    pub(crate) fn start<const N: usize>(&mut self, part: &'static str) -> Result<Option<[u8; N]>, ReadError> {
        let begins = self.at;
        let mut bytes = [0; N];
        match self.fill(&mut bytes)? {
            0 => Ok(None),
            count if count < N => Err(ReadError::Torn { at: self.at, part, begins }),
            _ => Ok(Some(bytes)),
        }
    }

    /// The next `N` bytes, which belong to the `part` that begins at byte `begins`.
    pub(crate) fn array<const N: usize>(
        &mut self,
        part: &'static str,
        begins: u64,
    ) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        if self.fill(&mut bytes)? < N {
            return Err(ReadError::Torn { at: self.at, part, begins });
        }
        Ok(bytes)
    }

    /// Replaces the contents of `bytes` by the next `len`, which belong to the `part` that begins at byte `begins`.
    /// Memory grows as the bytes come, so that a damaged length costs nothing.
    pub(crate) fn exactly(
        &mut self,
        bytes: &mut Vec<u8>,
        len: u64,
        part: &'static str,
        begins: u64,
    ) -> Result<(), ReadError> {
        bytes.clear();
        let mut rest = len;
        while rest > 0 {
            let piece = self.take(usize::try_from(rest).unwrap_or(usize::MAX))?;
            if piece.is_empty() {
                return Err(ReadError::Torn { at: self.at, part, begins });
            }
            bytes.extend_from_slice(piece);
            rest -= piece.len() as u64;
        }
        Ok(())
    }
}

impl<'a> Fields<'a> {
    pub(crate) const fn new(bytes: &'a [u8], endian: Endian) -> Self {
        Self { bytes, endian }
    }

    /// The next `len` bytes, if there are enough.
    pub(crate) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        let bytes = self.bytes(2)?.try_into().expect("two bytes");
        Some(if self.endian == Endian::Big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let bytes = self.bytes(4)?.try_into().expect("four bytes");
        Some(if self.endian == Endian::Big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let bytes = self.bytes(8)?.try_into().expect("eight bytes");
        Some(if self.endian == Endian::Big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }
}

/// Bytes that are read at once: few enough for the caches of a processor.
const BUFFER: usize = 1 << 17;

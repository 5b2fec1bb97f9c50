//! Reading a file piece by piece, knowing at which byte one is, in its own byte order.

use std::io::Read;

use crate::frame::ReadError;

/// A file being read.
#[derive(Debug)]
pub(crate) struct Source<R> {
    input: R,
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
    pub(crate) const fn new(input: R) -> Self {
        Self { input, at: 0 }
    }

    /// The byte that is read next.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// The next `len` bytes, or fewer at the end of the file. Allocates no memory for missing bytes, so that a damaged
    /// length costs nothing.
    pub(crate) fn up_to(&mut self, len: u64) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(len).read_to_end(&mut bytes);
        self.at += bytes.len() as u64;
        read.map_err(|error| ReadError::Io { at: self.at, error })?;
        Ok(bytes)
    }

    /// The next `len` bytes, which belong to the `part` that begins at byte `begins`.
    pub(crate) fn exactly(
        &mut self,
        len: u64,
        part: &'static str,
        begins: u64,
    ) -> Result<Vec<u8>, ReadError> {
        let bytes = self.up_to(len)?;
        if (bytes.len() as u64) < len {
            return Err(ReadError::Torn { at: self.at, part, begins });
        }
        Ok(bytes)
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

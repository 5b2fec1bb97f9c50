//! Reading a file piece by piece, knowing at which byte one is, in its own byte order.

use std::io::{ErrorKind, Read};

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

    /// Fills `buffer` as far as the file reaches. Returns the number of bytes.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let begins = self.at;
        let mut rest = buffer;
        while !rest.is_empty() {
            match self.input.read(rest) {
                Ok(0) => break,
                Ok(count) => {
                    self.at += count as u64;
                    rest = &mut rest[count..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Io { at: self.at, error }),
            }
        }
        Ok((self.at - begins) as usize)
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
            let (have, step) = (bytes.len(), rest.min(STEP));
            bytes.resize(have + step as usize, 0);
            if (self.fill(&mut bytes[have..])? as u64) < step {
                return Err(ReadError::Torn { at: self.at, part, begins });
            }
            rest -= step;
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

/// Bytes that are allocated before they were read: all of a usual packet.
const STEP: u64 = 1 << 16;

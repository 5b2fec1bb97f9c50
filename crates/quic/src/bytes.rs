//! Reading numbers from the front of bytes.

/// Bytes that are read from the front. Every read is `None` where they end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.big_endian(2).map(|number| number as u16)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.big_endian(4).map(|number| number as u32)
    }

    /// A number of up to eight bytes.
    pub(crate) fn big_endian(&mut self, len: usize) -> Option<u64> {
        Some(self.take(len)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A variable-length integer (RFC 9000 §16).
    pub(crate) fn variable(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let len = 1 << (first >> 6);
        let number = self.big_endian(len)?;
        Some(number & (u64::MAX >> (66 - 8 * len)))
    }

    /// As many bytes as the variable-length integer before them says.
    pub(crate) fn counted(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.variable()?).ok()?;
        self.take(len)
    }

    /// As many bytes as the number of `width` bytes before them says, as TLS writes vectors.
    pub(crate) fn vector(&mut self, width: usize) -> Option<Self> {
        let len = self.big_endian(width)? as usize;
        self.take(len).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_length_integers_are_those_of_rfc_9000_appendix_a_1() {
        let read = |bytes: &[u8]| Bytes(bytes).variable();
        assert_eq!(read(&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]), Some(151_288_809_941_952_652));
        assert_eq!(read(&[0x9d, 0x7f, 0x3e, 0x7d]), Some(494_878_333));
        assert_eq!(read(&[0x7b, 0xbd]), Some(15_293));
        assert_eq!(read(&[0x25]), Some(37));
        assert_eq!(read(&[0x40, 0x25]), Some(37));
        assert_eq!((read(&[0x40]), read(&[])), (None, None));
    }
}

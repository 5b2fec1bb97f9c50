//! The TCP Fast Open option (RFC 7413 §4.1.1).

use std::fmt;

/// A Fast Open cookie, by which a server recognises the address of a client (RFC 7413 §4.1); one without bytes asks for
/// a cookie.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FastOpenCookie {
    len: u8,
    /// The bytes after `len` are 0.
    bytes: [u8; Self::LONGEST],
}

impl FastOpenCookie {
    /// The request for a cookie: an option without bytes.
    pub const REQUEST: Self = Self { len: 0, bytes: [0; Self::LONGEST] };

    /// The longest cookie, in bytes (RFC 7413 §4.1.1).
    pub const LONGEST: usize = 16;
    /// The shortest cookie, in bytes (RFC 7413 §4.1.1).
    pub const SHORTEST: usize = 4;

    /// The cookie with these bytes: none for a request, else an even number from 4 to 16 (RFC 7413 §4.1.1).
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let is_cookie =
            (Self::SHORTEST..=Self::LONGEST).contains(&bytes.len()) && bytes.len().is_multiple_of(2);
        if !is_cookie && !bytes.is_empty() {
            return None;
        }
        let mut cookie = Self { len: bytes.len() as u8, ..Self::REQUEST };
        cookie.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(cookie)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether it asks for a cookie.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the option: kind, length and cookie.
    #[must_use]
    pub(crate) const fn option_len(&self) -> u32 {
        2 + self.len as u32
    }
}

impl fmt::Display for FastOpenCookie {
    /// In hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FastOpenCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FastOpenCookie({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_has_an_even_number_of_bytes_from_four_to_sixteen() {
        let taken: Vec<usize> = (0..20).filter(|len| FastOpenCookie::new(&vec![7; *len]).is_some()).collect();
        assert_eq!(taken, [0, 4, 6, 8, 10, 12, 14, 16]);
        assert!(FastOpenCookie::REQUEST.is_request());
        assert_eq!(
            FastOpenCookie::new(&[0xab, 1, 2, 3]).map(|cookie| cookie.to_string()).as_deref(),
            Some("ab010203")
        );
    }
}

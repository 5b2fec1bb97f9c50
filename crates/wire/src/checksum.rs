//! The Internet checksum (RFC 1071).

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::ip::Protocol;

/// A one's complement sum that is being taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checksum {
    sum: u64,
}

impl Checksum {
    /// The sum of the pseudo-header of IPv4 (RFC 9293 §3.1).
    pub(crate) fn pseudo_v4(source: Ipv4Addr, destination: Ipv4Addr, protocol: Protocol, len: u32) -> Self {
        Self::pseudo(&source.octets(), &destination.octets(), protocol, len)
    }

    /// The sum of the pseudo-header of IPv6 (RFC 8200 §8.1).
    pub(crate) fn pseudo_v6(source: Ipv6Addr, destination: Ipv6Addr, protocol: Protocol, len: u32) -> Self {
        Self::pseudo(&source.octets(), &destination.octets(), protocol, len)
    }

    fn pseudo(source: &[u8], destination: &[u8], protocol: Protocol, len: u32) -> Self {
        let mut checksum = Self::default();
        checksum.add(source);
        checksum.add(destination);
        checksum.add(&len.to_be_bytes());
        checksum.sum += u64::from(protocol.0);
        checksum
    }

    /// Adds `bytes`, which begin at an even place. An odd last byte counts as if a zero followed.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        // RFC 1071 §2 (C): words of any width may be added and folded in the end.
        self.sum += words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum::<u64>();
        let (pairs, last) = rest.as_chunks::<2>();
        self.sum += pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum::<u64>();
        self.sum += last.iter().map(|byte| u64::from(*byte) << 8).sum::<u64>();
    }

    /// The checksum of the added data: zero if the data include their correct checksum.
    pub(crate) fn finish(self) -> u16 {
        let mut sum = self.sum;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

/// The checksum of `bytes` alone.
pub(crate) fn of(bytes: &[u8]) -> u16 {
    let mut checksum = Checksum::default();
    checksum.add(bytes);
    checksum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_comes_out() {
        // §3: 0001 f203 f4f5 f6f7 sums to ddf2.
        assert_eq!(of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn an_odd_last_byte_counts_as_the_high_half_of_a_word() {
        assert_eq!(of(&[1, 2, 3, 4, 5]), of(&[1, 2, 3, 4, 5, 0]));
        assert_eq!(of(&[1, 2, 5]), of(&[1, 2, 5, 0]));
    }
}

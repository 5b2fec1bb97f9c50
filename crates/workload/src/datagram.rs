//! The payload of datagrams: a number and a time.

use units::{Bytes, Instant};

/// A datagram that a program sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingDatagram {
    /// Its number among the datagrams of its side, from 0 on.
    pub number: u64,
    /// Time at which the program sent it.
    pub at: Instant,
    /// The size of the packet, IP header included.
    pub size: Bytes,
}

impl OutgoingDatagram {
    /// The payload: the number, the time at which it was sent in nanoseconds of the run, then zeros, all cut to its
    /// length. Of a number that does not fit, the low bytes remain.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        let length = self.size.0.saturating_sub(HEADERS) as usize;
        let number = self.number.to_be_bytes();
        let mut payload = number[NUMBER - length.min(NUMBER)..].to_vec();
        payload.extend(self.at.as_nanos().to_be_bytes());
        payload.resize(length, 0);
        payload
    }
}

/// The size of the packet that carries a payload of this length, IP header included.
#[must_use]
pub const fn datagram_size(payload: usize) -> Bytes {
    Bytes(payload as u64 + HEADERS)
}

/// The number of a datagram. From a payload without room for all of it, the number nearest to the expected number, as
/// receivers of RTP extend theirs (RFC 3550 §A.1).
#[must_use]
pub fn datagram_number(payload: &[u8], expected: u64) -> u64 {
    let bytes = &payload[..payload.len().min(NUMBER)];
    let low = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    if bytes.len() == NUMBER {
        return low;
    }
    let modulus = 1_u64 << (8 * bytes.len());
    let here = (expected & !(modulus - 1)) | low;
    let near = [Some(here), here.checked_add(modulus), here.checked_sub(modulus)];
    near.into_iter().flatten().min_by_key(|number| number.abs_diff(expected)).unwrap_or(here)
}

/// Headers of IPv4 without options (RFC 791) and UDP (RFC 768).
const HEADERS: u64 = 20 + 8;
/// Bytes of a number.
const NUMBER: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(number: u64, size: u64) -> OutgoingDatagram {
        OutgoingDatagram { number, at: Instant::from_nanos(0x0102), size: Bytes(size) }
    }

    #[test]
    fn a_payload_has_number_and_time_as_far_as_there_is_room() {
        assert!(outgoing(7, 28).payload().is_empty());
        assert_eq!(outgoing(0x0305, 30).payload(), [3, 5]);
        let whole = outgoing(9, 28 + 20).payload();
        assert_eq!(whole, [0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0]);
        // A packet shorter than its headers has no payload.
        assert!(outgoing(7, 3).payload().is_empty());
    }

    #[test]
    fn a_short_number_is_extended_from_the_number_that_is_expected() {
        for size in 28..50 {
            for number in [0, 1, 255, 256, 300, 65_536, 70_000] {
                let read = datagram_number(&outgoing(number, size).payload(), number);
                assert_eq!(read, number, "{size}");
            }
        }
        // One byte: 2 after 254 is 258, and 250 is an old one.
        assert_eq!((datagram_number(&[2], 255), datagram_number(&[250], 256)), (258, 250));
        assert_eq!(datagram_number(&[3], 0), 3);
    }
}

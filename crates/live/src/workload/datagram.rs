//! Datagrams between a flow's hosts: their sockets, and what is in them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;

use nix::errno::Errno;
use sim::workload::Side;
use units::{Bytes, Instant};

/// The sockets of both ends. They know each other, so nobody else's datagrams come in.
#[derive(Debug)]
pub(super) struct DatagramEnds {
    pub(super) sockets: [UdpSocket; 2],
    /// Datagrams for which the socket of a side has had no room yet.
    waiting: [VecDeque<Outgoing>; 2],
    /// The number behind the highest that has arrived from a side.
    expected: [u64; 2],
    buffer: Vec<u8>,
}

/// A datagram to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) number: u64,
    /// When the program sent it.
    pub(super) at: Instant,
    /// The packet, IP header included.
    pub(super) size: Bytes,
}

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) number: u64,
    /// The packet, IP header included.
    pub(super) size: Bytes,
}

impl DatagramEnds {
    pub(super) fn new(sockets: [UdpSocket; 2]) -> Self {
        Self { sockets, waiting: Default::default(), expected: [0; 2], buffer: vec![0; LONGEST] }
    }

    /// Sends a datagram behind those that wait. Returns the number of one that the socket has refused: it is too long for
    /// the way.
    pub(super) fn send(&mut self, by: Side, outgoing: Outgoing) -> Option<u64> {
        self.waiting[by as usize].push_back(outgoing);
        self.flush(by)
    }

    /// Sends what waits, as far as the socket has room. Returns as [`DatagramEnds::send`].
    pub(super) fn flush(&mut self, by: Side) -> Option<u64> {
        let (socket, waiting) = (&self.sockets[by as usize], &mut self.waiting[by as usize]);
        while let Some(next) = waiting.front().copied() {
            match socket.send(&payload(next)) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                // An error of an earlier datagram, told by ICMP: this one has not been sent.
                Err(error) if is_of_another(&error) => {}
                outcome => {
                    waiting.pop_front();
                    if outcome.is_err() {
                        return Some(next.number);
                    }
                }
            }
        }
        None
    }

    /// Whether a datagram waits for room in a socket.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.iter().any(|waiting| !waiting.is_empty())
    }

    /// Receives the next datagram that `by` has sent.
    pub(super) fn receive(&mut self, by: Side) -> Option<Arrived> {
        loop {
            match self.sockets[by.other() as usize].recv(&mut self.buffer) {
                Ok(length) => {
                    let expected = &mut self.expected[by as usize];
                    let number = number_in(&self.buffer[..length], *expected);
                    *expected = (*expected).max(number + 1);
                    return Some(Arrived { number, size: Bytes(length as u64 + HEADERS) });
                }
                Err(error) if error.kind() == ErrorKind::Interrupted || is_of_another(&error) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Whether a socket tells of an earlier datagram: the other end was unreachable.
fn is_of_another(error: &io::Error) -> bool {
    let errors = [Errno::ECONNREFUSED, Errno::EHOSTUNREACH, Errno::ENETUNREACH];
    error.raw_os_error().is_some_and(|raw| errors.contains(&Errno::from_raw(raw)))
}

/// A datagram's payload: its number and the time at which it was sent, in nanoseconds of the run, as far as it has room for
/// them; then zeros. Of a number, the last bytes come first to have room.
fn payload(datagram: Outgoing) -> Vec<u8> {
    let length = datagram.size.0.saturating_sub(HEADERS) as usize;
    let number = datagram.number.to_be_bytes();
    let mut payload = number[NUMBER - length.min(NUMBER)..].to_vec();
    payload.extend(datagram.at.as_nanos().to_be_bytes());
    payload.resize(length, 0);
    payload
}

/// The number of a datagram; from a payload without room for all of it, the one nearest to the number that is expected, as
/// receivers of RTP do (RFC 3550 §A.1).
fn number_in(payload: &[u8], expected: u64) -> u64 {
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
/// The longest payload.
const LONGEST: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(number: u64, size: u64) -> Outgoing {
        Outgoing { number, at: Instant::from_nanos(0x0102), size: Bytes(size) }
    }

    #[test]
    fn a_payload_has_number_and_time_as_far_as_there_is_room() {
        assert!(payload(outgoing(7, 28)).is_empty());
        assert_eq!(payload(outgoing(0x0305, 30)), [3, 5]);
        let whole = payload(outgoing(9, 28 + 20));
        assert_eq!(whole, [0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0]);
        // A packet shorter than its headers has no payload.
        assert!(payload(outgoing(7, 3)).is_empty());
    }

    #[test]
    fn short_numbers_go_on_behind_their_last() {
        for size in 28..50 {
            for number in [0, 1, 255, 256, 300, 65_536, 70_000] {
                let read = number_in(&payload(outgoing(number, size)), number);
                assert_eq!(read, number, "{size}");
            }
        }
        // One byte: 2 after 254 is 258, and 250 is an old one.
        assert_eq!((number_in(&[2], 255), number_in(&[250], 256)), (258, 250));
        assert_eq!(number_in(&[3], 0), 3);
    }
}

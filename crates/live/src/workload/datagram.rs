//! The kernel's socket for the datagrams of a flow.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;

use nix::errno::Errno;
use units::Bytes;
use workload::{OutgoingDatagram, datagram_number, datagram_size};

/// The socket of one end. It is connected to the other end, and receives the datagrams of that end only.
#[derive(Debug)]
pub(super) struct DatagramEnd {
    pub(super) socket: UdpSocket,
    /// Datagrams for which the socket has no room yet.
    waiting: VecDeque<OutgoingDatagram>,
    /// The number after the highest that has arrived.
    expected: u64,
    buffer: Vec<u8>,
}

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) number: u64,
    /// The packet, IP header included.
    pub(super) size: Bytes,
}

impl DatagramEnd {
    pub(super) fn new(socket: UdpSocket) -> Self {
        Self { socket, waiting: VecDeque::new(), expected: 0, buffer: vec![0; LONGEST] }
    }

    /// Sends a datagram after the waiting datagrams. Returns the number of a datagram that the socket refused because
    /// it is too long for the path.
    pub(super) fn send(&mut self, outgoing: OutgoingDatagram) -> Option<u64> {
        self.waiting.push_back(outgoing);
        self.flush()
    }

    /// Sends the datagrams that wait, as far as the socket has room. Returns as [`DatagramEnd::send`].
    pub(super) fn flush(&mut self) -> Option<u64> {
        while let Some(next) = self.waiting.front().copied() {
            match self.socket.send(&next.payload()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                // An error of an earlier datagram, reported by ICMP: this one has not been sent.
                Err(error) if is_of_another(&error) => {}
                outcome => {
                    self.waiting.pop_front();
                    if outcome.is_err() {
                        return Some(next.number);
                    }
                }
            }
        }
        None
    }

    /// Whether a datagram waits for room in the socket.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Receives the next datagram.
    pub(super) fn receive(&mut self) -> Option<Arrived> {
        loop {
            match self.socket.recv(&mut self.buffer) {
                Ok(length) => {
                    let number = datagram_number(&self.buffer[..length], self.expected);
                    self.expected = self.expected.max(number.saturating_add(1));
                    return Some(Arrived { number, size: datagram_size(length) });
                }
                Err(error) if error.kind() == ErrorKind::Interrupted || is_of_another(&error) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Whether the error is that of an earlier datagram: the other end was unreachable.
fn is_of_another(error: &io::Error) -> bool {
    let errors = [Errno::ECONNREFUSED, Errno::EHOSTUNREACH, Errno::ENETUNREACH];
    error.raw_os_error().is_some_and(|raw| errors.contains(&Errno::from_raw(raw)))
}

/// The longest payload.
const LONGEST: usize = 65_535;

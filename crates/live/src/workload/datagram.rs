//! Datagrams between a flow's hosts: their sockets. What is in them is as over the stacks of this process.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;

use nix::errno::Errno;
use sim::workload::Side;
use stacks::{OutgoingDatagram, datagram_number, datagram_size};
use units::Bytes;

/// The sockets of both ends. They know each other, so nobody else's datagrams come in.
#[derive(Debug)]
pub(super) struct DatagramEnds {
    pub(super) sockets: [UdpSocket; 2],
    /// Datagrams for which the socket of a side has had no room yet.
    waiting: [VecDeque<OutgoingDatagram>; 2],
    /// The number behind the highest that has arrived from a side.
    expected: [u64; 2],
    buffer: Vec<u8>,
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
    pub(super) fn send(&mut self, by: Side, outgoing: OutgoingDatagram) -> Option<u64> {
        self.waiting[by as usize].push_back(outgoing);
        self.flush(by)
    }

    /// Sends what waits, as far as the socket has room. Returns as [`DatagramEnds::send`].
    pub(super) fn flush(&mut self, by: Side) -> Option<u64> {
        let (socket, waiting) = (&self.sockets[by as usize], &mut self.waiting[by as usize]);
        while let Some(next) = waiting.front().copied() {
            match socket.send(&next.payload()) {
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
                    let number = datagram_number(&self.buffer[..length], *expected);
                    *expected = (*expected).max(number + 1);
                    return Some(Arrived { number, size: datagram_size(length) });
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

/// The longest payload.
const LONGEST: usize = 65_535;

//! The tunnel to a host: its packets in datagrams between its machine and the emulator's.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use hdrhistogram::Histogram;
use linux::socket::{allow_fragments, enlarge_receive_buffer};
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::datagram::{HEADER_LEN, Header, Kind, Token, time};
use super::offset::{ClockSample, shifted};
use crate::clock::Clock;

/// One end of a tunnel.
#[derive(Debug)]
pub(crate) struct Tunnel {
    socket: UdpSocket,
    token: Token,
    host: u16,
    /// The clock of this process.
    clock: Clock,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    /// The other end, once it is known.
    peer: Option<SocketAddr>,
    /// Number of packets sent.
    sent: u64,
    arrivals: Arrivals,
    samples: Vec<ClockSample>,
    /// The offset of the other end's clock: that clock less ours, in nanoseconds.
    ahead: i64,
    /// The time of the last datagram from the other end.
    heard: Instant,
    datagram: Vec<u8>,
    inbox: Vec<u8>,
}

/// Statistics of incoming packets.
#[derive(Debug)]
struct Arrivals {
    packets: u64,
    /// The largest number so far, plus one.
    next: u64,
    reordered: u64,
    delays: Histogram<u64>,
}

/// The counters of one end of a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Number of packets sent from this end.
    pub(crate) sent: u64,
    /// Number of packets received at this end.
    pub(crate) received: u64,
    /// Number of packets received after a packet that was sent later.
    pub(crate) reordered: u64,
    /// The delay of received packets.
    pub(crate) delay: Delay,
}

/// The delay of datagrams, corrected by the offset of the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delay {
    /// Minimum, in milliseconds.
    pub min_ms: f64,
    /// Median, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// Maximum, in milliseconds.
    pub max_ms: f64,
}

impl Tunnel {
    /// Opens an end at a port, or at any port with 0. It sends to `peer`, or to the sender of the latest ping.
    pub(crate) fn open(
        token: Token,
        host: u16,
        clock: Clock,
        port: u16,
        peer: Option<SocketAddr>,
    ) -> io::Result<Self> {
        let state = State {
            peer,
            sent: 0,
            arrivals: Arrivals::new(),
            samples: Vec::new(),
            ahead: 0,
            heard: clock.now(),
            datagram: Vec::with_capacity(HEADER_LEN + LARGEST_PACKET),
            inbox: vec![0; HEADER_LEN + LARGEST_PACKET],
        };
        Ok(Self { socket: socket_for(peer, port)?, token, host, clock, state: RefCell::new(state) })
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Sends a packet of the host. A packet that the system refuses counts as lost: its number is missing at the other
    /// end.
    pub(crate) fn send(&self, packet: &[u8]) {
        let number = self.state.borrow().sent;
        self.state.borrow_mut().sent += 1;
        self.transmit(Kind::Packet, number, packet);
    }

    /// Sends a ping, which asks the other end for its time.
    pub(crate) fn ping(&self) {
        self.transmit(Kind::Ping, 0, &[]);
    }

    /// Reads the next packet into `buffer` and returns its length, or `None`. Answers pings.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let mut inbox = std::mem::take(&mut self.state.borrow_mut().inbox);
            let received = self.receive_datagram(&mut inbox, buffer);
            self.state.borrow_mut().inbox = inbox;
            match received {
                Ok(Received::Packet(length)) => return Ok(Some(length)),
                Ok(Received::Other) => {}
                Ok(Received::Nothing) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn receive_datagram(&self, inbox: &mut [u8], buffer: &mut [u8]) -> io::Result<Received> {
        let (length, from) = match self.socket.recv_from(inbox) {
            Ok(received) => received,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Received::Nothing),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(Received::Other),
            Err(error) => return Err(error),
        };
        let now = self.clock.now();
        let ours = |header: &Header| header.token == self.token && header.host == self.host;
        let Some(header) = Header::read(&inbox[..length]).filter(ours) else { return Ok(Received::Other) };
        let body = &inbox[HEADER_LEN..length];
        let mut state = self.state.borrow_mut();
        state.heard = now;
        match header.kind {
            Kind::Packet => {
                let sent = shifted(header.sent, -state.ahead);
                state.arrivals.count(header.number, now.saturating_since(sent));
                buffer[..body.len()].copy_from_slice(body);
                return Ok(Received::Packet(body.len()));
            }
            Kind::Ping => {
                // The other end may use an address translation: the source of its pings is its address.
                state.peer = Some(from);
                drop(state);
                self.pong(header.sent, now);
            }
            Kind::Pong => {
                if let (Some(sent), Some(arrived)) = (time(body, 0), time(body, 8)) {
                    state.samples.push(ClockSample::of(sent, arrived, header.sent, now));
                }
            }
        }
        Ok(Received::Other)
    }

    fn pong(&self, sent: Instant, arrived: Instant) {
        let times = [sent.as_nanos().to_be_bytes(), arrived.as_nanos().to_be_bytes()].concat();
        self.transmit(Kind::Pong, 0, &times);
    }

    fn transmit(&self, kind: Kind, number: u64, body: &[u8]) {
        let mut state = self.state.borrow_mut();
        let State { peer, datagram, .. } = &mut *state;
        let Some(peer) = *peer else { return };
        datagram.clear();
        let header = Header { kind, host: self.host, token: self.token, number, sent: self.clock.now() };
        header.write_to(datagram);
        datagram.extend(body);
        let _ = self.socket.send_to(datagram, peer);
    }

    /// Returns the answers to pings since the last call.
    pub(crate) fn take_samples(&self) -> Vec<ClockSample> {
        std::mem::take(&mut self.state.borrow_mut().samples)
    }

    /// Sets the offset of the other end's clock, in nanoseconds.
    pub(crate) fn set_ahead(&self, ahead: i64) {
        self.state.borrow_mut().ahead = ahead;
    }

    /// Returns the time since the last datagram from the other end.
    pub(crate) fn silent_for(&self) -> Duration {
        self.clock.now().saturating_since(self.state.borrow().heard)
    }

    /// Returns the counters.
    pub(crate) fn counts(&self) -> Counts {
        let state = self.state.borrow();
        let arrivals = &state.arrivals;
        Counts {
            sent: state.sent,
            received: arrivals.packets,
            reordered: arrivals.reordered,
            delay: arrivals.delay(),
        }
    }
}

impl AsFd for Tunnel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The result of one read of the socket.
enum Received {
    /// A packet of this length.
    Packet(usize),
    /// Another datagram.
    Other,
    /// Nothing.
    Nothing,
}

impl Arrivals {
    fn new() -> Self {
        const SIGNIFICANT_DIGITS: u8 = 3;
        let delays = Histogram::new_with_max(LONGEST_DELAY.as_nanos(), SIGNIFICANT_DIGITS);
        Self {
            packets: 0,
            next: 0,
            reordered: 0,
            delays: delays.expect("3 digits and a minute are in range"),
        }
    }

    fn count(&mut self, number: u64, delay: Duration) {
        self.packets += 1;
        self.reordered += u64::from(number < self.next);
        self.next = self.next.max(number + 1);
        self.delays.saturating_record(delay.as_nanos());
    }

    fn delay(&self) -> Delay {
        let millis = |nanos: u64| nanos as f64 / 1e6;
        if self.delays.is_empty() {
            return Delay::default();
        }
        Delay {
            min_ms: millis(self.delays.min()),
            p50_ms: millis(self.delays.value_at_quantile(0.5)),
            p99_ms: millis(self.delays.value_at_quantile(0.99)),
            max_ms: millis(self.delays.max()),
        }
    }
}

/// Opens a socket of the peer's family; without a peer, of both families if the machine has both.
fn socket_for(peer: Option<SocketAddr>, port: u16) -> io::Result<UdpSocket> {
    let v4 = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port));
    let socket = match peer {
        Some(SocketAddr::V4(_)) => v4(),
        Some(SocketAddr::V6(_)) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)),
        None => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|_| v4()),
    }?;
    socket.set_nonblocking(true)?;
    enlarge_receive_buffer(&socket, RECEIVE_BUFFER);
    allow_fragments(&socket);
    Ok(socket)
}

/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: usize = 65_535;
/// The receive buffer: a second of 32 Mbit/s, so that the emulator loses nothing while it is busy.
const RECEIVE_BUFFER: usize = 4 << 20;
/// The largest delay that the histogram distinguishes; larger ones count as this.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::thread::yield_now;

    use super::*;

    /// The emulator's end, and the host's, which has no peer yet.
    fn pair(token: [Token; 2]) -> [Tunnel; 2] {
        let host = Tunnel::open(token[1], 0, Clock::start(), 0, None).unwrap();
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, host.port().unwrap()));
        [Tunnel::open(token[0], 0, Clock::start(), 0, Some(peer)).unwrap(), host]
    }

    fn packet_at(tunnel: &Tunnel) -> Vec<u8> {
        let mut buffer = vec![0; LARGEST_PACKET];
        loop {
            if let Some(length) = tunnel.receive(&mut buffer).unwrap() {
                return buffer[..length].to_vec();
            }
            yield_now();
        }
    }

    #[test]
    fn the_first_ping_shows_the_host_where_to_send() {
        let token = Token::draw().unwrap();
        let [emulator, host] = pair([token; 2]);
        host.send(b"to no host");
        emulator.ping();
        emulator.send(b"down");
        assert_eq!(packet_at(&host), b"down");
        host.send(b"up");
        assert_eq!(packet_at(&emulator), b"up");
        assert_eq!((host.counts().sent, emulator.counts().received), (2, 1), "one was lost");
        let sample = ClockSample::best(&emulator.take_samples()).expect("the answer came before the packet");
        assert!(sample.round_trip > Duration::ZERO);
    }

    #[test]
    fn a_datagram_with_another_token_is_none() {
        let [emulator, host] = pair([Token::draw().unwrap(), Token::draw().unwrap()]);
        let same = Tunnel::open(host.token, 0, Clock::start(), 0, emulator.state.borrow().peer).unwrap();
        emulator.send(b"wrong");
        same.send(b"right");
        assert_eq!(packet_at(&host), b"right");
        assert_eq!(host.counts().received, 1);
    }

    #[test]
    fn reordered_packets_are_counted() {
        let mut arrivals = Arrivals::new();
        for number in [0, 1, 4, 3, 5] {
            arrivals.count(number, Duration::from_millis(2));
        }
        assert_eq!((arrivals.packets, arrivals.reordered, arrivals.next), (5, 1, 6));
        assert!((arrivals.delay().p50_ms - 2.0).abs() < 0.01);
    }
}

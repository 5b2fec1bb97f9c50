//! Our own TCP as a stack: `tcp::Endpoint`s whose segments are bytes.
//!
//! In virtual time the World polls endpoints without any of this; here they meet stacks that speak bytes only.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use tcp::{Config, Endpoint, Event, Ports};
use trace::Positions;
use units::{Bytes, Instant, Seq};
use wire::ip::{self, Protocol, v4};
use wire::{Oddity, Payload, Segment, Transport};
use workload::{Ends, ObservedRecord};

use crate::entry::{Entry, Member, Transport as Speaks};
use crate::stack::{Phase, Setup, Sockets, Stack, StackSocket};

pub(crate) const ENTRY: Entry = ::registry::Entry::new(
    "lasthop",
    "our own TCP, with the host's profile; the default of a host in virtual time",
    "crates/tcp, RFC 9293",
)
.with(Member { transport: Speaks::Tcp, make: Some(|setup| Box::new(Lasthop::new(setup))) });

/// Our own TCP.
struct Lasthop {
    setup: Setup,
    config: Arc<Config>,
    sockets: Sockets<Socket>,
    /// Packets so far: the IP identification.
    packets: u16,
}

/// A connection.
struct Socket {
    endpoint: Endpoint,
    ends: Ends,
    phase: Phase,
    peer_closed: bool,
    positions: Positions,
    iss: Option<u64>,
}

impl Lasthop {
    fn new(setup: Setup) -> Self {
        let headers = Bytes(u64::from(IPV4_AND_TCP));
        let mut config = Config::clone(&setup.profile);
        config.limit_mss(setup.mtu.saturating_sub(headers).max(Bytes(1)));
        Self { config: Arc::new(config), setup, sockets: Sockets::default(), packets: 0 }
    }

    fn add(&mut self, mut endpoint: Endpoint, ends: Ends) -> StackSocket {
        endpoint.set_recording(self.setup.records);
        let mut positions = Positions::default();
        let iss = Some(positions.of(endpoint.initial_send_seq()));
        let phase = Phase::Opening;
        self.sockets.add(Socket { endpoint, ends, phase, peer_closed: false, positions, iss })
    }

    /// An initial sequence number that belongs to the connection's ports.
    fn iss(&self, ends: &Ends) -> Seq {
        Seq(self.setup.streams.number(&format!("iss.{}-{}", ends.local.port(), ends.remote)) as u32)
    }
}

impl Stack for Lasthop {
    fn connect(&mut self, _: Instant, ends: Ends) -> StackSocket {
        let ports = Ports { local: ends.local.port(), remote: ends.remote.port() };
        let endpoint = Endpoint::connect(&self.config, ports, self.iss(&ends));
        self.add(endpoint, ends)
    }

    fn listen(&mut self, ends: Ends) -> StackSocket {
        let endpoint = Endpoint::listen(&self.config, ends.local.port(), self.iss(&ends));
        self.add(endpoint, ends)
    }

    fn write(&mut self, socket: StackSocket, payload: &Payload) -> u32 {
        let endpoint = &mut self.sockets[socket].endpoint;
        let room = BACKLOG.saturating_sub(endpoint.unsent().0) as u32;
        let taken = payload.len().min(room);
        if taken > 0 {
            endpoint.write(payload.slice(0, taken));
        }
        taken
    }

    fn read(&mut self, socket: StackSocket, out: &mut Vec<u8>) -> bool {
        let socket = &mut self.sockets[socket];
        while let Some(payload) = socket.endpoint.read() {
            payload.write_to(out);
        }
        socket.peer_closed
    }

    fn close(&mut self, _: Instant, socket: StackSocket) {
        self.sockets[socket].endpoint.close();
    }

    fn shut_receiving(&mut self, socket: StackSocket) {
        self.sockets[socket].endpoint.shut_receiving();
    }

    fn release(&mut self, _: Instant, socket: StackSocket) {
        let given_up = &mut self.sockets[socket];
        if matches!(given_up.phase, Phase::Opening | Phase::Open) {
            given_up.endpoint.abort();
        }
        self.sockets.release(socket);
    }

    fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        let Some((from, segment)) = read_segment(packet, self.setup.address) else { return };
        let ours = |socket: &&mut Socket| {
            socket.ends.remote == from && socket.ends.local.port() == segment.destination_port
        };
        if let Some(socket) = self.sockets.iter_mut().find(ours) {
            socket.endpoint.handle_segment(now, &segment);
            socket.hear();
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for socket in self.sockets.iter_mut() {
            if socket.endpoint.poll_timeout().is_some_and(|due| due <= now) {
                socket.endpoint.handle_timeout(now);
                socket.hear();
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let polled = |socket: &mut Socket| {
            let segment = socket.endpoint.poll_transmit(now)?.segment;
            socket.hear();
            Some((socket.ends, segment))
        };
        let Some((ends, segment)) = self.sockets.iter_mut().find_map(polled) else {
            self.sockets.drop_released(|socket| socket.endpoint.poll_timeout().is_none());
            return None;
        };
        self.packets = self.packets.wrapping_add(1);
        let header = v4::Header::new(*ends.local.ip(), *ends.remote.ip(), Protocol::TCP, self.packets);
        Some(wire::emit_ipv4_behind(header, &segment))
    }

    fn poll_timeout(&mut self, _: Instant) -> Option<Instant> {
        self.sockets.iter().filter_map(|socket| socket.endpoint.poll_timeout()).min()
    }

    fn phase(&self, socket: StackSocket) -> Phase {
        self.sockets[socket].phase
    }

    fn take_records(&mut self, socket: StackSocket) -> Vec<ObservedRecord> {
        let socket = &mut self.sockets[socket];
        let records = socket.endpoint.take_records();
        records.into_iter().map(|record| socket.observed(record)).collect()
    }
}

impl Socket {
    /// Notes what the endpoint reports to its user.
    fn hear(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Connected => self.phase = Phase::Open,
                Event::PeerClosed => self.peer_closed = true,
                Event::Closed => self.phase = Phase::Closed,
                Event::Reset(_) if self.phase == Phase::Closed => {}
                Event::Reset(reason) => self.phase = Phase::Broken(words(reason)),
                Event::Readable | Event::Writable => {}
            }
        }
    }

    fn observed(&mut self, record: tcp::Record) -> ObservedRecord {
        let place = self.positions.of(record.seq) as i64 - self.iss.map_or(0, |iss| iss as i64);
        ObservedRecord { place, record }
    }
}

const fn words(reason: tcp::CloseReason) -> &'static str {
    match reason {
        tcp::CloseReason::Refused => "refused by the peer",
        tcp::CloseReason::ByPeer => "reset by the peer",
        tcp::CloseReason::Aborted => "aborted",
        tcp::CloseReason::TimedOut => "nothing was heard from the peer for too long",
        tcp::CloseReason::Unreachable => "the network cannot reach the peer",
    }
}

/// The segment in an IPv4 packet for `address`, and who sent it; nothing where a checksum is wrong.
pub(crate) fn read_segment(packet: &[u8], address: Ipv4Addr) -> Option<(SocketAddrV4, Segment)> {
    let parsed = wire::parse(packet).ok()?;
    let damaged = |oddity: &Oddity| matches!(oddity, Oddity::Checksum | Oddity::HeaderChecksum);
    let ip::Header::V4(header) = parsed.header else { return None };
    if header.destination != address || parsed.oddities.iter().any(damaged) {
        return None;
    }
    let Transport::Tcp(segment) = parsed.transport else { return None };
    Some((SocketAddrV4::new(header.source, segment.source_port), segment))
}

/// Headers of a segment without options.
const IPV4_AND_TCP: u32 = 20 + 20;

/// Bytes that may wait to be sent: two pieces of a program that writes as fast as it can.
const BACKLOG: u64 = 128 * 1024;

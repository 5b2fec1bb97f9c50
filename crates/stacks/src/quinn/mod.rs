//! quinn: QUIC (RFC 9000, RFC 9002), of its sans-I/O crate `quinn-proto`, with quinn's defaults.
//!
//! A connection has an endpoint of quinn's to itself (`connection.rs`), and a socket is one of its streams: in each
//! direction in which it is written, the unidirectional stream with its number. Whose streams were acknowledged to
//! their ends, and who has read the peer's to their ends where the peer has written, closes the connection. Times are
//! arguments; connection IDs and quinn's generator are seeded from the run's streams; `crypto.rs` stands in for TLS and
//! has no secrets. So a run repeats to the bit. `http3/` speaks HTTP/3 over a connection, whose sockets are requests
//! then. `address.rs` has the address of an end, which may change. `watch.rs` hears what the congestion controller
//! decides; `receiver.rs` makes a receiver misbehave, where the profile's ACK policy does.
//!
//! QUIC encrypts its acknowledgments, so acknowledged amounts are read from the stack: [`Counters`].

mod address;
mod clock;
mod config;
mod connection;
mod crypto;
mod http3;
mod outgoing;
mod packet;
mod receiver;
mod stream;
mod watch;

use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;

use quinn_proto::{ClientConfig, ConnectionIdGenerator, EcnCodepoint, Endpoint};
use units::{Instant, Streams};
use wire::ip::{self, Protocol, v4};
use wire::udp::Datagram;
use wire::{Oddity, Payload, Transport as Carried};
use workload::{Counters, Ends, ObservedRecord};

use self::config::{FIRST_ID_LEN, Identities, endpoint_config, server_config, transport_config};
use self::connection::ConnectionEnd;
use self::crypto::Plain;
use self::http3::Session;
use self::receiver::Receiver;
use self::watch::Log;
use crate::stack::{Phase, Setup, Sockets, Stack, StackSocket};

/// Makes the stack of a host.
pub(crate) fn stack(setup: Setup) -> Box<dyn Stack> {
    Box::new(Quinn::new(setup))
}

/// QUIC.
struct Quinn {
    setup: Setup,
    connections: Sockets<ConnectionEnd>,
    sockets: Sockets<Stream>,
    /// Connections so far at each local port.
    at_port: BTreeMap<u16, u32>,
    /// Packets so far: the IP identification.
    packets: u16,
}

/// A stream: its connection, and its place among the streams of that.
#[derive(Clone, Copy, Debug)]
struct Stream {
    connection: StackSocket,
    place: usize,
}

impl Quinn {
    fn new(setup: Setup) -> Self {
        let (connections, sockets) = Default::default();
        Self { setup, connections, sockets, at_port: BTreeMap::new(), packets: 0 }
    }

    /// Source of the random numbers of the next socket at a port.
    fn next_streams(&mut self, port: u16) -> Streams {
        let before = self.at_port.entry(port).or_default();
        *before += 1;
        let of_port = self.setup.streams.below(&format!("quinn.{port}"));
        if *before == 1 { of_port } else { of_port.below(&before.to_string()) }
    }

    const fn plain(&self) -> Plain {
        Plain { zero_rtt: self.setup.quinn.zero_rtt }
    }

    /// The end of a connection that is yet to be opened, or accepted.
    fn end(&self, ends: Ends, streams: &Streams, is_server: bool) -> ConnectionEnd {
        let log = Log::shared(self.setup.records);
        let transport = Arc::new(transport_config(&self.setup, &log));
        let server = is_server.then(|| Arc::new(server_config(streams, transport, self.plain())));
        let config = Arc::new(endpoint_config(streams, self.setup.mtu.0));
        let endpoint = Endpoint::new(config, server.clone(), true, None);
        let receiver = is_server.then(|| Receiver::new(self.setup.profile.ack.build())).flatten();
        let (server_port, session): (u16, fn() -> Session) = if is_server {
            (ends.local.port(), Session::server)
        } else {
            (ends.remote.port(), Session::client)
        };
        let session = self.setup.http3.contains(&server_port).then(session);
        ConnectionEnd::new(ends, endpoint, server, receiver, session, log)
    }

    /// Another stream of the connection between these ends, if there is one that is not over.
    fn next_stream(&mut self, ends: Ends) -> Option<StackSocket> {
        let connection = self.connections.find(|one| one.ends == ends && one.takes_streams())?;
        let place = self.connections[connection].add_stream();
        Some(self.sockets.add(Stream { connection, place }))
    }

    /// The first stream of a connection.
    fn first_stream(&mut self, end: ConnectionEnd) -> StackSocket {
        let connection = self.connections.add(end);
        self.sockets.add(Stream { connection, place: 0 })
    }

    fn at(&mut self, socket: StackSocket) -> (&mut ConnectionEnd, usize) {
        let Stream { connection, place } = self.sockets[socket];
        (&mut self.connections[connection], place)
    }
}

impl Stack for Quinn {
    fn connect(&mut self, now: Instant, ends: Ends) -> StackSocket {
        if let Some(stream) = self.next_stream(ends) {
            return stream;
        }
        let streams = self.next_streams(ends.local.port());
        let mut end = self.end(ends, &streams, false);
        let transport = Arc::new(transport_config(&self.setup, &end.log));
        let mut config = ClientConfig::new(Arc::new(self.plain()));
        config.transport_config(transport).initial_dst_cid_provider(Arc::new(move || {
            Identities::new(&streams, "first", FIRST_ID_LEN).generate_cid()
        }));
        end.connect(now, config, self.setup.quinn.rebind_every, self.setup.migration);
        self.first_stream(end)
    }

    fn listen(&mut self, ends: Ends) -> StackSocket {
        if let Some(stream) = self.next_stream(ends) {
            return stream;
        }
        let streams = self.next_streams(ends.local.port());
        let end = self.end(ends, &streams, true);
        self.first_stream(end)
    }

    fn write(&mut self, socket: StackSocket, payload: &Payload) -> u32 {
        let (connection, place) = self.at(socket);
        connection.write(place, payload)
    }

    fn read(&mut self, socket: StackSocket, out: &mut Vec<u8>) -> bool {
        let (connection, place) = self.at(socket);
        connection.read(place, out)
    }

    fn close(&mut self, _: Instant, socket: StackSocket) {
        let (connection, place) = self.at(socket);
        connection.close(place);
    }

    fn release(&mut self, now: Instant, socket: StackSocket) {
        let connection = self.sockets[socket].connection;
        let (end, place) = self.at(socket);
        if end.release(now, place) {
            self.connections.release(connection);
        }
        self.sockets.release(socket);
        self.sockets.drop_released(|_| true);
    }

    fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        let Some((from, ecn, datagram)) = read_datagram(packet, &self.setup) else { return };
        let takes = |one: &&mut ConnectionEnd| one.takes_datagrams(from, datagram.destination_port);
        if let Some(connection) = self.connections.iter_mut().find(takes) {
            connection.handle_datagram(now, SocketAddr::V4(from), ecn, &datagram.payload);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for connection in self.connections.iter_mut() {
            if connection.poll_timeout().is_some_and(|due| due <= now) {
                connection.handle_timeout(now);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let polled = |end: &mut ConnectionEnd| Some((end.local(), end.poll_transmit(now)?));
        let Some((local, outgoing)) = self.connections.iter_mut().find_map(polled) else {
            self.connections.drop_released(|end| end.is_drained());
            return None;
        };
        self.packets = self.packets.wrapping_add(1);
        let header = v4::Header {
            traffic_class: outgoing.ecn.map_or(0, |ecn| ecn as u8),
            ..v4::Header::new(*local.ip(), *outgoing.to.ip(), Protocol::UDP, self.packets)
        };
        let datagram = Datagram {
            source_port: local.port(),
            destination_port: outgoing.to.port(),
            payload: Payload::Data(outgoing.bytes.into()),
        };
        Some(wire::emit_udp_ipv4_behind(header, &datagram))
    }

    fn poll_timeout(&mut self, _: Instant) -> Option<Instant> {
        self.connections.iter_mut().filter_map(ConnectionEnd::poll_timeout).min()
    }

    fn phase(&self, socket: StackSocket) -> Phase {
        let Stream { connection, place } = self.sockets[socket];
        self.connections[connection].phase(place)
    }

    /// Those of the whole connection, from the last of its streams.
    fn counters(&self, socket: StackSocket) -> Option<Counters> {
        let Stream { connection, place } = self.sockets[socket];
        let end = &self.connections[connection];
        end.is_last(place).then(|| end.counters())
    }

    fn counters_so_far(&self, socket: StackSocket) -> Option<Counters> {
        let Stream { connection, place } = self.sockets[socket];
        let end = &self.connections[connection];
        end.is_first_open(place).then(|| end.counters())
    }

    fn take_records(&mut self, socket: StackSocket) -> Vec<ObservedRecord> {
        let (connection, place) = self.at(socket);
        if connection.is_last(place) { connection.take_records() } else { Vec::new() }
    }
}

/// The datagram in an IPv4 packet for this host, who sent it, and its ECN field; nothing where a checksum is wrong.
fn read_datagram(packet: &[u8], setup: &Setup) -> Option<(SocketAddrV4, Option<EcnCodepoint>, Datagram)> {
    let parsed = wire::parse(packet).ok()?;
    let damaged = |oddity: &Oddity| matches!(oddity, Oddity::Checksum | Oddity::HeaderChecksum);
    let ip::Header::V4(header) = parsed.header else { return None };
    let second = setup.migration.map(|migration| migration.address);
    let is_ours = header.destination == setup.address || Some(header.destination) == second;
    if !is_ours || parsed.oddities.iter().any(damaged) {
        return None;
    }
    let Carried::Udp(datagram) = parsed.transport else { return None };
    let from = SocketAddrV4::new(header.source, datagram.source_port);
    Some((from, EcnCodepoint::from_bits(header.traffic_class & ECN_BITS), datagram))
}

/// RFC 3168 §5: ECN is the low two bits.
const ECN_BITS: u8 = 0b11;

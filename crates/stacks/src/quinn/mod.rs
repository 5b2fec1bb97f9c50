//! quinn: QUIC (RFC 9000, RFC 9002), as its sans-I/O crate `quinn-proto` has it, with quinn's defaults.
//!
//! A socket is an endpoint of quinn's with one connection. Each side that writes opens one unidirectional stream. Whose
//! stream was acknowledged to its end, and who has read the peer's to its end if the peer has written, closes the
//! connection. Times are arguments; connection IDs and quinn's generator are seeded from the run's streams; `crypto.rs`
//! stands in for TLS and has no secrets. So a run repeats to the bit. `watch.rs` hears what the congestion controller
//! decides; `receiver.rs` makes a receiver misbehave, where the profile's ACK policy does.
//!
//! What TCP has acknowledged and QUIC has not shown is read from the stack: [`Counters`].

mod clock;
mod config;
mod crypto;
mod packet;
mod receiver;
mod settings;
mod watch;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionIdGenerator, DatagramEvent, Dir,
    EcnCodepoint, Endpoint, Event, ReadError, ServerConfig, StreamEvent, StreamId, Transmit, VarInt,
};
use tcp::Decision;
use units::{Instant, Streams};
use wire::ip::{self, Protocol, v4};
use wire::udp::Datagram;
use wire::{Oddity, Payload, Transport as Carried};
use workload::{Counters, Ends, ObservedRecord};

use self::config::{FIRST_ID_LEN, Identities, endpoint_config, server_config, transport_config};
use self::crypto::Plain;
use self::receiver::Receiver;
pub use self::settings::{QuinnCongestion, QuinnSettings};
use self::watch::{Log, SharedLog, probe_timeouts};
use crate::entry::{Entry, Member, Transport};
use crate::stack::{Phase, Setup, Sockets, Stack, StackSocket};

pub(crate) const ENTRY: Entry = ::registry::Entry::new(
    "quinn",
    "quinn's QUIC (quinn-proto 0.11): RFC 9000 and 9002 with CUBIC, NewReno or BBR, and pacing; without encryption",
    "the crate quinn-proto, https://github.com/quinn-rs/quinn; RFC 9000, RFC 9002",
)
.with(Member { transport: Transport::Quic, make: Some(|setup| Box::new(Quinn::new(setup))) });

/// QUIC.
struct Quinn {
    setup: Setup,
    sockets: Sockets<Socket>,
    /// Sockets so far at each local port.
    at_port: BTreeMap<u16, u32>,
    /// Packets so far: the IP identification.
    packets: u16,
}

/// An endpoint and its connection.
struct Socket {
    ends: Ends,
    endpoint: Endpoint,
    /// The configuration of the connection that a server accepts.
    server: Option<Arc<ServerConfig>>,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Our stream, and the peer's.
    sending: Option<StreamId>,
    receiving: Option<StreamId>,
    /// Answers of the endpoint, outside of connections.
    outbox: VecDeque<Outgoing>,
    phase: Phase,
    /// Whether our stream was acknowledged to its end, and whether the peer's was read to its end.
    is_sent: bool,
    has_ended: bool,
    /// What makes a receiver misbehave.
    receiver: Option<Receiver>,
    log: SharedLog,
    counters: Counters,
}

/// A datagram to send.
struct Outgoing {
    bytes: Vec<u8>,
    ecn: Option<EcnCodepoint>,
}

impl Quinn {
    fn new(setup: Setup) -> Self {
        Self { setup, sockets: Sockets::default(), at_port: BTreeMap::new(), packets: 0 }
    }

    /// Where the random numbers of the next socket at a port come from.
    fn next_streams(&mut self, port: u16) -> Streams {
        let before = self.at_port.entry(port).or_default();
        *before += 1;
        let of_port = self.setup.streams.below(&format!("quinn.{port}"));
        if *before == 1 { of_port } else { of_port.below(&before.to_string()) }
    }

    const fn plain(&self) -> Plain {
        Plain { zero_rtt: self.setup.quinn.zero_rtt }
    }

    fn socket(&self, ends: Ends, streams: &Streams, is_server: bool) -> Socket {
        let log = Log::shared(self.setup.records);
        let transport = Arc::new(transport_config(&self.setup, &log));
        let server = is_server.then(|| Arc::new(server_config(streams, transport, self.plain())));
        let config = Arc::new(endpoint_config(streams, self.setup.mtu.0));
        let endpoint = Endpoint::new(config, server.clone(), true, None);
        Socket {
            ends,
            endpoint,
            server,
            connection: None,
            sending: None,
            receiving: None,
            outbox: VecDeque::new(),
            phase: Phase::Opening,
            is_sent: false,
            has_ended: false,
            receiver: is_server.then(|| Receiver::new(self.setup.profile.ack.build())).flatten(),
            log,
            counters: Counters::default(),
        }
    }
}

impl Stack for Quinn {
    fn connect(&mut self, now: Instant, ends: Ends) -> StackSocket {
        let streams = self.next_streams(ends.local.port());
        let mut socket = self.socket(ends, &streams, false);
        let transport = Arc::new(transport_config(&self.setup, &socket.log));
        let mut config = ClientConfig::new(Arc::new(self.plain()));
        config.transport_config(transport).initial_dst_cid_provider(Arc::new(move || {
            Identities::new(&streams, "first", FIRST_ID_LEN).generate_cid()
        }));
        let remote = SocketAddr::V4(ends.remote);
        let connected = socket.endpoint.connect(clock::to_quinn(now), config, remote, "server");
        socket.connection = Some(connected.expect("an address, a port and a version that quinn knows"));
        socket.send_early();
        self.sockets.add(socket)
    }

    fn listen(&mut self, ends: Ends) -> StackSocket {
        let streams = self.next_streams(ends.local.port());
        let socket = self.socket(ends, &streams, true);
        self.sockets.add(socket)
    }

    fn write(&mut self, socket: StackSocket, payload: &Payload) -> u32 {
        let socket = &mut self.sockets[socket];
        let Some((_, connection)) = &mut socket.connection else { return 0 };
        let Some(stream) = socket.sending.or_else(|| connection.streams().open(Dir::Uni)) else { return 0 };
        socket.sending = Some(stream);
        let mut bytes = Vec::with_capacity(payload.len() as usize);
        payload.write_to(&mut bytes);
        connection.send_stream(stream).write(&bytes).unwrap_or(0) as u32
    }

    fn read(&mut self, socket: StackSocket, out: &mut Vec<u8>) -> bool {
        let socket = &mut self.sockets[socket];
        socket.read(out);
        socket.has_ended
    }

    fn close(&mut self, _: Instant, socket: StackSocket) {
        let socket = &mut self.sockets[socket];
        if let (Some((_, connection)), Some(stream)) = (&mut socket.connection, socket.sending) {
            // It fails where the connection is lost, which the phase tells.
            let _ = connection.send_stream(stream).finish();
        } else if socket.has_ended {
            // A receiver's own stream does not exist: it has ended with the sender's.
            socket.phase = Phase::Closed;
        }
    }

    fn release(&mut self, now: Instant, socket: StackSocket) {
        let given_up = &mut self.sockets[socket];
        if let (Some((_, connection)), Phase::Opening | Phase::Open) =
            (&mut given_up.connection, given_up.phase)
        {
            connection.close(clock::to_quinn(now), VarInt::from_u32(0), Bytes::new());
        }
        self.sockets.release(socket);
    }

    fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        let Some((from, ecn, datagram)) = read_datagram(packet, &self.setup) else { return };
        let ours = |socket: &&mut Socket| {
            socket.ends.local.port() == datagram.destination_port
                && SocketAddr::V4(socket.ends.remote) == from
        };
        if let Some(socket) = self.sockets.iter_mut().find(ours) {
            socket.handle_datagram(now, from, ecn, &datagram.payload);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for socket in self.sockets.iter_mut() {
            if socket.poll_timeout().is_some_and(|due| due <= now) {
                socket.handle_timeout(now);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let polled = |socket: &mut Socket| Some((socket.ends, socket.poll_transmit(now)?));
        let Some((ends, outgoing)) = self.sockets.iter_mut().find_map(polled) else {
            self.sockets.drop_released(|socket| socket.is_drained());
            return None;
        };
        self.packets = self.packets.wrapping_add(1);
        let header = v4::Header {
            traffic_class: outgoing.ecn.map_or(0, |ecn| ecn as u8),
            ..v4::Header::new(*ends.local.ip(), *ends.remote.ip(), Protocol::UDP, self.packets)
        };
        let datagram = Datagram {
            source_port: ends.local.port(),
            destination_port: ends.remote.port(),
            payload: Payload::Data(outgoing.bytes.into()),
        };
        Some(wire::emit_udp_ipv4_behind(header, &datagram))
    }

    fn poll_timeout(&mut self, _: Instant) -> Option<Instant> {
        self.sockets.iter_mut().filter_map(Socket::poll_timeout).min()
    }

    fn phase(&self, socket: StackSocket) -> Phase {
        self.sockets[socket].phase
    }

    fn counters(&self, socket: StackSocket) -> Option<Counters> {
        Some(self.sockets[socket].counters())
    }

    fn take_records(&mut self, socket: StackSocket) -> Vec<ObservedRecord> {
        self.sockets[socket].log.lock().expect("no holder panics").take()
    }
}

impl Socket {
    fn handle_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        ecn: Option<EcnCodepoint>,
        payload: &Payload,
    ) {
        let mut bytes = Vec::with_capacity(payload.len() as usize);
        payload.write_to(&mut bytes);
        if let Some(receiver) = &mut self.receiver {
            bytes = receiver.handle_datagram(now, bytes);
        }
        let mut answer = Vec::new();
        let at = clock::to_quinn(now);
        let heard = self.endpoint.handle(at, from, None, ecn, BytesMut::from(&bytes[..]), &mut answer);
        match heard {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, at, &mut answer, self.server.clone()) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(error) => self.answer(error.response, answer),
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.answer(Some(transmit), answer),
            None => {}
        }
        if self.phase != Phase::Closed {
            self.counters.last_heard = Some(now);
        }
        self.hear(now);
    }

    fn answer(&mut self, transmit: Option<Transmit>, mut bytes: Vec<u8>) {
        if let Some(Transmit { size, ecn, .. }) = transmit {
            bytes.truncate(size);
            self.outbox.push_back(Outgoing { bytes, ecn });
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let Some((_, connection)) = &mut self.connection else { return };
        let probes = probe_timeouts(|| connection.handle_timeout(clock::to_quinn(now)));
        if probes > 0 {
            self.counters.probe_timeouts += probes;
            let mut log = self.log.lock().expect("no holder panics");
            log.note(now, Decision::Timeout, "probe timeout", 0);
        }
        self.hear(now);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout().map(clock::from_quinn)
    }

    /// Lets data go with the first packets, where the connection has keys for them (0-RTT).
    fn send_early(&mut self) {
        if let Some((_, connection)) =
            self.connection.as_mut().filter(|(_, connection)| connection.has_0rtt())
        {
            self.sending = connection.streams().open(Dir::Uni);
            self.phase = Phase::Open;
        }
    }

    /// Whether nothing is to come from the connection any more (RFC 9000 §10.2).
    fn is_drained(&self) -> bool {
        self.connection.as_ref().is_none_or(|(_, connection)| connection.is_drained())
    }

    /// Closes the connection if both streams have ended.
    fn conclude(&mut self, now: Instant) {
        let has_heard_all = self.receiving.is_none() || self.has_ended;
        if let Some((_, connection)) = &mut self.connection
            && self.phase == Phase::Open
            && self.is_sent
            && has_heard_all
        {
            self.phase = Phase::Closed;
            connection.close(clock::to_quinn(now), VarInt::from_u32(0), Bytes::new());
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        self.conclude(now);
        let outgoing = self.outbox.pop_front().or_else(|| {
            let (_, connection) = self.connection.as_mut()?;
            let mut bytes = Vec::new();
            let Transmit { size, ecn, .. } = connection.poll_transmit(clock::to_quinn(now), 1, &mut bytes)?;
            bytes.truncate(size);
            self.rewritten(Outgoing { bytes, ecn })
        })?;
        self.counters.first_sent.get_or_insert(now);
        self.hear(now);
        Some(outgoing)
    }

    /// What a receiver that misbehaves sends instead of a datagram: the first of it, and the rest next.
    fn rewritten(&mut self, outgoing: Outgoing) -> Option<Outgoing> {
        let Some(receiver) = &mut self.receiver else { return Some(outgoing) };
        let ecn = outgoing.ecn;
        let mut datagrams =
            receiver.handle_transmit(outgoing.bytes).into_iter().map(|bytes| Outgoing { bytes, ecn });
        let first = datagrams.next();
        self.outbox.extend(datagrams);
        first
    }

    /// Carries events between endpoint and connection, and notes what the connection tells its user.
    fn hear(&mut self, now: Instant) {
        loop {
            let Some((handle, connection)) = &mut self.connection else { return };
            if let Some(event) = connection.poll_endpoint_events() {
                if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(answer);
                }
            } else if let Some(event) = connection.poll() {
                self.hear_event(now, event);
            } else {
                return;
            }
        }
    }

    fn hear_event(&mut self, now: Instant, event: Event) {
        let Some((_, connection)) = &mut self.connection else { return };
        match event {
            Event::Connected => {
                if self.server.is_none() && self.sending.is_none() {
                    self.sending = connection.streams().open(Dir::Uni);
                }
                self.phase = Phase::Open;
                self.log.lock().expect("no holder panics").note(now, Decision::Established, "", 0);
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                self.receiving = connection.streams().accept(Dir::Uni);
            }
            Event::Stream(StreamEvent::Finished { .. }) => {
                self.is_sent = true;
                self.conclude(now);
            }
            Event::ConnectionLost { reason } if self.phase != Phase::Closed => {
                self.phase = match (reason, self.has_ended) {
                    (ConnectionError::ApplicationClosed(_) | ConnectionError::Reset, true) => Phase::Closed,
                    (reason, _) => Phase::Broken(words(&reason)),
                };
            }
            _ => {}
        }
    }

    fn read(&mut self, out: &mut Vec<u8>) {
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.receiving) else { return };
        let mut receiving = connection.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => out.extend_from_slice(&chunk.bytes),
                Ok(None) => {
                    self.has_ended = true;
                    break;
                }
                Err(ReadError::Blocked | ReadError::Reset(_)) => break,
            }
        }
        // Whether anything is to be sent because of it, `poll_transmit` finds out.
        let _ = chunks.finalize();
    }

    fn counters(&self) -> Counters {
        let path =
            self.connection.as_ref().map(|(_, connection)| connection.stats().path).unwrap_or_default();
        Counters {
            packets: path.sent_packets,
            lost: path.lost_packets,
            congestion_events: self.log.lock().expect("no holder panics").congestion_events,
            ..self.counters
        }
    }
}

const fn words(reason: &ConnectionError) -> &'static str {
    match reason {
        ConnectionError::TimedOut => "nothing was heard from the peer for too long",
        ConnectionError::ApplicationClosed(_) => "closed by the peer before its end",
        ConnectionError::ConnectionClosed(_) => "closed by the peer's QUIC",
        ConnectionError::Reset => "reset by the peer",
        ConnectionError::LocallyClosed => "closed",
        ConnectionError::TransportError(_) => "the peer broke the protocol",
        ConnectionError::VersionMismatch => "the peer speaks no version that we know",
        ConnectionError::CidsExhausted => "there are no connection IDs left",
    }
}

/// The datagram in an IPv4 packet for this host, who sent it, and its ECN field; nothing where a checksum is wrong.
fn read_datagram(packet: &[u8], setup: &Setup) -> Option<(SocketAddr, Option<EcnCodepoint>, Datagram)> {
    let parsed = wire::parse(packet).ok()?;
    let damaged = |oddity: &Oddity| matches!(oddity, Oddity::Checksum | Oddity::HeaderChecksum);
    let ip::Header::V4(header) = parsed.header else { return None };
    if header.destination != setup.address || parsed.oddities.iter().any(damaged) {
        return None;
    }
    let Carried::Udp(datagram) = parsed.transport else { return None };
    let from = SocketAddr::from((header.source, datagram.source_port));
    Some((from, EcnCodepoint::from_bits(header.traffic_class & ECN_BITS), datagram))
}

/// RFC 3168 §5: ECN is the low two bits.
const ECN_BITS: u8 = 0b11;
/// Length of connection IDs, as quinn's own generator makes them.
const ID_LEN: usize = 8;

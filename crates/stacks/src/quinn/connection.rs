//! One end of a connection, with the streams that are its sockets.

use std::collections::VecDeque;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    Event, ReadError, ServerConfig, StreamEvent, StreamId, Transmit, VarInt,
};
use tcp::Decision;
use units::{Duration, Instant};
use wire::Payload;
use workload::{Counters, Ends, ObservedRecord};

use super::clock;
use super::receiver::Receiver;
use super::watch::{SharedLog, probe_timeouts};
use crate::addresses::{original_port, rebound_port};
use crate::stack::Phase;

/// An endpoint and its connection.
pub(super) struct ConnectionEnd {
    /// The addresses with which it was opened.
    pub(super) ends: Ends,
    endpoint: Endpoint,
    /// The configuration of the connection that a server accepts.
    server: Option<Arc<ServerConfig>>,
    connection: Option<(ConnectionHandle, Connection)>,
    streams: Vec<StreamState>,
    /// Our unidirectional streams and the peer's, by number.
    opened: Vec<StreamId>,
    accepted: Vec<StreamId>,
    /// Answers of the endpoint, outside of connections.
    outbox: VecDeque<Outgoing>,
    phase: Phase,
    /// Layer that makes a receiver misbehave.
    receiver: Option<Receiver>,
    pub(super) log: SharedLog,
    counters: Counters,
    rebinding: Option<Rebinding>,
}

/// One stream, in both directions.
#[derive(Debug, Default)]
struct StreamState {
    /// Whether ours was acknowledged to its end, and whether the peer's was read to its end.
    is_sent: bool,
    has_ended: bool,
    /// Whether it was closed without a stream of ours.
    is_closed: bool,
    is_released: bool,
}

/// When the connection next continues from another port.
#[derive(Clone, Copy, Debug)]
struct Rebinding {
    every: Duration,
    next: Instant,
    is_rebound: bool,
}

/// A datagram to send.
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) to: SocketAddrV4,
}

impl ConnectionEnd {
    /// An end with its first stream.
    pub(super) fn new(
        ends: Ends,
        endpoint: Endpoint,
        server: Option<Arc<ServerConfig>>,
        receiver: Option<Receiver>,
        log: SharedLog,
    ) -> Self {
        Self {
            ends,
            endpoint,
            server,
            connection: None,
            streams: vec![StreamState::default()],
            opened: Vec::new(),
            accepted: Vec::new(),
            outbox: VecDeque::new(),
            phase: Phase::Opening,
            receiver,
            log,
            counters: Counters::default(),
            rebinding: None,
        }
    }

    pub(super) fn connect(&mut self, now: Instant, config: ClientConfig, rebind_every: Option<Duration>) {
        let remote = SocketAddr::V4(self.ends.remote);
        let connected = self.endpoint.connect(clock::to_quinn(now), config, remote, "server");
        self.connection = Some(connected.expect("an address, a port and a version that quinn knows"));
        let next = |every| Rebinding { every, next: now + every, is_rebound: false };
        self.rebinding = rebind_every.map(next);
        self.send_early();
    }

    /// Whether another stream can be opened.
    pub(super) fn takes_streams(&self) -> bool {
        matches!(self.phase, Phase::Opening | Phase::Open) && !self.is_released()
    }

    /// Adds a stream. Returns its number.
    pub(super) fn add_stream(&mut self) -> usize {
        self.streams.push(StreamState::default());
        self.streams.len() - 1
    }

    /// The address from which it sends at present.
    pub(super) fn local(&self) -> SocketAddrV4 {
        let local = self.ends.local;
        let is_rebound = self.rebinding.is_some_and(|rebinding| rebinding.is_rebound);
        if is_rebound { SocketAddrV4::new(*local.ip(), rebound_port(local.port())) } else { local }
    }

    /// Whether a datagram from there to a local port is for this connection: one to its former port still arrives. A
    /// server knows a peer that continues from another port by the connection ID; here its port tells it.
    pub(super) fn takes_datagrams(&self, from: SocketAddrV4, port: u16) -> bool {
        let remote = self.ends.remote;
        let is_peer = (from.ip(), original_port(from.port())) == (remote.ip(), remote.port());
        original_port(port) == self.ends.local.port() && is_peer
    }

    pub(super) fn write(&mut self, place: usize, payload: &Payload) -> u32 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        while self.opened.len() <= place {
            let Some(stream) = connection.streams().open(Dir::Uni) else { return 0 };
            self.opened.push(stream);
        }
        let mut bytes = Vec::with_capacity(payload.len() as usize);
        payload.write_to(&mut bytes);
        connection.send_stream(self.opened[place]).write(&bytes).unwrap_or(0) as u32
    }

    /// Reads a stream. Returns whether the peer's has ended.
    pub(super) fn read(&mut self, place: usize, out: &mut Vec<u8>) -> bool {
        if let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.accepted.get(place)) {
            self.streams[place].has_ended |= read_stream(connection, *stream, out);
        }
        self.streams[place].has_ended
    }

    pub(super) fn close(&mut self, place: usize) {
        if let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.opened.get(place)) {
            // It fails where the connection is lost, which the phase tells.
            let _ = connection.send_stream(*stream).finish();
        } else if self.streams[place].has_ended {
            // A receiver's own stream does not exist: it has ended with the sender's.
            self.streams[place].is_closed = true;
            if self.streams.iter().all(|stream| stream.is_closed) {
                self.phase = Phase::Closed;
            }
        }
    }

    /// Releases a stream. Returns whether it was the last one: then the connection is given up, if it is not over.
    pub(super) fn release(&mut self, now: Instant, place: usize) -> bool {
        self.streams[place].is_released = true;
        if !self.is_released() {
            return false;
        }
        if let (Some((_, connection)), Phase::Opening | Phase::Open) = (&mut self.connection, self.phase) {
            connection.close(clock::to_quinn(now), VarInt::from_u32(0), Bytes::new());
        }
        true
    }

    fn is_released(&self) -> bool {
        self.streams.iter().all(|stream| stream.is_released)
    }

    /// Whether every other stream is released.
    pub(super) fn is_last(&self, place: usize) -> bool {
        self.streams.iter().enumerate().all(|(other, stream)| other == place || stream.is_released)
    }

    /// The phase of a stream. One of several may be over before the connection is.
    pub(super) fn phase(&self, place: usize) -> Phase {
        let is_early = self.streams.len() > 1 && self.phase == Phase::Open && self.is_over(place);
        if is_early { Phase::Closed } else { self.phase }
    }

    /// Whether a stream has ended in both directions.
    fn is_over(&self, place: usize) -> bool {
        let StreamState { is_sent, has_ended, is_closed, .. } = self.streams[place];
        is_closed || is_sent && (has_ended || self.accepted.len() <= place)
    }

    pub(super) fn take_records(&self) -> Vec<ObservedRecord> {
        self.log.lock().expect("no holder panics").take()
    }

    pub(super) fn handle_datagram(
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
        if let Some(transmit) = transmit {
            bytes.truncate(transmit.size);
            self.outbox.push_back(Outgoing::new(&transmit, bytes));
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.rebind(now);
        let Some((_, connection)) = &mut self.connection else { return };
        let probes = probe_timeouts(|| connection.handle_timeout(clock::to_quinn(now)));
        if probes > 0 {
            self.counters.probe_timeouts += probes;
            let mut log = self.log.lock().expect("no holder panics");
            log.note(now, Decision::Timeout, "probe timeout", 0);
        }
        self.hear(now);
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Instant> {
        let timer = self.connection.as_mut()?.1.poll_timeout().map(clock::from_quinn);
        let rebinding = self.rebinding.filter(|_| matches!(self.phase, Phase::Opening | Phase::Open));
        timer.into_iter().chain(rebinding.map(|rebinding| rebinding.next)).min()
    }

    /// Continues from another port, if it is time. quinn is not told, as no host is whose NAT has forgotten it.
    fn rebind(&mut self, now: Instant) {
        if let Some(rebinding) = self.rebinding.as_mut().filter(|rebinding| rebinding.next <= now) {
            rebinding.is_rebound = !rebinding.is_rebound;
            rebinding.next = now + rebinding.every;
        }
    }

    /// Lets data go with the first packets, where the connection has keys for them (0-RTT).
    fn send_early(&mut self) {
        if let Some((_, connection)) =
            self.connection.as_mut().filter(|(_, connection)| connection.has_0rtt())
        {
            self.opened.extend(connection.streams().open(Dir::Uni));
            self.phase = Phase::Open;
        }
    }

    /// Whether nothing is to come from the connection any more (RFC 9000 §10.2).
    pub(super) fn is_drained(&self) -> bool {
        self.connection.as_ref().is_none_or(|(_, connection)| connection.is_drained())
    }

    /// Closes the connection if every stream has ended.
    fn conclude(&mut self, now: Instant) {
        let is_done = self.phase == Phase::Open && (0..self.streams.len()).all(|place| self.is_over(place));
        if let Some((_, connection)) = self.connection.as_mut().filter(|_| is_done) {
            self.phase = Phase::Closed;
            connection.close(clock::to_quinn(now), VarInt::from_u32(0), Bytes::new());
        }
    }

    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        self.conclude(now);
        let outgoing = self.outbox.pop_front().or_else(|| {
            let (_, connection) = self.connection.as_mut()?;
            let mut bytes = Vec::new();
            let transmit = connection.poll_transmit(clock::to_quinn(now), 1, &mut bytes)?;
            bytes.truncate(transmit.size);
            self.rewritten(Outgoing::new(&transmit, bytes))
        })?;
        self.counters.first_sent.get_or_insert(now);
        self.hear(now);
        Some(outgoing)
    }

    /// Datagrams that a misbehaving receiver sends instead of one of quinn's: returns the first, and queues the others.
    fn rewritten(&mut self, outgoing: Outgoing) -> Option<Outgoing> {
        let Some(receiver) = &mut self.receiver else { return Some(outgoing) };
        let Outgoing { bytes, ecn, to } = outgoing;
        let mut datagrams =
            receiver.handle_transmit(bytes).into_iter().map(|bytes| Outgoing { bytes, ecn, to });
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
                if self.server.is_none() && self.opened.is_empty() {
                    self.opened.extend(connection.streams().open(Dir::Uni));
                }
                self.phase = Phase::Open;
                self.log.lock().expect("no holder panics").note(now, Decision::Established, "", 0);
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                let mut accept = || connection.streams().accept(Dir::Uni);
                self.accepted.extend(std::iter::from_fn(&mut accept));
            }
            Event::Stream(StreamEvent::Finished { id }) => {
                let place = self.opened.iter().position(|opened| *opened == id);
                if let Some(stream) = place.and_then(|place| self.streams.get_mut(place)) {
                    stream.is_sent = true;
                }
                self.conclude(now);
            }
            Event::ConnectionLost { reason } if self.phase != Phase::Closed => {
                let has_ended = self.streams.iter().all(|stream| stream.has_ended);
                self.phase = match (reason, has_ended) {
                    (ConnectionError::ApplicationClosed(_) | ConnectionError::Reset, true) => Phase::Closed,
                    (reason, _) => Phase::Broken(words(&reason)),
                };
            }
            _ => {}
        }
    }

    pub(super) fn counters(&self) -> Counters {
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

impl Outgoing {
    fn new(transmit: &Transmit, bytes: Vec<u8>) -> Self {
        let SocketAddr::V4(to) = transmit.destination else { unreachable!("all addresses are of IPv4") };
        Self { bytes, ecn: transmit.ecn, to }
    }
}

/// Appends what a stream has in order to `out`. Returns whether it has ended there.
fn read_stream(connection: &mut Connection, stream: StreamId, out: &mut Vec<u8>) -> bool {
    let mut receiving = connection.recv_stream(stream);
    let Ok(mut chunks) = receiving.read(true) else { return false };
    let has_ended = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => out.extend_from_slice(&chunk.bytes),
            Ok(None) => break true,
            Err(ReadError::Blocked | ReadError::Reset(_)) => break false,
        }
    };
    // Whether anything is to be sent because of it, `poll_transmit` finds out.
    let _ = chunks.finalize();
    has_ended
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

//! One end of a connection, with the streams that are its sockets.

use std::collections::VecDeque;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    Event, ServerConfig, StreamEvent, StreamId, Transmit, VarInt,
};
use tcp::Decision;
use units::{Duration, Instant};
use wire::Payload;
use workload::{Counters, Ends, ObservedRecord};

use super::address::LocalAddress;
use super::clock;
use super::http3::{self, Session};
use super::outgoing::Outgoing;
use super::receiver::Receiver;
use super::stream::{StreamState, read_stream};
use super::watch::{SharedLog, probe_timeouts};
use crate::addresses::original_port;
use crate::migration::Migration;
use crate::stack::Phase;

/// An endpoint and its connection.
pub(super) struct ConnectionEnd {
    /// The addresses with which it was opened.
    pub(super) ends: Ends,
    endpoint: Endpoint,
    /// The configuration of the connection that a server accepts.
    server: Option<Arc<ServerConfig>>,
    connection: Option<(ConnectionHandle, Box<Connection>)>,
    streams: Vec<StreamState>,
    /// HTTP/3, if the connection speaks it: its streams are requests then, the first one excepted.
    http3: Option<Session>,
    /// Our unidirectional streams and the peer's, by number; none with HTTP/3.
    opened: Vec<StreamId>,
    accepted: Vec<StreamId>,
    /// Answers of the endpoint, outside of connections.
    outbox: VecDeque<Outgoing>,
    phase: Phase,
    /// Layer that makes a receiver misbehave.
    receiver: Option<Receiver>,
    pub(super) log: SharedLog,
    counters: Counters,
    local: LocalAddress,
    /// The address from which the peer was last heard.
    peer: Option<SocketAddr>,
}

impl ConnectionEnd {
    /// An end with its first stream.
    pub(super) fn new(
        ends: Ends,
        endpoint: Endpoint,
        server: Option<Arc<ServerConfig>>,
        receiver: Option<Receiver>,
        http3: Option<Session>,
        log: SharedLog,
    ) -> Self {
        Self {
            ends,
            endpoint,
            server,
            connection: None,
            streams: vec![StreamState::default()],
            http3,
            opened: Vec::new(),
            accepted: Vec::new(),
            outbox: VecDeque::new(),
            phase: Phase::Opening,
            receiver,
            log,
            counters: Counters::default(),
            local: LocalAddress::fixed(ends.local),
            peer: None,
        }
    }

    pub(super) fn connect(
        &mut self,
        now: Instant,
        config: ClientConfig,
        rebind_every: Option<Duration>,
        migration: Option<Migration>,
    ) {
        let remote = SocketAddr::V4(self.ends.remote);
        let connected = self.endpoint.connect(clock::to_quinn(now), config, remote, "server");
        let (handle, connection) = connected.expect("an address, a port and a version that quinn knows");
        self.connection = Some((handle, Box::new(connection)));
        self.local = LocalAddress::changing(self.ends.local, now, rebind_every, migration);
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
        self.local.present()
    }

    /// Whether a datagram from there to a local port is for this connection: one to its former port still arrives. A
    /// server knows a peer that continues from another port or address by the connection ID; here the ports identify
    /// it, which no other connection of the two hosts has.
    pub(super) fn takes_datagrams(&self, from: SocketAddrV4, port: u16) -> bool {
        let is_peer = original_port(from.port()) == self.ends.remote.port();
        original_port(port) == self.ends.local.port() && is_peer
    }

    pub(super) fn write(&mut self, place: usize, payload: &Payload) -> u32 {
        if let Some(session) = &self.http3 {
            let taken = match self.server {
                Some(_) => session.answer(place, &bytes_of(payload)) as u32,
                None => session.ask(place, payload.len()),
            };
            self.advance_http3();
            return taken;
        }
        let Some((_, connection)) = &mut self.connection else { return 0 };
        while self.opened.len() <= place {
            let Some(stream) = connection.streams().open(Dir::Uni) else { return 0 };
            self.opened.push(stream);
        }
        connection.send_stream(self.opened[place]).write(&bytes_of(payload)).unwrap_or(0) as u32
    }

    /// Reads a stream. Returns whether the peer's has ended.
    pub(super) fn read(&mut self, place: usize, out: &mut Vec<u8>) -> bool {
        if let Some(session) = &self.http3 {
            let stream = &mut self.streams[place];
            stream.has_ended |= match self.server {
                // Its program would close what it has read to its end, and has yet to answer.
                Some(_) => session.read_request(place, out) && stream.is_closed,
                None => session.read_response(place, out),
            };
        } else if let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.accepted.get(place))
        {
            self.streams[place].has_ended |= read_stream(connection, *stream, out);
        }
        self.streams[place].has_ended
    }

    pub(super) fn close(&mut self, place: usize) {
        if let Some(session) = &self.http3 {
            if self.server.is_some() {
                session.finish(place);
            }
            self.streams[place].is_closed = true;
            self.advance_http3();
        } else if let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.opened.get(place)) {
            // It fails where the connection is lost, which the phase shows.
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
        if let Some(session) = &self.http3 {
            session.forget(place);
        }
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

    /// Whether it is the first of the streams that are not released.
    pub(super) fn is_first_open(&self, place: usize) -> bool {
        self.streams.iter().position(|stream| !stream.is_released) == Some(place)
    }

    /// The phase of a stream. One of several may be over before the connection is.
    pub(super) fn phase(&self, place: usize) -> Phase {
        let is_early = self.streams.len() > 1 && self.phase == Phase::Open && self.is_over(place);
        if is_early { Phase::Closed } else { self.phase }
    }

    /// Whether a stream has ended in both directions.
    fn is_over(&self, place: usize) -> bool {
        let StreamState { is_sent, has_ended, is_closed, .. } = self.streams[place];
        match (&self.http3, &self.server) {
            (None, _) => is_closed || is_sent && (has_ended || self.accepted.len() <= place),
            (Some(_), Some(_)) => is_sent && has_ended,
            // The first stream stands for the connection, until the program closes it.
            (Some(_), None) => has_ended || place == 0 && is_closed,
        }
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
        let mut bytes = bytes_of(payload);
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
                    Ok((handle, connection)) => self.connection = Some((handle, Box::new(connection))),
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
        // As a host whose NAT has forgotten it, quinn does not learn of its other port.
        self.local.rebind(now);
        self.migrate(now);
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
        let is_over = matches!(self.phase, Phase::Closed | Phase::Broken(_));
        let own = self.local.poll_timeout(self.may_migrate()).filter(|_| !is_over);
        timer.into_iter().chain(own).min()
    }

    /// RFC 9000 §9: not before the handshake is done.
    fn may_migrate(&self) -> bool {
        let is_done = |(_, connection): &(_, Box<Connection>)| !connection.is_handshaking();
        self.phase == Phase::Open && self.connection.as_ref().is_some_and(is_done)
    }

    /// Continues from another address, if it is time. What quinn knows of the path is of the former one (RFC 9000
    /// §9.4).
    fn migrate(&mut self, now: Instant) {
        if !self.may_migrate() || !self.local.migrate(now) {
            return;
        }
        if let Some((_, connection)) = &mut self.connection {
            connection.path_changed(clock::to_quinn(now));
            connection.local_address_changed();
            self.note(now, Decision::Migrate, "this end continues from another address");
        }
    }

    /// Lets data go with the first packets, where the connection has keys for them (0-RTT).
    fn send_early(&mut self) {
        if let Some((_, connection)) =
            self.connection.as_mut().filter(|(_, connection)| connection.has_0rtt())
        {
            if self.http3.is_none() {
                self.opened.extend(connection.streams().open(Dir::Uni));
            }
            self.phase = Phase::Open;
        }
    }

    /// Whether nothing is to come from the connection any more (RFC 9000 §10.2).
    pub(super) fn is_drained(&self) -> bool {
        self.connection.as_ref().is_none_or(|(_, connection)| connection.is_drained())
    }

    /// Closes the connection if every stream has ended, or if HTTP/3 has failed. A server of HTTP/3 waits for another
    /// request instead.
    fn conclude(&mut self, now: Instant) {
        let failure = self.http3.as_ref().and_then(Session::failure);
        let waits = self.http3.is_some() && self.server.is_some();
        let is_done = !waits && (0..self.streams.len()).all(|place| self.is_over(place));
        if self.phase != Phase::Open || !is_done && failure.is_none() {
            return;
        }
        self.phase = if is_done { Phase::Closed } else { Phase::Broken("HTTP/3 has failed") };
        let done = if self.http3.is_some() { http3::NO_ERROR } else { VarInt::from_u32(0) };
        if let Some((_, connection)) = &mut self.connection {
            connection.close(clock::to_quinn(now), failure.unwrap_or(done), Bytes::new());
        }
    }

    /// Lets HTTP/3 read and write.
    fn advance_http3(&mut self) {
        if self.phase == Phase::Open
            && let Some(session) = &mut self.http3
            && let Some((handle, connection)) = self.connection.take()
        {
            self.connection = Some((handle, session.advance(connection)));
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

    /// Carries events between endpoint and connection, and notes what the connection reports to its user.
    fn hear(&mut self, now: Instant) {
        while let Some((handle, connection)) = &mut self.connection {
            if let Some(event) = connection.poll_endpoint_events() {
                if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(answer);
                }
            } else if let Some(event) = connection.poll() {
                self.hear_event(now, event);
            } else {
                break;
            }
        }
        self.hear_address(now);
        self.advance_http3();
    }

    /// Notes that a peer continues from another address. quinn then validates the path (RFC 9000 §9.3).
    fn hear_address(&mut self, now: Instant) {
        let Some((_, connection)) = &self.connection else { return };
        let present = connection.remote_address();
        if self.peer.replace(present).is_some_and(|before| before.ip() != present.ip()) {
            self.note(now, Decision::Migrate, "the peer continues from another address");
        }
    }

    fn note(&self, now: Instant, event: Decision, reason: &'static str) {
        self.log.lock().expect("no holder panics").note(now, event, reason, 0);
    }

    fn hear_event(&mut self, now: Instant, event: Event) {
        let Some((_, connection)) = &mut self.connection else { return };
        match event {
            Event::Connected => {
                if self.server.is_none() && self.http3.is_none() && self.opened.is_empty() {
                    self.opened.extend(connection.streams().open(Dir::Uni));
                }
                self.phase = Phase::Open;
                self.note(now, Decision::Established, "");
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) if self.http3.is_none() => {
                let mut accept = || connection.streams().accept(Dir::Uni);
                self.accepted.extend(std::iter::from_fn(&mut accept));
            }
            Event::Stream(StreamEvent::Finished { id }) => {
                let place = match &self.http3 {
                    Some(session) => session.place_of(id.into()),
                    None => self.opened.iter().position(|opened| *opened == id),
                };
                if let Some(stream) = place.and_then(|place| self.streams.get_mut(place)) {
                    stream.is_sent = true;
                }
                self.conclude(now);
            }
            Event::ConnectionLost { reason } if self.phase != Phase::Closed => {
                self.phase = self.phase_after(&reason);
            }
            _ => {}
        }
    }

    /// The phase of a connection that the peer has closed, or that was lost.
    fn phase_after(&self, reason: &ConnectionError) -> Phase {
        let is_closed = matches!(reason, ConnectionError::ApplicationClosed(_) | ConnectionError::Reset);
        let is_settled = match self.http3 {
            None => is_closed && self.streams.iter().all(|stream| stream.has_ended),
            // A client that closes has read all; its packet that says so may be lost.
            Some(_) if is_closed => self.streams.iter().skip(1).all(|stream| stream.is_closed),
            Some(_) => self.server.is_some() && (1..self.streams.len()).all(|place| self.is_over(place)),
        };
        if is_settled { Phase::Closed } else { Phase::Broken(words(reason)) }
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

fn bytes_of(payload: &Payload) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() as usize);
    payload.write_to(&mut bytes);
    bytes
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

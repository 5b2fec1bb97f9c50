//! A host whose connections are byte streams of programs outside: our own TCP with any peer, each connection with a
//! profile of its own.
//!
//! `live` gives it a device and joins its streams to programs: `lasthop fetch` opens connections, `lasthop serve-file`
//! accepts them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use units::{Bytes, Instant, Seq, Streams};
use wire::ip::v4;
use wire::{Flags, Payload, Segment};
use workload::{Ends, ObservedRecord};

use crate::arrived::Arrived;
use crate::dccp_settings::DccpSettings;
use crate::lasthop::read_segment;
use crate::quinn_settings::QuinnSettings;
use crate::registry::StackId;
use crate::stack::{Phase, Setup, Stack, StackSocket};
use crate::unreachable;

/// A host with byte streams.
///
/// Order of calls: as for a [`Stack`]. After [`StreamHost::handle_packet`] ask [`StreamHost::poll_accepted`], and read
/// before [`StreamHost::poll_transmit`], so that the acknowledgment offers the room that reading has made.
pub struct StreamHost {
    address: Ipv4Addr,
    mtu: Bytes,
    streams: Streams,
    records: bool,
    listening: Option<Listening>,
    connections: BTreeMap<ConnectionId, Connection>,
    next: u64,
    accepted: VecDeque<ConnectionId>,
    /// Resets for those who ask for a port where no program listens.
    resets: VecDeque<Vec<u8>>,
}

/// A connection of a [`StreamHost`], in the order in which they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// Event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamCounts {
    /// Time at which it began: our SYN, or the peer's.
    pub began: Instant,
    /// Time at which the program read the first byte of the peer's.
    pub first_read: Option<Instant>,
    /// Time at which the program read the last byte so far.
    pub last_read: Option<Instant>,
    /// Bytes that the program read.
    pub read: u64,
    /// Bytes that the program wrote.
    pub written: u64,
    /// Segments sent that carry nothing but an acknowledgment.
    pub acks: u64,
    /// Packets sent.
    pub packets: u64,
    /// Segments that arrived and carried nothing but data that had arrived before.
    pub duplicates: u64,
}

struct Listening {
    port: u16,
    /// The profiles of its connections, in turn.
    profiles: Vec<Arc<tcp::Config>>,
    accepted: usize,
}

struct Connection {
    stack: Box<dyn Stack>,
    socket: StackSocket,
    ends: Ends,
    counts: StreamCounts,
    arrived: Arrived,
    profile: usize,
    /// Why a router or host on the way says that the peer cannot be reached.
    unreachable: Option<&'static str>,
    /// Whether no program asks for it any more; it stays while its timers run (TIME-WAIT).
    is_forgotten: bool,
}

impl StreamHost {
    /// A host with an address whose packets have at most `mtu` bytes. `records` says whether
    /// [`StreamHost::take_records`] is asked for.
    #[must_use]
    pub fn new(address: Ipv4Addr, mtu: Bytes, streams: Streams, records: bool) -> Self {
        Self {
            address,
            mtu,
            streams,
            records,
            listening: None,
            connections: BTreeMap::new(),
            next: 0,
            accepted: VecDeque::new(),
            resets: VecDeque::new(),
        }
    }

    /// Opens a connection.
    pub fn connect(
        &mut self,
        now: Instant,
        local_port: u16,
        remote: SocketAddrV4,
        profile: &Arc<tcp::Config>,
    ) -> ConnectionId {
        let ends = Ends { local: SocketAddrV4::new(self.address, local_port), remote };
        let mut stack = self.stack(profile);
        let socket = stack.connect(now, ends);
        self.add(Connection::new(now, stack, socket, ends, 0))
    }

    /// Accepts connections at a port. Their profiles are those of the list, in turn.
    ///
    /// # Panics
    /// If the list is empty.
    pub fn listen(&mut self, port: u16, profiles: Vec<Arc<tcp::Config>>) {
        assert!(!profiles.is_empty(), "a listener needs a profile");
        self.listening = Some(Listening { port, profiles, accepted: 0 });
    }

    /// The next connection that a peer has begun.
    pub fn poll_accepted(&mut self) -> Option<ConnectionId> {
        self.accepted.pop_front()
    }

    /// Adds to a stream. Returns how many bytes were taken: fewer where a buffer is full.
    pub fn write(&mut self, id: ConnectionId, payload: &Payload) -> u32 {
        let Some(connection) = self.connections.get_mut(&id) else { return 0 };
        let taken = connection.stack.write(connection.socket, payload);
        connection.counts.written += u64::from(taken);
        taken
    }

    /// Appends what has arrived in order to `out`. Returns whether the peer's stream has ended there.
    pub fn read(&mut self, now: Instant, id: ConnectionId, out: &mut Vec<u8>) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return true };
        let before = out.len();
        let ended = connection.stack.read(connection.socket, out);
        connection.counts.note_read(now, out.len() - before);
        ended
    }

    /// Ends our stream of a connection.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.stack.close(now, connection.socket);
        }
    }

    /// The program reads no more of a connection: once our stream has ended too, further data reset it.
    pub fn shut_receiving(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.stack.shut_receiving(connection.socket);
        }
    }

    /// Releases a connection, which is not named again. It is removed once its timers rest.
    pub fn forget(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.is_forgotten = true;
        }
    }

    /// An IP packet has arrived.
    pub fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        if let Some((ends, reason)) = unreachable::read(packet, self.address) {
            self.handle_unreachable(ends, reason);
            return;
        }
        let Some((from, segment)) = read_segment(packet, self.address) else { return };
        let id = self.find(from, segment.destination_port).or_else(|| self.accept(now, from, &segment));
        match id.and_then(|id| self.connections.get_mut(&id)) {
            Some(connection) => {
                connection.counts.duplicates += u64::from(connection.arrived.note(&segment));
                connection.stack.handle_packet(now, packet);
            }
            None => self.refuse(from, &segment),
        }
    }

    /// The time that [`StreamHost::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        for connection in self.connections.values_mut() {
            if connection.stack.poll_timeout(now).is_some_and(|due| due <= now) {
                connection.stack.handle_timeout(now);
            }
        }
        self.connections
            .retain(|_, connection| !connection.is_forgotten || connection.stack.poll_timeout(now).is_some());
    }

    /// The next IP packet to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if let Some(reset) = self.resets.pop_front() {
            return Some(reset);
        }
        self.connections.values_mut().find_map(|connection| connection.poll_transmit(now))
    }

    /// Time at which to call [`StreamHost::handle_timeout`].
    pub fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        self.connections.values_mut().filter_map(|connection| connection.stack.poll_timeout(now)).min()
    }

    /// State of a connection. A removed connection counts as closed.
    #[must_use]
    pub fn phase(&self, id: ConnectionId) -> Phase {
        self.connections.get(&id).map_or(Phase::Closed, Connection::phase)
    }

    /// The two ends of a connection.
    #[must_use]
    pub fn ends(&self, id: ConnectionId) -> Option<Ends> {
        self.connections.get(&id).map(|connection| connection.ends)
    }

    /// The place of a connection's profile in the listener's list.
    #[must_use]
    pub fn profile(&self, id: ConnectionId) -> Option<usize> {
        self.connections.get(&id).map(|connection| connection.profile)
    }

    /// Event of a connection.
    #[must_use]
    pub fn counts(&self, id: ConnectionId) -> Option<StreamCounts> {
        self.connections.get(&id).map(|connection| connection.counts)
    }

    /// The decisions of a connection since the last call, for the table `tcp`.
    pub fn take_records(&mut self, id: ConnectionId) -> Vec<ObservedRecord> {
        let connection = self.connections.get_mut(&id);
        connection.map(|one| one.stack.take_records(one.socket)).unwrap_or_default()
    }

    fn stack(&self, profile: &Arc<tcp::Config>) -> Box<dyn Stack> {
        let make = StackId::LASTHOP.entry().member.make.expect("our own TCP runs in this process");
        make(Setup {
            address: self.address,
            mtu: self.mtu,
            streams: self.streams.below(&self.next.to_string()),
            profile: Arc::clone(profile),
            quinn: QuinnSettings::DEFAULT,
            dccp: DccpSettings::DEFAULT,
            migration: None,
            http3: BTreeSet::new(),
            records: self.records,
        })
    }

    fn add(&mut self, connection: Connection) -> ConnectionId {
        let id = ConnectionId(self.next);
        self.next += 1;
        self.connections.insert(id, connection);
        id
    }

    /// The connection of a peer's port, unless it is over: then a SYN begins another one.
    fn find(&self, from: SocketAddrV4, local_port: u16) -> Option<ConnectionId> {
        let latest = self.connections.iter().rev();
        let is_its = |ends: &Ends| ends.remote == from && ends.local.port() == local_port;
        latest.into_iter().find(|(_, one)| is_its(&one.ends)).map(|(id, _)| *id)
    }

    fn accept(&mut self, now: Instant, from: SocketAddrV4, segment: &Segment) -> Option<ConnectionId> {
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        let listening = self.listening.as_mut()?;
        if !opens || segment.destination_port != listening.port {
            return None;
        }
        let place = listening.accepted % listening.profiles.len();
        let profile = Arc::clone(&listening.profiles[place]);
        listening.accepted += 1;
        let ends = Ends { local: SocketAddrV4::new(self.address, segment.destination_port), remote: from };
        let mut stack = self.stack(&profile);
        let socket = stack.listen(ends);
        let id = self.add(Connection::new(now, stack, socket, ends, place));
        self.accepted.push_back(id);
        Some(id)
    }

    /// RFC 9293 §3.10.7.1: a segment for no connection is answered with a reset.
    fn refuse(&mut self, to: SocketAddrV4, segment: &Segment) {
        if segment.flags.contains(Flags::RST) || self.resets.len() >= MOST_RESETS {
            return;
        }
        let answers = segment.flags.contains(Flags::ACK);
        let reset = Segment {
            source_port: segment.destination_port,
            destination_port: segment.source_port,
            flags: if answers { Flags::RST } else { Flags::RST.with(Flags::ACK) },
            seq: if answers { segment.ack } else { Seq(0) },
            ack: if answers { Seq(0) } else { segment.seq + segment.seq_len() },
            ..Segment::default()
        };
        self.resets.push_back(wire::emit_ipv4(self.address, *to.ip(), 0, &reset));
    }

    /// RFC 1122 §4.2.3.9 has an open connection live on; one that is not open yet fails, as in Linux (tcp_v4_err).
    fn handle_unreachable(&mut self, ends: Ends, reason: &'static str) {
        let is_it = |connection: &&mut Connection| connection.ends == ends;
        if let Some(connection) = self.connections.values_mut().rev().find(is_it)
            && connection.phase() == Phase::Opening
        {
            connection.unreachable = Some(reason);
        }
    }
}

impl Connection {
    fn new(began: Instant, stack: Box<dyn Stack>, socket: StackSocket, ends: Ends, profile: usize) -> Self {
        let counts = StreamCounts {
            began,
            first_read: None,
            last_read: None,
            read: 0,
            written: 0,
            acks: 0,
            packets: 0,
            duplicates: 0,
        };
        let arrived = Arrived::default();
        Self { stack, socket, ends, counts, arrived, profile, unreachable: None, is_forgotten: false }
    }

    fn phase(&self) -> Phase {
        self.unreachable.map_or_else(|| self.stack.phase(self.socket), Phase::Broken)
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.unreachable.is_some() {
            return None;
        }
        let packet = self.stack.poll_transmit(now)?;
        self.counts.packets += 1;
        self.counts.acks += u64::from(is_pure_ack(&packet));
        Some(packet)
    }
}

impl StreamCounts {
    fn note_read(&mut self, now: Instant, bytes: usize) {
        if bytes > 0 {
            self.first_read.get_or_insert(now);
            self.last_read = Some(now);
            self.read += bytes as u64;
        }
    }
}

/// Whether a packet of ours (IPv4 without options) carries nothing but an acknowledgment: neither data nor SYN, FIN or
/// RST.
fn is_pure_ack(packet: &[u8]) -> bool {
    const DATA_OFFSET: usize = v4::HEADER_LEN + 12;
    const FLAGS: usize = v4::HEADER_LEN + 13;
    const FIN_SYN_RST: u8 = 0b111;
    let header_len = packet.get(DATA_OFFSET).map_or(0, |byte| usize::from(byte >> 4) * 4);
    packet.len() == v4::HEADER_LEN + header_len
        && packet.get(FLAGS).is_some_and(|bits| bits & FIN_SYN_RST == 0)
}

/// Resets that wait at most: beyond, whoever asks is not answered.
const MOST_RESETS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const PORT: u16 = 80;

    fn host(address: Ipv4Addr) -> StreamHost {
        StreamHost::new(address, Bytes(1500), Streams::new(1).below(&address.to_string()), false)
    }

    fn profile() -> Arc<tcp::Config> {
        Arc::new(tcp::Config::from_profile(&serde_json::json!({})).unwrap())
    }

    fn to_server() -> SocketAddrV4 {
        SocketAddrV4::new(SERVER, PORT)
    }

    /// Carries packets both ways until nothing is sent.
    fn settle(now: Instant, one: &mut StreamHost, other: &mut StreamHost) {
        loop {
            let (there, back) = (one.poll_transmit(now), other.poll_transmit(now));
            if there.is_none() && back.is_none() {
                return;
            }
            there.iter().for_each(|packet| other.handle_packet(now, packet));
            back.iter().for_each(|packet| one.handle_packet(now, packet));
        }
    }

    fn payload(text: &[u8]) -> Payload {
        Payload::Data(text.into())
    }

    #[test]
    fn a_stream_goes_there_and_back_and_ends() {
        let (mut client, mut server) = (host(CLIENT), host(SERVER));
        let now = Instant::START;
        server.listen(PORT, vec![profile(), profile()]);
        let first = client.connect(now, 4000, to_server(), &profile());
        let second = client.connect(now, 4001, to_server(), &profile());
        settle(now, &mut client, &mut server);
        let accepted = [server.poll_accepted().unwrap(), server.poll_accepted().unwrap()];
        assert_eq!(accepted.map(|id| server.profile(id)), [Some(0), Some(1)]);
        assert_eq!(client.write(first, &payload(b"question")), 8);
        settle(now, &mut client, &mut server);
        let mut heard = Vec::new();
        assert!(!server.read(now, accepted[0], &mut heard));
        assert_eq!(heard, b"question");
        assert_eq!(server.write(accepted[0], &payload(b"answer")), 6);
        server.close(now, accepted[0]);
        settle(now, &mut client, &mut server);
        heard.clear();
        assert!(client.read(now, first, &mut heard));
        client.close(now, first);
        settle(now, &mut client, &mut server);
        assert_eq!(
            (heard.as_slice(), client.phase(first), client.phase(second)),
            (&b"answer"[..], Phase::Closed, Phase::Open)
        );
        let counts = client.counts(first).unwrap();
        assert_eq!((counts.read, counts.written, counts.last_read), (6, 8, Some(now)));
        assert!(counts.acks >= 1 && counts.packets > counts.acks, "{counts:?}");
    }

    #[test]
    fn a_port_where_nobody_listens_refuses() {
        let (mut client, mut server) = (host(CLIENT), host(SERVER));
        let id = client.connect(Instant::START, 4000, to_server(), &profile());
        settle(Instant::START, &mut client, &mut server);
        assert_eq!(client.phase(id), Phase::Broken("refused by the peer"));
    }

    #[test]
    fn a_word_that_the_peer_cannot_be_reached_ends_what_is_not_open_yet() {
        let mut client = host(CLIENT);
        let id = client.connect(Instant::START, 4000, to_server(), &profile());
        let syn = client.poll_transmit(Instant::START).unwrap();
        client.handle_packet(Instant::START, &unreachable::tests::unreachable(SERVER, CLIENT, 1, &syn));
        assert_eq!(client.phase(id), Phase::Broken("no route to the host"));
    }

    #[test]
    fn a_forgotten_connection_goes_when_its_timers_rest() {
        let (mut client, mut server) = (host(CLIENT), host(SERVER));
        let id = client.connect(Instant::START, 4000, to_server(), &profile());
        settle(Instant::START, &mut client, &mut server);
        client.forget(id);
        client.handle_timeout(Instant::START);
        assert_eq!(client.counts(id), None);
    }
}

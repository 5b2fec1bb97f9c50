//! Two endpoints and a clock: the smallest simulation of a connection.
//!
//! The pipe between them has a delay for each direction and no rate. A function decides the [`Fate`] of each packet.
//! A run depends on its arguments alone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tcp::{Config, Endpoint, Event, Ports, Record, State, Transmit};
use units::{Bytes, Duration, Instant, Seq};
use wire::{Payload, Segment};

use crate::fate::{Fate, Fates, Passing, all_arrive};
pub use crate::side::Side;

/// One end with its user.
#[derive(Debug)]
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The behaviour of its user.
    pub user: User,
    /// All events so far, in order.
    pub events: Vec<Event>,
    /// The bytes that the user has read.
    pub received: Vec<u8>,
    /// All sent segments with their times, if [`Pair::keep_sent`] was called.
    pub sent: Vec<(Instant, Transmit)>,
    packets: u64,
    read_at: Instant,
    write_at: Instant,
    peer_closed: bool,
}

/// The behaviour of an end's user.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The payloads that it writes once connected, each by one call.
    pub writes: VecDeque<Payload>,
    /// Time between two writes. Without it, the user keeps the send queue filled.
    pub write_interval: Option<Duration>,
    /// Time at which it closes.
    pub closes: Closes,
    /// Its way of reading.
    pub reads: Reads,
}

/// Time at which a user closes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Closes {
    /// After the last write.
    #[default]
    WhenWritten,
    /// After the last write and the peer's close.
    AfterPeer,
    /// Never.
    Never,
}

/// A user's way of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// All that is readable, at once.
    #[default]
    AtOnce,
    /// All that is readable, at once, without keeping it: for transfers larger than memory.
    Discards,
    /// One payload per interval.
    OneEvery(Duration),
}

/// Two hosts and the packets in transit between them.
pub struct Pair {
    hosts: [Host; 2],
    now: Instant,
    delays: [Duration; 2],
    fates: Fates,
    under_way: BTreeMap<(Instant, u64), (Side, Segment)>,
    counter: u64,
    keep_sent: bool,
    steps: u64,
    step_limit: u64,
}

impl User {
    /// A user that writes `bytes` of the pattern and closes.
    #[must_use]
    pub fn sends_pattern(bytes: u64) -> Self {
        let piece = |offset: u64| Payload::Pattern { offset, len: PIECE.min(bytes - offset) as u32 };
        let writes = (0..bytes).step_by(PIECE as usize).map(piece).collect();
        Self { writes, ..Self::default() }
    }

    /// A user that writes `data` in pieces of `piece` bytes and closes.
    #[must_use]
    pub fn sends(data: &bytes::Bytes, piece: usize) -> Self {
        let cut = |start: usize| data[start..(start + piece).min(data.len())].into();
        let writes = (0..data.len()).step_by(piece).map(|start| Payload::Data(cut(start))).collect();
        Self { writes, ..Self::default() }
    }

    /// A user that writes nothing and closes after the peer.
    #[must_use]
    pub fn listens() -> Self {
        Self { closes: Closes::AfterPeer, ..Self::default() }
    }
}

impl Pair {
    /// Makes a client and a server with these profiles and a one-way delay of 50 ms.
    #[must_use]
    pub fn new(client: &Arc<Config>, server: &Arc<Config>) -> Self {
        let ports = Ports { local: CLIENT_PORT, remote: SERVER_PORT };
        Self {
            hosts: [
                Host::new(Endpoint::connect(client, ports, CLIENT_ISS)),
                Host::new(Endpoint::listen(server, SERVER_PORT, SERVER_ISS)),
            ],
            now: Instant::START,
            delays: [Duration::from_millis(50); 2],
            fates: all_arrive(),
            under_way: BTreeMap::new(),
            counter: 0,
            keep_sent: false,
            steps: 0,
            step_limit: MOST_STEPS,
        }
    }

    /// Sets the behaviour of the two users.
    #[must_use]
    pub fn users(mut self, client: User, server: User) -> Self {
        self.hosts[0].user = client;
        self.hosts[1].user = server;
        self
    }

    /// Makes both ends keep records, for [`Pair::take_records`].
    #[must_use]
    pub fn recorded(mut self) -> Self {
        self.hosts.iter_mut().for_each(|host| host.endpoint.set_recording(true));
        self
    }

    /// Returns the records of an end since the last call.
    pub fn take_records(&mut self, side: Side) -> Vec<Record> {
        self.hosts[side as usize].endpoint.take_records()
    }

    /// Sets the one-way delays, from the client and from the server.
    #[must_use]
    pub const fn delays(mut self, from_client: Duration, from_server: Duration) -> Self {
        self.delays = [from_client, from_server];
        self
    }

    /// Sets the function that decides the fate of each packet.
    #[must_use]
    pub fn fates(mut self, fates: Fates) -> Self {
        self.fates = fates;
        self
    }

    /// Keeps every sent segment in [`Host::sent`].
    #[must_use]
    pub const fn keep_sent(mut self) -> Self {
        self.keep_sent = true;
        self
    }

    /// Sets the number of events after which [`Pair::run`] panics; 5 million at first.
    #[must_use]
    pub const fn step_limit(mut self, steps: u64) -> Self {
        self.step_limit = steps;
        self
    }

    /// Returns one end.
    #[must_use]
    pub const fn host(&self, side: Side) -> &Host {
        &self.hosts[side as usize]
    }

    /// Returns one end, to change it.
    pub const fn host_mut(&mut self, side: Side) -> &mut Host {
        &mut self.hosts[side as usize]
    }

    /// Returns the present time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Runs until no event is left or `limit` has passed. Returns whether no event is left.
    ///
    /// # Panics
    /// If it takes more steps than the limit, as an exchange without end does.
    pub fn run(&mut self, limit: Duration) -> bool {
        let end = Instant::START + limit;
        self.serve(Side::Client);
        self.serve(Side::Server);
        while let Some(next) = self.next_at() {
            if next > end {
                return false;
            }
            self.steps += 1;
            assert!(
                self.steps < self.step_limit,
                "{} steps by {}: an endless exchange",
                self.steps,
                self.now
            );
            self.now = next;
            self.step();
        }
        true
    }

    /// Returns the time of the next event.
    fn next_at(&self) -> Option<Instant> {
        let packet = self.under_way.first_key_value().map(|((at, _), _)| *at);
        let timers = self.hosts.iter().filter_map(|host| host.endpoint.poll_timeout());
        let reads = self.hosts.iter().filter_map(Host::next_read);
        let writes = self.hosts.iter().filter_map(Host::next_write);
        packet.into_iter().chain(timers).chain(reads).chain(writes).min().map(|at| at.max(self.now))
    }

    /// Handles one packet that arrives, or else the timers that are due.
    fn step(&mut self) {
        let due = self.under_way.first_entry().filter(|entry| entry.key().0 <= self.now);
        if let Some(entry) = due {
            let (to, segment) = entry.remove();
            self.hosts[to as usize].endpoint.handle_segment(self.now, &segment);
            return self.serve(to);
        }
        for side in [Side::Client, Side::Server] {
            self.hosts[side as usize].endpoint.handle_timeout(self.now);
            self.serve(side);
        }
    }

    /// Runs the user of one end and sends the segments that follow.
    fn serve(&mut self, side: Side) {
        self.hosts[side as usize].act(self.now);
        while let Some(transmit) = self.hosts[side as usize].endpoint.poll_transmit(self.now) {
            self.send(side, transmit);
            self.hosts[side as usize].act(self.now);
        }
    }

    fn send(&mut self, from: Side, transmit: Transmit) {
        let host = &mut self.hosts[from as usize];
        host.packets += 1;
        let passing = Passing { from, number: host.packets, at: self.now, segment: &transmit.segment };
        let fate = (self.fates)(&passing);
        if self.keep_sent {
            host.sent.push((self.now, transmit.clone()));
        }
        let arrival = self.now + self.delays[from as usize];
        match fate {
            Fate::Drop | Fate::Corrupt => {}
            Fate::Deliver => self.put(arrival, from, transmit.segment),
            Fate::Mark => {
                let ecn = transmit.segment.ecn.marked().unwrap_or_default();
                self.put(arrival, from, Segment { ecn, ..transmit.segment });
            }
            Fate::Delay(by) => self.put(arrival + by, from, transmit.segment),
            Fate::Duplicate(after) => {
                self.put(arrival, from, transmit.segment.clone());
                self.put(arrival + after, from, transmit.segment);
            }
        }
    }

    fn put(&mut self, at: Instant, from: Side, segment: Segment) {
        self.counter += 1;
        self.under_way.insert((at, self.counter), (from.other(), segment));
    }
}

impl Host {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            user: User::default(),
            events: Vec::new(),
            received: Vec::new(),
            sent: Vec::new(),
            packets: 0,
            read_at: Instant::NEVER,
            write_at: Instant::START,
            peer_closed: false,
        }
    }

    /// Returns whether the user has received `event`.
    #[must_use]
    pub fn saw(&self, event: Event) -> bool {
        self.events.contains(&event)
    }

    /// Returns the number of sent segments.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    fn next_read(&self) -> Option<Instant> {
        (self.read_at != Instant::NEVER).then_some(self.read_at)
    }

    fn next_write(&self) -> Option<Instant> {
        let waits = self.user.write_interval.is_some() && self.is_open() && !self.user.writes.is_empty();
        waits.then_some(self.write_at)
    }

    fn is_open(&self) -> bool {
        matches!(self.endpoint.state(), State::Established | State::CloseWait)
    }

    fn act(&mut self, now: Instant) {
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push(event);
            self.peer_closed |= event == Event::PeerClosed;
            if event == Event::Readable && self.read_at == Instant::NEVER {
                self.read_at = now + self.pause();
            }
        }
        self.read(now);
        self.write(now);
    }

    fn pause(&self) -> Duration {
        match self.user.reads {
            Reads::AtOnce | Reads::Discards => Duration::ZERO,
            Reads::OneEvery(pause) => pause,
        }
    }

    fn read(&mut self, now: Instant) {
        while self.read_at <= now {
            match self.endpoint.read() {
                Some(payload) => {
                    if self.user.reads != Reads::Discards {
                        payload.write_to(&mut self.received);
                    }
                    self.read_at += self.pause();
                }
                None => self.read_at = Instant::NEVER,
            }
        }
    }

    fn write(&mut self, now: Instant) {
        let open = self.is_open();
        while open && self.write_at <= now && self.endpoint.unsent() < BACKLOG {
            let Some(payload) = self.user.writes.pop_front() else { break };
            self.endpoint.write(payload);
            self.write_at = self.user.write_interval.map_or(self.write_at, |interval| now + interval);
        }
        let closes = match self.user.closes {
            Closes::WhenWritten => true,
            Closes::AfterPeer => self.peer_closed,
            Closes::Never => false,
        };
        if open && closes && self.user.writes.is_empty() {
            self.endpoint.close();
        }
    }
}

const CLIENT_PORT: u16 = 40_000;
const SERVER_PORT: u16 = 80;
/// Just below the wrap of sequence numbers, so that transfers cross it.
const CLIENT_ISS: Seq = Seq(u32::MAX - 5_000);
const SERVER_ISS: Seq = Seq(u32::MAX - 50);
/// Bytes that a user writes by one call.
const PIECE: u64 = 1 << 16;
/// Bytes that a user keeps in the send queue.
const BACKLOG: Bytes = Bytes(1 << 17);
/// Events: more than any test here needs.
const MOST_STEPS: u64 = 5_000_000;

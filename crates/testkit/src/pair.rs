//! Two endpoints and a clock: the smallest world in which a connection can live.
//!
//! The pipe between them has a delay for each direction and no rate; each packet's [`Fate`] is asked of a
//! function. Everything is decided by what is given, so a run repeats to the bit.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tcp::{Config, Endpoint, Event, Ports, Record, State, Transmit};
use units::{Bytes, Duration, Instant, Seq};
use wire::{Payload, Segment};

use crate::fate::{Fate, Fates, Passing, all_arrive};

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Opens actively.
    Client,
    /// Opens passively.
    Server,
}

/// One end with its user.
#[derive(Debug)]
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// What its user does.
    pub user: User,
    /// All events so far, in order.
    pub events: Vec<Event>,
    /// All that the user has read.
    pub received: Vec<u8>,
    /// All that was sent, with the time, where [`Pair::keep_sent`] asks for it.
    pub sent: Vec<(Instant, Transmit)>,
    packets: u64,
    read_at: Instant,
    peer_closed: bool,
}

/// What the user of an end does.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// Writes this once connected, each piece by a call of its own.
    pub writes: VecDeque<Payload>,
    /// When to close.
    pub closes: Closes,
    /// How to read.
    pub reads: Reads,
}

/// When a user closes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Closes {
    /// Once everything is written.
    #[default]
    WhenWritten,
    /// Once the peer has closed (and everything is written).
    AfterPeer,
    /// Never.
    Never,
}

/// How a user reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Whatever there is, at once.
    #[default]
    AtOnce,
    /// Whatever there is, at once, without keeping it: for transfers that no memory holds.
    Discards,
    /// One payload each time this passes.
    OneEvery(Duration),
}

/// Two hosts and what is under way between them.
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

impl Side {
    /// The one at the other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

impl User {
    /// Writes `bytes` of the pattern and closes.
    #[must_use]
    pub fn sends_pattern(bytes: u64) -> Self {
        let piece = |offset: u64| Payload::Pattern { offset, len: PIECE.min(bytes - offset) as u32 };
        let writes = (0..bytes).step_by(PIECE as usize).map(piece).collect();
        Self { writes, ..Self::default() }
    }

    /// Writes `data` in pieces of `piece` bytes and closes.
    #[must_use]
    pub fn sends(data: &bytes::Bytes, piece: usize) -> Self {
        let cut = |start: usize| data[start..(start + piece).min(data.len())].into();
        let writes = (0..data.len()).step_by(piece).map(|start| Payload::Data(cut(start))).collect();
        Self { writes, ..Self::default() }
    }

    /// Writes nothing, and closes when the peer has.
    #[must_use]
    pub fn listens() -> Self {
        Self { closes: Closes::AfterPeer, ..Self::default() }
    }
}

impl Pair {
    /// A client and a server with these profiles, 50 ms apart.
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

    /// What the two users do.
    #[must_use]
    pub fn users(mut self, client: User, server: User) -> Self {
        self.hosts[0].user = client;
        self.hosts[1].user = server;
        self
    }

    /// Both ends keep records, for [`Pair::take_records`].
    #[must_use]
    pub fn recorded(mut self) -> Self {
        self.hosts.iter_mut().for_each(|host| host.endpoint.set_recording(true));
        self
    }

    /// What an end has recorded since the last call.
    pub fn take_records(&mut self, side: Side) -> Vec<Record> {
        self.hosts[side as usize].endpoint.take_records()
    }

    /// One-way delays, from the client and from the server.
    #[must_use]
    pub const fn delays(mut self, from_client: Duration, from_server: Duration) -> Self {
        self.delays = [from_client, from_server];
        self
    }

    /// Who decides what befalls each packet.
    #[must_use]
    pub fn fates(mut self, fates: Fates) -> Self {
        self.fates = fates;
        self
    }

    /// Keeps every segment that is sent in [`Host::sent`].
    #[must_use]
    pub const fn keep_sent(mut self) -> Self {
        self.keep_sent = true;
        self
    }

    /// Packets and timers after which [`Pair::run`] panics; 5 million at first.
    #[must_use]
    pub const fn step_limit(mut self, steps: u64) -> Self {
        self.step_limit = steps;
        self
    }

    /// One end.
    #[must_use]
    pub const fn host(&self, side: Side) -> &Host {
        &self.hosts[side as usize]
    }

    /// One end, to change it.
    pub const fn host_mut(&mut self, side: Side) -> &mut Host {
        &mut self.hosts[side as usize]
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Goes on until nothing is left to happen or `limit` has passed; whether nothing is left.
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

    /// When something next happens.
    fn next_at(&self) -> Option<Instant> {
        let packet = self.under_way.first_key_value().map(|((at, _), _)| *at);
        let timers = self.hosts.iter().filter_map(|host| host.endpoint.poll_timeout());
        let reads = self.hosts.iter().filter_map(Host::next_read);
        packet.into_iter().chain(timers).chain(reads).min().map(|at| at.max(self.now))
    }

    /// One packet arrives, or else the timers run out.
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

    /// Lets the user of one end act, and sends what comes of it.
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
            peer_closed: false,
        }
    }

    /// Whether the user was told of `event`.
    #[must_use]
    pub fn saw(&self, event: Event) -> bool {
        self.events.contains(&event)
    }

    /// How many segments went out.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    fn next_read(&self) -> Option<Instant> {
        (self.read_at != Instant::NEVER).then_some(self.read_at)
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
        self.write();
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

    fn write(&mut self) {
        let open = matches!(self.endpoint.state(), State::Established | State::CloseWait);
        while open && self.endpoint.unsent() < BACKLOG {
            let Some(payload) = self.user.writes.pop_front() else { break };
            self.endpoint.write(payload);
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
/// Just below the wrap, so that every transfer of any size crosses it.
const CLIENT_ISS: Seq = Seq(u32::MAX - 5_000);
const SERVER_ISS: Seq = Seq(u32::MAX - 50);
/// What a user writes by one call.
const PIECE: u64 = 1 << 16;
/// What a user keeps in the send queue.
const BACKLOG: Bytes = Bytes(1 << 17);
/// More than any test here needs.
const MOST_STEPS: u64 = 5_000_000;

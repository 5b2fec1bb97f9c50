//! What a stack is: the four kinds of verb, and what goes in and out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use sim::ObservedRecord;
use units::{Bytes, Instant, Streams};
use wire::Payload;

/// A network stack of one host, without input or output.
///
/// Order of calls: after every `handle_*` and every command, [`Stack::poll_transmit`] until it answers `None`; then wake it
/// at [`Stack::poll_timeout`]. A call with a time must not go back in time. Nothing here fails: an odd packet is dropped or
/// answered, as the stack sees fit, and a connection that breaks is a [`Phase`].
pub trait Stack: Send {
    /// Command: opens a connection.
    fn connect(&mut self, now: Instant, ends: Ends) -> SocketId;

    /// Command: waits for the connection of one peer.
    fn listen(&mut self, ends: Ends) -> SocketId;

    /// Command: adds to the stream. Returns how many bytes were taken: fewer where a buffer is full.
    fn write(&mut self, socket: SocketId, payload: &Payload) -> u32;

    /// Command: appends what has arrived in order to `out`. Returns whether the peer's stream has ended there.
    fn read(&mut self, socket: SocketId, out: &mut Vec<u8>) -> bool;

    /// Command: ends our stream.
    fn close(&mut self, now: Instant, socket: SocketId);

    /// Command: nobody asks for the socket any more. A connection that is not closed is given up. The stack keeps the socket
    /// as long as its timers run (TIME-WAIT), and no longer.
    fn release(&mut self, now: Instant, socket: SocketId);

    /// An IP packet has arrived.
    fn handle_packet(&mut self, now: Instant, packet: &[u8]);

    /// The time that [`Stack::poll_timeout`] named has come.
    fn handle_timeout(&mut self, now: Instant);

    /// The next IP packet to send.
    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>>;

    /// When to call [`Stack::handle_timeout`].
    fn poll_timeout(&mut self, now: Instant) -> Option<Instant>;

    /// How far a connection is.
    fn phase(&self, socket: SocketId) -> Phase;

    /// The stack's own counts of a connection. Only stacks whose packets tell nothing have any: of a TCP, everything is seen
    /// in its segments.
    fn counters(&self, _socket: SocketId) -> Option<Counters> {
        None
    }

    /// The decisions of a sender since the last call, for the table `tcp`; none from stacks that do not tell.
    fn take_records(&mut self, _socket: SocketId) -> Vec<ObservedRecord> {
        Vec::new()
    }
}

/// A socket of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketId(pub(crate) usize);

/// The sockets of a stack, in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Sockets<T> {
    all: BTreeMap<usize, T>,
    made: usize,
    released: BTreeSet<usize>,
}

impl<T> Default for Sockets<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), made: 0, released: BTreeSet::new() }
    }
}

impl<T> Sockets<T> {
    pub(crate) fn add(&mut self, socket: T) -> SocketId {
        self.all.insert(self.made, socket);
        self.made += 1;
        SocketId(self.made - 1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.values_mut()
    }

    /// Nobody asks for a socket any more.
    pub(crate) fn release(&mut self, socket: SocketId) {
        self.released.insert(socket.0);
    }

    /// Drops the released sockets of which `is_at_rest` holds, and returns them.
    pub(crate) fn drop_released(&mut self, mut is_at_rest: impl FnMut(&mut T) -> bool) -> Vec<T> {
        let all = &mut self.all;
        let resting = self.released.extract_if(.., |id| all.get_mut(id).is_none_or(&mut is_at_rest));
        let resting: Vec<usize> = resting.collect();
        resting.iter().filter_map(|id| self.all.remove(id)).collect()
    }
}

impl<T> Index<SocketId> for Sockets<T> {
    type Output = T;

    fn index(&self, socket: SocketId) -> &T {
        &self.all[&socket.0]
    }
}

impl<T> IndexMut<SocketId> for Sockets<T> {
    fn index_mut(&mut self, socket: SocketId) -> &mut T {
        self.all.get_mut(&socket.0).expect("a socket that has not been released")
    }
}

/// The two ends of a connection, seen from one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Ours.
    pub local: SocketAddrV4,
    /// The peer's.
    pub remote: SocketAddrV4,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The handshake is not done.
    Opening,
    /// Data may go.
    Open,
    /// Both streams have ended, and the peer knows it.
    Closed,
    /// It was given up before its end.
    Broken(&'static str),
}

/// A stack's own counts of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that were sent.
    pub packets: u64,
    /// Packets that the sender took for lost.
    pub lost: u64,
    /// Probe timeouts (RFC 9002 §6.2).
    pub probe_timeouts: u64,
    /// Congestion events (RFC 9002 §7.3.2).
    pub congestion_events: u64,
    /// When the first packet was sent.
    pub first_sent: Option<Instant>,
    /// When the last packet came that told the sender something before its stream was closed.
    pub last_heard: Option<Instant>,
}

impl Counters {
    /// Adds those of another connection.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.lost += other.lost;
        self.probe_timeouts += other.probe_timeouts;
        self.congestion_events += other.congestion_events;
        self.first_sent = self.first_sent.into_iter().chain(other.first_sent).min();
        self.last_heard = self.last_heard.max(other.last_heard);
    }
}

/// What a stack is made with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The host's address.
    pub address: Ipv4Addr,
    /// The largest packet that its links take.
    pub mtu: Bytes,
    /// Where its random numbers come from.
    pub streams: Streams,
    /// The host's profile, for stacks that follow one.
    pub profile: Arc<tcp::Config>,
    /// Whether [`Stack::take_records`] is asked for.
    pub records: bool,
}

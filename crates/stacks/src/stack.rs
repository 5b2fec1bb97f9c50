//! The interface of a stack: inputs, commands, outputs and questions.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use units::{Bytes, FlowId, Instant, Streams};
use wire::Payload;
use workload::{Counters, Ends, ObservedRecord};

use crate::dccp_settings::DccpSettings;
use crate::migration::Migration;
use crate::quinn_settings::QuinnSettings;

/// A network stack of one host, without input or output.
///
/// Order of calls: after every `handle_*` and every command, [`Stack::poll_transmit`] until it returns `None`; then
/// [`Stack::handle_timeout`] at [`Stack::poll_timeout`]. Times never decrease. Nothing here fails: the stack drops or
/// answers an odd packet, and a connection that breaks is a [`Phase`].
pub trait Stack: Send {
    /// Command: opens a connection. A stack of QUIC opens another stream of it, where a connection between these ends
    /// is open already; so does [`Stack::listen`].
    fn connect(&mut self, now: Instant, ends: Ends) -> StackSocket;

    /// Command: waits for the connection of one peer.
    fn listen(&mut self, ends: Ends) -> StackSocket;

    /// Command: appends to the stream. Returns the number of bytes taken: fewer than the payload has where a buffer is
    /// full.
    fn write(&mut self, socket: StackSocket, payload: &Payload) -> u32;

    /// Command: appends what has arrived in order to `out`. Returns whether the peer's stream has ended there.
    fn read(&mut self, socket: StackSocket, out: &mut Vec<u8>) -> bool;

    /// Whether it carries datagrams, which may be lost: what is written in one call is one datagram, and what arrives
    /// is read by [`Stack::read_datagram`] and not compared with a stream.
    fn carries_datagrams(&self) -> bool {
        false
    }

    /// Command: sends a datagram, once the congestion control lets it go. Returns whether there was room for it.
    fn send_datagram(&mut self, _socket: StackSocket, _payload: Vec<u8>) -> bool {
        false
    }

    /// Command: takes the next datagram that has arrived.
    fn read_datagram(&mut self, _socket: StackSocket) -> Option<Vec<u8>> {
        None
    }

    /// Command: ends our stream.
    fn close(&mut self, now: Instant, socket: StackSocket);

    /// Command: reads no more. Once our stream is closed too, further data of the peer's reset the connection, in a
    /// stack that can do so.
    fn shut_receiving(&mut self, _socket: StackSocket) {}

    /// Command: releases a socket, which is not named again. A connection that is not closed is given up. The stack
    /// keeps the socket as long as its timers run (TIME-WAIT).
    fn release(&mut self, now: Instant, socket: StackSocket);

    /// An IP packet has arrived.
    fn handle_packet(&mut self, now: Instant, packet: &[u8]);

    /// The time that [`Stack::poll_timeout`] named has come.
    fn handle_timeout(&mut self, now: Instant);

    /// The next IP packet to send.
    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>>;

    /// Time at which to call [`Stack::handle_timeout`].
    fn poll_timeout(&mut self, now: Instant) -> Option<Instant>;

    /// The phase of a connection.
    fn phase(&self, socket: StackSocket) -> Phase;

    /// The stack's own counters of a connection. Only stacks whose packets are opaque have any: the segments of a TCP
    /// show everything.
    fn counters(&self, _socket: StackSocket) -> Option<Counters> {
        None
    }

    /// The same while the connection lasts. Of several streams of one connection, one alone has them.
    fn counters_so_far(&self, socket: StackSocket) -> Option<Counters> {
        self.counters(socket)
    }

    /// The decisions of a sender since the last call, for the table `tcp`; none from stacks that do not report them.
    fn take_records(&mut self, _socket: StackSocket) -> Vec<ObservedRecord> {
        Vec::new()
    }
}

/// A socket of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackSocket(pub(crate) usize);

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
    pub(crate) fn add(&mut self, socket: T) -> StackSocket {
        self.all.insert(self.made, socket);
        self.made += 1;
        StackSocket(self.made - 1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.values_mut()
    }

    /// The first socket for which `is_it` holds. Only quinn asks.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<StackSocket> {
        self.all.iter().find(|(_, socket)| is_it(socket)).map(|(id, _)| StackSocket(*id))
    }

    /// Releases a socket.
    pub(crate) fn release(&mut self, socket: StackSocket) {
        self.released.insert(socket.0);
    }

    /// Drops the released sockets for which `is_at_rest` holds, and returns them.
    pub(crate) fn drop_released(&mut self, mut is_at_rest: impl FnMut(&mut T) -> bool) -> Vec<T> {
        let all = &mut self.all;
        let resting = self.released.extract_if(.., |id| all.get_mut(id).is_none_or(&mut is_at_rest));
        let resting: Vec<usize> = resting.collect();
        resting.iter().filter_map(|id| self.all.remove(id)).collect()
    }
}

impl<T> Index<StackSocket> for Sockets<T> {
    type Output = T;

    fn index(&self, socket: StackSocket) -> &T {
        &self.all[&socket.0]
    }
}

impl<T> IndexMut<StackSocket> for Sockets<T> {
    fn index_mut(&mut self, socket: StackSocket) -> &mut T {
        self.all.get_mut(&socket.0).expect("a socket that has not been released")
    }
}

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The handshake is not done.
    Opening,
    /// Data may be sent.
    Open,
    /// Both streams have ended, and the peer knows it.
    Closed,
    /// It was given up before its end.
    Broken(&'static str),
}

/// A receiver read a byte that the sender did not write in that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupted {
    /// The flow.
    pub flow: FlowId,
    /// The place in the stream.
    pub position: u64,
}

/// The parameters of a stack.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The host's address.
    pub address: Ipv4Addr,
    /// The largest packet that its links take.
    pub mtu: Bytes,
    /// The streams of its random numbers.
    pub streams: Streams,
    /// The host's profile, for stacks that follow one.
    pub profile: Arc<tcp::Config>,
    /// The host's settings of quinn, for that stack.
    pub quinn: QuinnSettings,
    /// The host's settings of DCCP, for that stack.
    pub dccp: DccpSettings,
    /// The change of the host's address, for the stack of QUIC.
    pub migration: Option<Migration>,
    /// The ports of servers that speak HTTP/3, for that stack.
    pub http3: BTreeSet<u16>,
    /// Whether [`Stack::take_records`] is called.
    pub records: bool,
}

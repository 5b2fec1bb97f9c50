//! The interface of a host at which programs have ends of connections and of datagrams.

use std::net::SocketAddrV4;

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FlowId, Instant, NodeId};

use crate::datagram::OutgoingDatagram;
use crate::outcome::{Counters, ObservedRecord};
use crate::program::{SocketCall, SocketId};

/// The hosts of a run, by node.
pub trait HostTable {
    /// The host of a node, if programs can have ends there.
    fn host(&mut self, node: NodeId) -> Option<&mut dyn ProgramHost>;
}

/// A host at which programs have ends: a stack in this process, a kernel's sockets, or a proxy for a host elsewhere.
///
/// Order of calls: commands, and after each of them and after each input of the host [`ProgramHost::poll_event`] until
/// it returns `None`. A proxy executes commands in their order, and a little later.
pub trait ProgramHost {
    /// Command: opens an end of a connection. It connects, or it waits for the one peer, whose host gets its command to
    /// connect after this. An end that waits may be opened again, for another peer.
    fn open(&mut self, now: Instant, key: Key, ends: Ends, connects: bool);

    /// Command: makes a call on an end. An end that is over takes no calls.
    fn call(&mut self, now: Instant, key: Key, call: SocketCall);

    /// Command: removes an end, and gives up a connection that is not over.
    fn remove(&mut self, now: Instant, key: Key) -> Remains;

    /// Command: sends a datagram of a flow.
    fn send_datagram(&mut self, flow: FlowId, outgoing: OutgoingDatagram);

    /// The next event of one of the flows that `wanted` selects.
    fn poll_event(&mut self, now: Instant, wanted: &dyn Fn(FlowId) -> bool) -> Option<HostEvent>;
}

/// An end of a connection at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The flow.
    pub flow: FlowId,
    /// The connection.
    pub socket: SocketId,
}

/// The addresses of the two ends of a connection, as seen from one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// The address of this end.
    pub local: SocketAddrV4,
    /// The address of the peer.
    pub remote: SocketAddrV4,
}

impl Ends {
    /// The same connection as seen from the peer.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { local: self.remote, remote: self.local }
    }
}

/// An event at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEvent {
    /// Time of the event.
    pub at: Instant,
    /// Delay until the caller gets it: zero from a host in this process.
    pub late_by: Duration,
    /// The flow.
    pub flow: FlowId,
    /// The event.
    pub event: EndEvent,
}

/// An event at a host's end of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndEvent {
    /// The end connects from another port than its command said, because that port was in use.
    OtherPort {
        /// The connection.
        socket: SocketId,
        /// The port.
        port: u16,
    },
    /// The end has read up to the position of its [`SocketCall::NotifyRead`].
    Read {
        /// The connection.
        socket: SocketId,
        /// Bytes since the connection was opened.
        position: u64,
    },
    /// The connection is over at this end: closed, or broken for a reason.
    Over {
        /// The connection.
        socket: SocketId,
        /// Why it broke, if it did.
        broken: Option<String>,
    },
    /// A datagram has arrived.
    Datagram {
        /// Its number among the datagrams of its side.
        number: u64,
        /// The size of the packet, IP header included.
        size: Bytes,
    },
    /// The host has refused to send a datagram.
    Refused {
        /// Its number.
        number: u64,
    },
}

/// The results of an end.
#[derive(Debug, Default)]
pub struct Remains {
    /// Bytes that were read and checked.
    pub read: u64,
    /// The stack's own counters.
    pub counters: Option<Counters>,
    /// The decisions of the stack.
    pub records: Vec<ObservedRecord>,
}

//! The interface between a program's runner and the hosts at both its ends.

use sim::ObservedRecord;
use units::{Bytes, Instant};

use super::OutgoingDatagram;
use crate::host::Host;
use crate::stack::{Counters, Ends};

/// The hosts of a run, by their nodes.
pub trait HostTable {
    /// The host of a node, if programs can have ends there.
    fn host(&mut self, node: usize) -> Option<&mut dyn ProgramHost>;
}

/// A host at which programs have ends of connections and of datagrams: one with a stack in this process, or what speaks for
/// one that is elsewhere.
///
/// Order of calls: commands, and after each of them and whenever something has come, [`ProgramHost::poll_event`] until there
/// is nothing. A host that is elsewhere carries commands out in their order, and a little later.
pub trait ProgramHost {
    /// Command: opens an end: it connects, or waits for the one peer, whose host is told to connect after this. An end that
    /// waits may be opened again, for another peer.
    fn open(&mut self, now: Instant, key: Key, ends: Ends, connects: bool);

    /// Command: does something at an end. One that is over takes no commands any more.
    fn act(&mut self, now: Instant, key: Key, action: EndAction);

    /// Command: forgets an end. What is left of a connection that is not over is given up.
    fn remove(&mut self, now: Instant, key: Key) -> Remains;

    /// Command: sends a datagram of the flow at a place.
    fn send_datagram(&mut self, flow: usize, outgoing: OutgoingDatagram);

    /// What happened next to a flow that is wanted.
    fn poll_event(&mut self, now: Instant, wanted: &dyn Fn(usize) -> bool) -> Option<HostEvent>;
}

/// An end of a connection, by its flow's place and the number that the program gave the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The flow's place.
    pub flow: usize,
    /// The connection's number.
    pub socket: u32,
}

/// What a program does at its end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndAction {
    /// Writes so many more bytes, as soon as there is room.
    Write(u64),
    /// Writes as much as there is room for, from now on.
    WriteUnlimited,
    /// Closes behind the last byte that is to be written.
    Close,
    /// Asks for [`EndEvent::Read`] when the end has read up to a position.
    NotifyRead(u64),
}

/// Something that happened at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEvent {
    /// When.
    pub at: Instant,
    /// The place of the flow to which it happened.
    pub flow: usize,
    /// What.
    pub event: EndEvent,
}

/// Something that happened at a host's end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndEvent {
    /// The end connects from another port than was asked for, which somebody else has.
    OtherPort {
        /// The connection.
        socket: u32,
        /// The port.
        port: u16,
    },
    /// The end has read as far as was asked for.
    Read {
        /// The connection.
        socket: u32,
        /// Bytes since it was opened.
        position: u64,
    },
    /// The connection is over at this end: closed, or broken for a reason.
    Over {
        /// The connection.
        socket: u32,
        /// Why it broke, if it did.
        broken: Option<String>,
    },
    /// A datagram has arrived.
    Datagram {
        /// Its number among those of its side.
        number: u64,
        /// The packet, IP header included.
        size: Bytes,
    },
    /// The host has refused to send a datagram.
    Refused {
        /// Its number.
        number: u64,
    },
}

/// What is left of an end.
#[derive(Debug, Default)]
pub struct Remains {
    /// Bytes that were read and checked.
    pub read: u64,
    /// The stack's own counts.
    pub counters: Option<Counters>,
    /// The decisions of the stack.
    pub records: Vec<ObservedRecord>,
}

impl HostTable for Vec<(usize, Host)> {
    fn host(&mut self, node: usize) -> Option<&mut dyn ProgramHost> {
        let found = self.iter_mut().find(|(known, _)| *known == node);
        found.map(|(_, host)| host as &mut dyn ProgramHost)
    }
}

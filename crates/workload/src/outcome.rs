//! The results of a program.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use serde::{Deserialize, Serialize};
use units::{Duration, Instant, PerSide, Side};

use crate::log::ProgramLog;
use crate::program::SocketId;

/// The results of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramOutcome {
    /// Its transfers and datagrams.
    pub log: ProgramLog,
    /// Whether the program was done and its connections were closed.
    pub is_done: bool,
    /// Its connections, in the order in which they were opened.
    pub connections: Vec<ProgramConnection>,
    /// Whether every connection was closed at both ends.
    pub all_closed: bool,
    /// Bytes that `to` read and checked.
    pub received: u64,
    /// The counters of the stack at `from`, summed over all connections, if it has any.
    pub counters: Option<Counters>,
    /// Why the first connection that broke did, if one did.
    pub broken: Option<String>,
    /// The largest lateness of a wake-up.
    pub woken_late_by: Duration,
    /// The largest lateness of an event from a host elsewhere.
    pub heard_late_by: Duration,
}

/// The results of a program so far, without what its open connections have read and counted.
#[derive(Clone, Copy, Debug)]
pub struct ProgramProgress<'a> {
    /// Its transfers and datagrams.
    pub log: &'a ProgramLog,
    /// Its connections, in the order in which they were opened.
    pub connections: &'a [ProgramConnection],
    /// Bytes that `to` read and checked on connections that are over.
    pub received: u64,
    /// The counters of the stack at `from` for these, if it has any.
    pub counters: Option<Counters>,
}

/// A connection of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramConnection {
    /// The program's number for it.
    pub socket: SocketId,
    /// The side that opened it.
    pub opener: Side,
    /// The addresses of its ends.
    pub ends: PerSide<SocketAddrV4>,
    /// The decisions of both ends, from stacks that report them. Those of another machine are not known.
    #[serde(skip)]
    pub records: PerSide<Vec<ObservedRecord>>,
}

/// A decision of an end outside the World.
#[derive(Clone, Copy, Debug)]
pub struct ObservedRecord {
    /// The place in the stream that it is about.
    pub place: i64,
    /// The decision; its sequence number has no meaning.
    pub record: tcp::Record,
}

/// A stack's own counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets sent.
    pub packets: u64,
    /// Packets that the sender declared lost.
    pub lost: u64,
    /// Probe timeouts (RFC 9002 §6.2).
    pub probe_timeouts: u64,
    /// Congestion events (RFC 9002 §7.3.2).
    pub congestion_events: u64,
    /// Time at which the first packet was sent.
    pub first_sent: Option<Instant>,
    /// Time at which the last packet arrived that acknowledged data of the sender before its stream was closed.
    pub last_heard: Option<Instant>,
}

impl Counters {
    /// The loss events of a half-connection of DCCP with this sender: its receiver counts them, or else it does.
    #[must_use]
    pub const fn loss_events(&self, receiver: &Self) -> u64 {
        if receiver.packets == 0 && receiver.congestion_events > 0 {
            receiver.congestion_events
        } else {
            self.congestion_events
        }
    }

    /// Adds the counters of another connection.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.lost += other.lost;
        self.probe_timeouts += other.probe_timeouts;
        self.congestion_events += other.congestion_events;
        self.first_sent = self.first_sent.into_iter().chain(other.first_sent).min();
        self.last_heard = self.last_heard.max(other.last_heard);
    }
}

impl ProgramOutcome {
    /// Joins the outcomes of the two copies of a program that ran on two machines, each with the host of one side.
    #[must_use]
    pub fn join(from: Self, to: Self) -> Self {
        let mut of_to: BTreeMap<SocketId, ProgramConnection> =
            to.connections.into_iter().map(|one| (one.socket, one)).collect();
        let join = |one: ProgramConnection| match of_to.remove(&one.socket) {
            Some(other) => one.join(other),
            None => one,
        };
        Self {
            connections: from.connections.into_iter().map(join).collect(),
            log: ProgramLog::join(from.log, to.log),
            is_done: from.is_done && to.is_done,
            all_closed: from.all_closed,
            received: to.received,
            counters: from.counters,
            broken: from.broken.or(to.broken),
            woken_late_by: from.woken_late_by.max(to.woken_late_by),
            heard_late_by: from.heard_late_by.max(to.heard_late_by),
        }
    }
}

impl ProgramConnection {
    /// Joins a connection as the host of `from` knows it with what the host of `to` knows.
    fn join(self, mut to: Self) -> Self {
        // The side that opens a connection knows the port from which it did.
        let ends = if self.opener == Side::From { self.ends } else { to.ends };
        let [own, _] = self.records.into_array();
        let records = PerSide::new(own, std::mem::take(&mut to.records[Side::To]));
        Self { ends, records, ..to }
    }
}

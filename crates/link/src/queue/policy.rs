//! Policies: which packets of one line are dropped or marked.

use std::fmt::Debug;

use units::{Bytes, Duration, Instant, Rate};

use crate::event::DropRule;
use crate::packet::Ecn;

/// Decides about packets as they enter and leave a line.
pub trait Policy: Debug + Send {
    /// A packet arrives. Called for every packet, whether or not the limits let it in.
    fn on_arrival(&mut self, arrival: &Arrival) -> Decision;

    /// The packet at the head leaves the queue; it is dropped instead if that is the decision.
    fn on_departure(&mut self, _departure: &Departure) -> Decision {
        Decision::Pass
    }

    /// The packet at the head was removed: it was too old, or made room for another. `left` packets remain.
    fn on_removal(&mut self, _now: Instant, _left: u32) {}

    /// Packet that is dropped when a packet arrives and there is no room.
    fn victim(&self) -> Victim {
        Victim::Arriving
    }

    /// The moving average of the queue length, in packets or, where the policy counts bytes, in
    /// bytes, if it keeps one.
    fn average(&self) -> Option<f64> {
        None
    }
}

/// Packet that is dropped when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The packet that arrives.
    Arriving,
    /// The packet at the head of the line.
    Oldest,
}

/// A packet that arrives at a line, and the state in which it finds the queue and the link.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time at which it arrives.
    pub now: Instant,
    /// Its size, framing included.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Packets in the line.
    pub queued: u32,
    /// Their bytes, framing included.
    pub queued_bytes: Bytes,
    /// Whether the limits have room for it. If not, it is an overflow unless the policy drops it first.
    pub has_room: bool,
    /// Start of the link's idle time, if it is idle.
    pub idle_since: Option<Instant>,
    /// The link's base rate, if it has one.
    pub rate: Option<Rate>,
}

/// A packet that leaves a queue, and the remaining ones.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Time at which it leaves.
    pub now: Instant,
    /// Its size, framing included.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Time that it spent in the queue.
    pub waited: Duration,
    /// Packets that remain.
    pub left: u32,
    /// Their bytes, framing included.
    pub left_bytes: Bytes,
}

/// A policy's decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet continues.
    Pass,
    /// The packet continues with a CE mark. Only for ECN-capable packets.
    Mark(DropRule),
    /// The packet is dropped.
    Drop(DropRule),
    /// The packet continues, and the packet at the head is dropped, if there is one. On arrival only.
    DropOldest(DropRule),
}

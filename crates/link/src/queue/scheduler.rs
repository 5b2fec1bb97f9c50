//! Schedulers: into which sub-queues packets are classified, and which of them is served next.

use std::fmt::Debug;

use units::{Bytes, Instant};

use super::policy::{Arrival, Decision, Departure, Policy};
use super::sub_queue::SubQueue;
use crate::packet::{Ecn, PureAck};

/// The fields by which packets are classified.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keys {
    /// The flow of the packet.
    pub flow: u64,
    /// The host that sent it.
    pub source: u64,
    /// The host that it is for.
    pub destination: u64,
    /// Its traffic class, 0 the lowest.
    pub class: u8,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its differentiated services code point.
    pub dscp: u8,
    /// Whether it is an ACK of TCP without data, with SACK blocks or without.
    pub is_ack: bool,
    /// Its acknowledgment, if it is a pure ACK.
    pub ack: Option<PureAck>,
}

/// Serves several sub-queues, which are numbered from 0.
///
/// Order of calls for a packet: [`classify`](Self::classify) when it arrives,
/// [`on_queued`](Self::on_queued) once it waits; [`next`](Self::next) any number of times, then
/// [`on_served`](Self::on_served) when the head of that sub-queue leaves and is not dropped.
pub trait Scheduler: Debug + Send {
    /// The number of the packet's sub-queue. Sub-queues up to it are made as they are needed.
    fn classify(&mut self, keys: &Keys) -> usize;

    /// The policy of a sub-queue that is made.
    fn policy(&self, sub_queue: usize) -> Box<dyn Policy>;

    /// Whether a packet of this size fits into its sub-queue, whatever the limits of the whole queue.
    fn has_room(&self, _sub_queue: &SubQueue, _size: Bytes) -> bool {
        true
    }

    /// The decision on a packet that arrives at this sub-queue. Its policy decides, unless the decision depends on more
    /// than its sub-queue.
    fn on_arrival(&mut self, sub_queues: &mut [SubQueue], sub_queue: usize, arrival: &Arrival) -> Decision {
        sub_queues[sub_queue].on_arrival(arrival)
    }

    /// The decision on the packet that leaves this sub-queue's head.
    fn on_departure(
        &mut self,
        sub_queues: &mut [SubQueue],
        sub_queue: usize,
        departure: &Departure,
    ) -> Decision {
        sub_queues[sub_queue].on_departure(departure)
    }

    /// A packet waits in this sub-queue.
    fn on_queued(&mut self, _sub_queue: usize) {}

    /// The position in this sub-queue, from its head, of a packet that the last queued one makes redundant, and that is
    /// dropped. Called until there is none.
    fn superseded(&mut self, _sub_queue: usize) -> Option<usize> {
        None
    }

    /// The sub-queue, not an empty one, whose head leaves next; none before [`ready_at`](Self::ready_at). Called only
    /// while packets wait.
    fn next(&mut self, sub_queues: &[SubQueue], now: Instant) -> Option<usize>;

    /// Time at which the next packet may leave, if the scheduler shapes.
    fn ready_at(&self) -> Option<Instant> {
        None
    }

    /// The head of this sub-queue was removed: it was too old, or made room for another.
    fn on_removed(&mut self, _sub_queue: usize) {}

    /// A packet of this size has left this sub-queue.
    fn on_served(&mut self, sub_queue: usize, size: Bytes);

    /// The sub-queue from which packets are dropped to make room for a packet that arrives at the sub-queue `arriving`,
    /// and at most how many; none if the arriving packet is the one to drop.
    fn victims(&self, _sub_queues: &[SubQueue], _arriving: usize) -> Option<(usize, u32)> {
        None
    }
}

//! The input queue: the waiting packets, the limits, and the discipline's decisions.

use units::{Bytes, Instant, Rate, Stream};

use super::classful::ClassfulQueue;
use super::fifo::{Fifo, QueuedPacket};
use super::limits::Limits;
use super::policy::{Arrival, Decision, Victim};
use super::scheduler::Keys;
use super::setting::Service;
use super::settings::Overflow;
use super::sub_queue::SubQueue;
use crate::config::Config;
use crate::event::DropRule;
use crate::packet::Ecn;

/// A packet that arrives at the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivingPacket {
    pub(crate) now: Instant,
    pub(crate) size: Bytes,
    /// Needed only if the queue is not [plain](InputQueue::is_plain).
    pub(crate) ecn: Ecn,
    pub(crate) rate: Option<Rate>,
    pub(crate) idle_since: Option<Instant>,
    /// Whether it has to wait; a packet that goes straight on meets no limit.
    pub(crate) waits: bool,
    /// Needed only if the queue [classifies](InputQueue::classifies).
    pub(crate) keys: Keys,
}

/// The treatment of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is let in.
    Admit,
    /// It is let in and marked.
    Mark(DropRule),
    /// It is dropped.
    Drop(DropRule),
    /// It is let in, and the oldest packet is dropped.
    DropOldest(DropRule),
    /// It is let in if [`InputQueue::evict`] makes room.
    MakeRoom,
}

#[derive(Debug)]
pub(crate) struct InputQueue {
    discipline: ActiveDiscipline,
    limits: Limits,
    len: u32,
    bytes: Bytes,
}

#[derive(Debug)]
enum ActiveDiscipline {
    Plain(Fifo, Victim),
    Fifo(SubQueue),
    Classful(Box<ClassfulQueue>),
}

impl InputQueue {
    pub(crate) fn new(config: &Config, stream: Stream) -> Self {
        let queue = config.queue_in_bytes();
        let discipline = match queue.discipline.service(stream) {
            Service::Plain(victim) => ActiveDiscipline::Plain(Fifo::default(), victim),
            Service::Fifo(policy) => ActiveDiscipline::Fifo(SubQueue::new(policy)),
            Service::Classful(scheduler) => {
                ActiveDiscipline::Classful(Box::new(ClassfulQueue::new(scheduler)))
            }
        };
        Self { discipline, limits: Limits::new(&queue), len: 0, bytes: Bytes::ZERO }
    }

    /// Whether it looks at nothing of a packet but its size, and lets every packet in within the limits.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.discipline, ActiveDiscipline::Plain(..))
    }

    /// Whether packets are classified.
    #[inline]
    pub(crate) const fn classifies(&self) -> bool {
        matches!(self.discipline, ActiveDiscipline::Classful(_))
    }

    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) const fn overflow(&self) -> Overflow {
        self.limits.overflow()
    }

    /// The policy's moving average, if it keeps one; sub-queues' averages are not reported.
    #[inline]
    pub(crate) fn average(&self) -> Option<f64> {
        match &self.discipline {
            ActiveDiscipline::Fifo(queue) => queue.policy().average(),
            ActiveDiscipline::Plain(..) | ActiveDiscipline::Classful(_) => None,
        }
    }

    /// Whether the upstream neighbour must hold its packets back.
    pub(crate) fn holds_back(&self) -> bool {
        self.limits.hold_back(self.len, self.bytes)
    }

    /// The treatment of an arriving packet: the discipline decides first, then the limits.
    #[inline]
    pub(crate) fn admission(&mut self, packet: &ArrivingPacket) -> Admission {
        if let ActiveDiscipline::Classful(queue) = &mut self.discipline {
            queue.classify(&packet.keys);
        }
        let has_room = !packet.waits || self.has_room(packet.size);
        match self.decision(packet, has_room) {
            Decision::Drop(rule) => Admission::Drop(rule),
            Decision::DropOldest(rule) => Admission::DropOldest(rule),
            _ if !has_room => self.at_limit(),
            Decision::Pass => Admission::Admit,
            Decision::Mark(rule) => Admission::Mark(rule),
        }
    }

    #[inline]
    fn decision(&mut self, packet: &ArrivingPacket, has_room: bool) -> Decision {
        let arrival = Arrival {
            now: packet.now,
            size: packet.size,
            ecn: packet.ecn,
            queued: self.len,
            queued_bytes: self.bytes,
            has_room,
            idle_since: packet.idle_since,
            rate: packet.rate,
        };
        match &mut self.discipline {
            ActiveDiscipline::Plain(..) => Decision::Pass,
            ActiveDiscipline::Fifo(queue) => queue.on_arrival(&arrival),
            ActiveDiscipline::Classful(queue) => queue.on_arrival(&arrival),
        }
    }

    /// The treatment of a packet that finds no room.
    #[cold]
    fn at_limit(&self) -> Admission {
        let makes_room = match &self.discipline {
            ActiveDiscipline::Plain(_, victim) => *victim == Victim::Oldest,
            ActiveDiscipline::Fifo(queue) => queue.policy().victim() == Victim::Oldest,
            ActiveDiscipline::Classful(_) => true,
        };
        if makes_room { Admission::MakeRoom } else { Admission::Drop(DropRule::OVERFLOW) }
    }

    /// Whether there is room for the packet that arrived last.
    #[inline]
    pub(crate) fn has_room(&self, size: Bytes) -> bool {
        if let ActiveDiscipline::Classful(queue) = &self.discipline
            && !queue.has_room(size)
        {
            return false;
        }
        self.limits.has_room(self.len, self.bytes, size)
    }

    /// The packet that arrived last waits.
    #[inline]
    pub(crate) fn push(&mut self, packet: QueuedPacket) {
        self.len += 1;
        self.bytes += packet.size;
        match &mut self.discipline {
            ActiveDiscipline::Plain(fifo, _) => fifo.push(packet),
            ActiveDiscipline::Fifo(queue) => queue.push(packet),
            ActiveDiscipline::Classful(queue) => queue.push(packet),
        }
    }

    /// Takes out a packet that the last arrived one makes redundant, if there is one.
    #[inline]
    pub(crate) fn take_superseded(&mut self) -> Option<QueuedPacket> {
        let ActiveDiscipline::Classful(queue) = &mut self.discipline else { return None };
        let packet = queue.take_superseded()?;
        self.on_gone(&packet);
        Some(packet)
    }

    /// Time at which the discipline lets the next packet leave, if it shapes.
    #[inline]
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        match &self.discipline {
            ActiveDiscipline::Classful(queue) => queue.ready_at(),
            ActiveDiscipline::Plain(..) | ActiveDiscipline::Fifo(_) => None,
        }
    }

    /// The size of the packet that leaves next.
    #[inline]
    pub(crate) fn next_size(&mut self, now: Instant) -> Option<Bytes> {
        if self.len == 0 {
            return None;
        }
        let head = match &mut self.discipline {
            ActiveDiscipline::Plain(fifo, _) => fifo.head(),
            ActiveDiscipline::Fifo(queue) => queue.head(),
            ActiveDiscipline::Classful(queue) => queue.head(now),
        };
        head.map(|head| head.size)
    }

    /// Takes the next packet, with the discipline's decision on it; called only while packets wait.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(QueuedPacket, Decision)> {
        let (head, decision) = match &mut self.discipline {
            ActiveDiscipline::Plain(fifo, _) => (fifo.pop()?, Decision::Pass),
            ActiveDiscipline::Fifo(queue) => queue.pop(now)?,
            ActiveDiscipline::Classful(queue) => queue.pop(now)?,
        };
        self.on_gone(&head);
        Some((head, decision))
    }

    /// The discipline's decision on the departure of the last arrived packet, which need not wait.
    #[inline]
    pub(crate) fn pass_through(&mut self, now: Instant, packet: &QueuedPacket) -> Decision {
        match &mut self.discipline {
            ActiveDiscipline::Plain(..) => Decision::Pass,
            ActiveDiscipline::Fifo(queue) => queue.on_departure(&queue.departure(now, packet)),
            ActiveDiscipline::Classful(queue) => {
                queue.push(*packet);
                queue.pop(now).map_or(Decision::Pass, |(_, decision)| decision)
            }
        }
    }

    /// Removes packets to make room, into `evicted`: none if the arriving packet is the one to drop.
    pub(crate) fn evict(&mut self, now: Instant, evicted: &mut Vec<QueuedPacket>) {
        match &mut self.discipline {
            ActiveDiscipline::Plain(fifo, _) => evicted.extend(fifo.pop()),
            ActiveDiscipline::Fifo(queue) => evicted.extend(queue.remove_head(now)),
            ActiveDiscipline::Classful(queue) => queue.evict(now, evicted),
        }
        evicted.iter().for_each(|packet| self.on_gone(packet));
    }

    /// Time at which the packet arrived that has waited longest.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        match &self.discipline {
            ActiveDiscipline::Plain(fifo, _) => fifo.head().map(|head| head.arrived),
            ActiveDiscipline::Fifo(queue) => queue.head().map(|head| head.arrived),
            ActiveDiscipline::Classful(queue) => queue.oldest().map(|(arrived, _)| arrived),
        }
    }

    /// Removes the packet that has waited longest, without a decision of the discipline.
    pub(crate) fn remove_oldest(&mut self, now: Instant) -> Option<QueuedPacket> {
        let oldest = match &mut self.discipline {
            ActiveDiscipline::Plain(fifo, _) => fifo.pop(),
            ActiveDiscipline::Fifo(queue) => queue.remove_head(now),
            ActiveDiscipline::Classful(queue) => queue.remove_oldest(now),
        }?;
        self.on_gone(&oldest);
        Some(oldest)
    }

    #[inline]
    fn on_gone(&mut self, packet: &QueuedPacket) {
        self.len -= 1;
        self.bytes -= packet.size;
    }

    #[cfg(test)]
    pub(crate) fn set_policy(&mut self, policy: Box<dyn super::Policy>) {
        self.discipline = ActiveDiscipline::Fifo(SubQueue::new(policy));
    }
}

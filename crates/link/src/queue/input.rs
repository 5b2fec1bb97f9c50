//! The input queue itself: who waits, the limits, and what the discipline says.

use units::{Bytes, Instant, Rate, Stream};

use super::lane::{Lane, Waiting};
use super::limits::Limits;
use super::scheduler::{Keys, Lanes};
use super::{Arrival, Service, Verdict, Victim, tail_drop};
use crate::config::{self, Overflow};
use crate::event::DropRule;
use crate::packet::Ecn;

/// A packet that comes to the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) now: Instant,
    pub(crate) size: Bytes,
    pub(crate) ecn: Ecn,
    pub(crate) rate: Option<Rate>,
    /// Whether it would have to wait; one that would not is not stopped by a limit.
    pub(crate) waits: bool,
    /// Needed only if the queue [sorts](InputQueue::sorts).
    pub(crate) keys: Keys,
}

/// What becomes of a packet that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It comes in.
    Admit,
    /// It comes in and is marked.
    Mark(DropRule),
    /// It does not come in.
    Refuse(DropRule),
    /// It comes in, and the oldest goes.
    DropOldest(DropRule),
    /// It comes in if [`InputQueue::evict`] makes room.
    MakeRoom,
}

#[derive(Debug)]
pub(crate) struct InputQueue {
    line: Lane,
    /// In place of the line, where packets are told apart.
    lanes: Option<Box<Lanes>>,
    limits: Limits,
    /// Who goes at a limit, where the queue lets everything in within them.
    plain: Option<Victim>,
}

impl InputQueue {
    pub(crate) fn new(config: &config::Queue, stream: Stream) -> Self {
        let (policy, lanes, plain) = match config.discipline.service(stream) {
            Service::Plain(victim) => (tail_drop::policy(), None, Some(victim)),
            Service::Line(policy) => (policy, None, None),
            Service::Lanes(scheduler) => (tail_drop::policy(), Some(Box::new(Lanes::new(scheduler))), None),
        };
        Self { line: Lane::new(policy), lanes, limits: Limits::new(config), plain }
    }

    /// Whether it never looks at what a packet is, and lets all pass within the limits.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// Whether packets are told apart.
    #[inline]
    pub(crate) const fn sorts(&self) -> bool {
        self.lanes.is_some()
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.lanes.as_ref().map_or_else(|| self.line.len(), |lanes| lanes.len())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(crate) fn bytes(&self) -> Bytes {
        self.lanes.as_ref().map_or_else(|| self.line.bytes(), |lanes| lanes.bytes())
    }

    pub(crate) const fn overflow(&self) -> Overflow {
        self.limits.overflow()
    }

    #[inline]
    pub(crate) fn average(&self) -> Option<f64> {
        if self.is_plain() { None } else { self.line.policy().average() }
    }

    /// Whether upstream should hold its packets back.
    pub(crate) fn holds_back(&self) -> bool {
        self.limits.hold_back(self.len(), self.bytes())
    }

    /// What becomes of a packet that comes: the discipline first, then the limits.
    #[inline]
    pub(crate) fn judge(&mut self, offer: &Offer) -> Judgement {
        if self.is_plain() {
            let fits = !offer.waits || self.has_room(offer.size);
            return if fits { Judgement::Admit } else { self.overflows() };
        }
        self.ask_discipline(offer)
    }

    fn ask_discipline(&mut self, offer: &Offer) -> Judgement {
        let arrival = Arrival {
            now: offer.now,
            size: offer.size,
            ecn: offer.ecn,
            waiting: self.len(),
            waiting_bytes: self.bytes(),
            rate: offer.rate,
        };
        let verdict = match &mut self.lanes {
            None => self.line.on_arrival(&arrival),
            Some(lanes) => lanes.on_arrival(&arrival, &offer.keys),
        };
        match verdict {
            Verdict::Drop(rule) => Judgement::Refuse(rule),
            Verdict::DropOldest(rule) => Judgement::DropOldest(rule),
            _ if offer.waits && !self.has_room(offer.size) => self.overflows(),
            Verdict::Pass => Judgement::Admit,
            Verdict::Mark(rule) => Judgement::Mark(rule),
        }
    }

    fn overflows(&self) -> Judgement {
        let makes_room = match &self.lanes {
            None => self.plain.unwrap_or_else(|| self.line.policy().victim()) == Victim::Oldest,
            Some(_) => true,
        };
        if makes_room { Judgement::MakeRoom } else { Judgement::Refuse(DropRule::OVERFLOW) }
    }

    /// Takes packets away to make room, into `evicted`; none if that is not to be.
    pub(crate) fn evict(&mut self, now: Instant, evicted: &mut Vec<Waiting>) {
        match &mut self.lanes {
            None => evicted.extend(self.line.remove_head(now)),
            Some(lanes) => lanes.evict(now, evicted),
        }
    }

    /// The packet that was judged last waits.
    #[inline]
    pub(crate) fn push(&mut self, waiting: Waiting) {
        match &mut self.lanes {
            None => self.line.push(waiting),
            Some(lanes) => lanes.push(waiting),
        }
    }

    /// The size of the packet that is next to leave.
    #[inline]
    pub(crate) fn next_size(&mut self) -> Option<Bytes> {
        match &mut self.lanes {
            None => self.line.head().map(|head| head.size),
            Some(lanes) => lanes.next_size(),
        }
    }

    /// Takes the next packet, and what the discipline says of it.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Waiting, Verdict)> {
        match &mut self.lanes {
            None if self.plain.is_some() => self.line.take().map(|head| (head, Verdict::Pass)),
            None => self.line.pop(now),
            Some(lanes) => lanes.pop(now),
        }
    }

    /// The packet that was judged last need not wait: what the discipline says of its leaving.
    #[inline]
    pub(crate) fn pass(&mut self, now: Instant, packet: &Waiting) -> Verdict {
        if self.is_plain() {
            return Verdict::Pass;
        }
        let Some(lanes) = &mut self.lanes else { return self.line.leave(now, packet) };
        lanes.push(*packet);
        lanes.pop(now).map_or(Verdict::Pass, |(_, verdict)| verdict)
    }

    /// Since when the longest has been waiting.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        match &self.lanes {
            None => self.line.head().map(|head| head.since),
            Some(lanes) => lanes.oldest().map(|(since, _)| since),
        }
    }

    /// Takes the packet that has been waiting longest, without asking the discipline.
    pub(crate) fn remove_oldest(&mut self, now: Instant) -> Option<Waiting> {
        match &mut self.lanes {
            None => self.line.remove_head(now),
            Some(lanes) => lanes.remove_oldest(now),
        }
    }

    /// Whether there is room for the packet that was judged last. Under flow control one more always
    /// finds room, as upstream cannot know its size.
    #[inline]
    pub(crate) fn has_room(&self, size: Bytes) -> bool {
        if self.lanes.as_ref().is_some_and(|lanes| !lanes.has_room(size)) {
            return false;
        }
        self.limits.has_room(self.len(), self.bytes(), size)
    }

    #[cfg(test)]
    pub(crate) fn set_policy(&mut self, policy: Box<dyn super::Policy>) {
        self.line.set_policy(policy);
        self.plain = None;
    }
}

//! The first half of a packet's walk: the input queue, from its coming to its leaving.

use units::{Bytes, Instant};

use super::Pipeline;
use super::store::Passage;
use crate::config::Overflow;
use crate::event::{DropRule, Event, Observer, StopReason};
use crate::packet::{Ecn, Packet};
use crate::queue::{Judgement, Keys, Offer, Verdict, Waiting};

impl<P: Packet> Pipeline<P> {
    /// What the queue is asked about a packet. Where it does not look at what a packet is, it is not
    /// told.
    #[inline]
    pub(super) fn offer(&self, now: Instant, packet: &P, size: Bytes) -> Offer {
        let waits = !self.queue.is_empty() || !self.takes(size);
        let ecn = if self.queue.is_plain() { Ecn::NotCapable } else { packet.ecn() };
        let keys = if self.queue.sorts() { keys_of(packet) } else { Keys::default() };
        Offer { now, size, ecn, rate: self.base_rate, waits, keys }
    }

    #[inline(always)]
    pub(super) fn admit(&mut self, now: Instant, packet: P, offer: &Offer, observer: &mut impl Observer<P>) {
        let Offer { size, ecn, waits, .. } = *offer;
        let event = Event::Queued {
            behind: self.queue.len(),
            behind_bytes: self.queue.bytes(),
            average: self.queue.average(),
        };
        observer.on_event(now, &packet, event);
        let arrival_number = self.counters.packets_in;
        let slot = self.store.insert(packet, Passage::new(size, now, arrival_number));
        let head = Waiting { slot, ecn, size, since: now };
        if waits {
            self.queue.push(head);
            self.counters.queue_max = self.counters.queue_max.max(u64::from(self.queue.len()));
        } else {
            let verdict = self.queue.pass(now, &head);
            self.leave_queue(now, head, verdict, observer);
        }
    }

    /// Whatever else becomes of a packet than being let in.
    #[cold]
    pub(super) fn act(
        &mut self,
        mut packet: P,
        offer: &Offer,
        judgement: Judgement,
        observer: &mut impl Observer<P>,
    ) {
        let now = offer.now;
        match judgement {
            Judgement::Admit => {}
            Judgement::Mark(rule) => self.mark(now, &mut packet, rule, observer),
            Judgement::Refuse(rule) => return self.refuse(now, &packet, rule, observer),
            Judgement::DropOldest(rule) => {
                self.evict(now, rule, observer);
            }
            Judgement::MakeRoom => {
                while !self.queue.has_room(offer.size) && self.evict(now, DropRule::OVERFLOW, observer) {}
            }
        }
        if offer.waits && !self.queue.has_room(offer.size) {
            return self.refuse(now, &packet, DropRule::OVERFLOW, observer);
        }
        self.admit(now, packet, offer, observer);
    }

    fn mark(&mut self, now: Instant, packet: &mut P, rule: DropRule, observer: &mut impl Observer<P>) {
        self.counters.marked += 1;
        packet.mark_ce();
        observer.on_event(now, packet, Event::Marked { rule });
    }

    /// Drops waiting packets to make room; whether there were any.
    fn evict(&mut self, now: Instant, rule: DropRule, observer: &mut impl Observer<P>) -> bool {
        let mut evicted = std::mem::take(&mut self.evicted);
        self.queue.evict(now, &mut evicted);
        evicted.iter().for_each(|head| self.drop_queued(now, head, rule, observer));
        let has_evicted = !evicted.is_empty();
        evicted.clear();
        self.evicted = evicted;
        has_evicted
    }

    pub(super) fn drop_queued(
        &mut self,
        now: Instant,
        head: &Waiting,
        rule: DropRule,
        observer: &mut impl Observer<P>,
    ) {
        self.counters.queue_drops += 1;
        let (behind, behind_bytes) = (self.queue.len(), self.queue.bytes());
        let event = Event::QueueDropped { rule, behind, behind_bytes, average: self.queue.average() };
        self.tell(now, head.slot, event, observer);
        self.store.take(head.slot);
    }

    fn refuse(&mut self, now: Instant, packet: &P, rule: DropRule, observer: &mut impl Observer<P>) {
        self.counters.queue_drops += 1;
        let (behind, behind_bytes) = (self.queue.len(), self.queue.bytes());
        let event = Event::QueueDropped { rule, behind, behind_bytes, average: self.queue.average() };
        observer.on_event(now, packet, event);
        if rule == DropRule::OVERFLOW && self.queue.overflow() == Overflow::Stop && self.stopped.is_none() {
            let reason =
                StopReason { at: now, packet: packet.id(), waiting: behind, waiting_bytes: behind_bytes };
            self.stopped = Some(reason);
        }
    }

    /// Moves on what can move: into transmission, and from the queue into the send buffer.
    pub(super) fn pump(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if self.transmitter.is_idle() {
            self.begin_next(now, observer);
        }
        while self.queue.next_size().is_some_and(|size| self.takes(size)) {
            if let Some((head, verdict)) = self.queue.pop(now) {
                self.leave_queue(now, head, verdict, observer);
            }
        }
    }

    /// Whether the next stage takes a packet from the queue.
    fn takes(&self, size: Bytes) -> bool {
        self.send_buffer.has_room(size) && (!self.send_buffer.is_absent() || self.underway.has_room(size))
    }

    #[inline(always)]
    fn leave_queue(
        &mut self,
        now: Instant,
        head: Waiting,
        verdict: Verdict,
        observer: &mut impl Observer<P>,
    ) {
        if let Verdict::Drop(rule) = verdict {
            return self.drop_queued(now, &head, rule, observer);
        }
        if let Verdict::Mark(rule) = verdict {
            self.counters.marked += 1;
            self.store.packet_mut(head.slot).map(P::mark_ce);
            self.tell(now, head.slot, Event::Marked { rule }, observer);
        }
        let (left, left_bytes) = (self.queue.len(), self.queue.bytes());
        let event = Event::LeftQueue { waited: now - head.since, left, left_bytes };
        self.tell(now, head.slot, event, observer);
        self.enter_send_buffer(now, head.slot, head.size, observer);
    }
}

fn keys_of(packet: &impl Packet) -> Keys {
    Keys {
        flow: packet.flow_key(),
        source: packet.source(),
        destination: packet.destination(),
        class: packet.class(),
    }
}

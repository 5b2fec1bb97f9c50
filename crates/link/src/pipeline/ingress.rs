//! The first part of a packet's way: from its arrival through the input queue to the send buffer.

use units::{Bytes, Instant};

use super::Pipeline;
use super::transmitter::Transmitter;
use crate::event::{DropRule, Event, Observer, StopReason};
use crate::packet::{Ecn, Packet};
use crate::queue::cake;
use crate::queue::{Admission, ArrivingPacket, Decision, Keys, Overflow, QueuedPacket};
use crate::store::PacketState;

impl<P: Packet> Pipeline<P> {
    /// The description of a packet for the queue: only the fields that its discipline uses.
    #[inline]
    pub(super) fn arriving(&self, now: Instant, packet: &P, size: Bytes) -> ArrivingPacket {
        let is_idle = matches!(self.transmitter, Transmitter::Idle);
        ArrivingPacket {
            now,
            size,
            ecn: if self.queue.is_plain() { Ecn::NotCapable } else { packet.ecn() },
            rate: self.base_rate,
            idle_since: is_idle.then_some(self.idle_since),
            waits: !self.queue.is_empty() || !self.takes(size) || self.is_shaped_until_after(now),
            keys: if self.queue.classifies() { keys_of(packet) } else { Keys::default() },
        }
    }

    #[inline(always)]
    pub(super) fn admit(&mut self, packet: P, arriving: &ArrivingPacket, observer: &mut impl Observer<P>) {
        let ArrivingPacket { now, size, ecn, waits, .. } = *arriving;
        let event = Event::Queued {
            behind: self.queue.len(),
            behind_bytes: self.queue.bytes(),
            average: self.queue.average(),
        };
        observer.on_event(now, &packet, event);
        let arrival_number = self.counters.packets_in;
        let handle = self.store.insert(packet, PacketState::new(size, now, arrival_number));
        let queued = QueuedPacket { handle, ecn, size, arrived: now };
        if waits {
            self.queue.push(queued);
            while let Some(packet) = self.queue.take_superseded() {
                self.drop_queued(now, &packet, cake::ACK_FILTER, observer);
            }
            self.watch_shaper(now);
            self.counters.queue_max = self.counters.queue_max.max(u64::from(self.queue.len()));
        } else {
            let decision = self.queue.pass_through(now, &queued);
            self.leave_queue(now, queued, decision, observer);
        }
    }

    /// Carries out any admission but the plain one.
    #[cold]
    pub(super) fn carry_out(
        &mut self,
        mut packet: P,
        arriving: &ArrivingPacket,
        admission: Admission,
        observer: &mut impl Observer<P>,
    ) {
        let now = arriving.now;
        match admission {
            Admission::Admit => {}
            Admission::Mark(rule) => self.mark(now, &mut packet, rule, observer),
            Admission::Drop(rule) => return self.drop_arriving(now, &packet, rule, observer),
            Admission::DropOldest(rule) => {
                self.evict(now, rule, observer);
            }
            Admission::MakeRoom => {
                while !self.queue.has_room(arriving.size) && self.evict(now, DropRule::OVERFLOW, observer) {}
            }
        }
        if arriving.waits && !self.queue.has_room(arriving.size) {
            return self.drop_arriving(now, &packet, DropRule::OVERFLOW, observer);
        }
        self.admit(packet, arriving, observer);
    }

    fn mark(&mut self, now: Instant, packet: &mut P, rule: DropRule, observer: &mut impl Observer<P>) {
        self.counters.marked += 1;
        packet.mark_ce();
        observer.on_event(now, packet, Event::Marked { rule });
    }

    /// Drops queued packets to make room; false if there were none to drop.
    fn evict(&mut self, now: Instant, rule: DropRule, observer: &mut impl Observer<P>) -> bool {
        let mut evicted = std::mem::take(&mut self.evicted);
        self.queue.evict(now, &mut evicted);
        evicted.iter().for_each(|packet| self.drop_queued(now, packet, rule, observer));
        let has_evicted = !evicted.is_empty();
        evicted.clear();
        self.evicted = evicted;
        has_evicted
    }

    pub(super) fn drop_queued(
        &mut self,
        now: Instant,
        packet: &QueuedPacket,
        rule: DropRule,
        observer: &mut impl Observer<P>,
    ) {
        let event = self.queue_drop(rule);
        self.report(now, packet.handle, event, observer);
        self.store.take(packet.handle);
    }

    fn drop_arriving(&mut self, now: Instant, packet: &P, rule: DropRule, observer: &mut impl Observer<P>) {
        let event = self.queue_drop(rule);
        observer.on_event(now, packet, event);
        if rule == DropRule::OVERFLOW && self.queue.overflow() == Overflow::Stop {
            let (waiting, waiting_bytes) = (self.queue.len(), self.queue.bytes());
            let reason = StopReason { at: now, packet: packet.id(), waiting, waiting_bytes };
            self.stopped.get_or_insert(reason);
        }
    }

    /// Counts a drop, and describes it.
    fn queue_drop(&mut self, rule: DropRule) -> Event {
        self.counters.queue_drops += 1;
        let (behind, behind_bytes) = (self.queue.len(), self.queue.bytes());
        Event::QueueDropped { rule, behind, behind_bytes, average: self.queue.average() }
    }

    /// Starts the next transmission if it can start, and fills the send buffer from the queue.
    pub(super) fn pump(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if self.transmitter.is_idle() {
            self.begin_next(now, observer);
        }
        while self.queue.next_size(now).is_some_and(|size| self.takes(size)) {
            if let Some((head, decision)) = self.queue.pop(now) {
                self.leave_queue(now, head, decision, observer);
            }
        }
        self.watch_shaper(now);
    }

    /// Whether the queue's shaper holds packets back for longer.
    #[inline]
    fn is_shaped_until_after(&self, now: Instant) -> bool {
        self.queue.ready_at().is_some_and(|at| at > now)
    }

    /// Notes when the queue's shaper lets the next packet leave, where one waits for that.
    #[inline]
    fn watch_shaper(&mut self, now: Instant) {
        let held_until = self.queue.ready_at().filter(|at| *at > now && !self.queue.is_empty());
        self.shaped_until = held_until.unwrap_or(Instant::NEVER);
    }

    /// Whether the next stage takes a packet from the queue.
    #[inline]
    fn takes(&self, size: Bytes) -> bool {
        self.send_buffer.has_room(size) && (!self.send_buffer.is_absent() || self.outstanding.has_room(size))
    }

    #[inline(always)]
    fn leave_queue(
        &mut self,
        now: Instant,
        packet: QueuedPacket,
        decision: Decision,
        observer: &mut impl Observer<P>,
    ) {
        if let Decision::Drop(rule) = decision {
            return self.drop_queued(now, &packet, rule, observer);
        }
        if let Decision::Mark(rule) = decision {
            self.counters.marked += 1;
            self.store.packet_mut(packet.handle).map(P::mark_ce);
            self.report(now, packet.handle, Event::Marked { rule }, observer);
        }
        let (left, left_bytes) = (self.queue.len(), self.queue.bytes());
        let event = Event::LeftQueue { waited: now - packet.arrived, left, left_bytes };
        self.report(now, packet.handle, event, observer);
        let size = self.wire_size(now, packet.handle, packet.size, observer);
        self.enter_send_buffer(now, packet.handle, size, observer);
    }
}

fn keys_of(packet: &impl Packet) -> Keys {
    Keys {
        flow: packet.flow_key(),
        source: packet.source(),
        destination: packet.destination(),
        class: packet.class(),
        ecn: packet.ecn(),
        dscp: packet.dscp(),
        is_ack: packet.is_ack(),
        ack: packet.pure_ack(),
    }
}

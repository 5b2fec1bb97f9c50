//! The second half of a packet's walk: the error stage, the receive buffer, the dropper.

use units::{Bytes, Duration, Instant};

use super::Pipeline;
use super::errors::{Cause, Hit};
use crate::event::{ErrorCause, Event, Observer};
use crate::packet::Packet;
use crate::random::happens;

/// How a packet that gets through comes to the receive buffer.
struct Coming {
    /// When it may leave.
    ready: Instant,
    /// Whether it keeps to its place in the order, and others to it.
    in_line: bool,
    /// Why it is then lost after all.
    doom: Option<ErrorCause>,
    /// Whether a copy follows it.
    is_doubled: bool,
}

impl<P: Packet> Pipeline<P> {
    // --- error stage ---

    #[inline(always)]
    pub(super) fn arrive(&mut self, now: Instant, slot: u32, observer: &mut impl Observer<P>) {
        self.ask_dropper(slot);
        if self.errors.is_absent() {
            return self.receive(now, now, slot, observer);
        }
        if let Some(coming) = self.suffer(now, slot, observer) {
            self.come(now, slot, &coming, observer);
        }
    }

    /// Lets all that happens to a packet happen; none is left if it is lost at once.
    fn suffer(&mut self, now: Instant, slot: u32, observer: &mut impl Observer<P>) -> Option<Coming> {
        let on_air = self.frames.as_ref().map(|frames| frames.of(slot));
        let hits = self.errors.hits(now, self.store.passage(slot), on_air);
        let is_doubled = self.errors.duplicates();
        let mut coming = Coming { ready: now, in_line: true, doom: None, is_doubled };
        for (cause, hit) in hits.into_iter().flatten() {
            match hit {
                Hit::Drop => {
                    self.lose(now, slot, cause.of_error(), observer);
                    return None;
                }
                Hit::Corrupt => self.corrupt(now, slot, cause.of_error(), observer),
                Hit::Delay(by) => coming.ready += self.delay(now, slot, by, cause, observer),
                Hit::Aside(by) => {
                    coming.ready += self.delay(now, slot, by, cause, observer);
                    coming.in_line = false;
                }
                Hit::Discard(by) => {
                    coming.ready += self.delay(now, slot, by, cause, observer);
                    coming.doom = Some(cause.of_error());
                }
            }
        }
        self.counters.delayed += u64::from(coming.ready > now);
        Some(coming)
    }

    fn delay(
        &mut self,
        now: Instant,
        slot: u32,
        by: Duration,
        cause: Cause,
        observer: &mut impl Observer<P>,
    ) -> Duration {
        if !by.is_zero() || matches!(cause, Cause::Error(_)) {
            self.tell(now, slot, Event::Delayed { by, cause: cause.of_delay() }, observer);
        }
        by
    }

    pub(super) fn lose(
        &mut self,
        now: Instant,
        slot: u32,
        cause: ErrorCause,
        observer: &mut impl Observer<P>,
    ) {
        self.counters.error_drops += 1;
        self.tell(now, slot, Event::ErrorDropped { cause }, observer);
        self.vacate(now, slot, observer);
    }

    fn corrupt(&mut self, now: Instant, slot: u32, cause: ErrorCause, observer: &mut impl Observer<P>) {
        self.counters.corrupted += 1;
        if let Some(packet) = self.store.packet_mut(slot) {
            packet.corrupt();
        }
        self.tell(now, slot, Event::Corrupted { cause }, observer);
    }

    /// The copy follows its original into the receive buffer.
    fn come(&mut self, now: Instant, slot: u32, coming: &Coming, observer: &mut impl Observer<P>) {
        let is_doubled = coming.is_doubled && coming.doom.is_none();
        let copy = if is_doubled { self.copy(now, slot, observer) } else { None };
        self.store.passage_mut(slot).doom = coming.doom;
        for slot in [Some(slot), copy].into_iter().flatten() {
            if coming.in_line {
                self.receive(now, coming.ready, slot, observer);
            } else {
                self.hold(now, coming.ready, slot, observer);
            }
        }
    }

    fn copy(&mut self, now: Instant, slot: u32, observer: &mut impl Observer<P>) -> Option<u32> {
        let copy = self.store.packet(slot)?.duplicate()?;
        let mut passage = *self.store.passage(slot);
        (passage.is_copy, passage.is_dropped) = (true, false);
        self.counters.duplicates += 1;
        self.tell(now, slot, Event::Duplicated, observer);
        Some(self.store.insert(copy, passage))
    }

    // --- receive buffer, dropper ---

    /// The packet is in the receive buffer and may leave it at `ready`, if those before it have.
    #[inline(always)]
    pub(super) fn receive(
        &mut self,
        now: Instant,
        ready: Instant,
        slot: u32,
        observer: &mut impl Observer<P>,
    ) {
        let line = self.lines.line_of(self.store.packet(slot));
        let mut leaves = self.lines.turn(line, ready);
        if leaves > now {
            leaves = self.or_expires(now, leaves, slot);
        }
        self.lines.join(line, leaves);
        self.put(now, leaves, slot, observer);
    }

    /// Likewise, but it keeps to nobody's order, and nobody to its.
    fn hold(&mut self, now: Instant, ready: Instant, slot: u32, observer: &mut impl Observer<P>) {
        let leaves = self.or_expires(now, ready, slot);
        self.put(now, leaves, slot, observer);
    }

    #[inline(always)]
    fn put(&mut self, now: Instant, leaves: Instant, slot: u32, observer: &mut impl Observer<P>) {
        if leaves == now && self.receive_buffer.is_empty() {
            self.release(now, slot, observer);
        } else {
            self.receive_buffer.insert(leaves, slot);
        }
    }

    pub(super) fn release_first(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if let Some(slot) = self.receive_buffer.pop() {
            self.release(now, slot, observer);
        }
    }

    #[inline(always)]
    fn release(&mut self, now: Instant, slot: u32, observer: &mut impl Observer<P>) {
        if let Some(cause) = self.store.passage(slot).doom {
            self.lose(now, slot, cause, observer);
            if cause == ErrorCause::ArqLimit && self.plan.resets_at_limit() {
                self.flush(now, ErrorCause::Reset, false, observer);
            }
            return;
        }
        if self.store.passage(slot).is_dropped {
            self.counters.dropper_drops += 1;
            self.tell(now, slot, Event::DropperDropped, observer);
            return self.vacate(now, slot, observer);
        }
        let passage = *self.store.passage(slot);
        self.counters.packets_out += 1;
        self.counters.bytes_out += passage.size - self.framing;
        self.tell(now, slot, Event::Delivered, observer);
        self.out.push_back(slot);
        self.make_room(now, passage.size, passage.is_copy, observer);
    }

    /// The dropper is asked about every packet that arrives, so that what befalls one moves no draws. It takes no copies,
    /// which nobody would miss.
    #[inline(always)]
    fn ask_dropper(&mut self, slot: u32) {
        if let Some(dropper) = &mut self.dropper {
            let is_dropped = happens(&mut dropper.stream, dropper.probability);
            self.store.passage_mut(slot).is_dropped = is_dropped;
        }
    }

    /// The packet is gone, and no longer counts in the buffers.
    fn vacate(&mut self, now: Instant, slot: u32, observer: &mut impl Observer<P>) {
        let passage = *self.store.passage(slot);
        self.store.take(slot);
        self.make_room(now, passage.size, passage.is_copy, observer);
    }

    /// Where a packet's going makes room, others move on.
    fn make_room(&mut self, now: Instant, size: Bytes, is_copy: bool, observer: &mut impl Observer<P>) {
        if is_copy {
            return;
        }
        self.underway.end(size);
        self.send_buffer.on_gone(size);
        if self.underway.is_limited() || self.send_buffer.holds_until_gone() {
            self.pump(now, observer);
        }
    }
}

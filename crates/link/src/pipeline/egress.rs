//! The last part of a packet's way: the error stage, the receive buffer, the output dropper.

use units::{Bytes, Duration, Instant};

use super::Pipeline;
use super::impairment::{Impairment, ImpairmentCause};
use crate::event::{ErrorCause, Event, Observer};
use crate::packet::Packet;
use crate::random::happens;
use crate::store::Handle;

/// Entry of a packet into the receive buffer, if the error stage did not lose it.
struct Egress {
    /// Time at which it may leave.
    ready: Instant,
    /// Whether it keeps its place in the order of packets.
    in_order: bool,
    /// Why it is lost at that time after all.
    pending_loss: Option<ErrorCause>,
    /// Whether a copy follows it.
    is_duplicated: bool,
}

impl<P: Packet> Pipeline<P> {
    // --- error stage ---

    /// A packet has propagated.
    #[inline(always)]
    pub(super) fn arrive(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) {
        self.draw_output_drop(handle);
        if self.errors.is_absent() {
            return self.receive(now, now, handle, observer);
        }
        if let Some(egress) = self.impair(now, handle, observer) {
            self.enter_receive_buffer(now, handle, &egress, observer);
        }
    }

    /// Does to a packet all that the error stage has for it; none is left of a packet that is lost at once.
    fn impair(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) -> Option<Egress> {
        let frames = self.frames.as_ref().map(|frames| frames.of(handle));
        let impairments = self.errors.impairments(now, self.store.state(handle), frames);
        let is_duplicated = self.errors.duplicates();
        let mut egress = Egress { ready: now, in_order: true, pending_loss: None, is_duplicated };
        for (cause, impairment) in impairments.into_iter().flatten() {
            match impairment {
                Impairment::Drop => {
                    self.lose(now, handle, cause.of_error(), observer);
                    return None;
                }
                Impairment::Corrupt => self.corrupt(now, handle, cause.of_error(), observer),
                Impairment::Delay(by) => egress.ready += self.delay(now, handle, by, cause, observer),
                Impairment::DelayOutOfOrder(by) => {
                    egress.ready += self.delay(now, handle, by, cause, observer);
                    egress.in_order = false;
                }
                Impairment::DelayThenDrop(by) => {
                    egress.ready += self.delay(now, handle, by, cause, observer);
                    egress.pending_loss = Some(cause.of_error());
                }
            }
        }
        self.counters.delayed += u64::from(egress.ready > now);
        Some(egress)
    }

    fn delay(
        &mut self,
        now: Instant,
        handle: Handle,
        by: Duration,
        cause: ImpairmentCause,
        observer: &mut impl Observer<P>,
    ) -> Duration {
        if !by.is_zero() || matches!(cause, ImpairmentCause::Error(_)) {
            self.report(now, handle, Event::Delayed { by, cause: cause.of_delay() }, observer);
        }
        by
    }

    fn lose(&mut self, now: Instant, handle: Handle, cause: ErrorCause, observer: &mut impl Observer<P>) {
        self.counters.error_drops += 1;
        self.on_lost_on_wire(handle, cause);
        self.report(now, handle, Event::ErrorDropped { cause }, observer);
        self.discard(now, handle, observer);
    }

    fn corrupt(&mut self, now: Instant, handle: Handle, cause: ErrorCause, observer: &mut impl Observer<P>) {
        self.counters.corrupted += 1;
        self.on_damaged_on_wire(handle);
        if let Some(packet) = self.store.packet_mut(handle) {
            packet.corrupt();
        }
        self.report(now, handle, Event::Corrupted { cause }, observer);
    }

    /// The packet enters the receive buffer, and its copy directly after it.
    fn enter_receive_buffer(
        &mut self,
        now: Instant,
        handle: Handle,
        egress: &Egress,
        observer: &mut impl Observer<P>,
    ) {
        let is_duplicated = egress.is_duplicated && egress.pending_loss.is_none();
        let copy = if is_duplicated { self.copy(now, handle, observer) } else { None };
        self.store.state_mut(handle).pending_loss = egress.pending_loss;
        for handle in [Some(handle), copy].into_iter().flatten() {
            if egress.in_order {
                self.receive(now, egress.ready, handle, observer);
            } else {
                self.receive_out_of_order(now, egress.ready, handle, observer);
            }
        }
    }

    fn copy(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) -> Option<Handle> {
        let copy = self.store.packet(handle)?.duplicate()?;
        let mut state = *self.store.state(handle);
        (state.is_copy, state.is_dropped) = (true, false);
        self.counters.duplicates += 1;
        self.report(now, handle, Event::Duplicated, observer);
        let copy = self.store.insert(copy, state);
        self.on_copied_on_wire(handle, copy);
        Some(copy)
    }

    // --- receive buffer, dropper ---

    /// The packet is in the receive buffer and may leave it at `ready`, once those before it have left.
    #[inline(always)]
    fn receive(&mut self, now: Instant, ready: Instant, handle: Handle, observer: &mut impl Observer<P>) {
        let flow = self.resequencer.flow_of(self.store.packet(handle));
        let mut leaves = self.resequencer.release_time(flow, ready);
        if leaves > now {
            leaves = self.expiry_or(now, leaves, handle);
        }
        self.resequencer.on_release(flow, leaves);
        self.release_at(now, leaves, handle, observer);
    }

    /// Likewise, but the packet waits for no others, and no others wait for it.
    fn receive_out_of_order(
        &mut self,
        now: Instant,
        ready: Instant,
        handle: Handle,
        observer: &mut impl Observer<P>,
    ) {
        let leaves = self.expiry_or(now, ready, handle);
        self.release_at(now, leaves, handle, observer);
    }

    #[inline(always)]
    fn release_at(&mut self, now: Instant, leaves: Instant, handle: Handle, observer: &mut impl Observer<P>) {
        if leaves == now && self.receive_buffer.is_empty() {
            self.release(now, handle, observer);
        } else {
            self.receive_buffer.insert(leaves, handle);
        }
    }

    pub(super) fn release_first(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if let Some(handle) = self.receive_buffer.pop() {
            self.release(now, handle, observer);
        }
    }

    /// The packet leaves the receive buffer: it is delivered, or lost after all.
    #[inline(always)]
    fn release(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) {
        let state = self.store.state(handle);
        let (size, is_copy) = (state.size, state.is_copy);
        if let Some(cause) = state.pending_loss {
            self.lose(now, handle, cause, observer);
            if cause == ErrorCause::ArqLimit && self.disruptions.reset_at_arq_limit() {
                self.flush(now, ErrorCause::Reset, false, observer);
            }
            return;
        }
        let is_dropped = state.is_dropped;
        if self.on_wire.is_some() && !self.decode(now, handle, observer) {
            return;
        }
        if is_dropped {
            self.counters.dropper_drops += 1;
            self.report(now, handle, Event::DropperDropped, observer);
            return self.discard(now, handle, observer);
        }
        self.counters.packets_out += 1;
        self.counters.bytes_out +=
            if self.on_wire.is_none() { size - self.framing } else { self.unframed(handle) };
        self.report(now, handle, Event::Delivered, observer);
        self.out.push_back(handle);
        self.free_buffers(now, size, is_copy, observer);
    }

    /// Draws whether the output dropper drops the packet: for every packet that arrives, so that the error stage moves
    /// no draws. Copies are not dropped, because that would have no effect.
    #[inline(always)]
    fn draw_output_drop(&mut self, handle: Handle) {
        if let Some(dropper) = &mut self.dropper {
            let is_dropped = happens(&mut dropper.stream, dropper.probability);
            self.store.state_mut(handle).is_dropped = is_dropped;
        }
    }

    /// The size of a packet that differs on the wire.
    fn unframed(&self, handle: Handle) -> Bytes {
        self.store.packet(handle).map_or(Bytes::ZERO, P::size)
    }

    /// The packet is gone and no longer counts in the buffers.
    pub(super) fn discard(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) {
        let state = self.store.state(handle);
        let (size, is_copy) = (state.size, state.is_copy);
        self.store.take(handle);
        self.free_buffers(now, size, is_copy, observer);
    }

    /// The packet frees its room; packets that waited for it continue.
    #[inline(always)]
    fn free_buffers(&mut self, now: Instant, size: Bytes, is_copy: bool, observer: &mut impl Observer<P>) {
        if is_copy {
            return;
        }
        self.outstanding.end(size);
        self.send_buffer.on_gone(size);
        if self.outstanding.is_limited() || self.send_buffer.holds_until_gone() {
            self.pump(now, observer);
        }
    }
}

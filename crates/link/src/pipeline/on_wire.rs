//! What the pipeline does with the form of packets on the wire (`wire_stage.rs`).

use units::{Bytes, Instant};

use super::Pipeline;
use crate::event::{ErrorCause, Event, Observer};
use crate::packet::Packet;
use crate::store::Handle;

impl<P: Packet> Pipeline<P> {
    /// The size of a packet that leaves the queue with `size`, framing included, from here on.
    #[inline(always)]
    pub(super) fn wire_size(
        &mut self,
        now: Instant,
        handle: Handle,
        size: Bytes,
        observer: &mut impl Observer<P>,
    ) -> Bytes {
        if self.on_wire.is_none() { size } else { self.encode(now, handle, size, observer) }
    }

    #[inline(never)]
    fn encode(
        &mut self,
        now: Instant,
        handle: Handle,
        size: Bytes,
        observer: &mut impl Observer<P>,
    ) -> Bytes {
        let (Some(stage), Some(packet)) = (&mut self.on_wire, self.store.packet(handle)) else { return size };
        let (size, kind) = stage.encode(now, handle, packet, &mut self.counters.wire);
        observer.on_event(now, packet, Event::Encoded { bytes: size, headers: kind });
        self.store.state_mut(handle).size = size;
        size
    }

    /// Whether the headers of a packet that leaves the link are restored; if not, it is discarded.
    #[inline(never)]
    pub(super) fn decode(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) -> bool {
        let Some(stage) = &mut self.on_wire else { return true };
        let restored = stage.decode(now, handle);
        self.counters.wire.feedback = stage.feedback();
        let Err(since) = restored else { return true };
        self.counters.wire.decompressor_drops += 1;
        self.counters.error_drops += 1;
        let event = Event::ErrorDropped { cause: ErrorCause::Decompressor { since } };
        self.report(now, handle, event, observer);
        self.discard(now, handle, observer);
        false
    }

    /// A packet was lost on the wire.
    pub(super) fn on_lost_on_wire(&mut self, handle: Handle, cause: ErrorCause) {
        if let Some(stage) = &mut self.on_wire {
            stage.on_lost(handle, cause);
        }
    }

    /// A packet was damaged on the wire.
    pub(super) fn on_damaged_on_wire(&mut self, handle: Handle) {
        if let Some(stage) = &mut self.on_wire {
            stage.on_damaged(handle);
        }
    }

    /// A copy of a packet was made on the wire.
    pub(super) fn on_copied_on_wire(&mut self, handle: Handle, copy: Handle) {
        if let Some(stage) = &mut self.on_wire {
            stage.on_copied(handle, copy);
        }
    }
}

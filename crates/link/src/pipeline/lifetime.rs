//! The lifetime of packets: what is too old is discarded wherever it waits.
//!
//! While it waits for its transmission, its age is a thing that comes due: [`Pipeline::next_expiry`].
//! In the receive buffer it is known on entry how long it will wait. A packet that does not wait,
//! because it is being transmitted, or propagates, or finds nobody before it, goes on however old.

use units::{Duration, Instant};

use super::Pipeline;
use super::transmitter::Transmitter;
use crate::config::Overflow;
use crate::event::{DropRule, ErrorCause, Event, Observer};
use crate::packet::Packet;

impl<P: Packet> Pipeline<P> {
    /// When the first of the packets that wait for their transmission is too old, or never.
    #[inline]
    pub(super) fn next_expiry(&self) -> Instant {
        if self.lifetime == Duration::MAX { Instant::NEVER } else { self.first_expiry() }
    }

    /// An expiry needs a wake-up only where it makes room for which a neighbour waits, or lets a
    /// transmission start.
    #[inline]
    pub(super) fn expiry_wake_up(&self) -> Instant {
        if self.lifetime == Duration::MAX {
            return Instant::NEVER;
        }
        let waits = matches!(self.transmitter, Transmitter::Waiting { .. });
        let matters = waits || self.queue.overflow() == Overflow::FlowControl;
        if matters { self.first_expiry() } else { Instant::NEVER }
    }

    fn first_expiry(&self) -> Instant {
        let queued = self.queue.oldest().map(|since| since + self.lifetime);
        let waits = |slot: u32| self.expiry(slot);
        let buffered = self.send_buffer.next().map(|(slot, _)| waits(slot));
        let held = match self.transmitter {
            Transmitter::Waiting { slot, .. } => Some(waits(slot)),
            _ => None,
        };
        [queued, buffered, held].into_iter().flatten().min().unwrap_or(Instant::NEVER)
    }

    fn expiry(&self, slot: u32) -> Instant {
        self.store.passage(slot).arrived + self.lifetime
    }

    /// Discards one packet that is too old, the one nearest to its transmission first.
    pub(super) fn expire(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if let Transmitter::Waiting { slot, size, .. } = self.transmitter
            && self.expiry(slot) <= now
        {
            self.transmitter = Transmitter::Idle;
            self.send_buffer.discard_started(size);
            self.underway.end(size);
            self.discard(now, slot, observer);
        } else if let Some((slot, _)) = self.send_buffer.next().filter(|(slot, _)| self.expiry(*slot) <= now)
        {
            self.send_buffer.discard_next();
            self.discard(now, slot, observer);
        } else if let Some(head) = self.queue.remove_oldest(now) {
            self.drop_queued(now, &head, DropRule::EXPIRED, observer);
        }
        self.pump(now, observer);
    }

    fn discard(&mut self, now: Instant, slot: u32, observer: &mut impl Observer<P>) {
        self.counters.error_drops += 1;
        let event = Event::ErrorDropped { cause: ErrorCause::Expired };
        self.tell(now, slot, event, observer);
        self.store.take(slot);
    }

    /// When a packet that would leave the receive buffer at `leaves` does: if it is too old before,
    /// it is lost then.
    pub(super) fn or_expires(&mut self, now: Instant, leaves: Instant, slot: u32) -> Instant {
        if self.lifetime == Duration::MAX {
            return leaves;
        }
        let expiry = self.expiry(slot).max(now);
        if leaves <= expiry {
            return leaves;
        }
        self.store.passage_mut(slot).doom = Some(ErrorCause::Expired);
        expiry
    }
}

//! The lifetime of packets: a packet that is too old is dropped wherever it waits.
//!
//! While it waits for its transmission, the end of its lifetime is an event: [`Pipeline::next_expiry`]. When it enters
//! the receive buffer, it is known how long it will wait there. A packet that does not wait, because it is being
//! transmitted, or propagates, or has no packet before it, continues at any age.

use units::{Duration, Instant};

use super::Pipeline;
use super::transmitter::Transmitter;
use crate::event::{DropRule, ErrorCause, Event, Observer};
use crate::packet::Packet;
use crate::queue::Overflow;
use crate::store::Handle;

impl<P: Packet> Pipeline<P> {
    /// Time at which the first of the packets that wait for their transmission is too old, or never.
    #[inline]
    pub(super) fn next_expiry(&self) -> Instant {
        if self.lifetime == Duration::MAX { Instant::NEVER } else { self.first_expiry() }
    }

    /// An expiry needs a wake-up only if it frees room for which a neighbour waits, or lets a transmission start: of
    /// the next packet, or of a packet for which the receive buffer has room when it has none for this one.
    #[inline]
    pub(super) fn expiry_wake_up(&self) -> Instant {
        if self.lifetime == Duration::MAX {
            return Instant::NEVER;
        }
        let waits = !matches!(self.transmitter, Transmitter::Sending { .. });
        let matters = waits || self.queue.overflow() == Overflow::FlowControl;
        if matters { self.first_expiry() } else { Instant::NEVER }
    }

    fn first_expiry(&self) -> Instant {
        let queued = self.queue.oldest().map(|arrived| arrived + self.lifetime);
        let buffered = self.send_buffer.next().map(|(handle, _)| self.expiry(handle));
        let before_transmission = match self.transmitter {
            Transmitter::Waiting { handle, .. } => Some(self.expiry(handle)),
            _ => None,
        };
        [queued, buffered, before_transmission].into_iter().flatten().min().unwrap_or(Instant::NEVER)
    }

    fn expiry(&self, handle: Handle) -> Instant {
        self.store.state(handle).arrived + self.lifetime
    }

    /// Drops one packet that is too old, the one nearest to its transmission first.
    pub(super) fn expire(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        let is_expired = |handle| self.expiry(handle) <= now;
        let buffered = self.send_buffer.next().filter(|(handle, _)| is_expired(*handle));
        match self.transmitter {
            Transmitter::Waiting { handle, size, .. } if is_expired(handle) => {
                self.become_idle(now);
                self.send_buffer.discard_started(size);
                self.outstanding.end(size);
                self.drop_expired(now, handle, observer);
            }
            _ => {
                if let Some((handle, _)) = buffered {
                    self.send_buffer.discard_next();
                    self.drop_expired(now, handle, observer);
                } else if let Some(packet) = self.queue.remove_oldest(now) {
                    self.drop_queued(now, &packet, DropRule::EXPIRED, observer);
                }
            }
        }
        self.pump(now, observer);
    }

    fn drop_expired(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) {
        self.counters.error_drops += 1;
        self.on_lost_on_wire(handle, ErrorCause::Expired);
        let event = Event::ErrorDropped { cause: ErrorCause::Expired };
        self.report(now, handle, event, observer);
        self.store.take(handle);
    }

    /// Time at which a packet that would leave the receive buffer at `leaves` does: if it is too old before, it is lost
    /// then.
    pub(super) fn expiry_or(&mut self, now: Instant, leaves: Instant, handle: Handle) -> Instant {
        if self.lifetime == Duration::MAX {
            return leaves;
        }
        let expiry = self.expiry(handle).max(now);
        if leaves <= expiry {
            return leaves;
        }
        self.store.state_mut(handle).pending_loss = Some(ErrorCause::Expired);
        expiry
    }
}

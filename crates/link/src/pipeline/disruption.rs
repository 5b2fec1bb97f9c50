//! Steps of a link at its disruptions: a handover's loss and its next cell, and resets.

use units::{Duration, Instant, Rate};

use super::Pipeline;
use super::disruption_process::Disruption;
use super::transmitter::Transmitter;
use crate::event::{DropRule, ErrorCause, Event, Observer};
use crate::packet::Packet;
use crate::store::Handle;

impl<P: Packet> Pipeline<P> {
    /// A flush lets waiting packets continue sooner than after their predecessors.
    #[inline]
    pub(super) fn disruption_wake_up(&self) -> Instant {
        if self.disruptions.flushes() && self.store.len() > 0 {
            self.disruptions.due()
        } else {
            Instant::NEVER
        }
    }

    /// Carries out the disruption that is due at `now`.
    pub(super) fn disrupt(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        match self.disruptions.take(now) {
            Some(Disruption::HandoverBegins { loses: true }) => {
                self.flush(now, ErrorCause::Handover, true, observer);
            }
            Some(Disruption::HandoverBegins { loses: false }) | None => {}
            Some(Disruption::CellEntered { number, rate, delays }) => self.enter_cell(number, rate, delays),
            Some(Disruption::Reset { queue }) => self.flush(now, ErrorCause::Reset, queue, observer),
        }
    }

    /// Takes over the rate and propagation delay of a cell; missing values stay as they are.
    fn enter_cell(&mut self, number: usize, rate: Option<Rate>, delays: bool) {
        if let Some(rate) = rate {
            self.rate.set(rate);
            self.base_rate = Some(rate);
        }
        if delays {
            self.cell = Some(number);
        }
    }

    /// The propagation delay of the next packet: that of the present cell, if it has its own.
    #[inline]
    pub(super) fn draw_propagation(&mut self) -> Duration {
        match self.cell {
            None => self.propagation.draw(),
            Some(cell) => self.disruptions.propagation_in(cell),
        }
    }

    /// Loses all packets that the link layer holds and that are on the way, and with `queue` those in the input queue.
    pub(super) fn flush(
        &mut self,
        now: Instant,
        cause: ErrorCause,
        queue: bool,
        observer: &mut impl Observer<P>,
    ) {
        let mut handles: Vec<Handle> = self.receive_buffer.drain().chain(self.propagating.drain()).collect();
        let transmitter = self.transmitter;
        self.become_idle(now);
        match transmitter {
            Transmitter::Idle => {}
            Transmitter::Waiting { handle, .. } => handles.push(handle),
            Transmitter::Sending { handle, .. } => {
                self.report(now, handle, Event::TransmissionAborted, observer);
                handles.push(handle);
            }
        }
        handles.extend(self.send_buffer.drain());
        self.outstanding.clear();
        self.resequencer.restart(now);
        for handle in handles {
            self.counters.error_drops += 1;
            self.on_lost_on_wire(handle, cause);
            self.report(now, handle, Event::ErrorDropped { cause }, observer);
            self.store.take(handle);
        }
        while let Some(head) = queue.then(|| self.queue.remove_oldest(now)).flatten() {
            self.drop_queued(now, &head, DropRule::named(cause.id()), observer);
        }
        self.pump(now, observer);
    }
}

//! What the world does about each event on a link: it tells the flow of its losses, and has
//! everything recorded where that is wanted.

use link::{Event, Observer};
use units::{Duration, Instant};

use crate::flow::Flow;
use crate::packet::{Body, Packet, Parcel};
use crate::record::Recorder;

/// The observer of one direction of a link while that is called.
pub(crate) struct Witness<'a, R> {
    pub(crate) link: usize,
    pub(crate) flows: &'a mut [Flow],
    pub(crate) recorder: &'a mut R,
}

/// A direction of a link and its witness, borrowed from the engine side by side.
macro_rules! witness {
    ($engine:ident, $index:expr) => {
        (
            &mut $engine.links[$index],
            $crate::witness::Witness {
                link: $index,
                flows: &mut $engine.flows,
                recorder: &mut $engine.recorder,
            },
        )
    };
}
pub(crate) use witness;

impl<R: Recorder> Observer<Parcel> for Witness<'_, R> {
    #[inline]
    fn on_event(&mut self, now: Instant, parcel: &Parcel, event: Event) {
        let packet = &parcel.0;
        if R::ON {
            self.recorder.on_link_event(now, self.link, packet, event);
        }
        match event {
            Event::QueueDropped { rule, .. } => lose(self.flows, now, packet, rule.id()),
            Event::ErrorDropped { cause } => lose(self.flows, now, packet, cause.id()),
            Event::DropperDropped => lose(self.flows, now, packet, event.id()),
            Event::Delayed { by, cause } => delay(self.flows, now, packet, by, cause.id()),
            _ => {}
        }
    }
}

/// The packet has come to its end without arriving.
#[cold]
pub(crate) fn lose(flows: &mut [Flow], now: Instant, packet: &Packet, rule: &'static str) {
    if let Body::Segment(sent) = &packet.body {
        let end = packet.destination as usize;
        flows[end / 2].on_lost(now, packet.id, &sent.segment, end % 2 == 1, rule);
    }
}

#[cold]
fn delay(flows: &mut [Flow], now: Instant, packet: &Packet, by: Duration, cause: &'static str) {
    if let Body::Segment(_) = packet.body {
        flows[packet.destination as usize / 2].ledger.on_delay(now, by, cause);
    }
}

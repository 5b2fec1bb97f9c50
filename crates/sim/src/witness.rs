//! What the world does about each event on a link: it tells the flow of its losses, and has
//! everything recorded where that is wanted.

use std::collections::VecDeque;

use link::{Event, Observer};
use units::{Duration, Instant};

use crate::connection::Connection;
use crate::external::{ExternalEvent, ExternalFate, Gateway};
use crate::flow::Flow;
use crate::measure::LinkMeter;
use crate::packet::{Body, Packet, Parcel};
use crate::record::Recorder;
use crate::workload::News;

/// The observer of one direction of a link while that is called.
pub(crate) struct Witness<'a, R> {
    pub(crate) link: usize,
    pub(crate) connections: &'a mut [Connection],
    pub(crate) flows: &'a mut [Flow],
    pub(crate) news: &'a mut VecDeque<(u32, u32, News)>,
    pub(crate) meter: &'a mut LinkMeter,
    pub(crate) gateway: &'a mut Gateway,
    pub(crate) recorder: &'a mut R,
}

/// A direction of a link and its witness, borrowed from the engine side by side.
macro_rules! witness {
    ($engine:ident, $index:expr) => {
        (
            &mut $engine.links[$index],
            $crate::witness::Witness {
                link: $index,
                connections: &mut $engine.connections,
                flows: &mut $engine.flows,
                news: &mut $engine.news,
                meter: &mut $engine.meters[$index],
                gateway: &mut $engine.gateway,
                recorder: &mut $engine.recorder,
            },
        )
    };
}
pub(crate) use witness;

impl<R: Recorder> Observer<Parcel> for Witness<'_, R> {
    // Inlined, the events that concern nobody vanish, and the gathering of their details with them.
    #[inline(always)]
    fn on_event(&mut self, now: Instant, parcel: &Parcel, event: Event) {
        let packet = &parcel.0;
        if R::ON {
            self.recorder.on_link_event(now, self.link, packet, event);
        }
        if R::METERS {
            self.meter.on_event(now, &event);
        }
        match event {
            Event::QueueDropped { rule, .. } => self.lose(now, packet, rule.id()),
            Event::ErrorDropped { cause } => self.lose(now, packet, cause.id()),
            Event::DropperDropped => self.lose(now, packet, event.id()),
            Event::Duplicated => self.copy(packet),
            Event::Delayed { by, cause } => self.delay(now, packet, by, cause.id()),
            _ => {}
        }
    }
}

impl<R> Witness<'_, R> {
    /// The packet ends here.
    #[cold]
    pub(crate) fn lose(&mut self, now: Instant, packet: &Packet, rule: &'static str) {
        match &packet.body {
            // The packet that it was made of is still under way.
            Body::Segment(_) if packet.copy => {}
            Body::Segment(sent) => {
                let end = packet.destination as usize;
                self.connections[end / 2].on_lost(now, packet.id, &sent.segment, end % 2 == 1, rule);
            }
            Body::Datagram(datagram) => {
                let flow = packet.destination / 2;
                self.flows[flow as usize].datagrams.on_lost(*datagram);
                self.news.push_back((flow, 0, News::Lost));
            }
            Body::Raw(bytes) => self.tell(now, packet, bytes, ExternalFate::Lost { rule }),
        }
    }

    #[cold]
    fn copy(&mut self, packet: &Packet) {
        if let Body::Datagram(datagram) = &packet.body {
            self.flows[packet.destination as usize / 2].datagrams.on_copied(*datagram);
        }
    }

    #[cold]
    fn delay(&mut self, now: Instant, packet: &Packet, by: Duration, cause: &'static str) {
        match &packet.body {
            Body::Segment(_) => {
                self.connections[packet.destination as usize / 2].ledger.on_delay(now, by, cause);
            }
            Body::Datagram(_) => {}
            Body::Raw(bytes) => self.tell(now, packet, bytes, ExternalFate::Delayed { by, cause }),
        }
    }

    fn tell(&mut self, at: Instant, packet: &Packet, bytes: &[u8], fate: ExternalFate) {
        self.gateway.tell(ExternalEvent { id: packet.id, at, bytes: bytes.to_vec(), fate });
    }
}

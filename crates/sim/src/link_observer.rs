//! Handles the events on a link: losses and delays go to the connection, every event goes to the recorder.

use std::collections::VecDeque;

use link::{Event, Observer};
use trace::ledger::DropCause;
use units::{Duration, Instant};
use wire::offload::RawPacket;

use crate::connection::Connection;
use crate::external::{ExternalEvent, ExternalFate, Gateway};
use crate::flow::Flow;
use crate::ids::{ConnectionId, DirectionId, FlowId, IdVec};
use crate::measure::LinkMeter;
use crate::packet::{Body, Packet, PacketBox};
use crate::pending::Pending;
use crate::record::Recorder;

/// The observer of one direction of a link during a call.
pub(crate) struct LinkObserver<'a, R> {
    pub(crate) direction: DirectionId,
    pub(crate) connections: &'a mut IdVec<ConnectionId, Connection>,
    pub(crate) flows: &'a mut IdVec<FlowId, Flow>,
    pub(crate) pending: &'a mut VecDeque<Pending>,
    pub(crate) meter: &'a mut LinkMeter,
    pub(crate) gateway: &'a mut Gateway,
    pub(crate) recorder: &'a mut R,
}

impl<R: Recorder> Observer<PacketBox> for LinkObserver<'_, R> {
    // Inlined, the events that are ignored vanish, and the computation of their details with them.
    #[inline(always)]
    fn on_event(&mut self, now: Instant, packet: &PacketBox, event: Event) {
        let packet = &*packet.0;
        if R::ON {
            self.recorder.on_link_event(now, self.direction, packet, event);
        }
        if R::METERS {
            self.meter.on_event(now, &event);
        }
        match event {
            Event::QueueDropped { rule, .. } => self.on_drop(now, packet, rule.id()),
            Event::ErrorDropped { cause } => {
                self.on_drop(now, packet, DropCause { rule: cause.id(), since: cause.since() });
            }
            Event::DropperDropped => self.on_drop(now, packet, event.id()),
            Event::Duplicated => self.on_duplicated(packet),
            Event::Delayed { by, cause } => self.on_delay(now, packet, by, cause.id()),
            _ => {}
        }
    }
}

impl<R> LinkObserver<'_, R> {
    #[cold]
    pub(crate) fn on_drop(&mut self, now: Instant, packet: &Packet, cause: impl Into<DropCause>) {
        let (end, cause) = (packet.destination, cause.into());
        match &packet.body {
            // The packet that it was made of is still under way.
            Body::Segment(_) if packet.copy => {}
            Body::Segment(sent) => {
                let leg = (end.side(), packet.beyond);
                self.connections[end.connection()].on_lost(now, packet.id, &sent.segment, leg, cause);
            }
            Body::Datagram(datagram) => {
                let flow = self.connections[end.connection()].flow;
                self.flows[flow].datagrams.on_lost(*datagram);
                // The flow may have waited for this datagram alone.
                self.pending.push_back(Pending::Conclusion(flow));
            }
            Body::Raw(bytes) => self.report(now, packet, bytes, ExternalFate::Lost { rule: cause.rule }),
        }
    }

    #[cold]
    fn on_duplicated(&mut self, packet: &Packet) {
        if let Body::Datagram(datagram) = &packet.body {
            let flow = self.connections[packet.destination.connection()].flow;
            self.flows[flow].datagrams.on_copied(*datagram);
        }
    }

    #[cold]
    fn on_delay(&mut self, now: Instant, packet: &Packet, by: Duration, cause: &'static str) {
        match &packet.body {
            Body::Segment(_) => {
                let connection = &mut self.connections[packet.destination.connection()];
                connection.ledger_beyond(packet.beyond).on_delay(now, by, cause);
            }
            Body::Datagram(_) => {}
            Body::Raw(bytes) => self.report(now, packet, bytes, ExternalFate::Delayed { by, cause }),
        }
    }

    fn report(&mut self, at: Instant, packet: &Packet, bytes: &RawPacket, fate: ExternalFate) {
        let bytes = bytes.to_bytes().into_owned();
        self.gateway.report(ExternalEvent { id: packet.id, at, bytes, fate });
    }
}

/// A direction of a link, and the observer for a call of it. Borrows these fields of the engine alone, so that the link
/// is looked up once for all that an event does with it.
macro_rules! observed {
    ($engine:ident, $direction:expr) => {{
        let $crate::directed_link::DirectedLink { link, meter, .. } = &mut $engine.links[$direction];
        let observer = $crate::link_observer::LinkObserver {
            direction: $direction,
            connections: &mut $engine.connections,
            flows: &mut $engine.flows,
            pending: &mut $engine.pending,
            meter,
            gateway: &mut $engine.gateway,
            recorder: &mut $engine.recorder,
        };
        (link, observer)
    }};
}
pub(crate) use observed;

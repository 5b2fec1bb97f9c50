//! What a driver does to a run from outside: packets that enter, and changes of links.

use units::{Instant, PacketId, Streams};
use wire::offload::RawPacket;

use crate::directed_link::has_flow_control;
use crate::engine::{Engine, rearm};
use crate::external::Admitted;
use crate::ids::{ConversationId, DirectionId, EndpointId, NodeId};
use crate::link_observer::observed;
use crate::packet::{Body, IpHeader};
use crate::record::Recorder;

impl<R: Recorder> Engine<R> {
    /// A packet comes in from outside; returns its identity, unless its address leads nowhere.
    pub(crate) fn inject(&mut self, now: Instant, node: NodeId, bytes: RawPacket) -> Option<PacketId> {
        self.now = self.now.max(now);
        let admitted = self.gateway.admit(node, bytes.common_header())?;
        Some(self.start(node, admitted, bytes))
    }

    /// An external node sends a packet to another, whatever address it has.
    pub(crate) fn inject_to(
        &mut self,
        now: Instant,
        [node, destination]: [NodeId; 2],
        bytes: RawPacket,
    ) -> Option<PacketId> {
        self.now = self.now.max(now);
        let admitted = self.gateway.admit_to(node, destination)?;
        Some(self.start(node, admitted, bytes))
    }

    /// Replaces the parameters of a link's direction; packets in its queue wait in the new one.
    pub(crate) fn exchange_link(
        &mut self,
        now: Instant,
        direction: DirectionId,
        parameters: (&link::Config, &Streams),
    ) {
        self.now = self.now.max(now);
        let (link, mut observer) = observed!(self, direction);
        link.exchange(now, parameters, &mut observer);
        while link.has_delivery() {
            self.arrivals.extend(link.poll_delivery());
        }
        rearm(&mut self.schedule, &mut self.stopped, direction, link);
        self.links[direction].has_flow_control = has_flow_control(parameters.0);
        self.release_held(direction);
        self.settle();
    }

    fn start(&mut self, node: NodeId, admitted: Admitted, bytes: RawPacket) -> PacketId {
        let Admitted { id, first_hop, destination } = admitted;
        let size = bytes.len() as u32;
        let header = IpHeader { source: node, destination, class: 0 };
        let body = Body::Raw(bytes);
        let mut packet = self.pool.allocate(id, size, first_hop, (EndpointId::default(), header), body);
        packet.0.sent = self.now;
        self.recorder.on_sent(self.now, &mut packet.0, ConversationId::default());
        self.arrive(packet);
        self.settle();
        id
    }
}

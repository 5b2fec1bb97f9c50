//! Packets from outside: how they enter a run, and how waiting packets pass into another world.

use units::{Instant, PacketId};
use wire::offload::RawPacket;

use crate::engine::{Engine, rearm};
use crate::external::{Admitted, WaitingPacket};
use crate::ids::{ConversationId, DirectionId, EndpointId, NodeId};
use crate::link_observer::observed;
use crate::packet::{Body, IpHeader, PacketBox};
use crate::record::Recorder;
use crate::route::NextHop;

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

    /// Takes the packets of external nodes out that wait in front of links and in their queues.
    pub(crate) fn take_waiting(&mut self, now: Instant) -> Vec<WaitingPacket> {
        self.now = self.now.max(now);
        let mut taken = Vec::new();
        let directions: Vec<DirectionId> = self.links.ids().collect();
        for direction in directions {
            let (link, mut observer) = observed!(self, direction);
            // Inside a link the next hop is the hop after it.
            let queued = link.take_waiting(now, &mut observer).into_iter();
            taken.extend(queued.map(|packet| (packet.0.next_hop.before(), packet)));
            while link.has_delivery() {
                self.arrivals.extend(link.poll_delivery());
            }
            rearm(&mut self.schedule, &mut self.stopped, direction, link);
            let held = self.links[direction].held.drain(..);
            taken.extend(held.map(|packet| (packet.0.next_hop, packet)));
        }
        self.settle();
        taken.into_iter().filter_map(|(hop, packet)| waiting(hop, packet)).collect()
    }

    /// A packet that was taken out of the queue of another world's link continues from there.
    pub(crate) fn resume(&mut self, now: Instant, waiting: WaitingPacket) {
        self.now = self.now.max(now);
        let WaitingPacket { source, destination, hop, bytes } = waiting;
        if let Some(admitted) = self.gateway.admit_to(source, destination) {
            self.start(source, Admitted { first_hop: hop, ..admitted }, bytes);
        }
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

/// A packet that was taken out of a link, in the form in which another world resumes it.
fn waiting(hop: NextHop, mut packet: PacketBox) -> Option<WaitingPacket> {
    let IpHeader { source, destination, .. } = packet.0.header;
    match std::mem::take(&mut packet.0.body) {
        Body::Raw(bytes) => Some(WaitingPacket { source, destination, hop, bytes }),
        Body::Segment(_) | Body::Datagram(_) => None,
    }
}

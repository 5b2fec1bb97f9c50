//! External nodes: hosts with a network stack of their own, such as a kernel behind a TUN device.
//!
//! Their packets are IP packets as bytes. They are injected here, cross the same links as any
//! other packet, and are polled out where they arrive.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};

use trace::ledger::Diagnosis;
use units::{Duration, Instant, PacketId};
use wire::offload::RawPacket;
use workload::{ObservedRecord, Transfer};

use crate::ids::NodeId;
use crate::measure::ProgressSample;
use crate::packet::CORRUPTED;
use crate::route::NextHop;
use crate::summary::FlowSummary;

/// A packet that has reached an external node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalPacket {
    /// The packet.
    pub id: PacketId,
    /// Time at which it was injected.
    pub sent: Instant,
    /// Time at which it arrived in the time of the run: a driver that hands it over later is late.
    pub due: Instant,
    /// The IP packet.
    pub bytes: RawPacket,
}

/// An event on the way of an external node's packet, other than its arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalEvent {
    /// The packet.
    pub id: PacketId,
    /// Time of the event.
    pub at: Instant,
    /// The IP packet.
    pub bytes: Vec<u8>,
    /// Kind of event.
    pub fate: ExternalFate,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalFate {
    /// It was dropped, or damaged so that its receiver will refuse it.
    Lost {
        /// The name of what did it.
        rule: &'static str,
    },
    /// A link holds it for an unusual time.
    Delayed {
        /// Length of the delay.
        by: Duration,
        /// The name of the reason.
        cause: &'static str,
    },
}

/// A flow between external nodes, as the driver of the world has observed it: the world passes its packets on without
/// looking into them.
#[derive(Clone, Debug)]
pub struct ObservedFlow {
    /// Its numbers.
    pub summary: FlowSummary,
    /// Its connections, in the order in which they were opened; or the one pair of ports of its datagrams.
    pub connections: Vec<ObservedConnection>,
    /// Transfers of its program: rows of the table `transfers`.
    pub transfers: Vec<Transfer>,
    /// Samples of its counts: rows of the table `progress`.
    pub samples: Vec<ProgressSample>,
}

/// A connection of an observed flow.
#[derive(Clone, Debug)]
pub struct ObservedConnection {
    /// The end at the flow's `from`, then the one at its `to`.
    pub ends: [SocketAddr; 2],
    /// The verdicts on the retransmissions of the first end.
    pub diagnosis: Diagnosis,
    /// Decisions of the first end, then of the other, if reported: rows of the table `tcp`.
    pub records: [Vec<ObservedRecord>; 2],
}

/// Node at which packets from outside enter and leave.
#[derive(Debug, Default)]
pub(crate) struct Gateway {
    addresses: BTreeMap<Ipv4Addr, NodeId>,
    /// Second addresses of nodes.
    second: BTreeMap<Ipv4Addr, At>,
    routes: BTreeMap<(NodeId, NodeId), NextHop>,
    outbox: VecDeque<(NodeId, ExternalPacket)>,
    events: VecDeque<ExternalEvent>,
    /// The first series of packet identities that no flow uses.
    series: u32,
    born: BTreeMap<NodeId, u64>,
    pub(crate) unroutable: u64,
}

/// Where packets of an address enter and leave: its node, and the place of the routes that they take. That of a second
/// address may be a place of its own.
#[derive(Clone, Copy, Debug)]
struct At {
    node: NodeId,
    place: NodeId,
}

/// Treatment of a packet from outside by the gateway.
pub(crate) struct Admitted {
    pub(crate) id: PacketId,
    pub(crate) first_hop: NextHop,
    pub(crate) destination: NodeId,
}

impl Gateway {
    pub(crate) fn new(series: usize) -> Self {
        Self { series: series as u32, ..Self::default() }
    }

    /// Number of external nodes: each has a series of packet identities after those of the flows.
    pub(crate) fn nodes(&self) -> usize {
        self.born.len()
    }

    pub(crate) fn add_node(&mut self, node: NodeId, address: Ipv4Addr) {
        self.addresses.insert(address, node);
        self.born.insert(node, 0);
    }

    /// Gives a node a second address, whose packets take the routes of a place.
    pub(crate) fn add_second(&mut self, node: NodeId, address: Ipv4Addr, place: NodeId) {
        self.second.insert(address, At { node, place });
    }

    /// Number of second addresses.
    pub(crate) fn seconds(&self) -> usize {
        self.second.len()
    }

    pub(crate) fn add_route(&mut self, from: NodeId, to: NodeId, first_hop: NextHop) {
        self.routes.insert((from, to), first_hop);
    }

    /// Looks where a packet from `node` wants to go. A packet that leads nowhere (multicast, IPv6,
    /// an address that no node has) is counted and otherwise passed over, as a router would.
    pub(crate) fn admit(&mut self, node: NodeId, bytes: &[u8]) -> Option<Admitted> {
        let Some((source, to)) = addresses(bytes).and_then(|[source, to]| Some((source, self.at(to)?)))
        else {
            self.unroutable += 1;
            return None;
        };
        let from = self.second.get(&source).filter(|second| second.node == node);
        self.admit_between(from.copied().unwrap_or(At { node, place: node }), to)
    }

    /// Lets a packet from `node` go to another node, whatever address it has.
    pub(crate) fn admit_to(&mut self, node: NodeId, destination: NodeId) -> Option<Admitted> {
        let at = |node| At { node, place: node };
        self.admit_between(at(node), at(destination))
    }

    fn admit_between(&mut self, from: At, to: At) -> Option<Admitted> {
        let (node, destination) = (from.node, to.node);
        let Some(&first_hop) = self.routes.get(&(from.place, to.place)) else {
            self.unroutable += 1;
            return None;
        };
        let series = self.series + self.born.range(..node).count() as u32;
        let born = self.born.get_mut(&node)?;
        *born += 1;
        Some(Admitted { id: PacketId::in_series(series, *born), first_hop, destination })
    }

    /// The node with an address, first or second.
    fn at(&self, address: Ipv4Addr) -> Option<At> {
        let first = self.addresses.get(&address).map(|node| At { node: *node, place: *node });
        first.or_else(|| self.second.get(&address).copied())
    }

    pub(crate) fn deliver(&mut self, node: NodeId, mut packet: ExternalPacket, corrupted: bool) {
        if corrupted {
            packet.bytes.corrupt();
            let fate = ExternalFate::Lost { rule: CORRUPTED };
            let bytes = packet.bytes.to_bytes().into_owned();
            self.events.push_back(ExternalEvent { id: packet.id, at: packet.due, bytes, fate });
        }
        self.outbox.push_back((node, packet));
    }

    /// A packet was lost or delayed on its way.
    pub(crate) fn report(&mut self, event: ExternalEvent) {
        self.events.push_back(event);
    }

    pub(crate) fn poll_event(&mut self) -> Option<ExternalEvent> {
        self.events.pop_front()
    }

    pub(crate) fn poll(&mut self) -> Option<(NodeId, ExternalPacket)> {
        self.outbox.pop_front()
    }
}

/// The source and the destination of an IPv4 packet.
fn addresses(packet: &[u8]) -> Option<[Ipv4Addr; 2]> {
    let wire::ip::Header::V4(header) = wire::ip::decode(packet).ok()?.header else { return None };
    Some([header.source, header.destination])
}

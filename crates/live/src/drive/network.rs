//! The scenario's links between real hosts: a `sim::World` whose hosts are external nodes.

use sim::{ExternalEvent, ExternalPacket, LinkSpec, NodeKind, ObservedFlow, Outcome, Spec, World};
use units::{Bytes, Instant, NodeId, PacketId};
use wire::offload::RawPacket;

use crate::LiveError;
use crate::drive::link_state::LinkState;

/// The emulated network. Hosts are numbered in the order of the scenario's nodes.
///
/// Order of calls: `handle_packet` or `handle_timeout`, with times that never decrease; then `poll_delivery` and
/// `poll_event` until they return `None`; then `poll_timeout`. Everything that is due before a time is handled before
/// a call with that time.
pub(crate) struct Network {
    world: World,
    /// The node of each host.
    nodes: Vec<NodeId>,
    /// The names of all nodes.
    names: Vec<String>,
    /// Whether the world has flows of its own besides those of the hosts.
    simulates: bool,
    /// Whether there are two hosts, and each packet of one goes to the other, whatever address it has.
    is_passage: bool,
}

impl Network {
    /// Builds the links of `spec`, with its simulated nodes and the flows between them. The other flows run in the
    /// hosts, not here.
    pub(crate) fn new(spec: &Spec, is_simulated: &dyn Fn(NodeId) -> bool) -> Result<Self, LiveError> {
        let mut spec = spec.clone();
        spec.flows.retain(|flow| is_simulated(flow.from));
        let mut nodes = Vec::new();
        for (id, node) in (0..).map(NodeId::new).zip(&mut spec.nodes) {
            if let NodeKind::Host { address } = node.kind
                && !is_simulated(id)
            {
                node.kind = NodeKind::External { address };
                nodes.push(id);
            }
        }
        let simulates = !spec.flows.is_empty();
        let names = spec.nodes.iter().map(|node| node.name.clone()).collect();
        Ok(Self { world: World::new(spec)?, nodes, names, simulates, is_passage: false })
    }

    /// Builds the links of `spec` between its two hosts. Every packet of one reaches the other, whatever its
    /// destination address: the network after that is not in the scenario.
    pub(crate) fn passage(spec: &Spec) -> Result<Self, LiveError> {
        let hosts = spec.nodes.iter().filter(|node| node.kind.address().is_some()).count();
        match hosts {
            2 => Ok(Self { is_passage: true, ..Self::new(spec, &|_| false)? }),
            _ => Err(LiveError::Ends(hosts)),
        }
    }

    /// Takes a packet that a host sent. Returns its identity, or `None` where it has no route.
    pub(crate) fn handle_packet(&mut self, now: Instant, host: usize, packet: RawPacket) -> Option<PacketId> {
        self.run_until(now);
        if self.is_passage {
            // A device in the caller's namespace also sees the kernel's own IPv6 multicast, which no link carries.
            let is_ipv4 = packet.common_header().first().is_some_and(|byte| byte >> 4 == 4);
            if !is_ipv4 {
                return None;
            }
            let ends = [self.nodes[host], self.nodes[1 - host]];
            return self.world.inject_to(now, ends, packet).expect(NO_FLOWS);
        }
        self.world.inject(now, self.nodes[host], packet).expect(NO_FLOWS)
    }

    /// Handles everything that is due by `now`, a time that `poll_timeout` returned.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.run_until(now);
    }

    /// Returns the next packet that has reached a host, and the host.
    pub(crate) fn poll_delivery(&mut self) -> Option<(usize, ExternalPacket)> {
        let (node, packet) = self.world.poll_external()?;
        let host = self.nodes.iter().position(|known| *known == node).expect("only hosts are external");
        Some((host, packet))
    }

    /// Returns the next drop or delay of a packet.
    pub(crate) fn poll_event(&mut self) -> Option<ExternalEvent> {
        self.world.poll_external_event()
    }

    /// Returns the time of the next event.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.world.next_event()
    }

    /// Returns the name of a node.
    pub(crate) fn name(&self, node: NodeId) -> String {
        self.names[node.index()].clone()
    }

    /// Returns the nodes of the hosts.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Returns whether the host's first link accepts packets. If it does not, packets wait in the host's device.
    pub(crate) fn accepts(&self, host: usize) -> bool {
        self.world.accepts(self.nodes[host])
    }

    /// Returns whether the run is over: the stop time has come, or a link has stopped the run.
    pub(crate) fn is_over(&self) -> bool {
        self.world.is_over()
    }

    /// Returns the number of packets in transit between the hosts; 0 in a run with simulated flows, whose packets would
    /// count too and never rest.
    pub(crate) fn packets_under_way(&self) -> usize {
        if self.simulates {
            return 0;
        }
        self.world.packets_under_way()
    }

    /// Returns the number of packets of the hosts without a route: to an unknown address, or not IPv4.
    pub(crate) fn unroutable(&self) -> u64 {
        self.world.unroutable()
    }

    /// Replaces the parameters of links by those of `next`, which has the same nodes and links.
    pub(crate) fn exchange_links(&mut self, now: Instant, next: &Spec) -> Result<(), LiveError> {
        self.run_until(now);
        Ok(self.world.exchange_links(now, next)?)
    }

    /// Returns the state of each direction of each link.
    pub(crate) fn link_states(&self) -> Vec<LinkState> {
        self.world.link_states().into_iter().map(LinkState::from).collect()
    }

    /// Ends the run at `now` and returns its results, with the flows that were captured.
    pub(crate) fn finish(mut self, now: Instant, flows: Vec<ObservedFlow>) -> Outcome {
        self.run_until(now);
        self.world.stop();
        self.world.finish_observed(flows)
    }

    fn run_until(&mut self, now: Instant) {
        self.world.run_until(now).expect(NO_FLOWS);
    }
}

/// Message of an `expect`: the world checks only the streams of its own flows, so it cannot fail.
const NO_FLOWS: &str =
    "the streams of simulated flows arrive as they were sent, and those of others are not checked";

/// Returns the largest packet that every one of the links accepts, in bytes.
pub(crate) fn smallest_mtu<'a>(links: impl IntoIterator<Item = &'a LinkSpec>) -> u32 {
    let smallest =
        links.into_iter().map(LinkSpec::believed_mtu).min().unwrap_or(LARGEST_PACKET).min(LARGEST_PACKET);
    u32::try_from(smallest.0).expect("no larger than 65535")
}

/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: Bytes = Bytes(65_535);

//! The links between two devices, for traffic that no scenario describes: a packet that enters at one end leaves at the
//! other.

use sim::{ExternalFate, ExternalPacket, NodeKind, Spec, World};
use units::{Instant, NodeId};
use wire::offload::RawPacket;

use crate::LiveError;
use crate::drive::link_state::LinkState;

/// One of the two ends.
pub(crate) type End = usize;

/// The links of a scenario between its two hosts.
///
/// Order of calls as for [`crate::drive::network::Network`].
pub(crate) struct LinkPair {
    world: World,
    /// The nodes of the two ends.
    nodes: [NodeId; 2],
    losses: u64,
}

impl LinkPair {
    /// Builds the links of `spec`, which has two hosts.
    pub(crate) fn new(spec: &Spec) -> Result<Self, LiveError> {
        let nodes = ends(spec)?;
        let world = world(spec, nodes)?;
        Ok(Self { world, nodes, losses: 0 })
    }

    /// Returns the nodes of the two ends, in the order of the scenario.
    pub(crate) fn nodes(&self) -> [NodeId; 2] {
        self.nodes
    }

    /// Replaces the parameters of links by those of `spec`, which has the same nodes and links.
    pub(crate) fn exchange(&mut self, now: Instant, spec: &Spec) -> Result<(), LiveError> {
        self.world.run_until(now).expect(NO_FLOWS);
        Ok(self.world.exchange_links(now, &for_ends(spec, self.nodes))?)
    }

    /// Handles a packet that came in at an end.
    pub(crate) fn handle_packet(&mut self, now: Instant, end: End, packet: RawPacket) {
        let to = self.nodes[1 - end];
        self.world.run_until(now).expect(NO_FLOWS);
        self.world.inject_to(now, [self.nodes[end], to], packet).expect(NO_FLOWS);
    }

    /// Handles everything that is due by `now`.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.world.run_until(now).expect(NO_FLOWS);
    }

    /// Returns the next packet that has reached an end, and the end.
    pub(crate) fn poll_delivery(&mut self) -> Option<(End, ExternalPacket)> {
        let found = self.world.poll_external();
        while let Some(event) = self.world.poll_external_event() {
            self.losses += u64::from(matches!(event.fate, ExternalFate::Lost { .. }));
        }
        found.map(|(node, packet)| (usize::from(node == self.nodes[1]), packet))
    }

    /// Returns the time of the next event.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.world.next_event()
    }

    /// Returns whether the first link at an end accepts packets.
    pub(crate) fn accepts(&self, end: End) -> bool {
        self.world.accepts(self.nodes[end])
    }

    /// Returns whether a link has stopped the run, since a queue overflowed that may not.
    pub(crate) fn is_over(&self) -> bool {
        self.world.is_over()
    }

    /// Returns the state of each direction of each link.
    pub(crate) fn link_states(&self) -> Vec<LinkState> {
        self.world.link_states().into_iter().map(LinkState::from).collect()
    }
}

/// Returns the nodes of the two hosts.
fn ends(spec: &Spec) -> Result<[NodeId; 2], LiveError> {
    let nodes = (0..).map(NodeId::new).zip(&spec.nodes);
    let hosts = nodes.filter(|(_, node)| node.kind.address().is_some()).map(|(id, _)| id);
    let hosts: Vec<NodeId> = hosts.collect();
    hosts.try_into().map_err(|hosts: Vec<NodeId>| LiveError::Ends(hosts.len()))
}

fn world(spec: &Spec, ends: [NodeId; 2]) -> Result<World, LiveError> {
    Ok(World::new(for_ends(spec, ends))?)
}

/// Returns the links of a scenario without its flows, between two external nodes.
fn for_ends(spec: &Spec, ends: [NodeId; 2]) -> Spec {
    let mut spec = spec.clone();
    spec.flows.clear();
    spec.stop = None;
    spec.record = sim::RecordSpec::default();
    for end in ends {
        let kind = &mut spec.nodes[end.index()].kind;
        if let NodeKind::Host { address } = *kind {
            *kind = NodeKind::External { address };
        }
    }
    spec
}

/// Message of an `expect`: the world checks only the streams of its own flows, so it cannot fail.
const NO_FLOWS: &str = "no streams of its own are checked";

//! The links between two devices, for traffic that no scenario describes: a packet that enters at one end leaves at the
//! other.
//!
//! Links may be exchanged during the run: a new World takes over the packets that wait in the queues of the present
//! one; the former World runs until the packets that it was transmitting or propagating have arrived.

use link::Counters;
use serde::Serialize;
use sim::{ExternalFate, ExternalPacket, NodeKind, Spec, World};
use units::{Bytes, Instant, NodeId};
use wire::offload::RawPacket;

use crate::LiveError;

/// One of the two ends.
pub(crate) type End = usize;

/// The links of a scenario between its two hosts.
///
/// Order of calls as for [`crate::drive::network::Network`].
pub(crate) struct LinkPair {
    world: World,
    /// Former worlds, which deliver their last packets.
    former: Vec<World>,
    /// The nodes of the two ends.
    nodes: [NodeId; 2],
    /// The counters of the links of former worlds.
    counted: Vec<Counters>,
    losses: u64,
}

/// The state of one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkState {
    /// The link and its direction: "lasthop.down".
    pub name: String,
    /// Bytes that left it since the start.
    pub bytes_out: u64,
    /// Packets that left it since the start.
    pub packets_out: u64,
    /// Packets that it dropped since the start.
    pub drops: u64,
    /// Number of packets in its queue.
    pub waiting: usize,
    /// Their bytes, with framing.
    pub waiting_bytes: u64,
}

impl LinkPair {
    /// Builds the links of `spec`, which has two hosts.
    pub(crate) fn new(spec: &Spec) -> Result<Self, LiveError> {
        let nodes = ends(spec)?;
        let world = world(spec, nodes)?;
        let counted = vec![Counters::default(); world.link_states().len()];
        Ok(Self { world, former: Vec::new(), nodes, counted, losses: 0 })
    }

    /// Returns the nodes of the two ends, in the order of the scenario.
    pub(crate) fn nodes(&self) -> [NodeId; 2] {
        self.nodes
    }

    /// Exchanges the links for those of `spec`, which has the same nodes and links with other parameters.
    pub(crate) fn exchange(&mut self, now: Instant, spec: &Spec) -> Result<(), LiveError> {
        let mut next = world(spec, self.nodes)?;
        next.run_until(now).expect(NO_FLOWS);
        for (total, state) in self.counted.iter_mut().zip(self.world.link_states()) {
            add(total, &state.counters);
        }
        for waiting in self.world.take_waiting(now) {
            next.resume(now, waiting);
        }
        self.former.push(std::mem::replace(&mut self.world, next));
        Ok(())
    }

    /// Handles a packet that came in at an end.
    pub(crate) fn handle_packet(&mut self, now: Instant, end: End, packet: RawPacket) {
        let to = self.nodes[1 - end];
        self.world.run_until(now).expect(NO_FLOWS);
        self.world.inject_to(now, [self.nodes[end], to], packet).expect(NO_FLOWS);
    }

    /// Handles everything that is due by `now`.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        for world in self.former.iter_mut().chain([&mut self.world]) {
            world.run_until(now).expect(NO_FLOWS);
        }
    }

    /// Returns the next packet that has reached an end, and the end.
    pub(crate) fn poll_delivery(&mut self) -> Option<(End, ExternalPacket)> {
        let worlds = self.former.iter_mut().chain([&mut self.world]);
        let found = worlds.filter_map(World::poll_external).next();
        while let Some(event) = self.world.poll_external_event() {
            self.losses += u64::from(matches!(event.fate, ExternalFate::Lost { .. }));
        }
        if found.is_none() {
            self.former.retain(|world| world.packets_under_way() > 0);
            for world in &mut self.former {
                while world.poll_external_event().is_some() {}
            }
        }
        found.map(|(node, packet)| (usize::from(node == self.nodes[1]), packet))
    }

    /// Returns the time of the next event.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.former.iter().chain([&self.world]).filter_map(World::next_event).min()
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
        let states = self.world.link_states().into_iter().zip(&self.counted);
        let state = |(now, before): (sim::LinkState, &Counters)| LinkState {
            bytes_out: (now.counters.bytes_out + before.bytes_out).0,
            packets_out: now.counters.packets_out + before.packets_out,
            drops: now.counters.drops() + before.drops(),
            waiting: now.waiting.0,
            waiting_bytes: now.waiting.1.0,
            name: now.name,
        };
        states.map(state).collect()
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
    Ok(World::new(spec)?)
}

/// Adds the counters that [`LinkState`] shows.
fn add(total: &mut Counters, more: &Counters) {
    total.packets_out += more.packets_out;
    total.bytes_out = Bytes(total.bytes_out.0 + more.bytes_out.0);
    total.queue_drops += more.queue_drops;
    total.error_drops += more.error_drops;
    total.dropper_drops += more.dropper_drops;
}

/// The reason why the world cannot fail: it checks only the streams of its own flows.
const NO_FLOWS: &str = "no streams of its own are checked";

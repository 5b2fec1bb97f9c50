//! The World as it stands between real hosts.

use sim::{ExternalEvent, ExternalPacket, NodeKind, ObservedFlow, Outcome, Spec, World};
use units::{Instant, PacketId};

use crate::LiveError;

/// A world whose hosts are elsewhere. Hosts are numbered in the order of the scenario's nodes.
///
/// Order of calls: `handle_packet` and `handle_timeout` with a time that never runs back, after
/// everything that was due before it; then `poll_delivery` and `poll_event` until there is nothing;
/// then `poll_timeout`.
pub(crate) struct Between {
    world: World,
    /// The node of each host.
    nodes: Vec<usize>,
}

impl Between {
    /// The links of `spec` between hosts that are elsewhere; its flows are theirs.
    pub(crate) fn new(spec: &Spec) -> Result<Self, LiveError> {
        let mut spec = spec.clone();
        spec.flows.clear();
        for node in &mut spec.nodes {
            if let NodeKind::Host { address } = node.kind {
                node.kind = NodeKind::External { address };
            }
        }
        let hosts = spec.nodes.iter().enumerate().filter(|(_, node)| node.kind.address().is_some());
        let nodes = hosts.map(|(index, _)| index).collect();
        Ok(Self { world: World::new(spec)?, nodes })
    }

    /// A host sent a packet; its identity, unless it leads nowhere.
    pub(crate) fn handle_packet(&mut self, now: Instant, host: usize, packet: &[u8]) -> Option<PacketId> {
        self.run_until(now);
        self.world.inject(now, self.nodes[host], packet.to_vec()).expect(NO_FLOWS)
    }

    /// A time that `poll_timeout` gave has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.run_until(now);
    }

    /// The next packet that reaches a host now.
    pub(crate) fn poll_delivery(&mut self) -> Option<(usize, ExternalPacket)> {
        let (node, packet) = self.world.poll_external()?;
        let host = self.nodes.iter().position(|known| *known == node).expect("only hosts are external");
        Some((host, packet))
    }

    /// What else happened to a packet.
    pub(crate) fn poll_event(&mut self) -> Option<ExternalEvent> {
        self.world.poll_external_event()
    }

    /// When something happens next.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.world.next_event()
    }

    /// Whether the host's first link takes packets; if not, they wait in the host.
    pub(crate) fn accepts(&self, host: usize) -> bool {
        self.world.accepts(self.nodes[host])
    }

    /// Whether the run is over: its time has come, or a link stopped it.
    pub(crate) fn is_over(&self) -> bool {
        self.world.is_over()
    }

    /// Packets that are somewhere between the hosts.
    pub(crate) fn packets_under_way(&self) -> usize {
        self.world.packets_under_way()
    }

    /// Packets from the hosts that led nowhere: to an address that nobody has, or no IPv4.
    pub(crate) fn unroutable(&self) -> u64 {
        self.world.unroutable()
    }

    /// What is left of the run at `now`, with the flows that were seen.
    pub(crate) fn finish(mut self, now: Instant, flows: Vec<ObservedFlow>) -> Outcome {
        self.run_until(now);
        self.world.stop();
        self.world.finish_observed(flows)
    }

    fn run_until(&mut self, now: Instant) {
        self.world.run_until(now).expect(NO_FLOWS);
    }
}

/// Why the world cannot fail: only its own flows have streams that it checks.
const NO_FLOWS: &str = "a world without flows of its own has no stream to go wrong";

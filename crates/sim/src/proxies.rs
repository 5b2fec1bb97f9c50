//! Proxies: what stands at the ends of links and looks into the packets that pass. `proxy_traffic.rs` carries packets
//! to them and from them.

use std::collections::{BTreeMap, BTreeSet};

use proxy::{Agent, Heading, Output, Ticket};
use units::Instant;

use crate::ids::{ConnectionId, DirectionId, EndpointId, Heading as Way, IdVec, ProxyId};
use crate::packet::{IpHeader, PacketBox};
use crate::route::{Hop, NextHop};
use crate::spec::{ProxySpec, Spec};
use crate::summary::ProxySummary;

/// All proxies of a run.
#[derive(Default)]
pub(crate) struct Proxies {
    nodes: IdVec<ProxyId, ProxyNode>,
    /// Those that a packet passes before it enters a direction of a link, and after it has left it, in their order.
    before: BTreeMap<DirectionId, Vec<ProxyId>>,
    behind: BTreeMap<DirectionId, Vec<ProxyId>>,
}

/// A proxy in a run.
pub(crate) struct ProxyNode {
    pub(crate) work: Work,
    /// Packets that it holds.
    pub(crate) held: BTreeMap<Ticket, PacketBox>,
    /// Totals of connections that are over.
    counts: BTreeMap<&'static str, u64>,
}

/// What a proxy works with.
pub(crate) enum Work {
    /// Packets pass it.
    Agent(AgentNode),
    /// Connections end at it: the time at which each is to be woken.
    Split(BTreeSet<(Instant, ConnectionId)>),
}

/// An agent, with its output.
pub(crate) struct AgentNode {
    pub(crate) agent: Box<dyn Agent>,
    pub(crate) output: Output,
    /// Where copies enter the link.
    pub(crate) entries: BTreeMap<ConnectionId, Entry>,
}

/// The way of a connection's packets from a proxy into the link.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) next_hop: NextHop,
    pub(crate) destination: EndpointId,
    pub(crate) header: IpHeader,
    pub(crate) beyond: bool,
}

impl Proxies {
    pub(crate) fn new(spec: &Spec) -> Self {
        let mut proxies = Self::default();
        for proxy in &spec.proxies {
            let id = proxies.nodes.push(ProxyNode::new(proxy, spec.record.proxies));
            let way = if spec.link(proxy.link).ends[0] == proxy.node { Way::Down } else { Way::Up };
            let [down, up] = DirectionId::both(proxy.link);
            let (into, out) = if way == Way::Down { (down, up) } else { (up, down) };
            proxies.before.entry(into).or_default().push(id);
            proxies.behind.entry(out).or_default().insert(0, id);
        }
        proxies
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&mut self, proxy: ProxyId) -> &mut ProxyNode {
        &mut self.nodes[proxy]
    }

    /// A path with the proxies on it; `hops` are those of the links of `path`.
    pub(crate) fn hops(&self, path: &[DirectionId], hops: impl Iterator<Item = Hop>) -> Vec<Hop> {
        let mut all = Vec::new();
        for (direction, hop) in path.iter().zip(hops) {
            let at = |list: &BTreeMap<DirectionId, Vec<ProxyId>>, heading| {
                let here = list.get(direction).into_iter().flatten();
                here.map(|proxy| Hop::Proxy(*proxy, heading)).collect::<Vec<_>>()
            };
            all.extend(at(&self.before, Heading::In));
            all.push(hop);
            all.extend(at(&self.behind, Heading::Out));
        }
        all
    }

    /// Packets that proxies hold.
    pub(crate) fn packets_inside(&self) -> usize {
        self.nodes.iter().map(|node| node.held.len()).sum()
    }

    /// Adds the totals of a connection.
    pub(crate) fn add(&mut self, proxy: ProxyId, totals: impl IntoIterator<Item = (&'static str, u64)>) {
        let counts = &mut self.nodes[proxy].counts;
        for (name, count) in totals {
            let total = counts.entry(name).or_default();
            *total = if name.ends_with("_max") { (*total).max(count) } else { *total + count };
        }
    }

    pub(crate) fn summaries(&self, spec: &Spec) -> Vec<ProxySummary> {
        let summary = |(node, proxy): (&ProxyNode, &ProxySpec)| {
            let own = match &node.work {
                Work::Agent(work) => work.agent.counts(),
                Work::Split(_) => Vec::new(),
            };
            let counts = node.counts.iter().map(|(name, count)| (*name, *count)).chain(own);
            ProxySummary {
                proxy: proxy.name.clone(),
                kind: proxy.kind.id().to_owned(),
                node: spec.node(proxy.node).name.clone(),
                link: spec.link(proxy.link).name.clone(),
                counts: counts.map(|(name, count)| (name.to_owned(), count)).collect(),
            }
        };
        self.nodes.iter().zip(&spec.proxies).map(summary).collect()
    }
}

impl ProxyNode {
    fn new(spec: &ProxySpec, recording: bool) -> Self {
        let work = match spec.kind.agent() {
            Some(agent) => {
                Work::Agent(AgentNode { agent, output: Output::new(recording), entries: BTreeMap::new() })
            }
            None => Work::Split(BTreeSet::new()),
        };
        Self { work, held: BTreeMap::new(), counts: BTreeMap::new() }
    }

    pub(crate) fn next(&self) -> Instant {
        match &self.work {
            Work::Agent(work) => work.agent.poll_timeout(),
            Work::Split(timers) => timers.first().map_or(Instant::NEVER, |(at, _)| *at),
        }
    }

    /// Sets the time at which a split connection is to be woken.
    pub(crate) fn rearm(&mut self, connection: ConnectionId, armed: &mut Instant, due: Instant) {
        if let Work::Split(timers) = &mut self.work
            && *armed != due
        {
            timers.remove(&(*armed, connection));
            if due < Instant::NEVER {
                timers.insert((due, connection));
            }
            *armed = due;
        }
    }
}

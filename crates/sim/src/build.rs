//! From a specification to an engine that is ready to run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::sync::Arc;

use tcp::Ports;
use units::{Bytes, Instant, Streams};
use wire::Segment;

use crate::connection::Connection;
use crate::engine::{Direction, End, Engine, Way};
use crate::external::Gateway;
use crate::flow::Flow;
use crate::kinship::Kinship;
use crate::measure::{Gauge, LinkMeter};
use crate::packet::{Boxes, Label};
use crate::queue::EventQueue;
use crate::record::Recorder;
use crate::route::{Graph, LinkDirection};
use crate::spec::{CapturePoint, FlowSpec, LinkSpec, NodeKind, NodeSpec, Spec, Workload};

/// Why no world can be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two nodes, links or flows have one name.
    #[error("two {what} are called {name}; give each a name of its own")]
    DuplicateName {
        /// "nodes", "links" or "flows".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two nodes have one address.
    #[error("{first} and {second} both have the address {address}; give each its own")]
    DuplicateAddress {
        /// The address.
        address: Ipv4Addr,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Something refers to a node or link that is not there.
    #[error("{what} refers to {kind} number {index}, but there are only {count}")]
    NoSuch {
        /// What refers to it.
        what: String,
        /// "node" or "link".
        kind: &'static str,
        /// The place that was given.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A link joins a node with itself.
    #[error("link {link} joins {node} with itself; a link joins two nodes")]
    Loop {
        /// The link.
        link: String,
        /// The node.
        node: String,
    },
    /// A flow begins or ends where there is no TCP of ours.
    #[error("flow {flow} needs a host at each end, and {node} is none")]
    NotAHost {
        /// The flow.
        flow: String,
        /// The node.
        node: String,
    },
    /// A flow leads to where it begins.
    #[error("flow {flow} leads from {node} to itself; it needs two hosts")]
    FlowToItself {
        /// The flow.
        flow: String,
        /// The node.
        node: String,
    },
    /// A flow that is to have a share of a link does not cross it.
    #[error(
        "flow {flow}: the way from {from} to {to} does not lead over {direction}; name a link that it crosses"
    )]
    NotOnTheWay {
        /// The flow.
        flow: String,
        /// The host that sends.
        from: String,
        /// The host that reads.
        to: String,
        /// The direction of a link, "lasthop.down".
        direction: String,
    },
    /// No path of links and routers joins the two hosts of a flow.
    #[error("flow {flow}: there is no path from {from} to {to}; join them with links, over routers")]
    NoRoute {
        /// The flow.
        flow: String,
        /// The host that sends.
        from: String,
        /// The host that it cannot reach.
        to: String,
    },
}

/// Builds the engine of `spec`, which was checked.
pub(crate) fn engine<R: Recorder>(spec: &Spec, recorder: R) -> Result<Engine<R>, BuildError> {
    let streams = Streams::new(spec.seed);
    let links: Vec<Direction> = spec.links.iter().flat_map(|link| directions(link, &streams)).collect();
    let mut routes = Vec::new();
    let gateway = gateway(spec, &mut routes);
    let (flows, ends) = flows_and_ends(spec, &streams.below("flow"), &mut routes)?;
    let components = [(links.len(), LINK_PRIORITY), (flows.len(), FLOW_PRIORITY), (ends.len(), END_PRIORITY)];
    let priorities = components.iter().flat_map(|&(count, priority)| std::iter::repeat_n(priority, count));
    let mut engine = Engine {
        now: Instant::START,
        woken: Instant::START,
        queue: EventQueue::new(priorities.collect()),
        meters: vec![LinkMeter::new(); links.len()],
        gauge: Gauge::new(&spec.record),
        connections: connections(spec),
        news: VecDeque::new(),
        used_ports: UsedPorts::default(),
        diagnoses: BTreeMap::new(),
        links,
        ends,
        open_flows: flows.len(),
        flows,
        routes,
        boxes: Boxes::default(),
        arrivals: VecDeque::new(),
        gateway,
        kinship: Kinship::default(),
        recorder,
        stopped: None,
        progress: Instant::START,
        failure: None,
    };
    engine.arm();
    Ok(engine)
}

/// The first place of each flow.
fn connections(spec: &Spec) -> Vec<Connection> {
    let flows = (0..).zip(&spec.flows);
    flows.map(|(index, flow)| Connection::new(index, index, &flow.milestones)).collect()
}

fn directions(spec: &LinkSpec, streams: &Streams) -> [Direction; 2] {
    let streams = streams.below("link").below(&spec.name);
    let direction = |config, name| Direction {
        link: link::Link::new(config, &streams.below(name)),
        mtu: u32::try_from(spec.mtu.0).unwrap_or(u32::MAX),
        oversize_drops: 0,
        held: VecDeque::new(),
        waiting: VecDeque::new(),
    };
    [direction(&spec.down, "down"), direction(&spec.up, "up")]
}

type Routes = Vec<Box<[LinkDirection]>>;

/// The external nodes, with a route between every two of them that can reach each other.
fn gateway(spec: &Spec, routes: &mut Routes) -> Gateway {
    let mut gateway = Gateway::new(spec.flows.len());
    let graph = Graph::new(&spec.nodes, &spec.links);
    let externals: Vec<(usize, Ipv4Addr)> = spec.nodes.iter().enumerate().filter_map(external).collect();
    for &(to, address) in &externals {
        gateway.add_node(to, address);
        let tree = graph.tree(to);
        for &(from, _) in externals.iter().filter(|(from, _)| *from != to) {
            if let Some(path) = tree.path_from(from) {
                gateway.add_route(from, to, routes.len() as u32);
                routes.push(path.into());
            }
        }
    }
    gateway
}

fn external((index, node): (usize, &NodeSpec)) -> Option<(usize, Ipv4Addr)> {
    match node.kind {
        NodeKind::External { address } => Some((index, address)),
        _ => None,
    }
}

fn flows_and_ends(
    spec: &Spec,
    streams: &Streams,
    routes: &mut Routes,
) -> Result<(Vec<Flow>, Vec<End>), BuildError> {
    let pairs: Vec<(usize, usize)> =
        spec.flows.iter().flat_map(|flow| [(flow.from, flow.to), (flow.to, flow.from)]).collect();
    let paths = shortest_paths(&Graph::new(&spec.nodes, &spec.links), &pairs);
    let (mut flows, mut ends) = (Vec::new(), Vec::new());
    for (flow, paths) in spec.flows.iter().zip(paths.chunks_exact(2)) {
        let path = paths.iter().flatten().flatten();
        let mtu = path.map(|direction| spec.links[*direction as usize / 2].mtu).min();
        for (path, [source, target]) in paths.iter().zip([[flow.from, flow.to], [flow.to, flow.from]]) {
            let path = path.clone().ok_or_else(|| no_route(spec, flow))?;
            let label = Label { source: source as u32, target: target as u32, class: flow.class };
            ends.push(End::new(Way { route: routes.len() as u32, first_hop: path[0], label }));
            routes.push(path.into());
        }
        check_crossing(spec, flow, paths[0].as_deref().unwrap_or_default())?;
        let tcps = [&flow.sender, &flow.receiver].map(|config| fitted(config, mtu));
        let place = flows.len() as u32;
        flows.push(Flow::new(flow, tcps, streams.below(&flow.name), flow.start_at(spec.seed), place));
    }
    Ok((flows, ends))
}

/// Whether the way of a flow leads over the link of which it is to have a share.
fn check_crossing(spec: &Spec, flow: &FlowSpec, path: &[LinkDirection]) -> Result<(), BuildError> {
    let Workload::Application { application, .. } = &flow.workload else { return Ok(()) };
    let Some(wanted) = application.crosses() else { return Ok(()) };
    let name = |direction: u32| {
        let way = if direction.is_multiple_of(2) { "down" } else { "up" };
        format!("{}.{way}", spec.links[direction as usize / 2].name)
    };
    if path.iter().any(|direction| name(*direction) == wanted) {
        return Ok(());
    }
    let node = |node: usize| spec.nodes[node].name.clone();
    Err(BuildError::NotOnTheWay {
        flow: flow.name.clone(),
        from: node(flow.from),
        to: node(flow.to),
        direction: wanted.to_owned(),
    })
}

/// The TCP, with segments that the smallest MTU of its path carries: path MTU discovery's result
/// (RFC 1191), without its probing.
fn fitted(config: &Arc<tcp::Config>, mtu: Option<Bytes>) -> Arc<tcp::Config> {
    let headers = Bytes(u64::from(IPV4_HEADER_LEN + Segment::HEADER_LEN));
    let mss = mtu.unwrap_or(Bytes::MAX).saturating_sub(headers).max(Bytes(1));
    if config.plain.mss <= mss {
        return Arc::clone(config);
    }
    let mut config = tcp::Config::clone(config);
    config.limit_mss(mss);
    Arc::new(config)
}

/// The path of each pair, by one search for each destination.
fn shortest_paths(graph: &Graph, pairs: &[(usize, usize)]) -> Vec<Option<Vec<LinkDirection>>> {
    let mut by_destination: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, &(_, to)) in pairs.iter().enumerate() {
        by_destination.entry(to).or_default().push(index);
    }
    let mut paths = vec![None; pairs.len()];
    for (to, indices) in by_destination {
        let tree = graph.tree(to);
        for index in indices {
            paths[index] = tree.path_from(pairs[index].0);
        }
    }
    paths
}

/// The ports in use between each two hosts.
#[derive(Debug, Default)]
pub(crate) struct UsedPorts(BTreeSet<(u32, u32, u16)>);

impl UsedPorts {
    /// A port of the dynamic range for who connects, the first from a drawn one on that the same two
    /// hosts do not use yet, and the `service`'s for who listens.
    pub(crate) fn draw(&mut self, hosts: [u32; 2], streams: &Streams, service: u16) -> Ports {
        let drawn = streams.number("port") % u64::from(DYNAMIC_PORTS);
        let port = |step: u64| FIRST_DYNAMIC_PORT + ((drawn + step) % u64::from(DYNAMIC_PORTS)) as u16;
        let local = (0..u64::from(DYNAMIC_PORTS))
            .map(port)
            .find(|port| self.0.insert((hosts[0], hosts[1], *port)))
            .unwrap_or_else(|| port(0));
        Ports { local, remote: service }
    }

    /// A connection is over and its port free again.
    pub(crate) fn release(&mut self, hosts: [u32; 2], ports: Ports) {
        self.0.remove(&(hosts[0], hosts[1], ports.local));
    }
}

fn no_route(spec: &Spec, flow: &FlowSpec) -> BuildError {
    let name = |node: usize| spec.nodes[node].name.clone();
    BuildError::NoRoute { flow: flow.name.clone(), from: name(flow.from), to: name(flow.to) }
}

pub(crate) fn check(spec: &Spec) -> Result<(), BuildError> {
    check_names("nodes", spec.nodes.iter().map(|node| &node.name))?;
    check_names("links", spec.links.iter().map(|link| &link.name))?;
    check_names("flows", spec.flows.iter().map(|flow| &flow.name))?;
    check_addresses(&spec.nodes)?;
    spec.links.iter().try_for_each(|link| check_link(spec, link))?;
    spec.flows.iter().try_for_each(|flow| check_flow(spec, flow))?;
    spec.record.captures.iter().try_for_each(|point| match *point {
        CapturePoint::Node(index) => there_is("a capture".to_owned(), "node", index, spec.nodes.len()),
        CapturePoint::Link(index) => there_is("a capture".to_owned(), "link", index, spec.links.len()),
    })
}

fn check_names<'a>(what: &'static str, names: impl Iterator<Item = &'a String>) -> Result<(), BuildError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(BuildError::DuplicateName { what, name: name.clone() });
        }
    }
    Ok(())
}

fn check_addresses(nodes: &[NodeSpec]) -> Result<(), BuildError> {
    let mut seen: BTreeMap<Ipv4Addr, &str> = BTreeMap::new();
    for node in nodes {
        let Some(address) = node.kind.address() else { continue };
        if let Some(first) = seen.insert(address, &node.name) {
            let (first, second) = (first.to_owned(), node.name.clone());
            return Err(BuildError::DuplicateAddress { address, first, second });
        }
    }
    Ok(())
}

fn check_link(spec: &Spec, link: &LinkSpec) -> Result<(), BuildError> {
    for end in link.ends {
        there_is(format!("link {}", link.name), "node", end, spec.nodes.len())?;
    }
    if link.ends[0] == link.ends[1] {
        let node = spec.nodes[link.ends[0]].name.clone();
        return Err(BuildError::Loop { link: link.name.clone(), node });
    }
    Ok(())
}

fn check_flow(spec: &Spec, flow: &FlowSpec) -> Result<(), BuildError> {
    for end in [flow.from, flow.to] {
        there_is(format!("flow {}", flow.name), "node", end, spec.nodes.len())?;
        let node = &spec.nodes[end];
        if !matches!(node.kind, NodeKind::Host { .. }) {
            return Err(BuildError::NotAHost { flow: flow.name.clone(), node: node.name.clone() });
        }
    }
    if flow.from == flow.to {
        let node = spec.nodes[flow.from].name.clone();
        return Err(BuildError::FlowToItself { flow: flow.name.clone(), node });
    }
    Ok(())
}

fn there_is(what: String, kind: &'static str, index: usize, count: usize) -> Result<(), BuildError> {
    if index < count { Ok(()) } else { Err(BuildError::NoSuch { what, kind, index, count }) }
}

/// RFC 6335 §6: the dynamic ports are 49152-65535.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u16 = 65_535 - FIRST_DYNAMIC_PORT + 1;

/// Who goes first where all want the same time: links, then ends of connections, then flows.
const LINK_PRIORITY: u8 = 0;
pub(crate) const END_PRIORITY: u8 = 1;
const FLOW_PRIORITY: u8 = 2;

/// The IPv4 header without options (RFC 791 §3.1).
pub(crate) const IPV4_HEADER_LEN: u32 = 20;

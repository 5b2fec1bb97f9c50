//! From a specification to an engine that is ready to run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::sync::Arc;

use units::{Bytes, Instant, Streams};
use wire::Segment;
use workload::Workload;

use crate::cells::Cells;
use crate::connection::{Connection, Egress};
use crate::directed_link::{DirectedLink, has_flow_control};
use crate::engine::Engine;
use crate::external::Gateway;
use crate::flow::Flow;
use crate::ids::{ConnectionId, DirectionId, FlowId, Heading, Id, IdVec, LinkId, NodeId, PerSide, ProxyId};
use crate::measure::{LinkMeter, Sampler};
use crate::packet::{IPV4_HEADER_LEN, IpHeader, PacketPool};
use crate::ports::PortAllocator;
use crate::proxies::Proxies;
use crate::record::Recorder;
use crate::route::{Graph, Hop, NextHop, Routes};
use crate::schedule::Schedule;
use crate::spec::{CapturePoint, FlowSpec, LinkSpec, NodeKind, NodeSpec, ProxySpec, Spec};
use crate::split::SplitPlan;
use crate::stop::MOST_PACKETS_INSIDE;
use crate::tcb_sharing::TcbSharing;

/// Why no world can be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two nodes, links or flows have one name.
    #[error("two {what} are called {name}; give each a name of its own")]
    DuplicateName {
        /// "nodes", "links", "cells", "proxies" or "flows".
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
    /// The congestion control of a flow is a program, or a rule over a program, that this kind of run cannot execute.
    #[error(
        "flow {flow}: its congestion control is a program; lasthop run executes one, without another rule over it"
    )]
    NoProgram {
        /// The flow.
        flow: String,
    },
    /// A proxy stands at neither end of its link.
    #[error("proxy {proxy}: {node} is no end of the link {link}; name one of its two nodes")]
    NotAtTheLink {
        /// The proxy.
        proxy: String,
        /// The node.
        node: String,
        /// The link.
        link: String,
    },
    /// A proxy would have to look into packets of network stacks that are not ours.
    #[error("proxy {proxy} reads segments of our own TCP, and packets from outside pass it; leave it out")]
    ProxyOutside {
        /// The proxy.
        proxy: String,
    },
    /// A proxy's congestion control is a program.
    #[error("proxy {proxy}: its congestion control is a program; name one of lasthop list congestion")]
    NoProgramOfProxy {
        /// The proxy.
        proxy: String,
    },
    /// The two directions of a flow do not cross the same proxies.
    #[error(
        "flow {flow}: its way back does not lead through the proxy {proxy}; lead both ways over its link"
    )]
    OneWay {
        /// The flow.
        flow: String,
        /// The proxy.
        proxy: String,
    },
    /// Two proxies would split a connection.
    #[error("flow {flow} crosses two proxies that split connections, {first} and {second}; keep one of them")]
    TwoSplits {
        /// The flow.
        flow: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
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
    let links: IdVec<DirectionId, DirectedLink> =
        spec.links.iter().flat_map(|link| directions(link, &streams)).collect();
    let cells = Cells::new(spec, &streams);
    let proxies = Proxies::new(spec);
    let mut routes = Routes::default();
    let gateway = gateway(spec, &cells, &mut routes);
    let ways = (&cells, &proxies);
    let (flows, connections) = flows_and_connections(spec, &streams.below("flow"), ways, &mut routes)?;
    let others = (spec.cells.len(), proxies.len());
    let mut engine = Engine {
        now: Instant::START,
        woken: Instant::START,
        schedule: Schedule::new(links.len(), 2 * connections.len(), flows.len(), others),
        cells,
        proxies,
        sampler: Sampler::new(&spec.record),
        connections,
        pending: VecDeque::new(),
        ports: PortAllocator::default(),
        diagnoses: BTreeMap::new(),
        links,
        open_flows: flows.len(),
        flows,
        routes,
        pool: PacketPool::default(),
        arrivals: VecDeque::new(),
        gateway,
        tcb_sharing: TcbSharing::new(streams.below("fast_open")),
        recorder,
        stopped: None,
        progress: Instant::START,
        failure: None,
        most_packets_inside: MOST_PACKETS_INSIDE,
    };
    engine.arm();
    Ok(engine)
}

/// The streams of the random processes of a link's direction.
pub(crate) fn link_streams(streams: &Streams, link: &str, heading: Heading) -> Streams {
    streams.below("link").below(link).below(heading.name())
}

fn directions(spec: &LinkSpec, streams: &Streams) -> [DirectedLink; 2] {
    [(&spec.down, Heading::Down), (&spec.up, Heading::Up)].map(|(config, heading)| DirectedLink {
        link: link::Link::new(config, &link_streams(streams, &spec.name, heading)),
        meter: LinkMeter::new(),
        mtu: u32::try_from(spec.mtu.0).unwrap_or(u32::MAX),
        oversize_drops: 0,
        has_flow_control: has_flow_control(config),
        held: VecDeque::new(),
        blocked: VecDeque::new(),
        name: format!("{}.{}", spec.name, heading.name()),
    })
}

/// The external nodes, with a route between every two of them that can reach each other.
fn gateway(spec: &Spec, cells: &Cells, routes: &mut Routes) -> Gateway {
    let mut gateway = Gateway::new(spec.flows.len());
    let graph = Graph::new(&spec.nodes, &spec.links);
    let externals: Vec<(NodeId, Ipv4Addr)> = spec.nodes.iter().enumerate().filter_map(external).collect();
    for &(to, address) in &externals {
        gateway.add_node(to, address);
        let tree = graph.tree(to);
        for &(from, _) in externals.iter().filter(|(from, _)| *from != to) {
            if let Some(path) = tree.path_from(from) {
                gateway.add_route(from, to, routes.add(cells.hops(&path)));
            }
        }
    }
    gateway
}

/// Gives an external node a second address: over the routes of its first one, or over one link of its own.
pub(crate) fn add_address<R: Recorder>(
    engine: &mut Engine<R>,
    spec: &Spec,
    (node, address): (NodeId, Ipv4Addr),
    link: Option<LinkId>,
) {
    let Some(link) = link else { return engine.gateway.add_second(node, address, node) };
    let (spec, apart) = spec.with_link_apart(node, link);
    let graph = Graph::new(&spec.nodes, &spec.links);
    // Second addresses have places after those of all nodes.
    let place = NodeId::from_index(apart.index() + engine.gateway.seconds());
    let here = graph.tree(apart);
    for (peer, _) in spec.nodes.iter().take(apart.index()).enumerate().filter_map(external) {
        let ways = [(place, peer, graph.tree(peer).path_from(apart)), (peer, place, here.path_from(peer))];
        for (from, to, path) in ways {
            if let Some(path) = path.filter(|path| !path.is_empty()) {
                let first_hop = engine.routes.add(engine.cells.hops(&path));
                engine.gateway.add_route(from, to, first_hop);
            }
        }
    }
    engine.gateway.add_second(node, address, place);
}

fn external((index, node): (usize, &NodeSpec)) -> Option<(NodeId, Ipv4Addr)> {
    match node.kind {
        NodeKind::External { address } => Some((NodeId::from_index(index), address)),
        _ => None,
    }
}

type FlowsAndConnections = (IdVec<FlowId, Flow>, IdVec<ConnectionId, Connection>);

/// The flows, each with its first connection's place.
fn flows_and_connections(
    spec: &Spec,
    streams: &Streams,
    (cells, proxies): (&Cells, &Proxies),
    routes: &mut Routes,
) -> Result<FlowsAndConnections, BuildError> {
    let hosts = |flow: &FlowSpec| flow.nodes().into_array();
    let pairs: Vec<(NodeId, NodeId)> =
        spec.flows.iter().map(hosts).flat_map(|[from, to]| [(from, to), (to, from)]).collect();
    let paths = shortest_paths(&Graph::new(&spec.nodes, &spec.links), &pairs);
    let (mut flows, mut connections) = (IdVec::default(), IdVec::default());
    for (index, flow) in spec.flows.iter().enumerate() {
        let no_route = || no_route(spec, flow);
        let forward = paths[2 * index].as_deref().ok_or_else(no_route)?;
        let backward = paths[2 * index + 1].as_deref().ok_or_else(no_route)?;
        check_crossing(spec, flow, forward)?;
        let links = forward.iter().chain(backward).map(|direction| spec.link(direction.link()));
        let mtu = links.map(|link| link.mtu).min();
        let [from, to] = hosts(flow);
        let [forth, back] =
            [(forward, from, to), (backward, to, from)].map(|(path, source, destination)| Egress {
                first_hop: routes.add(proxies.hops(path, cells.hops(path)).into_iter()),
                first_link: path[0],
                header: IpHeader { source, destination, class: flow.class },
            });
        let id = FlowId::from_index(index);
        connections.push(Connection::new(id, index as u32, PerSide::new(forth, back), &flow.milestones));
        let tcps = PerSide::new(&flow.sender, &flow.receiver).map(|config| fitted(config, mtu));
        let (streams, start) = (streams.below(&flow.name), flow.start_at(spec.seed));
        let crossed = [forth, back].map(|way| proxies_from(routes, way.first_hop));
        let split = split_plan(spec, flow, &crossed, mtu)?;
        flows.push(Flow::new(flow, (tcps, split), streams, start, ConnectionId::first_of(id)));
    }
    Ok((flows, connections))
}

/// A proxy on a route: the hop after it, and whether packets of the route enter its link there.
type Crossed = (ProxyId, NextHop, proxy::Heading);

fn proxies_from(routes: &Routes, first: NextHop) -> Vec<Crossed> {
    let proxy = |(at, hop): (NextHop, Hop)| match hop {
        Hop::Proxy(proxy, heading) => Some((proxy, at.next(), heading)),
        _ => None,
    };
    routes.from(first).filter_map(proxy).collect()
}

/// How a proxy on the way of a flow splits its connections, if one does. Both ways must cross the same proxies.
fn split_plan(
    spec: &Spec,
    flow: &FlowSpec,
    [forth, back]: &[Vec<Crossed>; 2],
    mtu: Option<Bytes>,
) -> Result<Option<SplitPlan>, BuildError> {
    let proxy = |proxy: ProxyId| &spec.proxies[proxy.index()];
    let crosses = |way: &[Crossed], one: ProxyId| way.iter().any(|(other, ..)| *other == one);
    let lacking = |(one, other): (&[Crossed], &[Crossed])| {
        one.iter().map(|(proxy, ..)| *proxy).find(|proxy| !crosses(other, *proxy))
    };
    if let Some(one_way) = [(&**forth, &**back), (&**back, &**forth)].into_iter().find_map(lacking) {
        let (flow, proxy) = (flow.name.clone(), proxy(one_way).name.clone());
        return Err(BuildError::OneWay { flow, proxy });
    }
    let splits: Vec<&Crossed> = forth.iter().filter(|(one, ..)| proxy(*one).kind.split().is_some()).collect();
    if let [(first, ..), (second, ..), ..] = splits[..] {
        let [first, second] = [first, second].map(|one| proxy(*one).name.clone());
        return Err(BuildError::TwoSplits { flow: flow.name.clone(), first, second });
    }
    let Some(&&(id, forwards, heading)) = splits.first() else { return Ok(None) };
    let backwards = back.iter().find(|(one, ..)| *one == id).map_or(forwards, |(_, next, _)| *next);
    let ProxySpec { kind, wireless, wired, .. } = proxy(id);
    let [near, far] = if heading == proxy::Heading::In { [wired, wireless] } else { [wireless, wired] };
    // The end that stands for a host has that host's TCP unless the file gives it another.
    let buffer = kind.split().map_or(Bytes::ZERO, |split| split.buffer);
    let of = |own: &Option<Arc<tcp::Config>>, host: &Arc<tcp::Config>| {
        let mut config = tcp::Config::clone(&fitted(own.as_ref().unwrap_or(host), mtu));
        config.limit_window(buffer);
        Arc::new(config)
    };
    let tcps = PerSide::new(of(far, &flow.sender), of(near, &flow.receiver));
    Ok(Some(SplitPlan { proxy: id, tcps, buffer, onwards: PerSide::new(forwards, backwards) }))
}

/// Checks that the route of a flow crosses the link of which it is to have a share.
fn check_crossing(spec: &Spec, flow: &FlowSpec, path: &[DirectionId]) -> Result<(), BuildError> {
    let Workload::Application { application, .. } = &flow.workload else { return Ok(()) };
    let Some(wanted) = application.crosses() else { return Ok(()) };
    let name = |direction: DirectionId| {
        format!("{}.{}", spec.link(direction.link()).name, direction.heading().name())
    };
    if path.iter().any(|direction| name(*direction) == wanted) {
        return Ok(());
    }
    let node = |node: NodeId| spec.node(node).name.clone();
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
fn shortest_paths(graph: &Graph, pairs: &[(NodeId, NodeId)]) -> Vec<Option<Vec<DirectionId>>> {
    let mut by_destination: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
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

fn no_route(spec: &Spec, flow: &FlowSpec) -> BuildError {
    let name = |node: NodeId| spec.node(node).name.clone();
    BuildError::NoRoute { flow: flow.name.clone(), from: name(flow.from), to: name(flow.to) }
}

pub(crate) fn check(spec: &Spec) -> Result<(), BuildError> {
    check_names("nodes", spec.nodes.iter().map(|node| &node.name))?;
    check_names("links", spec.links.iter().map(|link| &link.name))?;
    check_names("flows", spec.flows.iter().map(|flow| &flow.name))?;
    check_addresses(&spec.nodes)?;
    spec.links.iter().try_for_each(|link| check_link(spec, link))?;
    check_names("cells", spec.cells.iter().map(|cell| &cell.name))?;
    let users = spec.cells.iter().flat_map(|cell| cell.users.iter().map(move |user| (cell, user)));
    users.into_iter().try_for_each(|(cell, user)| {
        check_index(format!("cell {}", cell.name), "link", user.link.index(), spec.links.len())
    })?;
    check_names("proxies", spec.proxies.iter().map(|proxy| &proxy.name))?;
    spec.proxies.iter().try_for_each(|proxy| check_proxy(spec, proxy))?;
    spec.flows.iter().try_for_each(|flow| check_flow(spec, flow))?;
    spec.record.captures.iter().try_for_each(|point| match *point {
        CapturePoint::Node(index) => {
            check_index("a capture".to_owned(), "node", index.index(), spec.nodes.len())
        }
        CapturePoint::Link(index) => {
            check_index("a capture".to_owned(), "link", index.index(), spec.links.len())
        }
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
        check_index(format!("link {}", link.name), "node", end.index(), spec.nodes.len())?;
    }
    if link.ends[0] == link.ends[1] {
        let node = spec.node(link.ends[0]).name.clone();
        return Err(BuildError::Loop { link: link.name.clone(), node });
    }
    Ok(())
}

fn check_proxy(spec: &Spec, proxy: &ProxySpec) -> Result<(), BuildError> {
    let name = || proxy.name.clone();
    check_index(format!("proxy {}", name()), "link", proxy.link.index(), spec.links.len())?;
    check_index(format!("proxy {}", name()), "node", proxy.node.index(), spec.nodes.len())?;
    let link = spec.link(proxy.link);
    if !link.ends.contains(&proxy.node) {
        let (node, link) = (spec.node(proxy.node).name.clone(), link.name.clone());
        return Err(BuildError::NotAtTheLink { proxy: name(), node, link });
    }
    if spec.nodes.iter().any(|node| matches!(node.kind, NodeKind::External { .. })) {
        return Err(BuildError::ProxyOutside { proxy: name() });
    }
    let stands_in = |tcp: &Arc<tcp::Config>| tcp.congestion.build().traits().stands_in;
    if [&proxy.wired, &proxy.wireless].into_iter().flatten().any(stands_in) {
        return Err(BuildError::NoProgramOfProxy { proxy: name() });
    }
    Ok(())
}

fn check_flow(spec: &Spec, flow: &FlowSpec) -> Result<(), BuildError> {
    if flow.sender.congestion.build().traits().stands_in
        || flow.receiver.congestion.build().traits().stands_in
    {
        return Err(BuildError::NoProgram { flow: flow.name.clone() });
    }
    for end in [flow.from, flow.to] {
        check_index(format!("flow {}", flow.name), "node", end.index(), spec.nodes.len())?;
        let node = spec.node(end);
        if !matches!(node.kind, NodeKind::Host { .. }) {
            return Err(BuildError::NotAHost { flow: flow.name.clone(), node: node.name.clone() });
        }
    }
    if flow.from == flow.to {
        let node = spec.node(flow.from).name.clone();
        return Err(BuildError::FlowToItself { flow: flow.name.clone(), node });
    }
    Ok(())
}

fn check_index(what: String, kind: &'static str, index: usize, count: usize) -> Result<(), BuildError> {
    if index < count { Ok(()) } else { Err(BuildError::NoSuch { what, kind, index, count }) }
}

//! From a specification to an engine that is ready to run.

mod check;
mod error;
mod path_mtu;
mod split_plan;

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use units::{Instant, Streams};

pub(crate) use check::check;
pub use error::BuildError;

use check::check_crossing;
use path_mtu::fitted;
use split_plan::{proxies_from, split_plan};

use crate::cells::Cells;
use crate::connection::{Connection, Egress};
use crate::directed_link::{DirectedLink, has_flow_control};
use crate::engine::Engine;
use crate::external::Gateway;
use crate::flow::Flow;
use crate::ids::{ConnectionId, DirectionId, FlowId, Heading, Id, IdVec, LinkId, NodeId, PerSide};
use crate::measure::{LinkMeter, Sampler};
use crate::packet::{IpHeader, PacketPool};
use crate::ports::PortAllocator;
use crate::proxies::Proxies;
use crate::record::Recorder;
use crate::route::{Graph, Routes};
use crate::schedule::Schedule;
use crate::spec::{FlowSpec, LinkSpec, NodeKind, NodeSpec, Spec};
use crate::stop::MOST_PACKETS_INSIDE;
use crate::tcb_sharing::TcbSharing;

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
        let mtu = links.map(LinkSpec::believed_mtu).min();
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

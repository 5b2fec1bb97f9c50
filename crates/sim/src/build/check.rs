//! What must be right before anything is built: names, addresses, references, hosts at the ends of flows.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use workload::Workload;

use super::error::BuildError;
use crate::ids::{DirectionId, NodeId};
use crate::spec::{CapturePoint, FlowSpec, LinkSpec, NodeKind, NodeSpec, ProxySpec, Spec};

/// Checks everything that needs no routes.
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

/// Checks that the route of a flow crosses the link of which it is to have a share.
pub(super) fn check_crossing(spec: &Spec, flow: &FlowSpec, path: &[DirectionId]) -> Result<(), BuildError> {
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

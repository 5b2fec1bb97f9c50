//! Hosts that change their address during a run: the connections of QUIC that they have opened continue from the new
//! one (RFC 9000 §9), over the same links or over another one.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sim::{FlowSpec, Spec};
use units::{Instant, LinkId, NodeId, Side};
use workload::Workload;

use crate::refusal::Refusal;

/// A change of a host's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The time. A connection whose handshake is not done by then follows when it is (RFC 9000 §9).
    pub at: Instant,
    /// The new address.
    pub address: Ipv4Addr,
    /// The link over which packets from and to that address go; none for the links of the first one.
    pub link: Option<LinkId>,
}

/// The first address of each host that changes it, by its second one.
pub(crate) fn first_addresses(
    spec: &Spec,
    migrations: impl Iterator<Item = (NodeId, Migration)>,
) -> BTreeMap<Ipv4Addr, Ipv4Addr> {
    let first = |(node, Migration { address, .. })| Some((address, spec.node(node).kind.address()?));
    migrations.filter_map(first).collect()
}

/// Checks that each host that migrates opens a connection, and that its new path leads to the peers of those.
pub(crate) fn check(
    spec: &Spec,
    mut migrations: impl Iterator<Item = (NodeId, Migration)>,
) -> Result<(), Refusal> {
    migrations.try_for_each(|(host, migration)| check_host(spec, host, migration))
}

fn check_host(spec: &Spec, host: NodeId, migration: Migration) -> Result<(), Refusal> {
    let name = || spec.node(host).name.clone();
    let opened = spec.flows.iter().filter(|flow| opens(flow, host));
    let peers: Vec<NodeId> = opened.map(|flow| if flow.from == host { flow.to } else { flow.from }).collect();
    if peers.is_empty() {
        return Err(Refusal::OpensNone { host: name() });
    }
    if let Some(other) = spec.nodes.iter().find(|node| node.kind.address() == Some(migration.address)) {
        return Err(Refusal::AddressTaken { host: name(), other: other.name.clone() });
    }
    let Some(link) = migration.link else { return Ok(()) };
    let named = || spec.link(link).name.clone();
    let first_link = |peer: NodeId| spec.route(host, peer).and_then(|route| route.first().copied());
    if peers.iter().any(|peer| first_link(*peer) == Some(link)) {
        return Err(Refusal::SameLink { host: name(), link: named() });
    }
    let (split, apart) = spec.with_link_apart(host, link);
    let is_cut_off = |peer: &&NodeId| split.route(apart, **peer).is_none();
    match peers.iter().find(is_cut_off) {
        Some(peer) => {
            Err(Refusal::NoWay { host: name(), link: named(), peer: spec.node(*peer).name.clone() })
        }
        None => Ok(()),
    }
}

/// Whether a host opens the connections of a flow.
fn opens(flow: &FlowSpec, host: NodeId) -> bool {
    let service = flow.workload.service();
    let has_connections = match flow.workload {
        Workload::Bulk(_) => true,
        Workload::Application { .. } => service.transport == workload::Transport::Tcp,
    };
    let opener = if service.opener == Side::From { flow.from } else { flow.to };
    has_connections && opener == host
}

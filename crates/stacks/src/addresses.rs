//! The addresses and ports of flows.

use std::net::SocketAddrV4;

use sim::{FlowSpec, Spec};
use units::{FlowId, NodeId, PerSide};
use workload::{FIRST_CLIENT_PORT, LAST_CLIENT_PORT};

/// The addresses of the two ends of a flow. Each flow has ports of its own.
///
/// # Panics
/// If one of its nodes has no address: then it is no host.
#[must_use]
pub fn ends(spec: &Spec, flow: &FlowSpec, id: FlowId) -> PerSide<SocketAddrV4> {
    let address = |node: NodeId| spec.node(node).kind.address().expect("a flow joins hosts");
    let port = |first: u16| first.wrapping_add(id.index() as u16);
    PerSide::new(
        SocketAddrV4::new(address(flow.from), port(FIRST_CLIENT_PORT)),
        SocketAddrV4::new(address(flow.to), port(FIRST_SERVER_PORT)),
    )
}

/// The port from which a connection continues whose NAT has forgotten its first one: each has one of its own. Browsers
/// have no QUIC.
#[cfg(not(target_family = "wasm"))]
pub(crate) const fn rebound_port(port: u16) -> u16 {
    port + CLIENT_PORTS
}

/// The port from which a connection was opened that now has this one.
pub(crate) const fn original_port(port: u16) -> u16 {
    if port > LAST_CLIENT_PORT && port <= LAST_CLIENT_PORT + CLIENT_PORTS {
        port - CLIENT_PORTS
    } else {
        port
    }
}

/// The number of ports of ends that connect.
const CLIENT_PORTS: u16 = LAST_CLIENT_PORT - FIRST_CLIENT_PORT + 1;
/// The first port of ends that listen: iperf's, which Wireshark does not decode as another protocol.
const FIRST_SERVER_PORT: u16 = 5_001;

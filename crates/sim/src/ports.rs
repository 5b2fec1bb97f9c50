//! Ports of connections.

use std::collections::BTreeSet;

use tcp::Ports;
use units::Streams;

use crate::ids::NodeId;

/// The dynamic ports in use between each two hosts: the connecting host, the listening host, the port.
#[derive(Debug, Default)]
pub(crate) struct PortAllocator(BTreeSet<(NodeId, NodeId, u16)>);

impl PortAllocator {
    /// The `service`'s port for the listening side and, for the connecting one, a dynamic port: the first from a drawn
    /// one on that the same two hosts do not use yet.
    pub(crate) fn allocate(&mut self, hosts: [NodeId; 2], streams: &Streams, service: u16) -> Ports {
        let drawn = streams.number("port") % u64::from(DYNAMIC_PORTS);
        let port = |step: u64| FIRST_DYNAMIC_PORT + ((drawn + step) % u64::from(DYNAMIC_PORTS)) as u16;
        let local = (0..u64::from(DYNAMIC_PORTS))
            .map(port)
            .find(|port| self.0.insert((hosts[0], hosts[1], *port)))
            .unwrap_or_else(|| port(0));
        Ports { local, remote: service }
    }

    /// A connection is over and its port free again.
    pub(crate) fn release(&mut self, hosts: [NodeId; 2], ports: Ports) {
        self.0.remove(&(hosts[0], hosts[1], ports.local));
    }
}

/// RFC 6335 §6: the dynamic ports are 49152-65535.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u16 = 65_535 - FIRST_DYNAMIC_PORT + 1;

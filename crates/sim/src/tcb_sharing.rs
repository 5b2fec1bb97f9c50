//! TCP control block sharing (RFC 9040): what the connections of one host have in common. That is the budget of a shared
//! advertised window, and the state that a new connection to the same peer begins with.

use std::collections::BTreeMap;
use std::sync::Arc;

use tcp::window::{Over, Pool};
use tcp::{ControlBlock, Endpoint};
use units::Instant;

use crate::ids::{DirectionId, NodeId};

/// Where a connection's packets leave its host, and for which peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostPath {
    pub(crate) host: NodeId,
    /// The link direction by which the packets leave.
    pub(crate) interface: DirectionId,
    pub(crate) peer: NodeId,
}

/// Everything that connections share, over all hosts.
#[derive(Debug, Default)]
pub(crate) struct TcbSharing {
    pool_of_interface: BTreeMap<DirectionId, Arc<Pool>>,
    pool_of_peer: BTreeMap<(NodeId, NodeId), Arc<Pool>>,
    cache: BTreeMap<(NodeId, NodeId), ControlBlock>,
}

impl TcbSharing {
    /// Gives a new endpoint its window pool and what the cache holds for its path.
    pub(crate) fn initialize(&mut self, now: Instant, path: HostPath, endpoint: &mut Endpoint) {
        let hosts = (path.host, path.peer);
        match endpoint.config().window_sharing() {
            Some(Over::Interface) => {
                endpoint.share_window(self.pool_of_interface.entry(path.interface).or_default());
            }
            Some(Over::Address) => endpoint.share_window(self.pool_of_peer.entry(hosts).or_default()),
            None => {}
        }
        if let Some(block) = self.cache.get(&hosts) {
            endpoint.inherit(now, block);
        }
    }

    /// Puts what an endpoint knows of its path into the cache: as it ends, or before another one to the same peer begins.
    pub(crate) fn save(&mut self, now: Instant, path: HostPath, endpoint: &Endpoint) {
        if endpoint.shares_control_block() {
            self.cache.insert((path.host, path.peer), endpoint.control_block(now));
        }
    }
}

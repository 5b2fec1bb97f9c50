//! TCP control block sharing (RFC 9040): what the connections of one host have in common. That is the budget of a
//! shared advertised window, the state that a new connection to the same peer begins with, and the Fast Open cookies of
//! the servers that it has talked to (RFC 7413 §4.1.3).

use std::collections::BTreeMap;
use std::sync::Arc;

use tcp::window::{Over, Pool};
use tcp::{CachedCookie, ControlBlock, Endpoint};
use units::{Instant, Streams};
use wire::FastOpenCookie;

use crate::ids::{DirectionId, NodeId};

/// Interface by which a connection's packets leave its host, and the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostPath {
    pub(crate) host: NodeId,
    /// The link direction by which the packets leave.
    pub(crate) interface: DirectionId,
    pub(crate) peer: NodeId,
}

/// Everything that connections share, over all hosts.
#[derive(Debug)]
pub(crate) struct TcbSharing {
    pool_of_interface: BTreeMap<DirectionId, Arc<Pool>>,
    pool_of_peer: BTreeMap<(NodeId, NodeId), Arc<Pool>>,
    cache: BTreeMap<(NodeId, NodeId), ControlBlock>,
    /// The cookies that a client, first, has of a server.
    cookies: BTreeMap<(NodeId, NodeId), CachedCookie>,
    /// The secrets that servers make cookies with.
    secrets: Streams,
}

impl TcbSharing {
    /// Nothing is shared yet; `secrets` are the streams of the servers' secrets.
    pub(crate) fn new(secrets: Streams) -> Self {
        Self {
            pool_of_interface: BTreeMap::new(),
            pool_of_peer: BTreeMap::new(),
            cache: BTreeMap::new(),
            cookies: BTreeMap::new(),
            secrets,
        }
    }

    /// Gives a new endpoint its window pool, what the cache holds for its path, and the Fast Open cookie of its server
    /// or, unless it `opens` the connection, of its client.
    pub(crate) fn initialize(&mut self, now: Instant, path: HostPath, endpoint: &mut Endpoint, opens: bool) {
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
        let fast_open = endpoint.config().plain.fast_open;
        if opens && let Some(known) = self.cookies.get(&hosts) {
            endpoint.use_fast_open_cookie(*known);
        } else if !opens && fast_open.is_server() {
            endpoint.expect_fast_open_cookie(self.cookie_of(path));
        }
    }

    /// The cookie that a server gives to a client: it depends on the two hosts alone (RFC 7413 §4.1.2), and has the
    /// eight bytes of Linux' cookies.
    fn cookie_of(&self, path: HostPath) -> FastOpenCookie {
        let secret = self.secrets.below(&path.host.to_string());
        let number = secret.number(&path.peer.to_string());
        FastOpenCookie::new(&number.to_be_bytes()).expect("eight bytes are a cookie")
    }

    /// A client is connected: keeps the cookie that it was given, and forgets a cookie that did not help.
    pub(crate) fn learn_cookie(&mut self, path: HostPath, endpoint: &Endpoint) {
        let hosts = (path.host, path.peer);
        if let Some(known) = endpoint.fast_open_cookie() {
            self.cookies.insert(hosts, known);
        } else if endpoint.fast_open_failed() {
            self.cookies.remove(&hosts);
        }
    }

    /// Puts what an endpoint knows of its path into the cache: as it ends, or before another one to the same peer
    /// begins.
    pub(crate) fn save(&mut self, now: Instant, path: HostPath, endpoint: &Endpoint) {
        if endpoint.shares_control_block() {
            self.cache.insert((path.host, path.peer), endpoint.control_block(now));
        }
    }
}

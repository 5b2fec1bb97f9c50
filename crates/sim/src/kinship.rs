//! What the connections of one host have in common: the budget of a shared advertised window, and what
//! one has learned of a path that another will take.

use std::collections::BTreeMap;
use std::sync::Arc;

use tcp::window::{Over, Pool};
use tcp::{ControlBlock, Endpoint};
use units::Instant;

/// An end of a connection, as its host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kin {
    /// The host.
    pub(crate) node: u32,
    /// The interface: the link direction by which its packets leave.
    pub(crate) interface: u32,
    /// The host at the other end.
    pub(crate) peer: u32,
}

/// All that connections share, over all hosts.
#[derive(Debug, Default)]
pub(crate) struct Kinship {
    of_interface: BTreeMap<u32, Arc<Pool>>,
    of_address: BTreeMap<(u32, u32), Arc<Pool>>,
    blocks: BTreeMap<(u32, u32), ControlBlock>,
}

impl Kinship {
    /// A connection is born, at either end.
    pub(crate) fn greet(&mut self, now: Instant, kin: Kin, endpoint: &mut Endpoint) {
        match endpoint.config().window_sharing() {
            Some(Over::Interface) => {
                endpoint.share_window(self.of_interface.entry(kin.interface).or_default())
            }
            Some(Over::Address) => {
                endpoint.share_window(self.of_address.entry((kin.node, kin.peer)).or_default());
            }
            None => {}
        }
        if let Some(block) = self.blocks.get(&(kin.node, kin.peer)) {
            endpoint.inherit(now, block);
        }
    }

    /// What a connection knows now: as it ends, or before another one to the same peer begins.
    pub(crate) fn learn(&mut self, now: Instant, kin: Kin, endpoint: &Endpoint) {
        if endpoint.shares_control_block() {
            self.blocks.insert((kin.node, kin.peer), endpoint.control_block(now));
        }
    }
}

//! The order in which packets leave the receive buffer: who waits for whom.

use std::collections::BTreeMap;

use units::Instant;

use crate::config::Order;
use crate::packet::Packet;

/// When the last packet of each line leaves that those behind it wait for.
#[derive(Debug)]
pub(super) struct Lines {
    order: Order,
    /// Nothing leaves before this where all wait for all; where they do not, it stays at the start of the link layer.
    all: Instant,
    /// The same for each flow that has a line of its own.
    flows: BTreeMap<u64, Instant>,
}

impl Lines {
    pub(super) const fn new(order: Order) -> Self {
        Self { order, all: Instant::START, flows: BTreeMap::new() }
    }

    /// The line that a packet stands in, by its number.
    #[inline]
    pub(super) fn line_of<P: Packet>(&self, packet: Option<&P>) -> u64 {
        if self.order == Order::InOrderPerFlow { packet.map_or(0, Packet::flow_key) } else { 0 }
    }

    /// When a packet of a line, ready at `ready`, may leave.
    #[inline]
    pub(super) fn turn(&self, line: u64, ready: Instant) -> Instant {
        match self.order {
            Order::InOrder => ready.max(self.all),
            Order::InOrderPerFlow => ready.max(self.last_of(line)),
            Order::OutOfOrder => ready,
        }
    }

    #[cold]
    fn last_of(&self, line: u64) -> Instant {
        self.flows.get(&line).copied().unwrap_or(self.all)
    }

    /// A packet of a line leaves at `leaves`, and those behind it no sooner.
    #[inline]
    pub(super) fn join(&mut self, line: u64, leaves: Instant) {
        match self.order {
            Order::InOrder => self.all = self.all.max(leaves),
            Order::InOrderPerFlow => self.join_flow(line, leaves),
            Order::OutOfOrder => {}
        }
    }

    #[cold]
    fn join_flow(&mut self, line: u64, leaves: Instant) {
        let last = self.flows.entry(line).or_insert(leaves);
        *last = leaves.max(*last);
    }

    /// The link layer starts anew: nobody waits for anybody.
    pub(super) fn restart(&mut self, now: Instant) {
        self.all = now;
        self.flows.clear();
    }

    /// Of packets that propagate, none overtakes another; `last` is when the one before arrives.
    #[inline]
    pub(super) fn arrival(&self, drawn: Instant, last: Instant) -> Instant {
        if self.order == Order::OutOfOrder { drawn } else { drawn.max(last) }
    }
}

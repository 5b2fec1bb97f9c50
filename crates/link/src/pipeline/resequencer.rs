//! The order in which packets leave the receive buffer: which packets wait for which.

use std::collections::BTreeMap;

use units::Instant;

use crate::config::DeliveryOrder;
use crate::packet::Packet;

/// Knows when the last packet leaves for which later ones wait, of all packets or of each flow.
#[derive(Debug)]
pub(super) struct Resequencer {
    order: DeliveryOrder,
    /// No packet leaves before this in order; in order per flow, it is when the link layer last started.
    earliest: Instant,
    /// The same for each flow that is ordered on its own.
    earliest_of_flow: BTreeMap<u64, Instant>,
}

impl Resequencer {
    pub(super) const fn new(order: DeliveryOrder) -> Self {
        Self { order, earliest: Instant::START, earliest_of_flow: BTreeMap::new() }
    }

    /// The flow within which a packet is ordered; one number for all packets if flows are not distinguished.
    #[inline]
    pub(super) fn flow_of<P: Packet>(&self, packet: Option<&P>) -> u64 {
        if self.order == DeliveryOrder::InOrderPerFlow { packet.map_or(0, Packet::flow_key) } else { 0 }
    }

    /// Time at which a packet of a flow, ready at `ready`, may leave.
    #[inline]
    pub(super) fn release_time(&self, flow: u64, ready: Instant) -> Instant {
        match self.order {
            DeliveryOrder::InOrder => ready.max(self.earliest),
            DeliveryOrder::InOrderPerFlow => ready.max(self.earliest_of(flow)),
            DeliveryOrder::OutOfOrder => ready,
        }
    }

    #[cold]
    fn earliest_of(&self, flow: u64) -> Instant {
        self.earliest_of_flow.get(&flow).copied().unwrap_or(self.earliest)
    }

    /// A packet of a flow leaves at `leaves`; later ones leave no sooner.
    #[inline]
    pub(super) fn on_release(&mut self, flow: u64, leaves: Instant) {
        match self.order {
            DeliveryOrder::InOrder => self.earliest = self.earliest.max(leaves),
            DeliveryOrder::InOrderPerFlow => self.on_release_of(flow, leaves),
            DeliveryOrder::OutOfOrder => {}
        }
    }

    #[cold]
    fn on_release_of(&mut self, flow: u64, leaves: Instant) {
        let earliest = self.earliest_of_flow.entry(flow).or_insert(leaves);
        *earliest = leaves.max(*earliest);
    }

    /// The link layer is reset: no packet waits for an earlier one.
    pub(super) fn restart(&mut self, now: Instant) {
        self.earliest = now;
        self.earliest_of_flow.clear();
    }

    /// Time at which a packet arrives at the other end: in order it does not overtake the one before, which arrives at
    /// `last`.
    #[inline]
    pub(super) fn arrival(&self, drawn: Instant, last: Instant) -> Instant {
        if self.order == DeliveryOrder::OutOfOrder { drawn } else { drawn.max(last) }
    }
}

//! One direction of a link, as the engine keeps it.

use std::collections::VecDeque;

use link::Link;
use units::Bytes;

use crate::ids::EndpointId;
use crate::measure::LinkMeter;
use crate::packet::PacketBox;

/// One direction of a link, with what waits in front of it.
pub(crate) struct DirectedLink {
    pub(crate) link: Link<PacketBox>,
    /// Totals over time.
    pub(crate) meter: LinkMeter,
    pub(crate) mtu: u32,
    pub(crate) oversize_drops: u64,
    /// Whether its queue makes its upstream neighbours wait.
    pub(crate) has_flow_control: bool,
    /// Packets that routers hold back under flow control.
    pub(crate) held: VecDeque<PacketBox>,
    /// Endpoints that flow control keeps from sending.
    pub(crate) blocked: VecDeque<EndpointId>,
    /// For what is said of it to users.
    pub(crate) name: String,
}

impl DirectedLink {
    /// Whether a packet may enter now; if not, flow control holds it back.
    #[inline(always)]
    pub(crate) fn accepts(&self) -> bool {
        !self.has_flow_control || (self.held.is_empty() && self.link.can_accept())
    }
}

/// Whether a link makes its upstream neighbours wait when its queue is full.
pub(crate) fn has_flow_control(config: &link::Config) -> bool {
    config.queue.overflow == link::queue::Overflow::FlowControl
}

/// A direction of a link during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The link and its direction: "lasthop.down".
    pub name: String,
    /// Its counters.
    pub counters: link::Counters,
    /// Length of its queue: packets, and their bytes with framing.
    pub waiting: (usize, Bytes),
}

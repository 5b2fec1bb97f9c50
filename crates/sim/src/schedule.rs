//! The schedule of a run: when each link, endpoint, flow and shared channel is to be woken next.
//!
//! Links, endpoints and flows have an [`EventQueue`] each; shared channels and proxies, which are fewest, follow the
//! flows in theirs. So the few links, which have nearly all events, play a small tournament among themselves, and the
//! timers of thousands of endpoints, which hardly ever expire, cost them nothing.

use units::Instant;

use crate::ids::{CellId, DirectionId, EndpointId, FlowId, Id, ProxyId};
use crate::queue::EventQueue;

/// The component whose wake-up is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    Link(DirectionId),
    Endpoint(EndpointId),
    Flow(FlowId),
    Cell(CellId),
    Proxy(ProxyId),
}

/// The wake-ups of all components. Of those at the same time, links come first, then endpoints, then flows, shared
/// channels and proxies; among components of a kind, the first one armed.
#[derive(Debug)]
pub(crate) struct Schedule {
    links: EventQueue,
    endpoints: EventQueue,
    /// Flows, after them shared channels, and after these proxies.
    flows: EventQueue,
    flow_count: usize,
    cell_count: usize,
}

impl Schedule {
    pub(crate) fn new(
        directions: usize,
        endpoints: usize,
        flows: usize,
        (cells, proxies): (usize, usize),
    ) -> Self {
        Self {
            links: EventQueue::new(directions),
            endpoints: EventQueue::new(endpoints),
            flows: EventQueue::new(flows + cells + proxies),
            flow_count: flows,
            cell_count: cells,
        }
    }

    /// Adds an endpoint after the last.
    pub(crate) fn add_endpoint(&mut self) {
        self.endpoints.add();
    }

    /// Time at which something is due next, or never.
    #[inline]
    pub(crate) fn next_time(&self) -> Instant {
        self.next().0
    }

    /// Time at which something is due next, or never, and the component that is due. Without a wake-up the component is
    /// meaningless.
    #[inline(always)]
    pub(crate) fn next(&self) -> (Instant, Component) {
        let (link, endpoint, flow) =
            (self.links.next_time(), self.endpoints.next_time(), self.flows.next_time());
        if link <= endpoint && link <= flow {
            (link, Component::Link(DirectionId::from_index(self.links.next_component())))
        } else if endpoint <= flow {
            (endpoint, Component::Endpoint(EndpointId::from_index(self.endpoints.next_component())))
        } else {
            (flow, self.flow_or_other(self.flows.next_component()))
        }
    }

    fn flow_or_other(&self, component: usize) -> Component {
        let Some(other) = component.checked_sub(self.flow_count) else {
            return Component::Flow(FlowId::from_index(component));
        };
        match other.checked_sub(self.cell_count) {
            Some(proxy) => Component::Proxy(ProxyId::from_index(proxy)),
            None => Component::Cell(CellId::from_index(other)),
        }
    }

    #[inline(always)]
    pub(crate) fn set_link(&mut self, direction: DirectionId, at: Instant) {
        self.links.set(direction.index(), at);
    }

    pub(crate) fn set_flow(&mut self, flow: FlowId, at: Instant) {
        self.flows.set(flow.index(), at);
    }

    pub(crate) fn set_cell(&mut self, cell: CellId, at: Instant) {
        self.flows.set(self.flow_count + cell.index(), at);
    }

    pub(crate) fn set_proxy(&mut self, proxy: ProxyId, at: Instant) {
        self.flows.set(self.flow_count + self.cell_count + proxy.index(), at);
    }

    pub(crate) fn set_endpoint(&mut self, endpoint: EndpointId, at: Instant) {
        self.endpoints.set(endpoint.index(), at);
    }

    /// Wakes an endpoint at `at` at the latest: an earlier wake-up stands. Most timers of TCP are pushed ahead again
    /// and again and never expire. An endpoint that is woken early has nothing to do, and sets its present deadline.
    #[inline(always)]
    pub(crate) fn set_endpoint_at_latest(&mut self, endpoint: EndpointId, at: Instant) {
        self.endpoints.set_at_latest(endpoint.index(), at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_time_links_come_before_endpoints_and_endpoints_before_flows() {
        let mut schedule = Schedule::new(2, 2, 2, (1, 1));
        let at = Instant::from_nanos(5);
        let [link, endpoint, flow] = [DirectionId::from_index(1).index(), 0, 1];
        schedule.set_flow(FlowId::from_index(flow), at);
        schedule.set_endpoint(EndpointId::from_index(endpoint), at);
        schedule.set_link(DirectionId::from_index(link), at);
        assert_eq!(schedule.next(), (at, Component::Link(DirectionId::from_index(link))));
        schedule.set_link(DirectionId::from_index(link), Instant::NEVER);
        assert_eq!(schedule.next(), (at, Component::Endpoint(EndpointId::from_index(endpoint))));
        schedule.set_endpoint(EndpointId::from_index(endpoint), Instant::NEVER);
        assert_eq!(schedule.next(), (at, Component::Flow(FlowId::from_index(flow))));
        schedule.set_flow(FlowId::from_index(flow), Instant::NEVER);
        schedule.set_proxy(ProxyId::from_index(0), at);
        assert_eq!(schedule.next(), (at, Component::Proxy(ProxyId::from_index(0))));
    }
}

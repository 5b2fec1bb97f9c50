//! The totals of a run at a time: those of its links, flows and shared channels.

use units::Instant;

use crate::connection::{Connection, Stage};
use crate::directed_link::{DirectedLink, LinkState};
use crate::engine::Engine;
use crate::flow::Flow;
use crate::ids::DirectionId;
use crate::link_observer::observed;
use crate::measure::{DelayHistogram, FlowReading, LinkReading, LinkTimes, Reading};
use crate::record::Recorder;

impl<R: Recorder> Engine<R> {
    /// Each direction of each link, as of the last call that reached it.
    pub(crate) fn link_states(&self) -> Vec<LinkState> {
        let state = |line: &DirectedLink| LinkState {
            name: line.name.clone(),
            counters: *line.link.counters(),
            waiting: line.link.queue_len(),
        };
        self.links.iter().map(state).collect()
    }

    /// The totals at `at`, up to and with which everything has happened.
    pub(crate) fn reading(&mut self, at: Instant) -> Reading {
        let links = self.links.ids().map(|direction| self.read_link(direction, at)).collect();
        let delays = if self.sampler.is_at_boundary() { self.delays() } else { Vec::new() };
        let flows = self.flows.iter().map(|flow| self.read_flow(flow)).collect();
        let cells = if self.sampler.is_at_boundary() { self.cells.reading() } else { Vec::new() };
        Reading { at, flows, links, delays, cells }
    }

    fn read_flow(&self, flow: &Flow) -> FlowReading {
        let connections = flow.places.iter().map(|place| &self.connections[*place]);
        let open = connections.filter(|connection| connection.stage != Stage::Idle);
        flow.reading(open.map(Connection::reading))
    }

    /// The one-way delays of each flow so far.
    pub(crate) fn delays(&self) -> Vec<DelayHistogram> {
        self.flows.iter().map(|flow| flow.one_way.delays().clone()).collect()
    }

    fn read_link(&mut self, direction: DirectionId, at: Instant) -> LinkReading {
        let (link, mut observer) = observed!(self, direction);
        // A link works out what has happened inside it only when it is called.
        link.handle_timeout(at, &mut observer);
        let DirectedLink { link, meter, oversize_drops, .. } = &self.links[direction];
        let mut times = self.sampler.metered.then(|| meter.times(at));
        let mut counters = *link.counters();
        if let Some((had, on_air)) = self.cells.had_by_user_of(direction) {
            counters = had;
            times = times.map(|times| LinkTimes { busy: on_air, ..times });
        }
        LinkReading { counters, oversize_drops: *oversize_drops, times }
    }

    /// Packets that are somewhere between two ends.
    pub(crate) fn packets_under_way(&self) -> usize {
        let on_links = self.links.iter().map(|link| link.link.packets_inside() + link.held.len());
        on_links.sum::<usize>()
            + self.cells.packets_inside()
            + self.proxies.packets_inside()
            + self.arrivals.len()
    }
}

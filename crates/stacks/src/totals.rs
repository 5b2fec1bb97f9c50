//! The totals of flows over stacks at one time, for the windows and samples of a run.

use sim::{FlowReading, FlowSpec, FlowTotals, Spec};
use units::{FlowId, NodeId};
use workload::{Counters, ProgramProgress, Transport};

use crate::addresses::ends;
use crate::captures::{HostCaptures, add_so_far};
use crate::host::Host;
use crate::program::Programs;

/// Parts of a run that know something of its flows.
pub(crate) struct Sources<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) captures: &'a HostCaptures,
    pub(crate) programs: &'a Programs,
    /// By node; a host's place here is its place in the captures.
    pub(crate) hosts: &'a [(NodeId, Host)],
}

impl Sources<'_> {
    /// The totals of a flow so far.
    pub(crate) fn totals(&self, id: FlowId, flow: &FlowSpec) -> FlowTotals {
        let place = |node| self.hosts.iter().position(|(known, _)| *known == node).expect("both have stacks");
        let [from, to] = flow.nodes().map(place).into_array();
        let program = self.programs.progress(id);
        let counters = counters(program.as_ref(), self.hosts[from].1.progress(id).1);
        let service = flow.workload.service();
        let mut totals = FlowTotals::default();
        if let Some(program) = program.as_ref().filter(|_| service.transport == Transport::Udp) {
            let lost = self.captures.lost_datagrams(ends(self.spec, flow, id).into_array());
            totals.add_datagrams(program.log, &service, lost);
            totals.counts.timeouts = counters.map_or(0, |counters| counters.probe_timeouts);
            return totals;
        }
        let counts = &mut totals.counts;
        counts.received = self.hosts[to].1.progress(id).0 + program.map_or(0, |program| program.received);
        match counters {
            Some(counters) => self.add_counters(counts, &counters, to),
            None => self.add_captured(counts, (id, flow), from, program),
        }
        self.captures.add_passed(id, &mut totals, counters.is_some());
        totals
    }

    /// Adds the counters of a sender whose packets are opaque. It does not learn of bytes but of packets, so that
    /// `acked` is the receiver's count. DCCP sends nothing again.
    fn add_counters(&self, counts: &mut FlowReading, counters: &Counters, to: usize) {
        let sends_again = !self.hosts[to].1.carries_datagrams();
        counts.acked = counts.received;
        counts.segments = counters.packets;
        counts.retransmissions = if sends_again { counters.lost } else { 0 };
        counts.timeouts = counters.probe_timeouts;
    }

    /// Adds the segments that were captured at the sender.
    fn add_captured(
        &self,
        counts: &mut FlowReading,
        (id, flow): (FlowId, &FlowSpec),
        from: usize,
        program: Option<ProgramProgress<'_>>,
    ) {
        let of_bulk = program.is_none().then(|| ends(self.spec, flow, id).into_array());
        let of_program = program.iter().flat_map(|program| program.connections);
        let all = of_bulk.into_iter().chain(of_program.map(|connection| connection.ends.into_array()));
        for (captured, side) in all.filter_map(|ends| self.captures.connection(from, ends)) {
            add_so_far(captured.half(side), counts);
        }
    }
}

/// The counters of closed and of open connections.
fn counters(program: Option<&ProgramProgress<'_>>, open: Option<Counters>) -> Option<Counters> {
    let over = program.and_then(|program| program.counters);
    let mut total: Option<Counters> = None;
    for counters in over.into_iter().chain(open) {
        total.get_or_insert_default().add(&counters);
    }
    total
}

//! Programs over the stacks of this process.
//!
//! [`Programs`] has the runners of a run. `ends.rs` is the ends of programs at a host, `early.rs` the packets that
//! arrive before their connection is opened, and `datagram.rs` the packets of datagrams. The host makes those itself,
//! whatever its stack: a stack here has connections only, and in UDP (RFC 768) two stacks could not differ.

mod datagram;
mod early;
mod ends;

use std::collections::BTreeMap;
use std::sync::Arc;

use sim::{FlowSpec, Spec};
use units::{FlowId, Instant, NodeId};
use workload::{
    ClientPorts, HostEvent, HostTable, PortChoice, ProgramOutcome, ProgramProgress, Runner, RunnerSetup,
    Workload,
};

pub(crate) use ends::ProgramEnds;

use crate::addresses::ends;
use crate::registry::StackId;

/// The programs of a run.
///
/// Order of calls: [`Programs::advance`] at [`Programs::poll_timeout`] and after each call of a host, until it returns
/// `false`; the hosts may have something to send each time that it returned `true`.
#[derive(Debug, Default)]
pub struct Programs {
    runners: BTreeMap<FlowId, Runner>,
    /// The nodes of their hosts.
    nodes: Vec<NodeId>,
}

impl Programs {
    /// The programs of those `flows` that have a host with a stack in this process and that `runs_here` selects.
    #[must_use]
    pub fn new(
        spec: &Spec,
        flows: &[FlowSpec],
        stacks: &BTreeMap<NodeId, StackId>,
        runs_here: &dyn Fn(&FlowSpec) -> bool,
        ports: &Arc<ClientPorts>,
    ) -> Self {
        let is_here = |flow: &FlowSpec| {
            runs_here(flow)
                && matches!(flow.workload, Workload::Application { .. })
                && (stacks.contains_key(&flow.from) || stacks.contains_key(&flow.to))
        };
        let mut runners = BTreeMap::new();
        for (index, flow) in flows.iter().enumerate().filter(|(_, flow)| is_here(flow)) {
            let (program, service) = flow.program(spec.seed);
            let id = FlowId::new(index);
            let setup = RunnerSetup {
                flow: id,
                nodes: flow.nodes(),
                ends: ends(spec, flow, id),
                ports: PortChoice::Next(Arc::clone(ports)),
                feedback: service.feedback,
                is_split: false,
            };
            runners.insert(id, Runner::new(program, setup));
        }
        let nodes = runners.values().flat_map(|runner| runner.setup().nodes.into_array());
        let mut nodes: Vec<NodeId> = nodes.collect();
        nodes.sort_unstable();
        nodes.dedup();
        Self { runners, nodes }
    }

    /// Handles the events of the hosts, and wakes the programs that are due. Returns whether there was anything.
    pub fn advance(&mut self, now: Instant, hosts: &mut dyn HostTable) -> bool {
        let mut did = false;
        for node in &self.nodes {
            while let Some(event) = next_event(now, hosts, *node, &self.runners) {
                let Some(runner) = self.runners.get_mut(&event.flow) else { continue };
                if let Some(side) = runner.setup().nodes.side_of(node) {
                    runner.handle_event(now, side, event, hosts);
                    did = true;
                }
            }
        }
        for runner in self.runners.values_mut() {
            did |= runner.wake(now, hosts);
        }
        did
    }

    /// Time at which a program is to be woken.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.runners.values().map(Runner::poll_timeout).min().filter(|due| *due < Instant::NEVER)
    }

    /// Whether every program is done, its connections are closed, and its datagrams have arrived. `is_lost` returns
    /// whether the datagrams of a flow that have not arrived are lost; its argument is when the flow's last one was
    /// sent or arrived.
    #[must_use]
    pub fn is_done(&self, is_lost: &dyn Fn(Instant) -> bool) -> bool {
        self.runners.values().all(|runner| runner.is_done(is_lost))
    }

    /// The results of the program of a flow so far.
    #[must_use]
    pub fn progress(&self, flow: FlowId) -> Option<ProgramProgress<'_>> {
        self.runners.get(&flow).map(Runner::progress)
    }

    /// Ends the program of a flow, and gives up its open connections.
    pub fn finish(
        &mut self,
        now: Instant,
        flow: FlowId,
        hosts: &mut dyn HostTable,
    ) -> Option<ProgramOutcome> {
        Some(self.runners.remove(&flow)?.finish(now, hosts))
    }

    /// Ends all programs.
    pub fn finish_all(self, now: Instant, hosts: &mut dyn HostTable) -> BTreeMap<FlowId, ProgramOutcome> {
        let runners = self.runners.into_iter();
        runners.map(|(flow, runner)| (flow, runner.finish(now, hosts))).collect()
    }
}

/// The next event at a node of a flow of these programs.
fn next_event(
    now: Instant,
    hosts: &mut dyn HostTable,
    node: NodeId,
    runners: &BTreeMap<FlowId, Runner>,
) -> Option<HostEvent> {
    hosts.host(node)?.poll_event(now, &|flow| runners.contains_key(&flow))
}

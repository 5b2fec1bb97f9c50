//! Workloads over the stacks of this process: the programs of `sim::workload`, with connections and datagrams of two hosts.
//!
//! A program is the same object as over our own TCP in a World and over the sockets of kernels, and draws the same numbers.
//! `runner.rs` carries out what one asks for by the interface in `hosts.rs`; `ends.rs` is what a host in this process has of it,
//! `end.rs` one end of a connection, `early.rs` the packets that came before their connection was opened, and `datagram.rs`
//! the datagrams. Those are packets that the host makes itself, whatever its stack: a stack here has connections only, and UDP
//! (RFC 768) has nothing in which two of them could differ.

mod datagram;
mod early;
mod end;
mod ends;
mod hosts;
mod ports;
mod runner;

use std::collections::BTreeMap;
use std::sync::Arc;

use sim::{FlowSpec, Spec, Workload};
use units::Instant;

pub use datagram::{OutgoingDatagram, datagram_number, datagram_size};
pub(crate) use ends::ProgramEnds;
pub use hosts::{EndAction, EndEvent, HostEvent, HostTable, Key, ProgramHost, Remains};
pub use ports::ClientPorts;
use runner::Runner;
pub use runner::{ProgramConnection, ProgramOutcome};

use crate::registry::StackId;

/// The programs of a run.
///
/// Order of calls: [`Programs::advance`] at [`Programs::poll_timeout`] and whenever something was done with a host, until it
/// does nothing; the hosts may have something to send each time that it did.
#[derive(Debug, Default)]
pub struct Programs {
    /// By the places of their flows.
    runners: BTreeMap<usize, Runner>,
    /// The nodes of their hosts.
    nodes: Vec<usize>,
    ports: Arc<ClientPorts>,
}

impl Programs {
    /// The programs of those `flows` that have a host with a stack in this process, whose connections take `ports`;
    /// without those that do not run here as a whole (`is_whole`).
    #[must_use]
    pub fn new(
        spec: &Spec,
        flows: &[FlowSpec],
        stacks: &BTreeMap<usize, StackId>,
        is_whole: &dyn Fn(&FlowSpec) -> bool,
        ports: Arc<ClientPorts>,
    ) -> Self {
        let is_here = |flow: &FlowSpec| {
            is_whole(flow)
                && matches!(flow.workload, Workload::Application { .. })
                && (stacks.contains_key(&flow.from) || stacks.contains_key(&flow.to))
        };
        let here = flows.iter().enumerate().filter(|(_, flow)| is_here(flow));
        let runners: BTreeMap<usize, Runner> =
            here.map(|(index, flow)| (index, Runner::new(spec, flow, index))).collect();
        let mut nodes: Vec<usize> = runners.values().flat_map(Runner::nodes).collect();
        nodes.sort_unstable();
        nodes.dedup();
        Self { runners, nodes, ports }
    }

    /// Wakes the programs that are due, hands over what has happened at the hosts, and carries out what they ask for. Returns
    /// whether there was anything.
    pub fn advance(&mut self, now: Instant, hosts: &mut dyn HostTable) -> bool {
        let mut did = false;
        for node in &self.nodes {
            let runners = &mut self.runners;
            while let Some(event) = next_event(now, hosts, *node, runners) {
                if let Some(runner) = runners.get_mut(&event.flow) {
                    runner.handle_event(now, *node, event, hosts, &self.ports);
                    did = true;
                }
            }
        }
        for runner in self.runners.values_mut() {
            did |= runner.wake(now, hosts, &self.ports);
        }
        did
    }

    /// When a program is to be woken.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.runners.values().map(Runner::poll_timeout).min().filter(|due| *due < Instant::NEVER)
    }

    /// Whether every program is done, its connections are closed, and its datagrams have arrived. `is_lost` says whether the
    /// datagrams of a flow that have not arrived are lost; it is given when the flow's last one was sent or arrived.
    #[must_use]
    pub fn is_done(&self, is_lost: &dyn Fn(Instant) -> bool) -> bool {
        self.runners.values().all(|runner| runner.is_done(is_lost))
    }

    /// Ends the program of the flow at a place: its open connections are given up.
    pub fn finish(&mut self, now: Instant, flow: usize, hosts: &mut dyn HostTable) -> Option<ProgramOutcome> {
        Some(self.runners.remove(&flow)?.finish(now, hosts))
    }

    /// Ends all programs, as [`Programs::finish`] does one; by the places of their flows.
    pub fn finish_all(self, now: Instant, hosts: &mut dyn HostTable) -> BTreeMap<usize, ProgramOutcome> {
        let runners = self.runners.into_iter();
        runners.map(|(flow, runner)| (flow, runner.finish(now, hosts))).collect()
    }
}

/// What happened next at a node to a flow of one of these programs.
fn next_event(
    now: Instant,
    hosts: &mut dyn HostTable,
    node: usize,
    runners: &BTreeMap<usize, Runner>,
) -> Option<HostEvent> {
    hosts.host(node)?.poll_event(now, &|flow| runners.contains_key(&flow))
}

//! A live run, from the scenario to the result.
//!
//! `setup.rs` turns the scenario into hosts, `host.rs` sets one up in a namespace, `session.rs` runs them around the
//! driver, `outcome.rs` computes the results. `bulk.rs` are the senders and receivers of bulk transfers,
//! `congestion.rs` the congestion control of their sockets, `command.rs` programs of the user, `samples.rs` and
//! `sockets_table.rs` what the kernel's TCP reports, `watch.rs` what is shown (`state.rs`) and changed during the run.

pub(crate) mod bulk;
pub(crate) mod command;
pub(crate) mod congestion;
mod copies;
pub(crate) mod environment;
pub(crate) mod host;
pub(crate) mod listening;
mod main_loop;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod report;
pub(crate) mod samples;
pub(crate) mod session;
pub(crate) mod setup;
mod sockets_table;
pub(crate) mod start_barrier;
pub(crate) mod state;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use linux::doctor::obstacles;
use sim::{FlowSpec, Spec};
use stacks::{HostCaptures, Programs, StackId};
use units::NodeId;

use crate::LiveError;
use crate::drive::network::Network;
use crate::run::host::HostSpec;
use crate::run::options::Options;
use crate::run::outcome::{LiveOutcome, gather};
use crate::run::samples::{Sample, Samples};
use crate::run::session::{Hosts, Observed};
use crate::run::setup::Setup;
use crate::run::watch::Planned;

/// Runs a scenario between kernels, in real time.
///
/// Call it in a process of its own that has one thread: without privilege the process moves into a user namespace and
/// stays there.
///
/// # Errors
/// If this machine does not allow it (each obstacle with its remedy), if the kernel refuses a setting, if a stream
/// arrives damaged, or if a system call fails. A connection that breaks is an outcome, not an error.
pub fn run(spec: &Spec, mut options: Options<'_>) -> Result<LiveOutcome, LiveError> {
    let stacks = options.stacks.in_process();
    check_machine(spec, &options, &stacks)?;
    let network = Network::new(spec, &|node| options.simulated.contains(&node))?;
    let flows = flows_of_hosts(spec, &options);
    options.stacks.check(spec, &flows, StackId::KERNEL)?;
    options.stacks.check_no_migration(spec)?;
    options.stacks.check_no_dccp(spec)?;
    let remote = nodes(spec).filter(|node| is_remote(&options, *node));
    let setup = Setup::new(spec, &flows, network.nodes(), &stacks).with_remote(remote);
    let captures = HostCaptures::new(spec, setup.hosts.len(), &flows);
    let hosts = hosts(spec, &setup, &mut options, &stacks)?;
    let sampled = samples_of(&hosts.kernels);
    let progress = options.progress.take();
    let watch = options.watch.take().map(|watch| Planned::new(watch, &setup, &sampled));
    let observed = Observed { progress, watch };
    let mut session = session::run(hosts, network, captures, setup.end(), &options, observed)?;
    // A run that is only watched is sampled, too.
    let sampled = if spec.record.tcp { sampled } else { Vec::new() };
    let samples = take_samples(sampled, std::mem::take(&mut session.remote.samples));
    Ok(gather(&setup, session, &options, &samples))
}

/// Checks that this machine allows what the kernels' hosts here need.
fn check_machine(spec: &Spec, options: &Options<'_>, stacks: &Stacks) -> Result<(), LiveError> {
    let is_local_kernel = |node: NodeId| {
        spec.node(node).kind.address().is_some()
            && !options.simulated.contains(&node)
            && !stacks.contains_key(&node)
            && !is_remote(options, node)
    };
    let missing = obstacles(options.congestion.as_deref(), &options.all_sysctls());
    if nodes(spec).any(is_local_kernel) && !missing.is_empty() {
        return Err(LiveError::CannotStart(missing));
    }
    Ok(())
}

/// Returns the nodes of a scenario.
fn nodes(spec: &Spec) -> impl Iterator<Item = NodeId> {
    (0..spec.nodes.len()).map(NodeId::new)
}

/// Returns whether a node is a host on another machine.
fn is_remote(options: &Options<'_>, node: NodeId) -> bool {
    options.machines.as_ref().is_some_and(|machines| machines.have(node))
}

/// Returns the flows that the hosts run: none where a program of the user runs instead.
fn flows_of_hosts(spec: &Spec, options: &Options<'_>) -> Vec<FlowSpec> {
    let is_of_hosts =
        |flow: &&FlowSpec| !options.simulated.contains(&flow.from) && options.command.is_empty();
    spec.flows.iter().filter(is_of_hosts).cloned().collect()
}

/// Makes the hosts of the scenario.
fn hosts(
    spec: &Spec,
    setup: &Setup<'_>,
    options: &mut Options<'_>,
    stacks: &Stacks,
) -> Result<Hosts, LiveError> {
    let kernels = setup.host_specs(options);
    if let Some(host) = kernels.iter().find(|host| host.lacks_its_program()) {
        return Err(LiveError::NoProgram(host.name.clone()));
    }
    let (there, here): (Stacks, Stacks) =
        stacks.iter().map(|(node, stack)| (*node, *stack)).partition(|(node, _)| is_remote(options, *node));
    let runs_here = |flow: &FlowSpec| !setup.is_split(flow);
    Ok(Hosts {
        kernels,
        stacks: stacks::hosts(spec, setup.flows, &here),
        in_process: here.keys().copied().collect(),
        remote_stacks: stacks::hosts(spec, setup.flows, &there).len(),
        stack_replicas: setup.stack_replicas(here.keys().copied(), options),
        programs: Programs::new(spec, setup.flows, stacks, &runs_here, &setup.ports),
        flows: setup.flows.iter().map(|flow| flow.name.clone()).collect(),
        machines: options.machines.take(),
    })
}

/// The stacks of hosts that are not kernels, by node.
type Stacks = BTreeMap<NodeId, StackId>;

/// Returns the samples that each kernel's host is going to take, by the host's name.
fn samples_of(kernels: &[HostSpec]) -> Vec<(String, Arc<Samples>)> {
    let of = |host: &HostSpec| Some((host.name.clone(), Arc::clone(host.samples.as_ref()?)));
    kernels.iter().filter_map(of).collect()
}

/// Takes the samples of all hosts: those of remote hosts came from their machines.
fn take_samples(
    sampled: Vec<(String, Arc<Samples>)>,
    mut remote: Vec<(String, Vec<Sample>)>,
) -> Vec<(String, Vec<Sample>)> {
    let take =
        |(host, samples): (String, Arc<Samples>)| match remote.iter().position(|(name, _)| *name == host) {
            Some(place) => remote.swap_remove(place),
            None => (host, samples.take()),
        };
    sampled.into_iter().map(take).collect()
}

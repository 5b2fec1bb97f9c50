//! A live run, from the scenario to the result.
//!
//! `setup.rs` turns the scenario into hosts, `host.rs` sets one up in a namespace, `session.rs` runs them around the driver,
//! `outcome.rs` computes the results. `bulk.rs` are the senders and receivers of bulk transfers, `command.rs` programs of the
//! user, `samples.rs` and `sockets_table.rs` what the kernel's TCP reports.

pub(crate) mod bulk;
pub(crate) mod command;
mod copies;
mod halves;
pub(crate) mod host;
pub(crate) mod listening;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod samples;
pub(crate) mod session;
pub(crate) mod setup;
mod sockets_table;

use std::collections::BTreeMap;
use std::sync::Arc;

use linux::doctor::obstacles;
use sim::{FlowSpec, Spec};
use stacks::{HostCaptures, Programs, StackId};

use crate::LiveError;
use crate::drive::network::Network;
use crate::run::options::Options;
use crate::run::outcome::{LiveOutcome, gather};
use crate::run::samples::{Sample, Samples};
use crate::run::session::Hosts;
use crate::run::setup::Setup;

/// Runs a scenario between kernels, in real time.
///
/// Call it in a process of its own that has one thread: without privilege the process moves into a user namespace and
/// stays there.
///
/// # Errors
/// If this machine does not allow it (each obstacle with its remedy), if the kernel refuses a setting, if a stream
/// arrives damaged, or if a system call fails. A connection that breaks is an outcome, not an error.
pub fn run(spec: &Spec, mut options: Options<'_>) -> Result<LiveOutcome, LiveError> {
    let is_simulated = |node: usize| options.simulated.contains(&node);
    let stacks = options.stacks.in_process();
    let is_kernel = |node: &usize| {
        spec.nodes[*node].kind.address().is_some() && !is_simulated(*node) && !stacks.contains_key(node)
    };
    let missing = obstacles(options.congestion.as_deref(), &options.sysctls);
    let is_elsewhere = |node| options.machines.as_ref().is_some_and(|machines| machines.have(node));
    if (0..spec.nodes.len()).any(|node| is_kernel(&node) && !is_elsewhere(node)) && !missing.is_empty() {
        return Err(LiveError::CannotStart(missing));
    }
    let network = Network::new(spec, &is_simulated)?;
    let of_kernels = |flow: &&FlowSpec| !is_simulated(flow.from) && options.command.is_empty();
    let flows: Vec<FlowSpec> = spec.flows.iter().filter(of_kernels).cloned().collect();
    options.stacks.check(spec, &flows, StackId::KERNEL)?;
    let elsewhere: Vec<usize> = (0..spec.nodes.len()).filter(|node| is_elsewhere(*node)).collect();
    let setup = Setup::new(spec, &flows, network.nodes(), &stacks).with_remote(elsewhere.into_iter());
    let captures = HostCaptures::new(spec, setup.hosts.len(), &flows);
    let kernels = setup.host_specs(&options);
    if let Some(host) = kernels.iter().find(|host| host.lacks_its_program()) {
        return Err(LiveError::NoProgram(host.name.clone()));
    }
    let (there, here): (BTreeMap<_, _>, BTreeMap<_, _>) =
        stacks.iter().map(|(node, stack)| (*node, *stack)).partition(|(node, _)| is_elsewhere(*node));
    let hosts = Hosts {
        kernels,
        stacks: stacks::hosts(spec, &flows, &here),
        in_process: here.keys().copied().collect(),
        remote_stacks: stacks::hosts(spec, &flows, &there).len(),
        stack_halves: setup.stack_halves(here.keys().copied(), &options),
        programs: Programs::new(
            spec,
            &flows,
            &stacks,
            &|flow| !setup.is_in_halves(flow),
            Arc::clone(&setup.ports),
        ),
        flows: flows.iter().map(|flow| flow.name.clone()).collect(),
        elsewhere: options.machines.take(),
    };
    let sampled: Vec<(String, Arc<Samples>)> = hosts
        .kernels
        .iter()
        .filter_map(|host| Some((host.name.clone(), Arc::clone(host.samples.as_ref()?))))
        .collect();
    let progress = options.progress.take();
    let mut session = session::run(hosts, network, captures, setup.end(), &options, progress)?;
    session.join_halves(&setup);
    let mut elsewhere = std::mem::take(&mut session.remote.samples);
    let samples: Vec<(String, Vec<Sample>)> = sampled
        .into_iter()
        .map(|(host, samples)| match elsewhere.iter().position(|(name, _)| *name == host) {
            Some(place) => elsewhere.swap_remove(place),
            None => (host, samples.take()),
        })
        .collect();
    Ok(gather(&setup, session, &options, &samples))
}

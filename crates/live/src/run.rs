//! A live run, from the scenario to the result.

use std::sync::Arc;

use sim::{FlowSpec, Spec};
use stacks::{HostCaptures, StackId};

use crate::LiveError;
use crate::doctor::obstacles;
use crate::network::Network;
use crate::options::Options;
use crate::outcome::{LiveOutcome, gather};
use crate::session::{self, Hosts};
use crate::setup::{self, Setup};
use crate::sock_diag::{Sample, Samples};

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
    setup::check(&flows)?;
    options.stacks.check(spec, &flows, StackId::KERNEL)?;
    let setup = Setup::new(spec, &flows, network.nodes(), &stacks);
    let captures = HostCaptures::new(setup.hosts.len(), &flows);
    let hosts = Hosts {
        kernels: setup.host_specs(&options),
        stacks: stacks::hosts(spec, &flows, &stacks),
        in_process: stacks.keys().copied().collect(),
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
    let mut elsewhere = std::mem::take(&mut session.others.samples);
    let samples: Vec<(String, Vec<Sample>)> = sampled
        .into_iter()
        .map(|(host, samples)| match elsewhere.iter().position(|(name, _)| *name == host) {
            Some(place) => elsewhere.swap_remove(place),
            None => (host, samples.take()),
        })
        .collect();
    Ok(gather(&setup, session, &options, &samples))
}

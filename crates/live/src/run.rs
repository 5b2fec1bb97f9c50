//! A live run, from the scenario to the result.

use std::collections::BTreeMap;
use std::sync::Arc;

use sim::{FlowSpec, Spec, Workload};
use stacks::{HostCaptures, Programs, StackId};

use crate::LiveError;
use crate::doctor::obstacles;
use crate::network::Network;
use crate::options::Options;
use crate::outcome::{LiveOutcome, gather};
use crate::session::{self, Hosts};
use crate::setup::Setup;
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
    options.stacks.check(spec, &flows, StackId::KERNEL)?;
    let elsewhere: Vec<usize> = (0..spec.nodes.len()).filter(|node| is_elsewhere(*node)).collect();
    flows.iter().try_for_each(|flow| check_places(spec, flow, &stacks, &is_elsewhere))?;
    let setup = Setup::new(spec, &flows, network.nodes(), &stacks).with_elsewhere(elsewhere.into_iter());
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
        stacks_elsewhere: stacks::hosts(spec, &flows, &there).len(),
        programs: Programs::new(spec, &flows, &stacks, Arc::clone(&setup.ports)),
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

/// Checks that no flow's program is with a stack in this process while its other host is on another machine.
fn check_places(
    spec: &Spec,
    flow: &FlowSpec,
    stacks: &BTreeMap<usize, StackId>,
    is_elsewhere: &dyn Fn(usize) -> bool,
) -> Result<(), LiveError> {
    let Workload::Application { application, .. } = &flow.workload else { return Ok(()) };
    let nodes = [flow.from, flow.to];
    let is_here = nodes.iter().any(|node| stacks.contains_key(node));
    match nodes.into_iter().find(|node| is_here && is_elsewhere(*node)) {
        Some(node) => Err(LiveError::Apart {
            flow: flow.name.clone(),
            workload: application.id(),
            host: spec.nodes[node].name.clone(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use sim::{NodeKind, NodeSpec, RecordSpec};

    use super::*;

    fn flow(workload: &str) -> FlowSpec {
        let tcp = Arc::new(tcp::Config::from_profile(&serde_json::json!({})).expect("the default profile"));
        let application = serde_json::from_str(workload).expect("a workload that the test means");
        FlowSpec {
            name: "page".to_owned(),
            from: 0,
            to: 1,
            start: units::Duration::ZERO,
            start_jitter: None,
            class: 0,
            workload: Workload::Application { application, until: None },
            sender: Arc::clone(&tcp),
            receiver: tcp,
            milestones: Vec::new(),
        }
    }

    #[test]
    fn a_program_between_a_stack_here_and_a_kernel_elsewhere_is_refused_with_that_host() {
        let host = |name: &str| NodeSpec {
            name: name.to_owned(),
            kind: NodeKind::Host { address: Ipv4Addr::LOCALHOST },
        };
        let spec = Spec {
            name: "two".to_owned(),
            seed: 1,
            stop: None,
            nodes: vec![host("server"), host("mobile")],
            links: Vec::new(),
            cells: Vec::new(),
            flows: Vec::new(),
            record: RecordSpec::default(),
        };
        let web = flow(r#"{ "web": {} }"#);
        let here = BTreeMap::from([(0, StackId::LASTHOP)]);
        assert!(check_places(&spec, &web, &here, &|_| false).is_ok());
        let apart = check_places(&spec, &web, &here, &|node| node == 1).unwrap_err().to_string();
        assert!(apart.contains("and mobile is on another machine"), "{apart}");
        let bulk = FlowSpec { workload: Workload::Bulk(sim::Amount::Bytes(units::Bytes(1))), ..web };
        assert!(check_places(&spec, &bulk, &here, &|node| node == 1).is_ok());
    }
}

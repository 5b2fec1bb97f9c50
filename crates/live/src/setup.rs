//! The scenario as hosts to set up, each with its senders and receivers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;

use sim::{FlowSpec, Spec, Workload};
use stacks::StackId;
use units::{Bytes, Instant};

use crate::LiveError;
use crate::bulk::{Amount, Receiver, Sender};
use crate::command::CommandLine;
use crate::host::HostSpec;
use crate::options::Options;
use crate::socket::SocketOptions;

/// The scenario, with the flows that run and the nodes that are hosts.
pub(crate) struct Setup<'a> {
    pub(crate) spec: &'a Spec,
    /// The flows to run.
    pub(crate) flows: &'a [FlowSpec],
    /// The nodes that are hosts: kernels, and stacks in this process.
    pub(crate) hosts: Vec<usize>,
    /// The nodes among them whose stacks are in this process.
    stacks: &'a BTreeMap<usize, StackId>,
}

/// Refuses workloads that only virtual time has.
pub(crate) fn check(flows: &[FlowSpec]) -> Result<(), LiveError> {
    flows.iter().try_for_each(|flow| match &flow.workload {
        Workload::Bulk(_) => Ok(()),
        Workload::Application { application, .. } => {
            Err(LiveError::Workload { flow: flow.name.clone(), workload: application.id() })
        }
    })
}

/// Returns the amount of a bulk flow, and nothing for a workload that [`check`] refuses.
fn amount(workload: &Workload) -> Amount {
    match workload {
        Workload::Bulk(sim::Amount::Bytes(bytes)) => Amount::Bytes(bytes.0),
        Workload::Bulk(sim::Amount::Until(time)) => Amount::Until(Instant::START + *time),
        Workload::Application { .. } => Amount::Bytes(0),
    }
}

impl<'a> Setup<'a> {
    /// The hosts of `spec` at `hosts`, which its world does not simulate.
    pub(crate) fn new(
        spec: &'a Spec,
        flows: &'a [FlowSpec],
        hosts: &[usize],
        stacks: &'a BTreeMap<usize, StackId>,
    ) -> Self {
        Self { spec, flows, hosts: hosts.to_vec(), stacks }
    }

    /// Returns the stop time.
    pub(crate) fn end(&self) -> Instant {
        self.spec.stop.map_or(Instant::NEVER, |stop| Instant::START + stop)
    }

    /// Returns the specification of each kernel's host.
    pub(crate) fn host_specs(&self, options: &Options<'_>) -> Vec<HostSpec> {
        let kernels: Vec<usize> =
            self.hosts.iter().copied().filter(|node| !self.stacks.contains_key(node)).collect();
        let has_program = |node: &&usize| options.programs.iter().any(|program| program.host == **node);
        let of_command = kernels.iter().find(|node| !has_program(node)).or(kernels.first());
        let host_spec = |node: &usize| self.host_spec(Some(node) == of_command, *node, options);
        kernels.iter().map(host_spec).collect()
    }

    fn host_spec(&self, has_command: bool, node: usize, options: &Options<'_>) -> HostSpec {
        let flows = || self.flows.iter().enumerate();
        let address = self.address(node);
        HostSpec {
            node,
            name: self.spec.nodes[node].name.clone(),
            address,
            mtu: self.mtu(node),
            sysctls: options.sysctls.clone(),
            senders: flows()
                .filter(|(_, flow)| flow.from == node)
                .map(|(i, _)| self.sender(i, options))
                .collect(),
            receivers: flows()
                .filter(|(_, flow)| flow.to == node)
                .map(|(i, _)| self.receiver(i, options))
                .collect(),
            command: has_command.then(|| command(&options.command, None)).flatten(),
            programs: options
                .programs
                .iter()
                .filter(|program| program.host == node)
                .filter_map(|program| command(&program.words, program.output.clone()))
                .collect(),
            samples: self.spec.record.tcp.then(Arc::default),
        }
    }

    /// Returns the largest packet that every link at the node takes.
    fn mtu(&self, node: usize) -> u32 {
        let links = self.spec.links.iter().filter(|link| link.ends.contains(&node));
        let smallest = links.map(|link| link.mtu).min().unwrap_or(LARGEST_MTU).min(LARGEST_MTU);
        u32::try_from(smallest.0).expect("no larger than 65535")
    }

    fn sender(&self, index: usize, options: &Options<'_>) -> Sender {
        let flow = &self.flows[index];
        let [local, remote] = self.ends(index);
        Sender {
            flow: flow.name.clone(),
            local,
            remote,
            start: flow.start_at(self.spec.seed),
            amount: amount(&flow.workload),
            options: SocketOptions {
                congestion: options.congestion.clone(),
                nodelay: !flow.sender.plain.nagle,
                maxseg: self.maxseg(flow, &flow.sender),
                class: flow.class,
                send_buffer: options.send_buffer,
                receive_buffer: None,
            },
        }
    }

    fn receiver(&self, index: usize, options: &Options<'_>) -> Receiver {
        let flow = &self.flows[index];
        let options = SocketOptions {
            congestion: options.congestion.clone(),
            nodelay: !flow.receiver.plain.nagle,
            maxseg: self.maxseg(flow, &flow.receiver),
            class: flow.class,
            send_buffer: None,
            receive_buffer: options.receive_buffer,
        };
        Receiver { flow: flow.name.clone(), local: self.ends(index)[1], options }
    }

    /// Returns the profile's segment size where it is smaller than the one that follows from the MTU.
    fn maxseg(&self, flow: &FlowSpec, profile: &tcp::Config) -> Option<u32> {
        const HEADERS: u32 = 40;
        let by_mtu = self.mtu(flow.from).min(self.mtu(flow.to)).saturating_sub(HEADERS);
        u32::try_from(profile.plain.mss.0).ok().filter(|mss| *mss < by_mtu)
    }

    /// Returns the sender's and the receiver's end of a flow. Each flow has ports of its own.
    pub(crate) fn ends(&self, index: usize) -> [SocketAddrV4; 2] {
        stacks::ends(self.spec, &self.flows[index], index)
    }

    /// Returns a host's address.
    fn address(&self, node: usize) -> Ipv4Addr {
        self.spec.nodes[node]
            .kind
            .address()
            .expect("the world was built, so a flow joins hosts, and a host has an address")
    }
}

fn command(words: &[OsString], output: Option<PathBuf>) -> Option<CommandLine> {
    let (program, arguments) = words.split_first()?;
    Some(CommandLine { program: program.clone(), arguments: arguments.to_vec(), output })
}

/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_MTU: Bytes = Bytes(65_535);

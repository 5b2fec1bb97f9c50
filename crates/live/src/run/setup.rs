//! The scenario as hosts to set up, each with its senders, receivers and programs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;

use linux::socket::SocketOptions;
use sim::workload::Side;
use sim::{FlowSpec, Spec, Workload};
use stacks::StackId;
use units::Instant;

use crate::drive::network::smallest_mtu;
use crate::run::bulk::{Amount, Receiver, Sender};
use crate::run::command::{CommandLine, Output};
use crate::run::host::HostSpec;
use crate::run::options::Options;
use crate::workload::kernel_hosts::KernelEvents;
use crate::workload::{ClientPorts, FlowEnd, HalfSpec, KernelEndSpec, WorkloadSpec};

/// The scenario, with the flows that run and the nodes that are hosts.
pub(crate) struct Setup<'a> {
    pub(crate) spec: &'a Spec,
    /// The flows to run.
    pub(crate) flows: &'a [FlowSpec],
    /// The nodes that are hosts: kernels, and stacks in this process.
    pub(crate) hosts: Vec<usize>,
    /// The nodes among them whose stacks are in this process.
    stacks: &'a BTreeMap<usize, StackId>,
    /// Ports of programs' ends that connect.
    pub(crate) ports: Arc<ClientPorts>,
    /// What happens at kernels' ends of programs with a stack in this process.
    kernel_events: Arc<KernelEvents>,
    /// The nodes that are not in the emulator's process.
    elsewhere: BTreeSet<usize>,
}

/// Returns the amount of a bulk flow. Those have senders and receivers of their own, which block: a flow as fast as a
/// machine can has both its processors.
fn amount(workload: &Workload) -> Option<Amount> {
    match workload {
        Workload::Bulk(sim::Amount::Bytes(bytes)) => Some(Amount::Bytes(bytes.0)),
        Workload::Bulk(sim::Amount::Until(time)) => Some(Amount::Until(Instant::START + *time)),
        Workload::Application { .. } => None,
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
        let ports = Arc::new(ClientPorts::behind(flows.len()));
        let (hosts, kernel_events) = (hosts.to_vec(), Arc::default());
        Self { spec, flows, hosts, stacks, ports, kernel_events, elsewhere: BTreeSet::new() }
    }

    /// The same, with some of the hosts in other processes than the emulator's.
    pub(crate) fn with_remote(self, nodes: impl Iterator<Item = usize>) -> Self {
        Self { elsewhere: nodes.collect(), ..self }
    }

    /// Whether the program of a flow runs in two halves, since its hosts are not both in the emulator's process.
    pub(crate) fn is_in_halves(&self, flow: &FlowSpec) -> bool {
        [flow.from, flow.to].iter().any(|node| self.elsewhere.contains(node))
    }

    /// Whether a host of a flow has a stack in a process of lasthop's, here or on another machine.
    pub(crate) fn has_stack(&self, flow: &str) -> bool {
        let is_it = |one: &&FlowSpec| one.name == flow;
        let has_stack = |one: &FlowSpec| [one.from, one.to].iter().any(|node| self.stacks.contains_key(node));
        self.flows.iter().find(is_it).is_some_and(has_stack)
    }

    /// Whether a kernel sends the flow at a place.
    pub(crate) fn is_from_kernel(&self, index: usize) -> bool {
        !self.stacks.contains_key(&self.flows[index].from)
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
        let bulk = |flow: &FlowSpec| amount(&flow.workload).is_some();
        let is_program = options.stacks.get(node) == Some(StackId::PROGRAM);
        let address = self.address(node);
        HostSpec {
            node,
            name: self.spec.nodes[node].name.clone(),
            address,
            mtu: self.mtu(node),
            sysctls: options.sysctls.clone(),
            senders: flows()
                .filter(|(_, flow)| flow.from == node && !is_program)
                .filter_map(|(i, flow)| Some(self.sender(i, amount(&flow.workload)?, options)))
                .collect(),
            receivers: flows()
                .filter(|(_, flow)| flow.to == node && !is_program && bulk(flow))
                .map(|(i, _)| self.receiver(i, options))
                .collect(),
            workloads: flows()
                .filter(|(_, flow)| flow.from == node && !bulk(flow) && !self.stacks.contains_key(&flow.to))
                .filter(|(_, flow)| !self.is_in_halves(flow))
                .map(|(i, _)| self.workload(i, options))
                .collect(),
            ends: (0..self.flows.len()).filter_map(|i| self.kernel_end(i, node, options)).collect(),
            halves: self.halves(node, options),
            command: has_command.then(|| command(&options.command, shown(options.output.as_ref()))).flatten(),
            programs: options
                .programs
                .iter()
                .filter(|program| program.host == node)
                .filter_map(|program| command(&program.words, kept(program.output.as_ref())))
                .collect(),
            samples: self.spec.record.tcp.then(Arc::default),
            is_program,
            flow_lines: if is_program { self.flow_lines(node) } else { String::new() },
        }
    }

    /// Returns the sides at a node of flows whose programs run in halves.
    fn halves(&self, node: usize, options: &Options<'_>) -> Vec<HalfSpec> {
        let half = |(index, flow): (usize, &FlowSpec)| {
            if amount(&flow.workload).is_some() || !self.is_in_halves(flow) {
                return None;
            }
            let (_, side) =
                [(flow.from, Side::From), (flow.to, Side::To)].into_iter().find(|(own, _)| *own == node)?;
            Some(HalfSpec { workload: self.workload(index, options), index, flows: self.flows.len(), side })
        };
        self.flows.iter().enumerate().filter_map(half).collect()
    }

    /// Returns these sides for several nodes, by node; only nodes that have any.
    pub(crate) fn stack_halves(
        &self,
        nodes: impl Iterator<Item = usize>,
        options: &Options<'_>,
    ) -> BTreeMap<usize, Vec<HalfSpec>> {
        nodes
            .map(|node| (node, self.halves(node, options)))
            .filter(|(_, halves)| !halves.is_empty())
            .collect()
    }

    /// Returns what a program that is the stack of a host is told of the flows that are its own, a line each: `send` or
    /// `read`, its own port, the other's address and port, bytes, and when the flow starts, in seconds.
    fn flow_lines(&self, node: usize) -> String {
        let line = |(index, flow): (usize, &FlowSpec)| {
            let Some(Amount::Bytes(bytes)) = amount(&flow.workload) else { return None };
            let [sender, receiver] = self.ends(index);
            let start = flow.start_at(self.spec.seed).saturating_since(Instant::START).as_secs_f64();
            let (verb, own, other) = match node {
                node if node == flow.from => ("send", sender, receiver),
                node if node == flow.to => ("read", receiver, sender),
                _ => return None,
            };
            Some(format!("{verb} {} {} {} {bytes} {start:.6}\n", own.port(), other.ip(), other.port()))
        };
        self.flows.iter().enumerate().filter_map(line).collect()
    }

    /// Returns the largest packet that every link at the node accepts, in bytes.
    fn mtu(&self, node: usize) -> u32 {
        smallest_mtu(self.spec.links.iter().filter(|link| link.ends.contains(&node)))
    }

    fn sender(&self, index: usize, amount: Amount, options: &Options<'_>) -> Sender {
        let flow = &self.flows[index];
        let [local, remote] = self.ends(index);
        Sender {
            flow: flow.name.clone(),
            local,
            remote,
            start: flow.start_at(self.spec.seed),
            amount,
            options: self.sender_options(flow, options),
        }
    }

    fn receiver(&self, index: usize, options: &Options<'_>) -> Receiver {
        let flow = &self.flows[index];
        let options = self.receiver_options(flow, options);
        Receiver { flow: flow.name.clone(), local: self.ends(index)[1], options }
    }

    /// Returns the kernel's end at a node of a flow whose program has a stack in this process at its other end.
    fn kernel_end(&self, index: usize, node: usize, options: &Options<'_>) -> Option<KernelEndSpec> {
        let flow = &self.flows[index];
        let Workload::Application { application, .. } = &flow.workload else { return None };
        let (side, peer) = match node {
            _ if node == flow.from => (Side::From, flow.to),
            _ if node == flow.to => (Side::To, flow.from),
            _ => return None,
        };
        (self.stacks.contains_key(&peer) && !self.is_in_halves(flow)).then(|| KernelEndSpec {
            flow: FlowEnd {
                name: flow.name.clone(),
                index,
                side,
                transport: application.service().transport,
                ends: self.ends(index),
                options: match side {
                    Side::From => self.sender_options(flow, options),
                    Side::To => self.receiver_options(flow, options),
                },
                ports: Arc::clone(&self.ports),
            },
            node,
            orders: Arc::default(),
            events: Arc::clone(&self.kernel_events),
        })
    }

    fn workload(&self, index: usize, options: &Options<'_>) -> WorkloadSpec {
        let flow = &self.flows[index];
        WorkloadSpec {
            flow: flow.clone(),
            seed: self.spec.seed,
            peer: self.spec.nodes[flow.to].name.clone(),
            ends: self.ends(index),
            options: [self.sender_options(flow, options), self.receiver_options(flow, options)],
            ports: Arc::clone(&self.ports),
        }
    }

    fn sender_options(&self, flow: &FlowSpec, options: &Options<'_>) -> SocketOptions {
        SocketOptions { send_buffer: options.send_buffer, ..self.socket_options(flow, &flow.sender, options) }
    }

    fn receiver_options(&self, flow: &FlowSpec, options: &Options<'_>) -> SocketOptions {
        let given = self.socket_options(flow, &flow.receiver, options);
        SocketOptions { receive_buffer: options.receive_buffer, ..given }
    }

    fn socket_options(&self, flow: &FlowSpec, profile: &tcp::Config, options: &Options<'_>) -> SocketOptions {
        SocketOptions {
            congestion: options.congestion.clone(),
            nodelay: !profile.plain.nagle,
            maxseg: self.maxseg(flow, profile),
            class: flow.class,
            send_buffer: None,
            receive_buffer: None,
        }
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

fn command(words: &[OsString], output: Output) -> Option<CommandLine> {
    let (program, arguments) = words.split_first()?;
    Some(CommandLine { program: program.clone(), arguments: arguments.to_vec(), output, descriptor: None })
}

fn shown(file: Option<&PathBuf>) -> Output {
    file.map_or(Output::Shown, |file| Output::ShownAndKept(file.clone()))
}

fn kept(file: Option<&PathBuf>) -> Output {
    file.map_or(Output::Shown, |file| Output::Kept(file.clone()))
}

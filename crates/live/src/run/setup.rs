//! The scenario as hosts to set up, each with its senders, receivers and programs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;

use linux::socket::SocketOptions;
use sim::{FlowSpec, Spec};
use stacks::StackId;
use units::{FlowId, Instant, NodeId, PerSide, Side};
use workload::{ClientPorts, PortChoice, RunnerSetup, Workload};

use crate::drive::network::smallest_mtu;
use crate::run::bulk::{Amount, BulkEnd, Receiver, Sender};
use crate::run::command::{CommandLine, Output};
use crate::run::congestion::KernelCongestion;
use crate::run::host::HostSpec;
use crate::run::options::Options;
use crate::workload::{KernelEvents, Placement, ProgramSpec};

/// The scenario, with the flows that run and the nodes that are hosts.
pub(crate) struct Setup<'a> {
    pub(crate) spec: &'a Spec,
    /// The flows to run.
    pub(crate) flows: &'a [FlowSpec],
    /// The nodes that are hosts: kernels, and stacks in this process.
    pub(crate) hosts: Vec<NodeId>,
    /// The nodes among them whose stacks are in this process.
    stacks: &'a BTreeMap<NodeId, StackId>,
    /// Ports of programs' ends that connect.
    pub(crate) ports: Arc<ClientPorts>,
    /// The events at kernels' ends of programs with a stack in this process at the other side.
    kernel_events: Arc<KernelEvents>,
    /// The nodes that are not in the emulator's process.
    remote: BTreeSet<NodeId>,
}

/// Returns the amount of a bulk flow. Bulk flows have senders and receivers that block, so that one flow can use two
/// processors.
fn amount(workload: &Workload) -> Option<Amount> {
    match workload {
        Workload::Bulk(::workload::Amount::Bytes(bytes)) => Some(Amount::Bytes(bytes.0)),
        Workload::Bulk(::workload::Amount::Until(time)) => Some(Amount::Until(Instant::START + *time)),
        Workload::Application { .. } => None,
    }
}

impl<'a> Setup<'a> {
    /// The hosts of `spec` at `hosts`, which its world does not simulate.
    pub(crate) fn new(
        spec: &'a Spec,
        flows: &'a [FlowSpec],
        hosts: &[NodeId],
        stacks: &'a BTreeMap<NodeId, StackId>,
    ) -> Self {
        let ports = Arc::new(ClientPorts::after(flows.len()));
        let (hosts, kernel_events) = (hosts.to_vec(), Arc::default());
        Self { spec, flows, hosts, stacks, ports, kernel_events, remote: BTreeSet::new() }
    }

    /// Sets the hosts that are in other processes than the emulator's.
    pub(crate) fn with_remote(self, nodes: impl Iterator<Item = NodeId>) -> Self {
        Self { remote: nodes.collect(), ..self }
    }

    /// Whether the program of a flow has two copies, since its hosts are not both in the emulator's process.
    pub(crate) fn is_split(&self, flow: &FlowSpec) -> bool {
        [flow.from, flow.to].iter().any(|node| self.remote.contains(node))
    }

    /// Whether a host of a flow has a stack in a process of lasthop, here or on another machine.
    pub(crate) fn has_stack(&self, flow: FlowId) -> bool {
        self.flow(flow).nodes().iter().any(|node| self.stacks.contains_key(node))
    }

    /// Whether a kernel sends a flow.
    pub(crate) fn is_from_kernel(&self, flow: FlowId) -> bool {
        !self.stacks.contains_key(&self.flow(flow).from)
    }

    /// A flow.
    pub(crate) fn flow(&self, flow: FlowId) -> &FlowSpec {
        &self.flows[flow.index()]
    }

    /// The flows with their identities.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (FlowId, &FlowSpec)> {
        (0..).map(FlowId::new).zip(self.flows)
    }

    /// Returns the stop time.
    pub(crate) fn end(&self) -> Instant {
        self.spec.stop.map_or(Instant::NEVER, |stop| Instant::START + stop)
    }

    /// Returns the specification of each kernel's host.
    pub(crate) fn host_specs(&self, options: &Options<'_>) -> Vec<HostSpec> {
        let kernels: Vec<NodeId> =
            self.hosts.iter().copied().filter(|node| !self.stacks.contains_key(node)).collect();
        let has_program = |node: &&NodeId| options.programs.iter().any(|program| program.host == **node);
        let of_command = kernels.iter().find(|node| !has_program(node)).or(kernels.first());
        let host_spec = |node: &NodeId| self.host_spec(Some(node) == of_command, *node, options);
        kernels.iter().map(host_spec).collect()
    }

    fn host_spec(&self, has_command: bool, node: NodeId, options: &Options<'_>) -> HostSpec {
        let is_program = options.stacks.get(node) == Some(StackId::PROGRAM);
        let address = self.address(node);
        HostSpec {
            node,
            name: self.spec.node(node).name.clone(),
            address,
            mtu: self.mtu(node),
            sysctls: options.sysctls_of(node),
            bulk: self.bulk(node, options).filter(|_| !is_program).collect(),
            programs: self.programs(node, options),
            command: has_command.then(|| command(&options.command, shown(options.output.as_ref()))).flatten(),
            background: options
                .programs
                .iter()
                .filter(|program| program.host == node)
                .filter_map(|program| command(&program.words, kept(program.output.as_ref())))
                .collect(),
            samples: (self.spec.record.tcp || options.watch.is_some()).then(Arc::default),
            is_program,
            flow_lines: if is_program { self.flow_lines(node) } else { String::new() },
        }
    }

    /// Returns a node's ends of bulk transfers: its senders, then its receivers.
    fn bulk(&self, node: NodeId, options: &Options<'_>) -> impl Iterator<Item = BulkEnd> {
        let of_amount = || self.flows().filter_map(|(id, flow)| Some((id, flow, amount(&flow.workload)?)));
        let senders = of_amount()
            .filter(move |(_, flow, _)| flow.from == node)
            .map(move |(id, _, amount)| BulkEnd::Sender(self.sender(id, amount, options)));
        let receivers = of_amount()
            .filter(move |(_, flow, _)| flow.to == node)
            .map(move |(id, ..)| BulkEnd::Receiver(self.receiver(id, options)));
        senders.chain(receivers)
    }

    /// Returns the programs that have an end at a kernel's node.
    fn programs(&self, node: NodeId, options: &Options<'_>) -> Vec<ProgramSpec> {
        self.flows()
            .filter_map(|(id, flow)| self.program(id, flow.nodes().side_of(&node)?, options))
            .collect()
    }

    /// Returns the program of a flow with its placement, as seen from a kernel's host at one side. Between two kernels
    /// in this process it belongs to `from`.
    fn program(&self, id: FlowId, side: Side, options: &Options<'_>) -> Option<ProgramSpec> {
        let flow = self.flow(id);
        let has_stack = |side: Side| self.stacks.contains_key(&flow.nodes()[side]);
        let placement = if self.is_split(flow) {
            Placement::Split { side }
        } else if has_stack(side.other()) {
            let (orders, events) = (Arc::default(), Arc::clone(&self.kernel_events));
            Placement::BesideStack { side, orders, events }
        } else if side == Side::From {
            Placement::Kernels { peer: self.spec.node(flow.to).name.clone() }
        } else {
            return None;
        };
        amount(&flow.workload).is_none().then(|| self.program_at(id, placement, options))
    }

    fn program_at(&self, id: FlowId, placement: Placement, options: &Options<'_>) -> ProgramSpec {
        let flow = self.flow(id);
        let is_split = self.is_split(flow);
        let ports = match is_split {
            true => PortChoice::Agreed { flows: self.flows.len() },
            false => PortChoice::Next(Arc::clone(&self.ports)),
        };
        let setup = RunnerSetup {
            flow: id,
            nodes: flow.nodes(),
            ends: self.ends(id),
            ports,
            feedback: flow.workload.service().feedback,
            is_split,
        };
        ProgramSpec {
            flow: flow.clone(),
            seed: self.spec.seed,
            setup,
            options: PerSide::new(self.sender_options(flow, options), self.receiver_options(flow, options)),
            spare_ports: Arc::clone(&self.ports),
            placement,
        }
    }

    /// Returns the copies of programs at several nodes with stacks, by node; only nodes that have any.
    pub(crate) fn stack_replicas(
        &self,
        nodes: impl Iterator<Item = NodeId>,
        options: &Options<'_>,
    ) -> BTreeMap<NodeId, Vec<ProgramSpec>> {
        let copies = |node| {
            let mut programs = self.programs(node, options);
            programs.retain(|program| program.setup.is_split);
            (node, programs)
        };
        nodes.map(copies).filter(|(_, programs)| !programs.is_empty()).collect()
    }

    /// Returns the lines from which a program that is the stack of a host learns its flows, one for each: `send` or
    /// `read`, its own port, the other's address and port, bytes, and the start of the flow, in seconds.
    fn flow_lines(&self, node: NodeId) -> String {
        let line = |(id, flow): (FlowId, &FlowSpec)| {
            let Some(Amount::Bytes(bytes)) = amount(&flow.workload) else { return None };
            let [sender, receiver] = self.ends(id).into_array();
            let start = flow.start_at(self.spec.seed).saturating_since(Instant::START).as_secs_f64();
            let (verb, own, other) = match node {
                node if node == flow.from => ("send", sender, receiver),
                node if node == flow.to => ("read", receiver, sender),
                _ => return None,
            };
            Some(format!("{verb} {} {} {} {bytes} {start:.6}\n", own.port(), other.ip(), other.port()))
        };
        self.flows().filter_map(line).collect()
    }

    /// Returns the largest packet that every link at the node accepts, in bytes.
    fn mtu(&self, node: NodeId) -> u32 {
        smallest_mtu(self.spec.links.iter().filter(|link| link.ends.contains(&node)))
    }

    fn sender(&self, id: FlowId, amount: Amount, options: &Options<'_>) -> Sender {
        let flow = self.flow(id);
        let [local, remote] = self.ends(id).into_array();
        Sender {
            flow: flow.name.clone(),
            local,
            remote,
            start: flow.start_at(self.spec.seed),
            amount,
            options: self.sender_options(flow, options),
            ends: self.bulk_ends(),
        }
    }

    /// Returns the number of ends of bulk transfers.
    fn bulk_ends(&self) -> u64 {
        2 * self.flows.iter().filter(|flow| amount(&flow.workload).is_some()).count() as u64
    }

    fn receiver(&self, id: FlowId, options: &Options<'_>) -> Receiver {
        let flow = self.flow(id);
        let options = self.receiver_options(flow, options);
        Receiver { flow: flow.name.clone(), local: self.ends(id)[Side::To], options, ends: self.bulk_ends() }
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
            congestion: KernelCongestion::of(profile, options.congestion.as_deref(), &options.sysctls).asked,
            nodelay: !profile.plain.nagle,
            maxseg: self.maxseg(flow, profile),
            class: flow.class,
            send_buffer: None,
            receive_buffer: None,
        }
    }

    /// Returns the profile's segment size if it is smaller than the segment size that follows from the MTU.
    fn maxseg(&self, flow: &FlowSpec, profile: &tcp::Config) -> Option<u32> {
        const HEADERS: u32 = 40;
        let by_mtu = self.mtu(flow.from).min(self.mtu(flow.to)).saturating_sub(HEADERS);
        u32::try_from(profile.plain.mss.0).ok().filter(|mss| *mss < by_mtu)
    }

    /// Returns the addresses of the two ends of a flow. Each flow has ports of its own.
    pub(crate) fn ends(&self, flow: FlowId) -> PerSide<SocketAddrV4> {
        stacks::ends(self.spec, self.flow(flow), flow)
    }

    /// Returns a host's address.
    fn address(&self, node: NodeId) -> Ipv4Addr {
        self.spec
            .node(node)
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

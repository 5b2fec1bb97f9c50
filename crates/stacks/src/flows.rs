//! The stack of each host, and the hosts with their ends of flows.

use std::collections::BTreeMap;

use sim::{FlowSpec, LinkSpec, Spec};
use units::{Bytes, FlowId, NodeId, Side, Streams};
use workload::{Amount, Ends, Transport as Carrier, Workload};

use crate::addresses::ends;
use crate::dccp::{self, DCCP_OVER_UDP};
use crate::entry::{Entry, Transport};
use crate::host::Host;
use crate::migration::{self, Migration};
use crate::refusal::Refusal;
use crate::registry::StackId;
use crate::stack::Setup;
use crate::transfer::TransferEnd;

/// The stack of each node of a specification, by its place there; without one, a host has that of the clock: our own
/// TCP in virtual time, the kernel's in real time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment(BTreeMap<NodeId, StackId>);

impl Assignment {
    /// Gives a node a stack.
    pub fn set(&mut self, node: NodeId, stack: StackId) {
        self.0.insert(node, stack);
    }

    /// The stack that a node was given.
    #[must_use]
    pub fn get(&self, node: NodeId) -> Option<StackId> {
        self.0.get(&node).copied()
    }

    /// The nodes that change their address.
    pub(crate) fn migrations(&self) -> impl Iterator<Item = (NodeId, Migration)> {
        self.0.iter().filter_map(|(node, stack)| Some((*node, stack.migration()?)))
    }

    /// Checks that no host changes its address.
    ///
    /// # Errors
    /// If one does.
    pub fn check_no_migration(&self, spec: &Spec) -> Result<(), Refusal> {
        self.migrations()
            .next()
            .map_or(Ok(()), |(node, _)| Err(Refusal::MigratesLive { host: spec.node(node).name.clone() }))
    }

    /// Checks that no host has DCCP, which runs in virtual time only.
    ///
    /// # Errors
    /// If one has.
    pub fn check_no_dccp(&self, spec: &Spec) -> Result<(), Refusal> {
        let has = |stack: &StackId| stack.entry().member.transport == Transport::Dccp;
        let found = self.0.iter().find(|(_, stack)| has(stack));
        found.map_or(Ok(()), |(node, _)| Err(Refusal::DccpLive { host: spec.node(*node).name.clone() }))
    }

    /// The nodes whose stack runs in this process, with that: those that were given one. In real time all others are
    /// kernels'.
    #[must_use]
    pub fn in_process(&self) -> BTreeMap<NodeId, StackId> {
        self.0
            .iter()
            .filter(|(_, stack)| stack.is_in_process())
            .map(|(node, stack)| (*node, *stack))
            .collect()
    }

    /// The nodes that need a stack of this crate in virtual time: those with a stack of others, and whoever shares a
    /// flow with one that needs it. All others stay with the World.
    ///
    /// # Errors
    /// If a host has the kernel's.
    pub fn in_virtual_time(&self, spec: &Spec) -> Result<BTreeMap<NodeId, StackId>, Refusal> {
        match self.0.iter().find(|(_, stack)| !stack.is_in_process()) {
            Some((node, stack)) => {
                let (host, id) = (spec.node(*node).name.clone(), stack.entry().id);
                let is_real = [StackId::KERNEL, StackId::PROGRAM].iter().any(|real| real.entry().id == id);
                Err(if is_real {
                    Refusal::RealTime { host, stack: id }
                } else {
                    Refusal::Lacking { host, stack: id }
                })
            }
            None => {
                self.check_streams(spec, StackId::LASTHOP)?;
                migration::check(spec, self.migrations())?;
                Ok(self.needed(spec))
            }
        }
    }

    /// The same, where a kernel counts as our own TCP.
    fn needed(&self, spec: &Spec) -> BTreeMap<NodeId, StackId> {
        let mut needed = self.in_process();
        needed.retain(|_, stack| *stack != StackId::LASTHOP);
        let touches = |needed: &BTreeMap<NodeId, StackId>, flow: &&FlowSpec| {
            needed.contains_key(&flow.from) != needed.contains_key(&flow.to)
        };
        while let Some(flow) = spec.flows.iter().find(|flow| touches(&needed, flow)) {
            for node in [flow.from, flow.to] {
                needed.entry(node).or_insert(StackId::LASTHOP);
            }
        }
        needed
    }

    /// Checks that every flow can run over the stacks of its hosts, in virtual time and, with kernels, in real time.
    ///
    /// # Errors
    /// As [`Assignment::check`].
    pub fn check_all(&self, spec: &Spec) -> Result<(), Refusal> {
        self.check_streams(spec, StackId::LASTHOP)?;
        migration::check(spec, self.migrations())?;
        let needed = self.needed(spec);
        let has_program = |node: NodeId| self.get(node) == Some(StackId::PROGRAM);
        let over_stacks = spec
            .flows
            .iter()
            .filter(|flow| needed.contains_key(&flow.from) || has_program(flow.from) || has_program(flow.to));
        let over_stacks = over_stacks.cloned();
        self.check(spec, &over_stacks.collect::<Vec<_>>(), StackId::LASTHOP)
    }

    /// Checks that both hosts of a flow with several streams in a connection speak QUIC.
    fn check_streams(&self, spec: &Spec, default: StackId) -> Result<(), Refusal> {
        let speaks_quic =
            |node: NodeId| self.get(node).unwrap_or(default).entry().member.transport == Transport::Quic;
        let with_streams =
            spec.flows.iter().filter_map(|flow| Some((flow, flow.workload.service().multiplexing?)));
        let mut ends =
            with_streams.flat_map(|(flow, wanted)| [flow.from, flow.to].map(|node| (flow, wanted, node)));
        ends.find(|(_, _, node)| !speaks_quic(*node)).map_or(Ok(()), |(flow, wanted, node)| {
            Err(Refusal::Streams {
                flow: flow.name.clone(),
                what: if wanted.http3 { "HTTP/3" } else { "several streams in one connection" },
                host: spec.node(node).name.clone(),
                instead: wanted.instead,
            })
        })
    }

    /// Checks that flows can run over the stacks of their hosts; `default` is the stack of a node that was given none.
    ///
    /// # Errors
    /// If two hosts of a flow have no transport in common.
    pub fn check(&self, spec: &Spec, flows: &[FlowSpec], default: StackId) -> Result<(), Refusal> {
        let stack = |node: NodeId| self.get(node).unwrap_or(default);
        flows.iter().try_for_each(|flow| {
            let by_program = |node: &NodeId| stack(*node) == StackId::PROGRAM;
            if let Some(node) = [flow.from, flow.to].into_iter().find(by_program) {
                let other = stack(if node == flow.from { flow.to } else { flow.from });
                let (flow_name, host) = (flow.name.clone(), spec.node(node).name.clone());
                let can = matches!(flow.workload, Workload::Bulk(Amount::Bytes(_)))
                    && other.entry().member.transport == Transport::Tcp;
                return if can { Ok(()) } else { Err(Refusal::Program { flow: flow_name, host }) };
            }
            let [from, to] = [flow.from, flow.to].map(|node| (&spec.node(node).name, stack(node).entry()));
            let has_dccp = [from, to].iter().any(|end| end.1.member.transport == Transport::Dccp);
            if let Workload::Application { application, .. } = &flow.workload
                && application.service().transport == Carrier::Udp
                && !has_dccp
            {
                return Ok(());
            }
            if from.1.member.transport != to.1.member.transport {
                let named = |(name, entry): (&String, &Entry)| format!("{name} ({})", entry.id);
                return Err(Refusal::Transport {
                    flow: flow.name.clone(),
                    from_speaks: from.1.member.transport.name(),
                    to_speaks: to.1.member.transport.name(),
                    from: named(from),
                    to: named(to),
                });
            }
            if has_dccp {
                check_dccp(spec, flow)?;
            }
            if from.1.member.transport == Transport::Quic {
                check_mtu(spec, flow)?;
                check_zero_rtt(spec, flow, &stack)?;
            }
            Ok(())
        })
    }
}

/// Checks that the links at both ends of a flow carry QUIC.
fn check_mtu(spec: &Spec, flow: &FlowSpec) -> Result<(), Refusal> {
    let small = [flow.from, flow.to].into_iter().find(|node| mtu(spec, *node) < LEAST_FOR_QUIC);
    small.map_or(Ok(()), |node| {
        let (flow, host) = (flow.name.clone(), spec.node(node).name.clone());
        Err(Refusal::Mtu { flow, host, mtu: mtu(spec, node) })
    })
}

/// Checks that DCCP carries a flow: datagrams that fit into a packet, for a time and not for a number of bytes.
fn check_dccp(spec: &Spec, flow: &FlowSpec) -> Result<(), Refusal> {
    let refused = |key: &'static str, what: String, instead: String| {
        Err(Refusal::Dccp { flow: flow.name.clone(), key, what, instead })
    };
    let by_time = "write until = \"30 s\": the bytes that arrive in that time are counted";
    match &flow.workload {
        Workload::Bulk(Amount::Bytes(_)) => {
            let what = "DCCP sends nothing again, and so delivers no given number of bytes".to_owned();
            refused("bytes", what, by_time.to_owned())
        }
        Workload::Bulk(Amount::Until(_)) if !flow.milestones.is_empty() => {
            let what = "milestones are places in a stream, and DCCP has none".to_owned();
            refused("milestones", what, "leave them out".to_owned())
        }
        Workload::Bulk(Amount::Until(_)) => Ok(()),
        Workload::Application { application, .. } => {
            let (id, service) = (application.id(), application.service());
            if service.transport != Carrier::Udp {
                let what =
                    format!("the workload {id} is one of reliable connections, and DCCP delivers datagrams");
                let instead =
                    "write a workload of datagrams, such as constant-rate, or until without a workload";
                return refused("workload", what, instead.to_owned());
            }
            if service.feedback {
                let what = format!("the workload {id} has a rate control of its own, and DCCP has one");
                let instead =
                    "write until without a workload, and ccid = 3 for the same control in the host's dccp";
                return refused("workload", what, instead.to_owned());
            }
            check_datagrams(spec, flow, application.largest_packet())
        }
    }
}

/// Checks that the datagrams of a program fit into packets of DCCP.
fn check_datagrams(spec: &Spec, flow: &FlowSpec, largest: Option<Bytes>) -> Result<(), Refusal> {
    let mtu = mtu(spec, flow.from).min(mtu(spec, flow.to));
    let most = Bytes(u64::from(dccp::most_data(mtu.0)) + DCCP_OVER_UDP);
    match largest.filter(|largest| *largest > most) {
        None => Ok(()),
        Some(largest) => Err(Refusal::Dccp {
            flow: flow.name.clone(),
            key: "workload",
            what: format!("a packet of {largest} with the headers of DCCP does not fit into an mtu of {mtu}"),
            instead: format!("write packet = \"{} bytes\" or less", most.0),
        }),
    }
}

/// Checks that both hosts of a flow of QUIC have 0-RTT, or neither.
fn check_zero_rtt(spec: &Spec, flow: &FlowSpec, stack: &impl Fn(NodeId) -> StackId) -> Result<(), Refusal> {
    let (having, lacking): (Vec<_>, Vec<_>) =
        [flow.from, flow.to].into_iter().partition(|node| stack(*node).quinn().zero_rtt);
    match (&having[..], &lacking[..]) {
        (&[with], &[without]) => {
            let [with, without] = [with, without].map(|node| spec.node(node).name.clone());
            Err(Refusal::ZeroRtt { flow: flow.name.clone(), with, without })
        }
        _ => Ok(()),
    }
}

/// The hosts with a stack in this process, each with its ends of `flows`; by node, in order.
#[must_use]
pub fn hosts(spec: &Spec, flows: &[FlowSpec], stacks: &BTreeMap<NodeId, StackId>) -> Vec<(NodeId, Host)> {
    stacks.iter().filter_map(|(node, stack)| Some((*node, host(spec, flows, *node, *stack)?))).collect()
}

/// A host with its ends of flows; none if no flow is its own.
fn host(spec: &Spec, flows: &[FlowSpec], node: NodeId, stack: StackId) -> Option<Host> {
    let own = || flows.iter().enumerate().filter(|(_, flow)| flow.from == node || flow.to == node);
    let (_, first) = own().next()?;
    let profile = if first.from == node { &first.sender } else { &first.receiver };
    let setup = Setup {
        address: spec.node(node).kind.address()?,
        mtu: mtu(spec, node),
        streams: Streams::new(spec.seed).below("stack").below(&spec.node(node).name),
        profile: profile.clone(),
        quinn: stack.quinn(),
        dccp: stack.dccp(),
        migration: stack.migration(),
        http3: own()
            .filter(|(_, flow)| speaks_http3(flow))
            .map(|(i, flow)| server_port(spec, flow, i))
            .collect(),
        records: spec.record.tcp,
    };
    let mut host = Host::new(stack, setup);
    for (index, flow) in own() {
        let side = if flow.from == node { Side::From } else { Side::To };
        add_end(&mut host, spec, flow, FlowId::new(index), side);
    }
    Some(host)
}

fn speaks_http3(flow: &FlowSpec) -> bool {
    flow.workload.service().multiplexing.is_some_and(|wanted| wanted.http3)
}

fn server_port(spec: &Spec, flow: &FlowSpec, index: usize) -> u16 {
    ends(spec, flow, FlowId::new(index))[Side::To].port()
}

/// Adds a host's end of a flow.
fn add_end(host: &mut Host, spec: &Spec, flow: &FlowSpec, id: FlowId, side: Side) {
    let addresses = ends(spec, flow, id);
    let ends = Ends { local: addresses[side], remote: addresses[side.other()] };
    match (&flow.workload, side) {
        (Workload::Bulk(amount), Side::From) => {
            host.add(TransferEnd::sender(id, ends, flow.start_at(spec.seed), *amount));
        }
        (Workload::Bulk(_), Side::To) => host.add(TransferEnd::receiver(id, ends)),
        (Workload::Application { application, .. }, _) => {
            if application.service().transport == Carrier::Udp {
                host.add_datagrams(id, ends, flow.class, side);
            }
        }
    }
}

/// The largest packet that every link at the node takes.
fn mtu(spec: &Spec, node: NodeId) -> Bytes {
    let links = spec.links.iter().filter(|link| link.ends.contains(&node));
    links.map(LinkSpec::believed_mtu).min().unwrap_or(LARGEST_PACKET).min(LARGEST_PACKET)
}

/// RFC 9000 §14: a datagram of 1200 bytes, with the headers of IPv4 and UDP.
const LEAST_FOR_QUIC: Bytes = Bytes(1200 + 20 + 8);
/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: Bytes = Bytes(65_535);

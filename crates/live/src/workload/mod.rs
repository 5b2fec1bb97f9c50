//! Programs over the sockets of kernels, and their copies on two machines.
//!
//! A program and its runner are those of the crate `workload`. Here are the hosts ([`::workload::ProgramHost`]) that
//! real time adds to the stacks of this process:
//!
//! - [`sockets::SocketHost`]: a kernel's host, whose ends are sockets (`kernel_socket.rs`, `datagram.rs`).
//! - [`KernelHosts`]: proxies for kernels' hosts in the driver, which runs the programs that have a stack of this
//!   process at their other side. Commands go to the threads with the sockets (`orders.rs`).
//! - [`RemoteHost`]: a proxy for the host of a program's other side, on another machine (`remote_host.rs`).
//!
//! A program between two kernels has a thread with the sockets of both: a socket belongs to the namespace in which it
//! was opened (`thread.rs`, `poller.rs`).
//!
//! If the hosts are on two machines, each machine runs a copy of the program, a [`Replica`]. The copies send each
//! other the events at their sides (`message.rs`, `message_bus.rs`). With one copy, and the sockets of the other side
//! behind a wire, whatever a side does after it has read, an echo or a page, would wait for a round trip between the
//! machines, which no link of the scenario has.

mod datagram;
mod kernel_hosts;
mod kernel_socket;
mod message;
mod message_bus;
mod orders;
mod poller;
mod remote_host;
mod replica;
mod sockets;
mod stack_replicas;
mod thread;

use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;

use linux::mailbox::Mailbox;
use linux::socket::SocketOptions;
use linux::tcp_info::KernelCounts;
use serde::{Deserialize, Serialize};
use sim::FlowSpec;
use units::{Duration, FlowId, NodeId, PerSide, Side};
use workload::{ClientPorts, ProgramOutcome, Runner, RunnerSetup, Transport};

use crate::LiveError;

pub(crate) use kernel_hosts::{KernelEvents, KernelHosts};
pub(crate) use message::Envelope;
pub(crate) use message_bus::MessageBus;
pub(crate) use stack_replicas::StackReplicas;
pub(crate) use thread::{OpenProgram, Running};

use orders::Order;

/// A flow whose program has an end at a kernel's host, or a copy here.
#[derive(Clone, Debug)]
pub(crate) struct ProgramSpec {
    pub(crate) flow: FlowSpec,
    /// Master seed of the run.
    pub(crate) seed: u64,
    pub(crate) setup: RunnerSetup,
    /// The options of the sockets.
    pub(crate) options: PerSide<SocketOptions>,
    /// Ports for connections whose own port is in use.
    pub(crate) spare_ports: Arc<ClientPorts>,
    pub(crate) placement: Placement,
}

/// The hosts of a program, as seen from one of them.
#[derive(Clone, Debug)]
pub(crate) enum Placement {
    /// Both are kernels' in this process. This one is `from`; the name is that of `to`.
    Kernels { peer: String },
    /// The other host has a stack in this process, whose driver runs the program.
    BesideStack { side: Side, orders: Arc<Mailbox<Order>>, events: Arc<KernelEvents> },
    /// The other host is on another machine, and this host runs a copy of the program.
    Split { side: Side },
}

/// The results of a program at one kernel's host, or of its copy at one side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProgramReport {
    pub(crate) flow: FlowId,
    pub(crate) side: Side,
    /// The outcome, where the program or a copy of it ran.
    pub(crate) outcome: Option<ProgramOutcome>,
    /// Bytes that were read and checked at a kernel's host without a program.
    pub(crate) read: u64,
    /// The kernel's counters at this side, summed over all connections.
    pub(crate) counts: KernelCounts,
}

impl ProgramSpec {
    /// The side of this host.
    pub(crate) const fn side(&self) -> Side {
        match self.placement {
            Placement::Kernels { .. } => Side::From,
            Placement::BesideStack { side, .. } | Placement::Split { side } => side,
        }
    }

    /// The node of this host.
    pub(crate) fn node(&self) -> NodeId {
        self.setup.nodes[self.side()]
    }

    /// Whether it runs here to the end, and reports when it is done.
    pub(crate) const fn runs_here(&self) -> bool {
        !matches!(self.placement, Placement::BesideStack { .. })
    }

    /// Whether it has a listener before the run.
    pub(crate) fn listens(&self) -> bool {
        !matches!(self.placement, Placement::Kernels { .. }) && self.transport() == Transport::Tcp
    }

    /// The address at which this side listens.
    fn listening(&self) -> SocketAddrV4 {
        let ends = self.setup.ends;
        SocketAddrV4::new(*ends[self.side()].ip(), ends[Side::To].port())
    }

    /// A runner of the program.
    fn runner(&self) -> Runner {
        Runner::new(self.flow.program(self.seed).0, self.setup.clone())
    }

    fn transport(&self) -> Transport {
        self.flow.workload.service().transport
    }

    fn failed(&self, step: &'static str) -> impl FnOnce(io::Error) -> LiveError {
        let flow = self.flow.name.clone();
        move |source| LiveError::Flow { flow, step, source }
    }
}

impl ProgramReport {
    /// Moves the times of datagrams to another clock.
    pub(crate) fn correct(&mut self, correct: impl Fn(units::Instant) -> units::Instant) {
        if let Some(outcome) = &mut self.outcome {
            outcome.log.correct(correct);
        }
    }
}

/// The time that a program which is done waits for a datagram after the last one, since it does not learn of losses.
/// The run waits for the packets that are then still on a link.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod replica_stack_tests;
#[cfg(test)]
mod replica_tests;
#[cfg(test)]
mod tests;

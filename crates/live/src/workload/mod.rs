//! Workloads over the kernel's sockets: the programs of virtual time, with connections and datagrams of two kernels.
//!
//! A program is the same object as in virtual time (`sim::workload::Program`), and draws the same numbers. It has a thread
//! of its own, with the sockets of both its hosts: a socket belongs to the namespace in which it was opened, whoever uses it.
//! `runner.rs` is the loop, `poller.rs` how it waits, `connection.rs` a connection, `datagram.rs` the datagrams, `place.rs` the
//! way into a namespace. `kernel_end.rs` is the kernel's end of a program that has a stack in this process at its other end;
//! `sockets.rs` has the sockets of such an end, as a host that programs know.
//!
//! Where a host of the flow is on another machine, each side has a half of its own (`half/`) with a copy of the program; the
//! halves tell each other what happened (`message_bus.rs`), and what became of both is joined at the end (`half_ran.rs`). One copy
//! with the sockets of the far side behind a wire would have been less, but then whatever a side does upon what it has read
//! there, an echo or a page, would wait for a round trip between the machines, which no link asked for.

mod connection;
mod datagram;
mod half;
mod half_ran;
mod kernel_end;
pub(crate) mod kernel_hosts;
mod message_bus;
mod place;
mod poller;
mod runner;
mod sockets;

use std::net::SocketAddrV4;
use std::sync::Arc;

use linux::socket::SocketOptions;
use linux::tcp_info::KernelCounts;
use sim::{FlowSpec, ObservedProgram};
use stacks::{Counters, ProgramConnection};
use units::Duration;

use crate::LiveError;
use crate::clock::Clock;
use crate::stop::Stop;

pub(crate) use half::{HalfSpec, OpenHalf, StackHalves};
pub(crate) use half_ran::{CountersLine, HalfRan, counters_line, counters_of, join};
pub(crate) use kernel_end::{KernelEndRan, KernelEndSpec, OpenKernelEnd, Order};
pub(crate) use message_bus::{Envelope, MessageBus};
pub(crate) use place::Places;
use runner::Runner;
pub(crate) use sockets::FlowEnd;
pub(crate) use stacks::ClientPorts;

/// A flow whose program runs over sockets.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadSpec {
    pub(crate) flow: FlowSpec,
    /// Master seed of the run.
    pub(crate) seed: u64,
    /// The host of the flow's `to`.
    pub(crate) peer: String,
    /// The ends of its datagrams; each end listens for connections on the port of the second.
    pub(crate) ends: [SocketAddrV4; 2],
    /// The options of the sockets at `from`, then at `to`.
    pub(crate) options: [SocketOptions; 2],
    /// Ports of ends that connect.
    pub(crate) ports: Arc<ClientPorts>,
}

/// What became of a flow.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) flow: String,
    /// What its program has done.
    pub(crate) program: ObservedProgram,
    /// Whether the program was done, and its connections closed.
    pub(crate) is_done: bool,
    /// Its connections, in the order in which they were opened.
    pub(crate) connections: Vec<ProgramConnection>,
    /// Whether every connection was closed at both ends.
    pub(crate) all_closed: bool,
    /// Bytes that `to` read and checked.
    pub(crate) received: u64,
    /// The kernel's counters at `from`, of all connections together.
    pub(crate) counts: KernelCounts,
    /// The counts of the stack at `from`, of all connections together, if it is in bytes and has any.
    pub(crate) counters: Option<Counters>,
    /// Why a connection broke, if one did: the first reason.
    pub(crate) broken: Option<String>,
    /// How late the program was woken at most.
    pub(crate) woken_late_by: Duration,
    /// How late one of its halves heard of the other at most, where they are on two machines.
    pub(crate) heard_late_by: Option<Duration>,
}

impl WorkloadSpec {
    /// Runs the program until the run is over; calls `done` when it is done and its connections are closed.
    pub(crate) fn run(
        &self,
        clock: Clock,
        stop: &Stop,
        places: Places,
        done: impl FnOnce(),
    ) -> Result<Ran, LiveError> {
        Runner::new(self, clock, places)?.run(stop, done)
    }
}

#[cfg(test)]
mod half_tests;
#[cfg(test)]
mod tests;

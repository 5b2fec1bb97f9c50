//! A kernel's end of a program whose other end is a stack in this process. The program is with the stacks, in the driver
//! (`stacks::Programs`); a thread here has this end's sockets, carries out the orders that come from there, and tells what
//! happened. Orders are taken before what the sockets have: the order to wait for a connection is there before its SYN is.

use std::sync::Arc;

use linux::mailbox::Mailbox;
use linux::scheduling::wake_promptly;
use linux::tcp_info::KernelCounts;
use sim::workload::{Side, Transport};
use stacks::{EndAction, Ends, HostEvent, Key, OutgoingDatagram, ProgramHost};
use units::Instant;

use crate::LiveError;
use crate::clock::Clock;
use crate::stop::Stop;
use crate::workload::kernel_hosts::KernelEvents;

use super::poller::SocketNumber;
use super::sockets::{FlowEnd, SocketHost};

/// A kernel's end of a flow.
#[derive(Clone, Debug)]
pub(crate) struct KernelEndSpec {
    pub(crate) flow: FlowEnd,
    /// The host's node.
    pub(crate) node: usize,
    /// What is to be done here.
    pub(crate) orders: Arc<Mailbox<Order>>,
    /// Where it is told what happened.
    pub(crate) events: Arc<KernelEvents>,
}

/// What an end is to do.
#[derive(Debug)]
pub(crate) enum Order {
    /// Connect, or wait for the one peer.
    Open { socket: SocketNumber, ends: Ends, connects: bool },
    /// Act on a connection.
    Act { socket: SocketNumber, action: EndAction },
    /// Forget a connection.
    Remove { socket: SocketNumber },
    /// Send a datagram.
    Send(OutgoingDatagram),
}

/// An end whose port is open. Ports are opened before the run starts, so that nothing is refused.
pub(crate) struct OpenKernelEnd {
    spec: KernelEndSpec,
    sockets: SocketHost,
}

/// What an end has done.
#[derive(Clone, Debug)]
pub(crate) struct KernelEndRan {
    /// The flow's place.
    pub(crate) index: usize,
    pub(crate) side: Side,
    /// Bytes that were read and checked.
    pub(crate) read: u64,
    /// The kernel's counters, of all connections together.
    pub(crate) counts: KernelCounts,
}

impl KernelEndSpec {
    /// Opens the port.
    pub(crate) fn open(&self) -> Result<OpenKernelEnd, LiveError> {
        Ok(OpenKernelEnd { spec: self.clone(), sockets: SocketHost::open(self.flow.clone())? })
    }

    /// Whether it listens.
    pub(crate) fn listens(&self) -> bool {
        self.flow.transport == Transport::Tcp
    }
}

impl OpenKernelEnd {
    /// Does what it is told until the run is over.
    pub(crate) fn run(self, clock: Clock, stop: &Stop) -> Result<KernelEndRan, LiveError> {
        let Self { spec, mut sockets } = self;
        let failed = |error| spec.flow.failed("wait", error);
        sockets.watch(spec.orders.watch().map_err(failed)?, stop)?;
        wake_promptly();
        while !stop.stopped() {
            let ready = sockets.poller.wait(clock, Instant::NEVER).map_err(failed)?;
            let orders = spec.orders.take();
            orders.into_iter().for_each(|order| order.carry_out(clock.now(), spec.flow.index, &mut sockets));
            ready.into_iter().for_each(|token| sockets.advance(clock.now(), token));
            spec.tell(clock, &mut sockets)?;
        }
        sockets.advance_datagrams(clock.now());
        spec.tell(clock, &mut sockets)?;
        let (read, counts) = sockets.finish();
        Ok(KernelEndRan { index: spec.flow.index, side: spec.flow.side, read, counts })
    }
}

impl KernelEndSpec {
    /// Tells what has happened.
    fn tell(&self, clock: Clock, sockets: &mut SocketHost) -> Result<(), LiveError> {
        while let Some(event) = sockets.poll_event(clock.now(), &|_| true) {
            // What was read before the program asked for it, it hears as of now.
            self.events.put((self.node, HostEvent { at: clock.now(), ..event }));
        }
        sockets.check()
    }
}

impl Order {
    fn carry_out(self, now: Instant, flow: usize, sockets: &mut SocketHost) {
        match self {
            Self::Open { socket, ends, connects } => {
                sockets.open(now, Key { flow, socket }, ends, connects);
            }
            Self::Act { socket, action } => sockets.act(now, Key { flow, socket }, action),
            Self::Remove { socket } => drop(sockets.remove(now, Key { flow, socket })),
            Self::Send(outgoing) => sockets.send_datagram(flow, outgoing),
        }
    }
}

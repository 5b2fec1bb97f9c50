//! The thread of a program with sockets of kernels, in each of its placements.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use linux::channel::ReportReceiver;
use linux::mailbox::Mailbox;
use linux::scheduling::wake_promptly;
use units::{Instant, NodeId, PerSide, Side};
use workload::{HostEvent, HostTable, ProgramHost, Runner, Transport};

use super::kernel_hosts::KernelEvents;
use super::message::PeerEvent;
use super::message_bus::MessageBus;
use super::orders::Order;
use super::poller::Token;
use super::replica::Replica;
use super::sockets::SocketHost;
use super::{GRACE, Placement, ProgramReport, ProgramSpec};
use crate::LiveError;
use crate::clock::Clock;
use crate::stop::Stop;

/// A program before the run. Its ports are open, so that nothing is refused.
pub(crate) enum OpenProgram {
    /// Between two kernels. Its ports are opened when the namespaces are known.
    Kernels { spec: ProgramSpec, peer: String },
    /// With a stack at the other side, whose driver sends the commands.
    BesideStack {
        spec: ProgramSpec,
        sockets: SocketHost,
        orders: Arc<Mailbox<Order>>,
        events: Arc<KernelEvents>,
    },
    /// A copy, with the other on another machine.
    Split { spec: ProgramSpec, sockets: SocketHost },
}

/// The run, as the threads of programs know it.
#[derive(Clone, Copy)]
pub(crate) struct Running<'a> {
    pub(crate) clock: Clock,
    pub(crate) stop: &'a Stop,
    pub(crate) bus: &'a MessageBus,
    /// The paths of the hosts' namespaces, by the hosts' names; without one, sockets are in the namespace of the
    /// thread.
    pub(crate) namespaces: &'a BTreeMap<String, String>,
}

impl ProgramSpec {
    /// Opens the ports.
    pub(crate) fn open(&self) -> Result<OpenProgram, LiveError> {
        let spec = self.clone();
        let sockets = || SocketHost::open(self, self.side(), None);
        Ok(match &self.placement {
            Placement::Kernels { peer } => OpenProgram::Kernels { spec, peer: peer.clone() },
            Placement::BesideStack { orders, events, .. } => OpenProgram::BesideStack {
                spec,
                sockets: sockets()?,
                orders: Arc::clone(orders),
                events: Arc::clone(events),
            },
            Placement::Split { .. } => OpenProgram::Split { spec, sockets: sockets()? },
        })
    }
}

impl OpenProgram {
    /// Runs until the run is over; calls `done` once, when the program is done at this side, unless the driver runs it.
    pub(crate) fn run(
        self,
        running: Running<'_>,
        done: &mut dyn FnMut(),
    ) -> Result<ProgramReport, LiveError> {
        wake_promptly();
        match self {
            Self::Kernels { spec, peer } => KernelPair::open(&spec, running, &peer)?.run(done),
            Self::BesideStack { spec, sockets, orders, events } => {
                follow_orders(&spec, sockets, (&orders, &events), running)
            }
            Self::Split { spec, sockets } => run_replica(&spec, sockets, running, done),
        }
    }
}

/// A program with the sockets of both its hosts.
struct KernelPair<'a> {
    spec: &'a ProgramSpec,
    running: Running<'a>,
    runner: Runner,
    hosts: Pair,
}

/// The hosts of both sides, by node.
struct Pair {
    nodes: PerSide<NodeId>,
    hosts: PerSide<SocketHost>,
}

impl HostTable for Pair {
    fn host(&mut self, node: NodeId) -> Option<&mut dyn ProgramHost> {
        let side = self.nodes.side_of(&node)?;
        Some(&mut self.hosts[side])
    }
}

impl<'a> KernelPair<'a> {
    fn open(spec: &'a ProgramSpec, running: Running<'a>, peer: &str) -> Result<Self, LiveError> {
        let failed = |error| spec.failed("open the namespace of its host")(error);
        let own = running.namespaces.get(peer).map(|_| File::open(OWN_NAMESPACE)).transpose();
        let other = running.namespaces.get(peer).map(File::open).transpose();
        let to = SocketHost::open(spec, Side::To, other.map_err(failed)?)?;
        let from = SocketHost::open_at(spec, Side::From, own.map_err(failed)?, to.poller())?;
        let hosts = Pair { nodes: spec.setup.nodes, hosts: PerSide::new(from, to) };
        Ok(Self { spec, running, runner: spec.runner(), hosts })
    }

    fn run(mut self, done: &mut dyn FnMut()) -> Result<ProgramReport, LiveError> {
        let Running { clock, stop, .. } = self.running;
        let poller = self.hosts.hosts[Side::From].poller();
        let watched =
            poller.watch(stop).and_then(|()| self.hosts.hosts.iter().try_for_each(SocketHost::watch));
        watched.map_err(self.spec.failed("wait"))?;
        let mut is_open = true;
        while !stop.stopped() {
            self.advance()?;
            if is_open && self.is_done() {
                is_open = false;
                done();
            }
            let ready = poller.wait(clock, self.next_wake_up(is_open)).map_err(self.spec.failed("wait"))?;
            for token in ready {
                // Earlier timers are handled before the event.
                self.runner.wake(clock.now(), &mut self.hosts);
                if let Some(side) = token.side() {
                    self.hosts.hosts[side].advance(clock.now(), token);
                }
                self.advance()?;
            }
        }
        self.finish()
    }

    fn advance(&mut self) -> Result<(), LiveError> {
        self.runner.advance(self.running.clock.now(), &mut self.hosts);
        self.hosts.hosts.iter_mut().try_for_each(SocketHost::check)
    }

    fn is_done(&self) -> bool {
        let now = self.running.clock.now();
        let waits = self.hosts.hosts.iter().any(SocketHost::has_waiting);
        self.runner.is_done(&|last| now >= last + GRACE) && !waits
    }

    fn next_wake_up(&self, is_open: bool) -> Instant {
        let awaits = is_open && self.runner.program_is_done() && self.spec.transport() == Transport::Udp;
        let given_up = if awaits { self.runner.last_datagram() + GRACE } else { Instant::NEVER };
        self.runner.poll_timeout().min(given_up.max(self.running.clock.now()))
    }

    fn finish(mut self) -> Result<ProgramReport, LiveError> {
        let now = self.running.clock.now();
        self.hosts.hosts.iter_mut().for_each(|host| host.advance_datagrams(now));
        self.advance()?;
        let outcome = Some(self.runner.finish(now, &mut self.hosts));
        let [from, _] = self.hosts.hosts.into_array();
        let counts = from.finish().1;
        Ok(ProgramReport { flow: self.spec.setup.flow, side: Side::From, outcome, read: 0, counts })
    }
}

/// Runs the copy of a program at this side, with its sockets.
fn run_replica(
    spec: &ProgramSpec,
    mut sockets: SocketHost,
    running: Running<'_>,
    done: &mut dyn FnMut(),
) -> Result<ProgramReport, LiveError> {
    let Running { clock, stop, bus, .. } = running;
    let no_inbox = || spec.failed("get messages of the other host")(io::ErrorKind::NotFound.into());
    let inbox = bus.take_inbox(spec).ok_or_else(no_inbox)?;
    let poller = sockets.poller();
    let watched = poller.watch(stop).and_then(|()| poller.register(&inbox, Token::Message));
    watched.and_then(|()| sockets.watch()).map_err(spec.failed("wait"))?;
    let mut replica = Replica::new(spec);
    let mut is_open = true;
    while !stop.stopped() {
        advance(&mut replica, &mut sockets, running)?;
        if is_open && replica.is_done() && !sockets.has_waiting() {
            is_open = false;
            done();
        }
        let ready = poller.wait(clock, replica.poll_timeout(is_open)).map_err(spec.failed("wait"))?;
        for token in ready {
            if token == Token::Message {
                hear(&mut replica, &inbox, &mut sockets, clock);
            }
            sockets.advance(clock.now(), token);
            advance(&mut replica, &mut sockets, running)?;
        }
    }
    sockets.advance_datagrams(clock.now());
    advance(&mut replica, &mut sockets, running)?;
    let outcome = Some(replica.finish(clock.now(), &mut sockets));
    let (_, counts) = sockets.finish();
    Ok(ProgramReport { flow: spec.setup.flow, side: spec.side(), outcome, read: 0, counts })
}

fn advance(
    replica: &mut Replica,
    sockets: &mut SocketHost,
    Running { clock, bus, .. }: Running<'_>,
) -> Result<(), LiveError> {
    replica.advance(clock.now(), sockets);
    bus.deliver_from(replica);
    sockets.check()
}

/// Gives a copy the messages that have arrived.
fn hear(replica: &mut Replica, inbox: &ReportReceiver<PeerEvent>, sockets: &mut SocketHost, clock: Clock) {
    while let Some(event) = inbox.try_recv() {
        replica.handle_message(clock.now(), event, sockets);
    }
}

/// Executes the orders of the driver, which runs the program, and reports events to it. Orders come before what the
/// sockets have: the order to wait for a connection is there before its SYN.
fn follow_orders(
    spec: &ProgramSpec,
    mut sockets: SocketHost,
    (orders, events): (&Mailbox<Order>, &KernelEvents),
    Running { clock, stop, .. }: Running<'_>,
) -> Result<ProgramReport, LiveError> {
    let (flow, node, poller) = (spec.setup.flow, spec.node(), sockets.poller());
    let watched = poller.watch(stop).and_then(|()| poller.register(orders.watch()?, Token::Message));
    watched.and_then(|()| sockets.watch()).map_err(spec.failed("wait"))?;
    let report = |sockets: &mut SocketHost| {
        while let Some(event) = sockets.poll_event(clock.now(), &|_| true) {
            // What was read before the program asked for it counts as read now.
            events.put((node, HostEvent { at: clock.now(), ..event }));
        }
        sockets.check()
    };
    while !stop.stopped() {
        let ready = poller.wait(clock, Instant::NEVER).map_err(spec.failed("wait"))?;
        orders.take().into_iter().for_each(|order| order.execute(clock.now(), flow, &mut sockets));
        ready.into_iter().for_each(|token| sockets.advance(clock.now(), token));
        report(&mut sockets)?;
    }
    sockets.advance_datagrams(clock.now());
    report(&mut sockets)?;
    let (read, counts) = sockets.finish();
    Ok(ProgramReport { flow, side: spec.side(), outcome: None, read, counts })
}

/// The namespace of the calling thread.
const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";

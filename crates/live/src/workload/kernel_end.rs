//! A kernel's end of a program whose other end is a stack in this process. The program is with the stacks, in the driver
//! (`stacks::Programs`); a thread here has this end's sockets, carries out the orders that come from there, and tells what
//! happened. Orders are taken before what the sockets have: the order to wait for a connection is there before its SYN is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;

use sim::workload::{Side, Transport};
use stacks::{EndAction, EndEvent, Ends, HostEvent, OutgoingDatagram};
use units::Instant;

use crate::LiveError;
use crate::clock::Clock;
use crate::kernel_hosts::KernelEvents;
use crate::mailbox::Mailbox;
use crate::scheduling::wake_promptly;
use crate::socket::{KernelCounts, SocketOptions, connect_to, kernel_counts};
use crate::stop::Stop;

use super::connection::{End, Failure};
use super::datagram::DatagramEnd;
use super::poller::{Poller, SocketNumber, Token};

/// A kernel's end of a flow.
#[derive(Clone, Debug)]
pub(crate) struct KernelEndSpec {
    pub(crate) flow: String,
    /// The flow's place.
    pub(crate) index: usize,
    /// The host's node, and its side of the flow.
    pub(crate) node: usize,
    pub(crate) side: Side,
    pub(crate) transport: Transport,
    /// The ends of the flow's datagrams; each end listens for connections on the port of the second.
    pub(crate) ends: [SocketAddrV4; 2],
    pub(crate) options: SocketOptions,
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
#[derive(Debug)]
pub(crate) struct OpenKernelEnd {
    spec: KernelEndSpec,
    listener: Option<TcpListener>,
    datagrams: Option<DatagramEnd>,
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
        let [own, other] = [self.side, self.side.other()].map(|side| self.ends[side as usize]);
        let is_udp = self.transport == Transport::Udp;
        let datagrams = is_udp.then(|| self.options.open_datagrams(own, other)).transpose();
        let listen = || {
            let listener = self.options.listen(SocketAddrV4::new(*own.ip(), self.ends[1].port()))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = (!is_udp).then(listen).transpose();
        Ok(OpenKernelEnd {
            spec: self.clone(),
            listener: listener.map_err(|error: io::Error| self.failed("listen", error))?,
            datagrams: datagrams
                .map_err(|error| self.failed("open sockets for datagrams", error))?
                .map(DatagramEnd::new),
        })
    }

    /// Whether it listens.
    pub(crate) fn listens(&self) -> bool {
        self.transport == Transport::Tcp
    }

    fn failed(&self, step: &'static str, source: io::Error) -> LiveError {
        LiveError::Flow { flow: self.flow.clone(), step, source }
    }
}

impl OpenKernelEnd {
    /// Does what it is told until the run is over.
    pub(crate) fn run(self, clock: Clock, stop: &Stop) -> Result<KernelEndRan, LiveError> {
        let Self { spec, listener, datagrams } = self;
        let failed = |error: io::Error| spec.failed("wait", error);
        let poller = Poller::new().map_err(failed)?;
        let ran =
            KernelEndRan { index: spec.index, side: spec.side, read: 0, counts: KernelCounts::default() };
        let (ends, over, by_peer) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let mut runner = Runner { spec: &spec, clock, poller, listener, datagrams, ends, over, by_peer, ran };
        runner.watch(stop).map_err(failed)?;
        wake_promptly();
        while !stop.stopped() {
            let ready = runner.poller.wait(clock, Instant::NEVER).map_err(failed)?;
            runner.take_orders()?;
            ready.into_iter().try_for_each(|token| runner.advance(token))?;
        }
        runner.advance_datagrams();
        Ok(runner.finish())
    }
}

/// An end of the program with its sockets.
struct Runner<'a> {
    spec: &'a KernelEndSpec,
    clock: Clock,
    poller: Poller,
    listener: Option<TcpListener>,
    datagrams: Option<DatagramEnd>,
    ends: BTreeMap<SocketNumber, End>,
    /// Those of them that are over. Their sockets are kept until both ends are: what the kernel sends again is counted.
    over: BTreeSet<SocketNumber>,
    /// The connections that are waited for, by their peers.
    by_peer: BTreeMap<SocketAddrV4, SocketNumber>,
    ran: KernelEndRan,
}

impl Runner<'_> {
    fn watch(&self, stop: &Stop) -> io::Result<()> {
        let side = self.spec.side;
        self.poller.watch(stop)?;
        self.poller.register(self.spec.orders.watch()?, Token::Told)?;
        if let Some(listener) = &self.listener {
            self.poller.register(listener.as_fd(), Token::Listener(side))?;
        }
        if let Some(datagrams) = &self.datagrams {
            self.poller.register(datagrams.socket.as_fd(), Token::Datagrams(side))?;
        }
        Ok(())
    }

    fn take_orders(&mut self) -> Result<(), LiveError> {
        let orders = self.spec.orders.take();
        orders.into_iter().try_for_each(|order| self.carry_out(order))
    }

    fn carry_out(&mut self, order: Order) -> Result<(), LiveError> {
        match order {
            Order::Open { socket, ends, connects: false } => {
                self.by_peer.insert(ends.remote, socket);
                self.ends.insert(socket, End::default());
                Ok(())
            }
            Order::Open { socket, ends, connects: true } => {
                let outcome = self.connect(socket, ends);
                self.conclude(socket, outcome.map_err(Failure::Lost))
            }
            Order::Act { socket, action } => self.act(socket, action),
            Order::Remove { socket } => {
                self.over.remove(&socket);
                self.ends.remove(&socket).into_iter().for_each(|end| self.count(&end));
                Ok(())
            }
            Order::Send(outgoing) => {
                let refused = self.datagrams.as_mut().and_then(|datagrams| datagrams.send(outgoing));
                refused.into_iter().for_each(|number| self.tell(EndEvent::Refused { number }));
                Ok(())
            }
        }
    }

    fn connect(&mut self, socket: SocketNumber, ends: Ends) -> io::Result<()> {
        let stream = self.spec.options.open(ends.local)?;
        stream.set_nonblocking(true)?;
        let started = connect_to(&stream, ends.remote).or_else(|error| match error.raw_os_error() {
            Some(nix::libc::EINPROGRESS) => Ok(()),
            _ => Err(error),
        });
        let registered = self.poller.register(stream.as_fd(), Token::End(socket, self.spec.side));
        self.ends.entry(socket).or_default().stream = Some(stream);
        started.and(registered)
    }

    fn act(&mut self, socket: SocketNumber, action: EndAction) -> Result<(), LiveError> {
        let Some(end) = self.end(socket) else { return Ok(()) };
        let outcome = match action {
            EndAction::Write(bytes) => end.write(bytes),
            EndAction::WriteUnlimited => end.write_unlimited(),
            EndAction::Close => end.close(),
            EndAction::NotifyRead(position) => {
                if end.notify_at(position) {
                    let position = end.read;
                    self.tell(EndEvent::Read { socket, position });
                }
                Ok(())
            }
        };
        self.conclude(socket, outcome)
    }

    /// An end that is not over.
    fn end(&mut self, socket: SocketNumber) -> Option<&mut End> {
        self.ends.get_mut(&socket).filter(|_| !self.over.contains(&socket))
    }

    /// Something is ready.
    fn advance(&mut self, token: Token) -> Result<(), LiveError> {
        match token {
            Token::Stop | Token::Told => Ok(()),
            Token::Listener(_) => self.accept(),
            Token::Datagrams(_) => {
                self.advance_datagrams();
                Ok(())
            }
            Token::End(socket, _) => self.advance_end(socket),
        }
    }

    fn accept(&mut self) -> Result<(), LiveError> {
        while let Some(Ok((stream, peer))) = self.listener.as_ref().map(TcpListener::accept) {
            let SocketAddr::V4(peer) = peer else { continue };
            // Nobody else is waited for, and a connection may have been given up.
            let Some(socket) = self.by_peer.remove(&peer) else { continue };
            let Some(end) = self.ends.get_mut(&socket) else { continue };
            let ready = stream.set_nonblocking(true);
            let ready =
                ready.and_then(|()| self.poller.register(stream.as_fd(), Token::End(socket, self.spec.side)));
            ready.map_err(|error| self.spec.failed("accept a connection", error))?;
            end.stream = Some(stream);
            end.connected();
            self.advance_end(socket)?;
        }
        Ok(())
    }

    fn advance_end(&mut self, socket: SocketNumber) -> Result<(), LiveError> {
        let Some(end) = self.end(socket) else { return Ok(()) };
        let outcome = end.advance();
        if let Ok(true) = outcome {
            let position = end.read;
            self.tell(EndEvent::Read { socket, position });
        }
        self.conclude(socket, outcome.map(drop))
    }

    /// Something was done at an end: the connection may be over, or lost.
    fn conclude(&mut self, socket: SocketNumber, outcome: Result<(), Failure>) -> Result<(), LiveError> {
        match outcome {
            Ok(()) if self.end(socket).is_some_and(|end| end.is_over()) => self.end_over(socket, None),
            Ok(()) => {}
            Err(Failure::Lost(error)) => self.end_over(socket, Some(error.to_string())),
            Err(Failure::WrongByte { position }) => {
                return Err(LiveError::Corrupted { flow: self.spec.flow.clone(), position });
            }
        }
        Ok(())
    }

    /// A connection is closed or broken here.
    fn end_over(&mut self, socket: SocketNumber, broken: Option<String>) {
        self.over.insert(socket);
        self.tell(EndEvent::Over { socket, broken });
    }

    fn advance_datagrams(&mut self) {
        while let Some(number) = self.datagrams.as_mut().and_then(DatagramEnd::flush) {
            self.tell(EndEvent::Refused { number });
        }
        while let Some(arrived) = self.datagrams.as_mut().and_then(DatagramEnd::receive) {
            self.tell(EndEvent::Datagram { number: arrived.number, size: arrived.size });
        }
    }

    fn tell(&self, event: EndEvent) {
        let (at, flow) = (self.clock.now(), self.spec.index);
        self.spec.events.put((self.spec.node, HostEvent { at, flow, event }));
    }

    fn count(&mut self, end: &End) {
        self.ran.read += end.read;
        if let Some(Ok(counts)) = end.stream.as_ref().map(kernel_counts) {
            self.ran.counts.add(counts);
        }
    }

    /// The run is over: counts the connections that are open.
    fn finish(mut self) -> KernelEndRan {
        let open = std::mem::take(&mut self.ends);
        open.values().for_each(|end| self.count(end));
        self.ran
    }
}

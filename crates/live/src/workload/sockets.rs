//! A kernel's host: its ends of connections and of datagrams are sockets.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use linux::socket::{SocketOptions, begin_to_connect};
use linux::tcp_info::KernelCounts;
use nix::sched::{CloneFlags, setns};
use units::{Duration, FlowId, Instant, PerSide, Side};
use workload::{
    ClientPorts, End, EndEvent, Ends, HostEvent, Key, OutgoingDatagram, ProgramHost, Remains, SocketCall,
    SocketId, Transport,
};

use super::ProgramSpec;
use super::datagram::DatagramEnd;
use super::kernel_socket::KernelSocket;
use super::poller::{Poller, Token};
use crate::LiveError;

/// A host's ends of one flow.
///
/// Order of calls: [`SocketHost::watch`], then commands, and [`SocketHost::advance`] for each token that the poller
/// returns. After either, its events and [`SocketHost::check`].
#[derive(Debug)]
pub(crate) struct SocketHost {
    name: String,
    flow: FlowId,
    side: Side,
    options: SocketOptions,
    /// Ports for connections whose own port is in use.
    spare_ports: Arc<ClientPorts>,
    /// The namespace of the sockets; without one, that of the thread.
    namespace: Option<File>,
    poller: Arc<Poller>,
    listener: Option<TcpListener>,
    datagrams: Option<DatagramEnd>,
    ends: BTreeMap<SocketId, HeldEnd>,
    /// The connections that are waited for, by their peers.
    awaited: BTreeMap<SocketAddrV4, SocketId>,
    /// Connections that were accepted before a program waited for them, by their peers.
    accepted: BTreeMap<SocketAddrV4, TcpStream>,
    events: VecDeque<HostEvent>,
    failure: Option<LiveError>,
    read: u64,
    counts: KernelCounts,
}

/// An end of a connection. Its socket is kept until the program removes it: the kernel's retransmissions are counted.
#[derive(Debug, Default)]
struct HeldEnd {
    socket: KernelSocket,
    end: End,
    /// The position that the program asked for last.
    wanted: u64,
    /// Positions up to which the end had read, and their times.
    reads: VecDeque<(u64, Instant)>,
}

impl HeldEnd {
    /// The first position at or above the requested position up to which the end had read, and the time.
    fn first_read(&mut self, now: Instant) -> (u64, Instant) {
        self.reads.retain(|(position, _)| *position >= self.wanted);
        self.reads.front().copied().unwrap_or((self.end.read(), now))
    }
}

impl SocketHost {
    /// Opens the ports of a program at one side, in a namespace, or in that of the thread.
    pub(super) fn open(spec: &ProgramSpec, side: Side, namespace: Option<File>) -> Result<Self, LiveError> {
        let poller = Poller::new().map_err(spec.failed("wait"))?;
        Self::open_at(spec, side, namespace, Arc::new(poller))
    }

    /// The same, with the poller of the other side.
    pub(super) fn open_at(
        spec: &ProgramSpec,
        side: Side,
        namespace: Option<File>,
        poller: Arc<Poller>,
    ) -> Result<Self, LiveError> {
        let mut host = Self {
            name: spec.flow.name.clone(),
            flow: spec.setup.flow,
            side,
            options: spec.options[side].clone(),
            spare_ports: Arc::clone(&spec.spare_ports),
            namespace,
            poller,
            listener: None,
            datagrams: None,
            ends: BTreeMap::new(),
            awaited: BTreeMap::new(),
            accepted: BTreeMap::new(),
            events: VecDeque::new(),
            failure: None,
            read: 0,
            counts: KernelCounts::default(),
        };
        host.enter().map_err(spec.failed("enter the namespace of its host"))?;
        match spec.transport() {
            Transport::Tcp => host.listen(spec.setup.ends).map_err(spec.failed("listen"))?,
            Transport::Udp => {
                host.open_datagrams(spec.setup.ends).map_err(spec.failed("open a socket for datagrams"))?;
            }
        }
        Ok(host)
    }

    /// A socket belongs to the namespace in which it was opened.
    fn enter(&self) -> io::Result<()> {
        self.namespace.as_ref().map_or(Ok(()), |file| Ok(setns(file, CloneFlags::CLONE_NEWNET)?))
    }

    /// Opens the listener. Each side listens on the port of `to`.
    fn listen(&mut self, ends: PerSide<SocketAddrV4>) -> io::Result<()> {
        let listener =
            self.options.listen(SocketAddrV4::new(*ends[self.side].ip(), ends[Side::To].port()))?;
        listener.set_nonblocking(true)?;
        self.listener = Some(listener);
        Ok(())
    }

    fn open_datagrams(&mut self, ends: PerSide<SocketAddrV4>) -> io::Result<()> {
        let socket = self.options.open_datagrams(ends[self.side], ends[self.side.other()])?;
        self.datagrams = Some(DatagramEnd::new(socket));
        Ok(())
    }

    /// The poller, which returns the tokens of this host.
    pub(super) fn poller(&self) -> Arc<Poller> {
        Arc::clone(&self.poller)
    }

    /// Adds the ports that are open to the poller.
    pub(super) fn watch(&self) -> io::Result<()> {
        if let Some(listener) = &self.listener {
            self.poller.register(listener, Token::Listener(self.side))?;
        }
        if let Some(datagrams) = &self.datagrams {
            self.poller.register(&datagrams.socket, Token::Datagrams(self.side))?;
        }
        Ok(())
    }

    /// A descriptor of this host is ready.
    pub(super) fn advance(&mut self, now: Instant, token: Token) {
        match token {
            Token::Stop | Token::Message => {}
            Token::Listener(_) => self.accept(now),
            Token::Datagrams(_) => self.advance_datagrams(now),
            Token::End(socket, _) => self.advance_end(now, socket),
        }
    }

    /// Sends the waiting datagrams, and receives the datagrams that have arrived.
    pub(super) fn advance_datagrams(&mut self, now: Instant) {
        while let Some(number) = self.datagrams.as_mut().and_then(DatagramEnd::flush) {
            self.report(now, EndEvent::Refused { number });
        }
        while let Some(arrived) = self.datagrams.as_mut().and_then(DatagramEnd::receive) {
            self.report(now, EndEvent::Datagram { number: arrived.number, size: arrived.size });
        }
    }

    /// Whether datagrams wait for room in the socket.
    pub(super) fn has_waiting(&self) -> bool {
        self.datagrams.as_ref().is_some_and(DatagramEnd::has_waiting)
    }

    /// Fails if a byte differs from the byte sent, or if a system call failed.
    pub(super) fn check(&mut self) -> Result<(), LiveError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Ends the run: counts the connections that are open. Returns the bytes that were read and checked, and the
    /// kernel's counters, both summed over all connections.
    pub(super) fn finish(mut self) -> (u64, KernelCounts) {
        let open = std::mem::take(&mut self.ends);
        open.values().for_each(|held| self.count(held));
        (self.read, self.counts)
    }

    fn accept(&mut self, now: Instant) {
        while let Some(Ok((stream, peer))) = self.listener.as_ref().map(TcpListener::accept) {
            let SocketAddr::V4(peer) = peer else { continue };
            match stream.set_nonblocking(true) {
                Ok(()) => drop(self.accepted.insert(peer, stream)),
                Err(error) => self.fail("accept a connection", error),
            }
            if let Some(socket) = self.claim(peer) {
                self.advance_end(now, socket);
            }
        }
    }

    /// Gives the connection of a peer to the end that waits for it, if both are there; returns the end's name. An end
    /// that has just been opened advances by the calls that follow, not at once: it would read the end of the peer's
    /// stream, and close, before its program has written.
    fn claim(&mut self, peer: SocketAddrV4) -> Option<SocketId> {
        let socket = *self.awaited.get(&peer)?;
        let held = self.ends.get_mut(&socket)?;
        let stream = self.accepted.remove(&peer)?;
        self.awaited.remove(&peer);
        let registered = self.poller.register(stream.as_fd(), Token::End(socket, self.side));
        held.socket.accepted(stream);
        if let Err(error) = registered {
            self.fail("accept a connection", error);
        }
        Some(socket)
    }

    /// Opens a socket, on another port if its own is in use, and begins to connect.
    fn connect(&mut self, now: Instant, socket: SocketId, ends: Ends) -> io::Result<()> {
        let (stream, port) = self.bound(ends.local)?;
        if port != ends.local.port() {
            self.report(now, EndEvent::OtherPort { socket, port });
        }
        let started = begin_to_connect(&stream, ends.remote);
        let registered = self.poller.register(stream.as_fd(), Token::End(socket, self.side));
        self.ends.entry(socket).or_default().socket.connecting(stream);
        started.and(registered)
    }

    fn bound(&self, local: SocketAddrV4) -> io::Result<(TcpStream, u16)> {
        self.enter()?;
        let (mut port, mut tries) = (local.port(), 0);
        loop {
            match self.options.open(SocketAddrV4::new(*local.ip(), port)) {
                Ok(stream) => {
                    stream.set_nonblocking(true)?;
                    return Ok((stream, port));
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries < MOST_TRIES => {
                    (port, tries) = (self.spare_ports.take(), tries + 1);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn advance_end(&mut self, now: Instant, socket: SocketId) {
        let Some(held) = self.ends.get_mut(&socket) else { return };
        held.socket.finish_connecting();
        let before = held.end.read();
        let outcome = held.end.advance(&mut held.socket);
        if held.end.read() > before {
            held.reads.push_back((held.end.read(), now));
            let excess = held.reads.len().saturating_sub(MOST_READS);
            held.reads.drain(..excess);
        }
        match outcome {
            Ok(advance) => {
                let read = advance.read.map(|_| held.first_read(now));
                if let Some((position, at)) = read {
                    self.report(at, EndEvent::Read { socket, position });
                }
                if let Some(ending) = advance.over {
                    self.report(now, EndEvent::Over { socket, broken: ending.broken() });
                }
            }
            Err(wrong) => {
                let corrupted = LiveError::Corrupted { flow: self.name.clone(), position: wrong.0 };
                self.failure.get_or_insert(corrupted);
            }
        }
    }

    fn report(&mut self, at: Instant, event: EndEvent) {
        self.events.push_back(HostEvent { at, late_by: Duration::ZERO, flow: self.flow, event });
    }

    fn fail(&mut self, step: &'static str, source: io::Error) {
        let flow = self.name.clone();
        self.failure.get_or_insert(LiveError::Flow { flow, step, source });
    }

    fn count(&mut self, held: &HeldEnd) {
        self.read += held.end.read();
        if let Some(counts) = held.socket.counts() {
            self.counts.add(counts);
        }
    }
}

impl ProgramHost for SocketHost {
    fn open(&mut self, now: Instant, Key { socket, .. }: Key, ends: Ends, connects: bool) {
        self.ends.entry(socket).or_default();
        if !connects {
            self.awaited.insert(ends.remote, socket);
            self.claim(ends.remote);
        } else if let Err(error) = self.connect(now, socket, ends) {
            self.ends.entry(socket).or_default().socket.fail(&error);
            self.advance_end(now, socket);
        }
    }

    fn call(&mut self, now: Instant, Key { socket, .. }: Key, call: SocketCall) {
        let Some(held) = self.ends.get_mut(&socket) else { return };
        if let SocketCall::NotifyRead(position) = call {
            held.wanted = position;
        }
        held.end.call(call);
        self.advance_end(now, socket);
    }

    /// The results have no counters of the kernel: [`SocketHost::finish`] returns those of all connections together.
    fn remove(&mut self, _: Instant, Key { socket, .. }: Key) -> Remains {
        self.awaited.retain(|_, awaited| *awaited != socket);
        let Some(held) = self.ends.remove(&socket) else { return Remains::default() };
        self.count(&held);
        Remains { read: held.end.read(), ..Remains::default() }
    }

    fn send_datagram(&mut self, _: FlowId, outgoing: OutgoingDatagram) {
        let at = outgoing.at;
        if let Some(number) = self.datagrams.as_mut().and_then(|datagrams| datagrams.send(outgoing)) {
            self.report(at, EndEvent::Refused { number });
        }
    }

    fn poll_event(&mut self, _: Instant, wanted: &dyn Fn(FlowId) -> bool) -> Option<HostEvent> {
        let place = self.events.iter().position(|event| wanted(event.flow))?;
        self.events.remove(place)
    }
}

/// Number of a connection's reads that are kept for a program that has not processed them yet.
const MOST_READS: usize = 100_000;
/// The number of ports in use that are tried.
const MOST_TRIES: usize = 100;

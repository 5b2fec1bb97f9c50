//! A kernel's host as a program sees it ([`ProgramHost`]): its ends of connections and of datagrams are sockets.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use linux::socket::{SocketOptions, begin_to_connect};
use linux::tcp_info::KernelCounts;
use sim::workload::{Side, Transport};
use stacks::{
    ClientPorts, EndAction, EndEvent, Ends, HostEvent, Key, OutgoingDatagram, ProgramHost, Remains,
};
use units::Instant;

use crate::LiveError;
use crate::stop::Stop;

use super::connection::{End, Failure};
use super::datagram::DatagramEnd;
use super::poller::{Poller, SocketNumber, Token};
use super::runner::MOST_TRIES;

/// One host's ends of one flow.
///
/// Order of calls: [`SocketHost::watch`], then commands, and [`SocketHost::advance`] for each token that its poller returns.
/// After either, its events and [`SocketHost::check`].
pub(super) struct SocketHost {
    flow: FlowEnd,
    pub(super) poller: Poller,
    listener: Option<TcpListener>,
    datagrams: Option<DatagramEnd>,
    ends: BTreeMap<SocketNumber, HeldEnd>,
    /// The connections that are waited for, by their peers.
    awaited: BTreeMap<SocketAddrV4, SocketNumber>,
    /// Connections that were accepted before anybody waited for them.
    accepted: BTreeMap<SocketAddrV4, TcpStream>,
    events: VecDeque<HostEvent>,
    failure: Option<LiveError>,
    read: u64,
    counts: KernelCounts,
}

/// Which end of which flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowEnd {
    /// The flow's name and place.
    pub(crate) name: String,
    pub(crate) index: usize,
    pub(crate) side: Side,
    pub(crate) transport: Transport,
    /// The ends of its datagrams; each end listens for connections on the port of the second.
    pub(crate) ends: [SocketAddrV4; 2],
    pub(crate) options: SocketOptions,
    /// Ports for connections whose own is taken.
    pub(crate) ports: Arc<ClientPorts>,
}

impl FlowEnd {
    pub(super) fn failed(&self, step: &'static str, source: io::Error) -> LiveError {
        LiveError::Flow { flow: self.name.clone(), step, source }
    }
}

/// An end of a connection. Its socket is kept until the program removes it: what the kernel sends again is counted.
#[derive(Debug, Default)]
struct HeldEnd {
    end: End,
    is_over: bool,
    /// How far it had read, and when.
    reads: VecDeque<(u64, Instant)>,
}

impl SocketHost {
    /// Opens the host's ports.
    pub(super) fn open(flow: FlowEnd) -> Result<Self, LiveError> {
        let [own, other] = [flow.side, flow.side.other()].map(|side| flow.ends[side as usize]);
        let listen = || {
            let listener = flow.options.listen(SocketAddrV4::new(*own.ip(), flow.ends[1].port()))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let (listener, datagrams) = match flow.transport {
            Transport::Tcp => (Some(listen().map_err(|error| flow.failed("listen", error))?), None),
            Transport::Udp => {
                let opened = flow.options.open_datagrams(own, other);
                let socket = opened.map_err(|error| flow.failed("open a socket for datagrams", error))?;
                (None, Some(DatagramEnd::new(socket)))
            }
        };
        Ok(Self {
            poller: Poller::new().map_err(|error| flow.failed("wait", error))?,
            flow,
            listener,
            datagrams,
            ends: BTreeMap::new(),
            awaited: BTreeMap::new(),
            accepted: BTreeMap::new(),
            events: VecDeque::new(),
            failure: None,
            read: 0,
            counts: KernelCounts::default(),
        })
    }

    /// Waits for the ports that are open, for messages of others, and for the end of the run.
    pub(super) fn watch(&self, messages: impl AsFd, stop: &Stop) -> Result<(), LiveError> {
        self.watch_all(messages, stop).map_err(|error| self.flow.failed("wait", error))
    }

    fn watch_all(&self, messages: impl AsFd, stop: &Stop) -> io::Result<()> {
        self.poller.watch(stop)?;
        self.poller.register(messages, Token::Message)?;
        if let Some(listener) = &self.listener {
            self.poller.register(listener, Token::Listener(self.flow.side))?;
        }
        if let Some(datagrams) = &self.datagrams {
            self.poller.register(&datagrams.socket, Token::Datagrams(self.flow.side))?;
        }
        Ok(())
    }

    /// Something is ready.
    pub(super) fn advance(&mut self, now: Instant, token: Token) {
        match token {
            Token::Stop | Token::Message => {}
            Token::Listener(_) => self.accept(now),
            Token::Datagrams(_) => self.advance_datagrams(now),
            Token::End(socket, _) => self.advance_end(now, socket),
        }
    }

    /// Sends the datagrams that wait, and receives those that have come.
    pub(super) fn advance_datagrams(&mut self, now: Instant) {
        while let Some(number) = self.datagrams.as_mut().and_then(DatagramEnd::flush) {
            self.tell(now, EndEvent::Refused { number });
        }
        while let Some(arrived) = self.datagrams.as_mut().and_then(DatagramEnd::receive) {
            self.tell(now, EndEvent::Datagram { number: arrived.number, size: arrived.size });
        }
    }

    /// Whether datagrams wait for room in the socket.
    pub(super) fn has_waiting(&self) -> bool {
        self.datagrams.as_ref().is_some_and(DatagramEnd::has_waiting)
    }

    /// Fails if a byte was not the one that was sent, or the system could not do something.
    pub(super) fn check(&mut self) -> Result<(), LiveError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// The run is over: counts the connections that are open. Returns the bytes that were read and checked, and the kernel's
    /// counters, both of all connections together.
    pub(super) fn finish(mut self) -> (u64, KernelCounts) {
        let open = std::mem::take(&mut self.ends);
        open.values().for_each(|held| self.count(&held.end));
        (self.read, self.counts)
    }

    fn accept(&mut self, now: Instant) {
        while let Some(Ok((stream, peer))) = self.listener.as_ref().map(TcpListener::accept) {
            let SocketAddr::V4(peer) = peer else { continue };
            match stream.set_nonblocking(true) {
                Ok(()) => drop(self.accepted.insert(peer, stream)),
                Err(error) => self.fail("accept a connection", error),
            }
            self.claim(now, peer);
        }
    }

    /// Gives the connection of a peer to the end that waits for it, if both are there.
    fn claim(&mut self, now: Instant, peer: SocketAddrV4) {
        let Some(&socket) = self.awaited.get(&peer) else { return };
        let (Some(held), Some(stream)) = (self.ends.get_mut(&socket), self.accepted.remove(&peer)) else {
            return;
        };
        self.awaited.remove(&peer);
        let registered = self.poller.register(stream.as_fd(), Token::End(socket, self.flow.side));
        held.end.stream = Some(stream);
        held.end.connected();
        match registered {
            Ok(()) => self.advance_end(now, socket),
            Err(error) => self.fail("accept a connection", error),
        }
    }

    /// Opens a socket, on another port if somebody has its own, and begins to connect.
    fn connect(&mut self, now: Instant, socket: SocketNumber, ends: Ends) -> io::Result<()> {
        let (stream, port) = self.bound(ends.local)?;
        if port != ends.local.port() {
            self.tell(now, EndEvent::OtherPort { socket, port });
        }
        let started = begin_to_connect(&stream, ends.remote);
        let registered = self.poller.register(stream.as_fd(), Token::End(socket, self.flow.side));
        self.ends.entry(socket).or_default().end.stream = Some(stream);
        started.and(registered)
    }

    fn bound(&self, local: SocketAddrV4) -> io::Result<(TcpStream, u16)> {
        let (mut port, mut tries) = (local.port(), 0);
        loop {
            match self.flow.options.open(SocketAddrV4::new(*local.ip(), port)) {
                Ok(stream) => {
                    stream.set_nonblocking(true)?;
                    return Ok((stream, port));
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries < MOST_TRIES => {
                    (port, tries) = (self.flow.ports.take(), tries + 1);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn advance_end(&mut self, now: Instant, socket: SocketNumber) {
        let Some(held) = self.ends.get_mut(&socket).filter(|held| !held.is_over) else { return };
        let before = held.end.read;
        let outcome = held.end.advance();
        if held.end.read > before {
            held.reads.push_back((held.end.read, now));
            let excess = held.reads.len().saturating_sub(MOST_READS);
            held.reads.drain(..excess);
        }
        if let Ok(true) = outcome {
            self.tell_read(now, socket, before + 1);
        }
        self.conclude(now, socket, outcome.map(drop));
    }

    /// An end has read what its program waits for, perhaps before that began to wait.
    fn tell_read(&mut self, now: Instant, socket: SocketNumber, wanted: u64) {
        let Some(held) = self.ends.get_mut(&socket) else { return };
        held.reads.retain(|(position, _)| *position >= wanted);
        let (position, at) = held.reads.front().copied().unwrap_or((held.end.read, now));
        self.tell(at, EndEvent::Read { socket, position });
    }

    /// Something was done at an end: the connection may be over, or lost.
    fn conclude(&mut self, now: Instant, socket: SocketNumber, outcome: Result<(), Failure>) {
        let is_over = |held: &&mut HeldEnd| held.end.is_over() && !held.is_over;
        let broken = match outcome {
            Ok(()) => None,
            Err(Failure::Lost(error)) => Some(error.to_string()),
            Err(Failure::WrongByte { position }) => {
                let flow = self.flow.name.clone();
                self.failure.get_or_insert(LiveError::Corrupted { flow, position });
                return;
            }
        };
        if let Some(held) = self.ends.get_mut(&socket).filter(|held| broken.is_some() || is_over(held)) {
            held.is_over = true;
            self.tell(now, EndEvent::Over { socket, broken });
        }
    }

    fn tell(&mut self, at: Instant, event: EndEvent) {
        self.events.push_back(HostEvent { at, flow: self.flow.index, event });
    }

    fn fail(&mut self, step: &'static str, error: io::Error) {
        let failed = self.flow.failed(step, error);
        self.failure.get_or_insert(failed);
    }

    fn count(&mut self, end: &End) {
        self.read += end.read;
        if let Some(Ok(counts)) = end.stream.as_ref().map(KernelCounts::of) {
            self.counts.add(counts);
        }
    }
}

impl ProgramHost for SocketHost {
    fn open(&mut self, now: Instant, Key { socket, .. }: Key, ends: Ends, connects: bool) {
        self.ends.entry(socket).or_default();
        if connects {
            let outcome = self.connect(now, socket, ends);
            self.conclude(now, socket, outcome.map_err(Failure::Lost));
        } else {
            self.awaited.insert(ends.remote, socket);
            self.claim(now, ends.remote);
        }
    }

    fn act(&mut self, now: Instant, Key { socket, .. }: Key, action: EndAction) {
        let Some(held) = self.ends.get_mut(&socket) else { return };
        let outcome = match action {
            // What is over was read before, and may be asked for yet.
            EndAction::NotifyRead(position) => {
                if held.end.notify_at(position) {
                    self.tell_read(now, socket, position);
                }
                Ok(())
            }
            _ if held.is_over => Ok(()),
            EndAction::Write(bytes) => held.end.write(bytes),
            EndAction::WriteUnlimited => held.end.write_unlimited(),
            EndAction::Close => held.end.close(),
        };
        self.conclude(now, socket, outcome);
    }

    /// What is left has no kernel's counters: [`SocketHost::finish`] returns those of all connections together.
    fn remove(&mut self, _: Instant, Key { socket, .. }: Key) -> Remains {
        self.awaited.retain(|_, awaited| *awaited != socket);
        let Some(held) = self.ends.remove(&socket) else { return Remains::default() };
        self.count(&held.end);
        Remains { read: held.end.read, ..Remains::default() }
    }

    fn send_datagram(&mut self, _: usize, outgoing: OutgoingDatagram) {
        let at = outgoing.at;
        if let Some(number) = self.datagrams.as_mut().and_then(|datagrams| datagrams.send(outgoing)) {
            self.tell(at, EndEvent::Refused { number });
        }
    }

    fn poll_event(&mut self, _: Instant, wanted: &dyn Fn(usize) -> bool) -> Option<HostEvent> {
        let place = self.events.iter().position(|event| wanted(event.flow))?;
        self.events.remove(place)
    }
}

/// Reads of a connection that are remembered for a program that is behind.
const MOST_READS: usize = 100_000;

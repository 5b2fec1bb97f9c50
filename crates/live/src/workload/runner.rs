//! The loop of a program over sockets: waits for its next time or for a socket, lets it act, and carries out what it asks
//! for.
//!
//! A program is woken at the time that it asked for, even where this thread wakes up a little later: what it does at
//! intervals keeps its mean rate, and comes as often as in virtual time. Events happen when they are seen.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;

use linux::scheduling::wake_promptly;
use linux::socket::begin_to_connect;
use linux::tcp_info::KernelCounts;
use sim::ObservedProgram;
use sim::workload::{Command, Program, Side, SocketEvent, SocketId, Transport};
use stacks::{OutgoingDatagram, ProgramConnection};
use units::{Bytes, Duration, Instant};

use crate::LiveError;
use crate::clock::Clock;
use crate::stop::Stop;

use super::connection::{Connection, End, Failure};
use super::datagram::DatagramEnd;
use super::poller::{Poller, SocketNumber, Token};
use super::{Places, Ran, WorkloadSpec};

/// A program, its sockets, and what has come of them.
pub(super) struct Runner<'a> {
    spec: &'a WorkloadSpec,
    clock: Clock,
    places: Places,
    poller: Poller,
    program: Box<dyn Program>,
    observed: ObservedProgram,
    /// The time of which the program was last told.
    now: Instant,
    datagrams: Option<[DatagramEnd; 2]>,
    /// When a datagram was last sent or received.
    last_datagram: Instant,
    /// The listeners of both sides, opened before the other side first connects.
    listeners: [Option<TcpListener>; 2],
    connections: BTreeMap<SocketNumber, Connection>,
    /// The connections by the ports of the ends that connected.
    by_port: BTreeMap<u16, SocketNumber>,
    /// Events that the program has yet to handle.
    events: VecDeque<(SocketId, SocketEvent)>,
    opened: Vec<ProgramConnection>,
    /// Connections that were closed at both ends.
    closed: usize,
    received: u64,
    counts: KernelCounts,
    broken: Option<String>,
    woken_late_by: Duration,
}

impl<'a> Runner<'a> {
    /// Makes the program and opens its sockets for datagrams, so that no datagram is refused.
    pub(super) fn new(spec: &'a WorkloadSpec, clock: Clock, places: Places) -> Result<Self, LiveError> {
        let (program, service) = spec.flow.program(spec.seed);
        let poller = Poller::new().map_err(|error| spec.failed("wait", error))?;
        let mut runner = Self {
            spec,
            clock,
            places,
            poller,
            program,
            observed: ObservedProgram::new(service),
            now: Instant::START,
            datagrams: None,
            last_datagram: Instant::START,
            listeners: [None, None],
            connections: BTreeMap::new(),
            by_port: BTreeMap::new(),
            events: VecDeque::new(),
            opened: Vec::new(),
            closed: 0,
            received: 0,
            counts: KernelCounts::default(),
            broken: None,
            woken_late_by: Duration::ZERO,
        };
        if service.transport == Transport::Udp {
            runner.open_datagrams().map_err(|error| spec.failed("open sockets for datagrams", error))?;
        }
        Ok(runner)
    }

    /// Runs until the run is over; calls `done` when the program is done.
    pub(super) fn run(mut self, stop: &Stop, done: impl FnOnce()) -> Result<Ran, LiveError> {
        let spec = self.spec;
        wake_promptly();
        self.poller.watch(stop).map_err(|error| spec.failed("wait", error))?;
        let mut done = Some(done);
        while !stop.stopped() {
            self.wake_program()?;
            if done.is_some() && self.is_done() {
                done.take().into_iter().for_each(|tell| tell());
            }
            let ready = self.poller.wait(self.clock, self.next_wake_up(done.is_some()));
            for token in ready.map_err(|error| spec.failed("wait", error))? {
                // What was due before the event is done before it.
                self.wake_program()?;
                self.advance(token)?;
                self.settle()?;
            }
        }
        Ok(self.finish())
    }

    fn open_datagrams(&mut self) -> io::Result<()> {
        let [from, to] = self.spec.ends;
        self.places.enter(Side::To)?;
        let at_to = self.spec.options[1].open_datagrams(to, from)?;
        self.places.enter(Side::From)?;
        let at_from = self.spec.options[0].open_datagrams(from, to)?;
        self.poller.register(at_from.as_fd(), Token::Datagrams(Side::From))?;
        self.poller.register(at_to.as_fd(), Token::Datagrams(Side::To))?;
        self.datagrams = Some([at_from, at_to].map(DatagramEnd::new));
        Ok(())
    }

    /// Wakes the program as often as it is due, at the times that it asked for. Then it is now.
    fn wake_program(&mut self) -> Result<(), LiveError> {
        for _ in 0..BATCH {
            let (due, now) = (self.program.poll_timeout(), self.clock.now());
            if due > now {
                self.now = now;
                return Ok(());
            }
            let late_by = now - due;
            self.woken_late_by = self.woken_late_by.max(late_by);
            self.now = self.now.max(if late_by > LONGEST_LAG { now } else { due });
            self.program.handle_timeout(self.now);
            self.settle()?;
        }
        Ok(())
    }

    /// Carries out commands and hands over events until there are no more of either.
    fn settle(&mut self) -> Result<(), LiveError> {
        loop {
            while let Some(command) = self.program.poll_command() {
                self.execute(command)?;
            }
            let Some((socket, event)) = self.events.pop_front() else { return Ok(()) };
            self.program.handle_event(self.now, socket, event);
        }
    }

    fn execute(&mut self, command: Command) -> Result<(), LiveError> {
        match command {
            Command::Connect { socket, by } => self.connect(socket, by),
            Command::Write { socket, side, bytes } => self.act_on(socket, side, |end| end.write(bytes.0)),
            Command::WriteUnlimited { socket } => self.act_on(socket, Side::From, End::write_unlimited),
            Command::Close { socket, side } => self.act_on(socket, side, End::close),
            Command::NotifyRead { socket, side, position } => {
                self.notify_read(socket, side, position);
                Ok(())
            }
            Command::SendDatagram { size } => {
                self.send_datagram(Side::From, size);
                Ok(())
            }
            Command::SendFeedback { size } => {
                self.send_datagram(Side::To, size);
                Ok(())
            }
            Command::ReportTransfer(transfer) => {
                self.observed.report(transfer);
                Ok(())
            }
        }
    }

    fn connect(&mut self, socket: SocketId, by: Side) -> Result<(), LiveError> {
        self.listen(by.other()).map_err(|error| self.spec.failed("listen", error))?;
        let opened = self.open_client(by).map_err(|error| self.spec.failed("open a socket", error))?;
        let (stream, local) = opened;
        let remote = SocketAddrV4::new(*self.spec.ends[by.other() as usize].ip(), self.spec.ends[1].port());
        let addresses = match by {
            Side::From => [local, remote],
            Side::To => [remote, local],
        };
        let started = begin_to_connect(&stream, remote);
        let started = started.and_then(|()| self.poller.register(stream.as_fd(), Token::End(socket.0, by)));
        let mut connection = Connection::new(by, addresses);
        connection.end(by).stream = Some(stream);
        self.opened.push(ProgramConnection { ends: addresses, records: Default::default() });
        self.by_port.insert(local.port(), socket.0);
        self.connections.insert(socket.0, connection);
        started.unwrap_or_else(|error| self.lose(socket.0, &error));
        Ok(())
    }

    /// Opens the listener of a side, if it is not open yet.
    fn listen(&mut self, side: Side) -> io::Result<()> {
        if self.listeners[side as usize].is_none() {
            let address = SocketAddrV4::new(*self.spec.ends[side as usize].ip(), self.spec.ends[1].port());
            self.places.enter(side)?;
            let listener = self.spec.options[side as usize].listen(address)?;
            listener.set_nonblocking(true)?;
            self.poller.register(listener.as_fd(), Token::Listener(side))?;
            self.listeners[side as usize] = Some(listener);
        }
        Ok(())
    }

    /// Opens a socket that is to connect, on a port of its own.
    fn open_client(&mut self, side: Side) -> io::Result<(TcpStream, SocketAddrV4)> {
        self.places.enter(side)?;
        let mut tries = 0;
        loop {
            let local = SocketAddrV4::new(*self.spec.ends[side as usize].ip(), self.spec.ports.take());
            match self.spec.options[side as usize].open(local) {
                Ok(stream) => {
                    stream.set_nonblocking(true)?;
                    return Ok((stream, local));
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries < MOST_TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Does something at one end of a connection. One that is over takes no commands any more.
    fn act_on(
        &mut self,
        socket: SocketId,
        side: Side,
        act: impl FnOnce(&mut End) -> Result<(), Failure>,
    ) -> Result<(), LiveError> {
        let Some(connection) = self.connections.get_mut(&socket.0) else { return Ok(()) };
        let outcome = act(connection.end(side));
        self.conclude(socket.0, outcome)
    }

    fn notify_read(&mut self, socket: SocketId, side: Side, position: u64) {
        let Some(connection) = self.connections.get_mut(&socket.0) else { return };
        if connection.end(side).notify_at(position) {
            let event = SocketEvent::Read { side, position: connection.end(side).read };
            self.events.push_back((socket, event));
        }
    }

    fn send_datagram(&mut self, by: Side, size: Bytes) {
        let at = self.clock.now();
        let number = self.observed.send_datagram(at, by, size);
        self.last_datagram = at;
        let Some(datagrams) = &mut self.datagrams else { return };
        let refused = datagrams[by as usize].send(OutgoingDatagram { number, at, size });
        self.refuse(by, refused);
    }

    fn refuse(&mut self, by: Side, refused: Option<u64>) {
        if by == Side::From {
            refused.into_iter().for_each(|number| self.observed.lose_datagram(number));
        }
    }

    /// Something is ready.
    fn advance(&mut self, token: Token) -> Result<(), LiveError> {
        match token {
            Token::Stop | Token::Message => Ok(()),
            Token::Listener(side) => self.accept(side),
            Token::Datagrams(side) => {
                self.advance_datagrams(side);
                Ok(())
            }
            Token::End(socket, side) => self.advance_end(socket, side),
        }
    }

    fn advance_datagrams(&mut self, side: Side) {
        while let Some(refused) =
            self.datagrams.as_mut().and_then(|datagrams| datagrams[side as usize].flush())
        {
            self.refuse(side, Some(refused));
        }
        let by = side.other();
        while let Some(arrived) =
            self.datagrams.as_mut().and_then(|datagrams| datagrams[side as usize].receive())
        {
            let at = self.clock.now();
            self.last_datagram = at;
            let is_new = self.observed.receive_datagram(at, by, arrived.number, arrived.size);
            if is_new && self.program.hears_datagrams() {
                let event = SocketEvent::DatagramReceived { by, number: arrived.number, size: arrived.size };
                self.events.push_back((SocketId::FIRST, event));
            }
        }
    }

    fn accept(&mut self, side: Side) -> Result<(), LiveError> {
        while let Some(Ok((stream, peer))) = self.listeners[side as usize].as_ref().map(TcpListener::accept) {
            let found = self.by_port.get(&peer.port()).copied();
            let socket = found.filter(|socket| self.connections[socket].opener != side);
            // Its connection may have been given up.
            let Some(socket) = socket else { continue };
            let ready = stream.set_nonblocking(true);
            let ready = ready.and_then(|()| self.poller.register(stream.as_fd(), Token::End(socket, side)));
            ready.map_err(|error| self.spec.failed("accept a connection", error))?;
            if let Some(connection) = self.connections.get_mut(&socket) {
                let end = connection.end(side);
                end.stream = Some(stream);
                end.connected();
            }
            self.advance_end(socket, side)?;
        }
        Ok(())
    }

    fn advance_end(&mut self, socket: SocketNumber, side: Side) -> Result<(), LiveError> {
        let Some(connection) = self.connections.get_mut(&socket) else { return Ok(()) };
        let outcome = connection.end(side).advance();
        if let Ok(true) = outcome {
            let event = SocketEvent::Read { side, position: connection.end(side).read };
            self.events.push_back((SocketId(socket), event));
        }
        self.conclude(socket, outcome.map(drop))
    }

    /// Something was done at an end: the connection may be over, or lost.
    fn conclude(&mut self, socket: SocketNumber, outcome: Result<(), Failure>) -> Result<(), LiveError> {
        match outcome {
            Ok(()) => {
                if self.connections.get(&socket).is_some_and(Connection::is_over) {
                    self.closed += 1;
                    self.remove(socket);
                }
                Ok(())
            }
            Err(Failure::Lost(error)) => {
                self.lose(socket, &error);
                Ok(())
            }
            Err(Failure::WrongByte { position }) => {
                Err(LiveError::Corrupted { flow: self.spec.flow.name.clone(), position })
            }
        }
    }

    fn lose(&mut self, socket: SocketNumber, error: &io::Error) {
        self.broken.get_or_insert_with(|| error.to_string());
        self.remove(socket);
    }

    /// A connection is closed at both ends, or lost.
    fn remove(&mut self, socket: SocketNumber) {
        if let Some(connection) = self.connections.remove(&socket) {
            self.by_port.remove(&connection.addresses[connection.opener as usize].port());
            self.count(&connection);
            self.events.push_back((SocketId(socket), SocketEvent::Closed));
        }
    }

    fn count(&mut self, connection: &Connection) {
        self.received += connection.ends[Side::To as usize].read;
        if let Some(stream) = &connection.ends[Side::From as usize].stream
            && let Ok(counts) = KernelCounts::of(stream)
        {
            self.counts.add(counts);
        }
    }

    /// Whether the program is done, its connections are closed, and nothing is on its way for which it is worth waiting.
    fn is_done(&self) -> bool {
        let waits = self.datagrams.iter().flatten().any(DatagramEnd::has_waiting);
        let arriving = self.observed.outstanding() > 0 && self.clock.now() < self.last_datagram + GRACE;
        self.program.is_done() && self.connections.is_empty() && !waits && !arriving
    }

    fn next_wake_up(&self, is_open: bool) -> Instant {
        let graceful = is_open && self.program.is_done() && self.datagrams.is_some();
        let given_up = if graceful { self.last_datagram + GRACE } else { Instant::NEVER };
        self.program.poll_timeout().min(given_up.max(self.clock.now()))
    }

    /// The run is over: takes in the last datagrams, and counts the connections that are open.
    fn finish(mut self) -> Ran {
        [Side::From, Side::To].into_iter().for_each(|side| self.advance_datagrams(side));
        let open = std::mem::take(&mut self.connections);
        open.values().for_each(|connection| self.count(connection));
        Ran {
            flow: self.spec.flow.name.clone(),
            is_done: self.program.is_done() && open.is_empty(),
            all_closed: self.closed == self.opened.len(),
            connections: self.opened,
            program: self.observed,
            received: self.received,
            counts: self.counts,
            counters: None,
            broken: self.broken,
            woken_late_by: self.woken_late_by,
            heard_late_by: None,
        }
    }
}

impl WorkloadSpec {
    pub(super) fn failed(&self, step: &'static str, error: impl Into<io::Error>) -> LiveError {
        LiveError::Flow { flow: self.flow.name.clone(), step, source: error.into() }
    }
}

/// Times at which a program is woken before the sockets have their turn.
pub(super) const BATCH: usize = 64;
/// How far a program may be behind: a machine that cannot send as fast as the program wants to would never get to its end.
/// Who is farther behind than this is told the time that it is.
pub(super) const LONGEST_LAG: Duration = Duration::from_millis(500);
/// How many ports are tried that others have.
pub(super) const MOST_TRIES: usize = 100;
/// How long a program that is done waits for a datagram after the last one: it does not learn of losses. What is then
/// still on a link is waited for by the run.
pub(super) const GRACE: Duration = Duration::from_secs(1);

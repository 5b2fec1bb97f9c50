//! One half of a program: the side whose sockets are on this machine, while the other side's are on another.
//!
//! Both halves have a copy of the program. A copy draws the same numbers as the other, is woken at the same times by the
//! clock of the run, and carries out what it asks of its own side; what happens at this side it hears at once, and what
//! happens at the other side when that half has told it, with the time at which it happened. What a side does follows from
//! its own clock and its own sockets in all workloads over connections (a server answers what it has read, a user asks when
//! the time has come), so that the way between the machines delays nothing that crosses the links.
//!
//! A program that hears of datagrams (TFRC) lets its two sides share what their packets carry. Of it there is one copy, at
//! `from`: it hears what arrives at `to`, and says what is to be sent there, one round trip of the control stream later.

mod connection;
mod opening;
mod spec;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{TcpListener, TcpStream};

use sim::workload::{Command, Program, Side, SocketEvent, SocketId};
use stacks::OutgoingDatagram;
use units::{Bytes, Instant};

use crate::LiveError;
use crate::channel::ReportReceiver;
use crate::clock::Clock;
use crate::scheduling::wake_promptly;
use crate::socket::kernel_counts;
use crate::stop::Stop;

use super::OpenHalf;
use super::connection::{End, Failure};
use super::datagram::DatagramEnd;
use super::half_ran::HalfRan;
use super::poller::{Poller, SocketNumber, Token};
use super::post::{Letter, Post, Told};
use super::runner::{BATCH, GRACE, LONGEST_LAG};
use connection::{Connection, Ending};
pub(crate) use spec::HalfSpec;

/// A half that runs.
pub(super) struct Half<'a> {
    spec: &'a HalfSpec,
    clock: Clock,
    poller: Poller,
    post: &'a Post,
    inbox: ReportReceiver<Told>,
    /// None where the other half has the only copy.
    program: Option<Box<dyn Program>>,
    hears_datagrams: bool,
    /// The time of which the program was last told.
    now: Instant,
    /// When it wants to be woken, and when that became known.
    due: (Instant, Instant),
    listener: Option<TcpListener>,
    datagrams: Option<DatagramEnd>,
    /// Datagrams that were sent from here.
    sent: u64,
    last_datagram: Instant,
    connections: BTreeMap<SocketNumber, Connection>,
    /// What was told of connections that the copy here has yet to open.
    early: Vec<(SocketNumber, Told)>,
    /// Accepted connections by the port of the other end, until the copy here has come as far as to open them.
    accepted: BTreeMap<u16, TcpStream>,
    /// Events that the program has yet to handle, with their times.
    events: VecDeque<(Instant, SocketId, SocketEvent)>,
    /// How many datagrams the other half has sent in all, once it is done.
    finished: Option<u64>,
    has_told_finish: bool,
    ran: HalfRan,
}

impl<'a> Half<'a> {
    pub(super) fn new(
        spec: &'a HalfSpec,
        open: OpenHalf,
        clock: Clock,
        post: &'a Post,
    ) -> Result<Self, LiveError> {
        let hears_datagrams = open.program.hears_datagrams();
        let has_copy = spec.side == Side::From || !hears_datagrams;
        let inbox = post.take_inbox(spec.node(spec.side), spec.index);
        let no_inbox = || spec.failed("hear the other host", io::ErrorKind::NotFound);
        Ok(Self {
            spec,
            clock,
            poller: Poller::new().map_err(|error| spec.failed("wait", error))?,
            post,
            inbox: inbox.ok_or_else(no_inbox)?,
            program: Some(open.program).filter(|_| has_copy),
            hears_datagrams,
            now: Instant::START,
            due: (Instant::START, Instant::START),
            listener: open.listener,
            datagrams: open.datagrams.map(DatagramEnd::new),
            sent: 0,
            last_datagram: Instant::START,
            connections: BTreeMap::new(),
            early: Vec::new(),
            accepted: BTreeMap::new(),
            events: VecDeque::new(),
            finished: None,
            has_told_finish: false,
            ran: HalfRan::new(&spec.workload.flow.name, spec.side),
        })
    }

    /// Runs until the run is over; calls `done` when there is nothing more to do at this side.
    pub(super) fn run(mut self, stop: &Stop, done: impl FnOnce()) -> Result<HalfRan, LiveError> {
        let spec = self.spec;
        let failed = |error| spec.failed("wait", error);
        wake_promptly();
        self.watch(stop).map_err(failed)?;
        let mut done = Some(done);
        while !stop.stopped() {
            self.wake_program()?;
            if done.is_some() && self.is_done() {
                done.take().into_iter().for_each(|tell| tell());
            }
            for token in self.poller.wait(self.clock, self.next_wake_up(done.is_some())).map_err(failed)? {
                // What was due before the event is done before it.
                self.wake_program()?;
                self.advance(token)?;
                self.settle()?;
            }
        }
        Ok(self.finish())
    }

    fn watch(&self, stop: &Stop) -> io::Result<()> {
        let own = self.spec.side;
        self.poller.watch(stop)?;
        self.poller.register(&self.inbox, Token::Told)?;
        if let Some(listener) = &self.listener {
            self.poller.register(listener, Token::Listener(own))?;
        }
        if let Some(datagrams) = &self.datagrams {
            self.poller.register(&datagrams.socket, Token::Datagrams(own))?;
        }
        Ok(())
    }

    fn tell(&self, told: Told) {
        let other = self.spec.side.other();
        self.post.deliver(Letter { node: self.spec.node(other), flow: self.spec.index, told });
    }

    /// Wakes the program as often as it is due, at the times that it asked for. Then it is now.
    fn wake_program(&mut self) -> Result<(), LiveError> {
        for _ in 0..BATCH {
            let now = self.clock.now();
            let due = self.program.as_ref().map_or(Instant::NEVER, |program| program.poll_timeout());
            if self.due.0 != due {
                self.due = (due, now);
            }
            if due > now {
                self.now = now;
                return Ok(());
            }
            let late_by = now.saturating_since(self.due.1.max(due));
            self.ran.woken_late_ns = self.ran.woken_late_ns.max(late_by.as_nanos());
            let told = if late_by > LONGEST_LAG { now } else { due };
            // A copy that heard late of the other side catches up, at the times at which the other copy was woken.
            self.now = if self.hears_datagrams { self.now.max(told) } else { told };
            if let Some(program) = &mut self.program {
                program.handle_timeout(self.now);
            }
            self.settle()?;
        }
        Ok(())
    }

    /// Carries out commands and hands over events until there are no more of either.
    fn settle(&mut self) -> Result<(), LiveError> {
        loop {
            while let Some(command) = self.program.as_mut().and_then(|program| program.poll_command()) {
                self.execute(command)?;
            }
            let Some((at, socket, event)) = self.events.pop_front() else { break };
            if let Some(program) = &mut self.program {
                program.handle_event(at, socket, event);
            }
        }
        self.tell_finish();
        Ok(())
    }

    /// Tells once that the program is done, and how much there was to send.
    fn tell_finish(&mut self) {
        let is_done = self.program.as_ref().is_some_and(|program| program.is_done());
        if is_done && self.spec.side == Side::From && !self.has_told_finish {
            self.has_told_finish = true;
            self.tell(Told::Finished { datagrams: self.sent });
        }
    }

    fn execute(&mut self, command: Command) -> Result<(), LiveError> {
        let own = self.spec.side;
        match command {
            Command::Connect { socket, by } => self.connect(socket.0, by),
            Command::Write { socket, side, bytes } if side == own => {
                self.act_on(socket.0, |end| end.write(bytes.0))
            }
            Command::WriteUnlimited { socket } if own == Side::From => {
                self.act_on(socket.0, End::write_unlimited)
            }
            Command::Close { socket, side } if side == own => self.act_on(socket.0, End::close),
            Command::NotifyRead { socket, side, position } if side == own => {
                self.notify_read(socket.0, position);
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
                self.ran.report(transfer);
                Ok(())
            }
            // It is for the copy at the other side.
            _ => Ok(()),
        }
    }

    /// Does something at our end of a connection. One that is over takes no commands any more.
    fn act_on(
        &mut self,
        socket: SocketNumber,
        act: impl FnOnce(&mut End) -> Result<(), Failure>,
    ) -> Result<(), LiveError> {
        let Some(connection) = self.connections.get_mut(&socket) else { return Ok(()) };
        let outcome = act(&mut connection.end);
        self.conclude(socket, outcome)
    }

    fn notify_read(&mut self, socket: SocketNumber, position: u64) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        if connection.end.notify_at(position) {
            self.on_read(socket, position);
        }
    }

    /// Our end has read what the program waits for, perhaps before it began to wait.
    fn on_read(&mut self, socket: SocketNumber, wanted: u64) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        connection.reads.retain(|(position, _)| *position >= wanted);
        let first = connection.reads.front().copied();
        let (position, at) = first.unwrap_or((connection.end.read, self.now));
        let event = SocketEvent::Read { side: self.spec.side, position };
        self.events.push_back((at, SocketId(socket), event));
        self.tell(Told::Read { socket, position, at_ns: at.as_nanos() });
    }

    fn send_datagram(&mut self, by: Side, size: Bytes) {
        if by != self.spec.side {
            // Where there is a copy, that sends it.
            if self.hears_datagrams {
                self.tell(Told::Send { size: size.0 });
            }
            return;
        }
        let at = self.clock.now();
        self.last_datagram = at;
        let number = self.sent;
        self.sent += 1;
        self.ran.sent.push((at.as_nanos(), size.0));
        let Some(datagrams) = &mut self.datagrams else { return };
        self.ran.refused.extend(datagrams.send(OutgoingDatagram { number, at, size }));
    }

    /// Something is ready.
    fn advance(&mut self, token: Token) -> Result<(), LiveError> {
        match token {
            Token::Stop => Ok(()),
            Token::Listener(_) => self.accept(),
            Token::Datagrams(_) => {
                self.advance_datagrams();
                Ok(())
            }
            Token::Told => self.hear_all(),
            Token::End(socket, _) => self.advance_end(socket),
        }
    }

    fn advance_datagrams(&mut self) {
        while let Some(refused) = self.datagrams.as_mut().and_then(DatagramEnd::flush) {
            self.ran.refused.push(refused);
        }
        while let Some(arrived) = self.datagrams.as_mut().and_then(DatagramEnd::receive) {
            let at = self.clock.now();
            self.last_datagram = at;
            let is_new = self.ran.arrive(at, arrived.number, arrived.size);
            if is_new && self.hears_datagrams {
                self.on_arrival(at, self.spec.side.other(), arrived.number, arrived.size);
                let (number, size) = (arrived.number, arrived.size.0);
                self.tell(Told::Arrived { number, size, at_ns: at.as_nanos() });
            }
        }
    }

    fn on_arrival(&mut self, at: Instant, by: Side, number: u64, size: Bytes) {
        // The one copy is told of both sides in one order of time, by its own clock.
        self.now = at.min(self.clock.now()).max(self.now);
        let event = SocketEvent::DatagramReceived { by, number, size };
        self.events.push_back((self.now, SocketId::FIRST, event));
    }

    fn advance_end(&mut self, socket: SocketNumber) -> Result<(), LiveError> {
        let Some(connection) = self.connections.get_mut(&socket) else { return Ok(()) };
        let before = connection.end.read;
        let outcome = connection.end.advance();
        if connection.end.read > before {
            connection.reads.push_back((connection.end.read, self.clock.now()));
            let excess = connection.reads.len().saturating_sub(MOST_READS);
            connection.reads.drain(..excess);
        }
        if let Ok(true) = outcome {
            self.on_read(socket, before + 1);
        }
        self.conclude(socket, outcome.map(drop))
    }

    /// Something was done at our end: it may be over, or lost.
    fn conclude(&mut self, socket: SocketNumber, outcome: Result<(), Failure>) -> Result<(), LiveError> {
        match outcome {
            Ok(()) => {
                self.end(socket, self.now);
                Ok(())
            }
            Err(Failure::Lost(error)) => {
                self.lose(socket, &error);
                Ok(())
            }
            Err(Failure::WrongByte { position }) => {
                Err(LiveError::Corrupted { flow: self.spec.workload.flow.name.clone(), position })
            }
        }
    }

    /// Tells how far the end of a connection has come, and forgets it behind that.
    fn end(&mut self, socket: SocketNumber, at: Instant) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        if connection.own == Ending::Open && connection.end.is_over() {
            connection.own = Ending::Over;
            self.tell(Told::Over { socket, at_ns: at.as_nanos() });
        }
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        if connection.own == Ending::Over && connection.other >= Ending::Over {
            connection.own = Ending::BothOver;
            self.tell(Told::BothOver { socket, at_ns: at.as_nanos() });
        }
        let is_over = |one: &Connection| one.own.min(one.other) == Ending::BothOver;
        if self.connections.get(&socket).is_some_and(is_over) {
            self.ran.closed += 1;
            self.remove(socket, at);
        }
    }

    fn lose(&mut self, socket: SocketNumber, error: &io::Error) {
        let why = error.to_string();
        self.ran.broken.get_or_insert_with(|| why.clone());
        self.tell(Told::Broken { socket, why, at_ns: self.now.as_nanos() });
        self.remove(socket, self.now);
    }

    /// A connection is closed at both ends, or lost.
    fn remove(&mut self, socket: SocketNumber, at: Instant) {
        if let Some(connection) = self.connections.remove(&socket) {
            self.count(&connection);
            self.events.push_back((at, SocketId(socket), SocketEvent::Closed));
        }
    }

    fn count(&mut self, connection: &Connection) {
        if self.spec.side == Side::To {
            self.ran.received += connection.end.read;
        } else if let Some(stream) = &connection.end.stream
            && let Ok(counts) = kernel_counts(stream)
        {
            self.ran.counts.add(counts);
        }
    }

    fn hear_all(&mut self) -> Result<(), LiveError> {
        while let Some(told) = self.inbox.try_recv() {
            if let Some(at) = told.at() {
                let late = self.clock.now().saturating_since(at).as_nanos();
                self.ran.heard_late_ns = self.ran.heard_late_ns.max(late);
            }
            self.hear(told)?;
            self.settle()?;
        }
        Ok(())
    }

    /// The other half has told something. What concerns a connection that the copy here has yet to open waits for that.
    fn hear(&mut self, told: Told) -> Result<(), LiveError> {
        if let Some(socket) = told.socket().filter(|socket| !self.ran.opened.contains_key(socket)) {
            self.early.push((socket, told));
            return Ok(());
        }
        let other = self.spec.side.other();
        match told {
            Told::Opened { socket, port } => {
                self.know_port(socket, port);
                return self.claim();
            }
            Told::Read { socket, position, at_ns } => {
                let event = SocketEvent::Read { side: other, position };
                self.events.push_back((Instant::from_nanos(at_ns), SocketId(socket), event));
            }
            Told::Over { socket, at_ns } => self.hear_end(socket, Ending::Over, at_ns)?,
            Told::BothOver { socket, at_ns } => self.hear_end(socket, Ending::BothOver, at_ns)?,
            Told::Broken { socket, why, at_ns } => {
                self.ran.broken.get_or_insert(why);
                self.remove(socket, Instant::from_nanos(at_ns));
            }
            Told::Arrived { number, size, at_ns } => {
                self.on_arrival(Instant::from_nanos(at_ns), self.spec.side, number, Bytes(size));
            }
            Told::Send { size } => self.send_datagram(self.spec.side, Bytes(size)),
            Told::Finished { datagrams } => {
                self.finished = Some(datagrams);
                self.last_datagram = self.clock.now();
            }
        }
        Ok(())
    }

    fn hear_end(&mut self, socket: SocketNumber, ending: Ending, at_ns: u64) -> Result<(), LiveError> {
        // What the program waits for by what was told before is told first.
        self.settle()?;
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.other = connection.other.max(ending);
        }
        self.end(socket, Instant::from_nanos(at_ns));
        Ok(())
    }

    /// Whether the program is done, our ends of its connections are closed, and nothing is on its way for which it is worth
    /// waiting.
    fn is_done(&self) -> bool {
        let program_is_done = match (&self.program, self.spec.side) {
            (Some(program), Side::From) => program.is_done(),
            (Some(program), Side::To) => program.is_done() && self.finished.is_some(),
            (None, _) => self.finished.is_some(),
        };
        let waits = self.datagrams.as_ref().is_some_and(DatagramEnd::has_waiting);
        program_is_done && self.connections.is_empty() && !waits && !self.is_arriving()
    }

    fn is_arriving(&self) -> bool {
        let outstanding = self.finished.is_some_and(|sent| self.ran.distinct() < sent);
        outstanding && self.clock.now() < self.last_datagram + GRACE
    }

    fn next_wake_up(&self, is_open: bool) -> Instant {
        let due = self.program.as_ref().map_or(Instant::NEVER, |program| program.poll_timeout());
        let graceful = is_open && self.is_arriving();
        let given_up = if graceful { self.last_datagram + GRACE } else { Instant::NEVER };
        due.min(given_up.max(self.clock.now()))
    }

    /// The run is over: takes in the last datagrams, and counts the connections that are open.
    fn finish(mut self) -> HalfRan {
        self.advance_datagrams();
        self.ran.is_done = self.is_done();
        let open = std::mem::take(&mut self.connections);
        open.values().for_each(|connection| self.count(connection));
        self.ran
    }
}

/// Reads of a connection that are remembered for a copy that is behind.
const MOST_READS: usize = 100_000;

//! One half of a program: the side whose host is on this machine, while the other side's is on another.
//!
//! Both halves have a copy of the program. A copy draws the same numbers as the other, is woken at the same times by the
//! clock of the run, and carries out what it asks of its own side. It hears at once what happens at this side, and by messages
//! of the other half what happened there, with the time at which it happened. What a side does follows from
//! its own clock and its own host in all workloads over connections (a server answers what it has read, a user asks when
//! the time has come), so that the way between the machines delays nothing that crosses the links.
//!
//! A program that hears of datagrams (TFRC) lets its two sides share what their packets carry. Of it there is one copy, at
//! `from`: it hears what arrives at `to`, and says what is to be sent there, one round trip of the control stream later.
//!
//! A half does no input or output: the host at its side is a [`ProgramHost`], the sockets of a kernel (`of_kernel.rs`) or a
//! stack in this process (`of_stack.rs`).

mod of_kernel;
mod of_stack;
mod spec;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use sim::workload::{Command, Program, Side, SocketEvent, SocketId};
use stacks::{ClientPorts, EndAction, EndEvent, Ends, HostEvent, Key, OutgoingDatagram, ProgramHost};
use units::{Bytes, Instant};

use super::half_ran::HalfRan;
use super::message_bus::{Envelope, PeerEvent};
use super::poller::SocketNumber;
use super::runner::{BATCH, GRACE, LONGEST_LAG};
pub(crate) use of_kernel::OpenHalf;
pub(crate) use of_stack::StackHalves;
pub(crate) use spec::HalfSpec;

/// A half that runs.
///
/// Order of calls: [`Half::advance`] at [`Half::poll_timeout`] and whenever something has happened at the host, [`Half::handle_peer_event`]
/// for what the other half has sent; after either, [`Half::poll_message`] until there is none.
#[derive(Debug)]
pub(crate) struct Half {
    spec: HalfSpec,
    /// None where the other half has the only copy.
    program: Option<Box<dyn Program>>,
    hears_datagrams: bool,
    /// The time of the run, as of the latest call.
    now: Instant,
    /// The time that the program was given last.
    program_time: Instant,
    /// When it wants to be woken, and when that became known.
    due: (Instant, Instant),
    /// Datagrams that were sent from here.
    sent: u64,
    last_datagram: Instant,
    connections: BTreeMap<SocketNumber, Connection>,
    /// Events of connections that the copy here has yet to open.
    early: Vec<(SocketNumber, PeerEvent)>,
    /// Events that the program has yet to handle, with their times.
    events: VecDeque<(Instant, SocketId, SocketEvent)>,
    messages: VecDeque<Envelope>,
    /// How many datagrams the other half has sent in all, once it is done.
    finished: Option<u64>,
    has_sent_finish: bool,
    ran: HalfRan,
}

/// A connection that is not over.
#[derive(Clone, Copy, Debug)]
struct Connection {
    opener: Side,
    /// How far it is from being over at our end, and at the other as far as is known.
    own: Ending,
    other: Ending,
}

/// How a connection ends. Its program hears of the end last, in both copies: what it waited for, and was read long since, it
/// hears before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    Open,
    /// Both streams have ended at this end.
    Over,
    /// And it is known that they have at the other.
    BothOver,
}

impl Half {
    pub(crate) fn new(spec: HalfSpec) -> Self {
        let program = spec.workload.flow.program(spec.workload.seed).0;
        let hears_datagrams = program.hears_datagrams();
        let has_copy = spec.side == Side::From || !hears_datagrams;
        Self {
            program: Some(program).filter(|_| has_copy),
            hears_datagrams,
            now: Instant::START,
            program_time: Instant::START,
            due: (Instant::START, Instant::START),
            sent: 0,
            last_datagram: Instant::START,
            connections: BTreeMap::new(),
            early: Vec::new(),
            events: VecDeque::new(),
            messages: VecDeque::new(),
            finished: None,
            has_sent_finish: false,
            ran: HalfRan::new(&spec.workload.flow.name, spec.side),
            spec,
        }
    }

    /// Wakes the program if it is due, and hands over what has happened at the host. Returns whether there was anything.
    pub(crate) fn advance(&mut self, now: Instant, host: &mut dyn ProgramHost) -> bool {
        self.now = now;
        let mut did = false;
        loop {
            // What was due before an event is done before it.
            did |= self.wake_program(host);
            let Some(event) = host.poll_event(now, &|flow| flow == self.spec.index) else { return did };
            self.handle_event(event, host);
            self.settle(host);
            did = true;
        }
    }

    /// Something has happened at the other half.
    pub(crate) fn handle_peer_event(&mut self, now: Instant, event: PeerEvent, host: &mut dyn ProgramHost) {
        self.now = now;
        if let Some(at) = event.at() {
            let late = now.saturating_since(at).as_nanos();
            self.ran.heard_late_ns = self.ran.heard_late_ns.max(late);
        }
        self.process(event, host);
        self.settle_all(host);
    }

    /// The next message to the other half.
    pub(crate) fn poll_message(&mut self) -> Option<Envelope> {
        self.messages.pop_front()
    }

    /// When to call [`Half::advance`]; as long as nobody knows that it is done (`is_open`), also when it will be.
    pub(crate) fn poll_timeout(&self, is_open: bool) -> Instant {
        let due = self.program.as_ref().map_or(Instant::NEVER, |program| program.poll_timeout());
        let graceful = is_open && self.is_arriving();
        let given_up = if graceful { self.last_datagram + GRACE } else { Instant::NEVER };
        due.min(given_up.max(self.now))
    }

    /// Whether the program is done, our ends of its connections are closed, and nothing is on its way for which it is worth
    /// waiting.
    pub(crate) fn is_done(&self) -> bool {
        let program_is_done = match (&self.program, self.spec.side) {
            (Some(program), Side::From) => program.is_done(),
            (Some(program), Side::To) => program.is_done() && self.finished.is_some(),
            (None, _) => self.finished.is_some(),
        };
        program_is_done && self.connections.is_empty() && !self.is_arriving()
    }

    /// The run is over: counts the connections that are open.
    pub(crate) fn finish(mut self, now: Instant, host: &mut dyn ProgramHost) -> HalfRan {
        self.now = now;
        self.ran.is_done = self.is_done();
        let open: Vec<SocketNumber> = self.connections.keys().copied().collect();
        open.into_iter().for_each(|socket| self.forget(socket, host));
        self.ran
    }

    fn is_arriving(&self) -> bool {
        let outstanding = self.finished.is_some_and(|sent| self.ran.distinct() < sent);
        outstanding && self.now < self.last_datagram + GRACE
    }

    fn send_to_peer(&mut self, event: PeerEvent) {
        let node = self.spec.node(self.spec.side.other());
        self.messages.push_back(Envelope { node, flow: self.spec.index, event });
    }

    const fn key(&self, socket: SocketNumber) -> Key {
        Key { flow: self.spec.index, socket }
    }

    /// Wakes the program as often as it is due, at the times that it asked for. Then it is now. Returns whether it was.
    fn wake_program(&mut self, host: &mut dyn ProgramHost) -> bool {
        for woken in 0..BATCH {
            let due = self.program.as_ref().map_or(Instant::NEVER, |program| program.poll_timeout());
            if self.due.0 != due {
                self.due = (due, self.now);
            }
            if due > self.now {
                self.program_time = self.now;
                return woken > 0;
            }
            let late_by = self.now.saturating_since(self.due.1.max(due));
            self.ran.woken_late_ns = self.ran.woken_late_ns.max(late_by.as_nanos());
            let given = if late_by > LONGEST_LAG { self.now } else { due };
            // A copy that heard late of the other side catches up, at the times at which the other copy was woken.
            self.program_time = if self.hears_datagrams { self.program_time.max(given) } else { given };
            if let Some(program) = &mut self.program {
                program.handle_timeout(self.program_time);
            }
            self.settle(host);
        }
        true
    }

    /// Settles, and hands over what came of that at the host: what the program asks for may have been read long since.
    fn settle_all(&mut self, host: &mut dyn ProgramHost) {
        self.settle(host);
        while let Some(event) = host.poll_event(self.now, &|flow| flow == self.spec.index) {
            self.handle_event(event, host);
            self.settle(host);
        }
    }

    /// Carries out commands and hands over events until there are no more of either.
    fn settle(&mut self, host: &mut dyn ProgramHost) {
        loop {
            while let Some(command) = self.program.as_mut().and_then(|program| program.poll_command()) {
                self.execute(command, host);
            }
            let Some((at, socket, event)) = self.events.pop_front() else { break };
            if let Some(program) = &mut self.program {
                program.handle_event(at, socket, event);
            }
        }
        self.send_finish();
    }

    /// Says once that the program is done, and how much there was to send.
    fn send_finish(&mut self) {
        let is_done = self.program.as_ref().is_some_and(|program| program.is_done());
        if is_done && self.spec.side == Side::From && !self.has_sent_finish {
            self.has_sent_finish = true;
            self.send_to_peer(PeerEvent::Finished { datagrams: self.sent });
        }
    }

    fn execute(&mut self, command: Command, host: &mut dyn ProgramHost) {
        let own = self.spec.side;
        let mut act = |socket: SocketId, action| {
            // A connection that is over takes no commands any more.
            if self.connections.contains_key(&socket.0) {
                host.act(self.now, self.key(socket.0), action);
            }
        };
        match command {
            Command::Connect { socket, by } => self.connect(socket.0, by, host),
            Command::Write { socket, side, bytes } if side == own => act(socket, EndAction::Write(bytes.0)),
            Command::WriteUnlimited { socket } if own == Side::From => act(socket, EndAction::WriteUnlimited),
            Command::Close { socket, side } if side == own => act(socket, EndAction::Close),
            Command::NotifyRead { socket, side, position } if side == own => {
                act(socket, EndAction::NotifyRead(position));
            }
            Command::SendDatagram { size } => self.send_datagram(Side::From, size, host),
            Command::SendFeedback { size } => self.send_datagram(Side::To, size, host),
            Command::ReportTransfer(transfer) => self.ran.report(transfer),
            // It is for the copy at the other side.
            _ => {}
        }
    }

    fn connect(&mut self, socket: SocketNumber, by: Side, host: &mut dyn ProgramHost) {
        let port = ClientPorts::agreed(self.spec.flows, self.spec.index, socket);
        self.ran.opened.insert(socket, (by == Side::From, port));
        self.connections.insert(socket, Connection { opener: by, own: Ending::Open, other: Ending::Open });
        self.open(socket, by, port, host);
        let waiting = std::mem::take(&mut self.early).into_iter();
        let (about_it, rest): (Vec<_>, Vec<_>) = waiting.partition(|(known, _)| *known == socket);
        self.early = rest;
        about_it.into_iter().for_each(|(_, event)| self.process(event, host));
    }

    /// Opens our end of a connection that comes from a port of the side `by`.
    fn open(&self, socket: SocketNumber, by: Side, port: u16, host: &mut dyn ProgramHost) {
        let connecting = SocketAddrV4::new(*self.spec.end(by).ip(), port);
        let listening = self.spec.listening(by.other());
        let connects = by == self.spec.side;
        let [local, remote] = if connects { [connecting, listening] } else { [listening, connecting] };
        host.open(self.now, self.key(socket), Ends { local, remote }, connects);
    }

    fn know_port(&mut self, socket: SocketNumber, port: u16) {
        if let Some(known) = self.ran.opened.get_mut(&socket) {
            known.1 = port;
        }
    }

    fn send_datagram(&mut self, by: Side, size: Bytes, host: &mut dyn ProgramHost) {
        if by != self.spec.side {
            // Where there is a copy, that sends it.
            if self.hears_datagrams {
                self.send_to_peer(PeerEvent::Send { size: size.0 });
            }
            return;
        }
        self.last_datagram = self.now;
        let number = self.sent;
        self.sent += 1;
        self.ran.sent.push((self.now.as_nanos(), size.0));
        host.send_datagram(self.spec.index, OutgoingDatagram { number, at: self.now, size });
    }

    /// Something has happened at the host.
    fn handle_event(&mut self, HostEvent { at, event, .. }: HostEvent, host: &mut dyn ProgramHost) {
        match event {
            EndEvent::OtherPort { socket, port } => {
                self.know_port(socket, port);
                self.send_to_peer(PeerEvent::Opened { socket, port });
            }
            EndEvent::Read { socket, position } if self.connections.contains_key(&socket) => {
                let event = SocketEvent::Read { side: self.spec.side, position };
                self.events.push_back((at, SocketId(socket), event));
                self.send_to_peer(PeerEvent::Read { socket, position, at_ns: at.as_nanos() });
            }
            EndEvent::Read { .. } => {}
            EndEvent::Over { socket, broken: Some(why) } => self.lose(at, socket, why, host),
            EndEvent::Over { socket, broken: None } => self.on_own_end(at, socket, host),
            EndEvent::Datagram { number, size } => self.on_datagram(at, number, size),
            EndEvent::Refused { number } => self.ran.refused.push(number),
        }
    }

    fn on_datagram(&mut self, at: Instant, number: u64, size: Bytes) {
        self.last_datagram = at;
        let is_new = self.ran.arrive(at, number, size);
        if is_new && self.hears_datagrams {
            self.on_arrival(at, self.spec.side.other(), number, size);
            self.send_to_peer(PeerEvent::Arrived { number, size: size.0, at_ns: at.as_nanos() });
        }
    }

    fn on_arrival(&mut self, at: Instant, by: Side, number: u64, size: Bytes) {
        // The one copy hears of both sides in one order of time, by its own clock.
        self.program_time = at.min(self.now).max(self.program_time);
        let event = SocketEvent::DatagramReceived { by, number, size };
        self.events.push_back((self.program_time, SocketId::FIRST, event));
    }

    /// Both streams of a connection have ended at our end.
    fn on_own_end(&mut self, at: Instant, socket: SocketNumber, host: &mut dyn ProgramHost) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        connection.own = connection.own.max(Ending::Over);
        self.send_to_peer(PeerEvent::Over { socket, at_ns: at.as_nanos() });
        self.end(at, socket, host);
    }

    /// Tells when it is known of both ends of a connection that they are over, and forgets it once both halves know.
    fn end(&mut self, at: Instant, socket: SocketNumber, host: &mut dyn ProgramHost) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        if connection.own == Ending::Over && connection.other >= Ending::Over {
            connection.own = Ending::BothOver;
            self.send_to_peer(PeerEvent::BothOver { socket, at_ns: at.as_nanos() });
        }
        let is_over = |one: &Connection| one.own.min(one.other) == Ending::BothOver;
        if self.connections.get(&socket).is_some_and(is_over) {
            self.ran.closed += 1;
            self.remove(at, socket, host);
        }
    }

    fn lose(&mut self, at: Instant, socket: SocketNumber, why: String, host: &mut dyn ProgramHost) {
        if self.connections.contains_key(&socket) {
            self.ran.broken.get_or_insert_with(|| why.clone());
            self.send_to_peer(PeerEvent::Broken { socket, why, at_ns: at.as_nanos() });
            self.remove(at, socket, host);
        }
    }

    /// A connection is closed at both ends, or lost.
    fn remove(&mut self, at: Instant, socket: SocketNumber, host: &mut dyn ProgramHost) {
        if self.connections.contains_key(&socket) {
            self.forget(socket, host);
            self.events.push_back((at, SocketId(socket), SocketEvent::Closed));
        }
    }

    /// Counts what an end has done, and forgets it.
    fn forget(&mut self, socket: SocketNumber, host: &mut dyn ProgramHost) {
        self.connections.remove(&socket);
        let remains = host.remove(self.now, self.key(socket));
        self.ran.count(socket, remains);
    }

    /// Processes an event of the other half. One of a connection that the copy here has yet to open waits for that.
    fn process(&mut self, event: PeerEvent, host: &mut dyn ProgramHost) {
        if let Some(socket) = event.socket().filter(|socket| !self.ran.opened.contains_key(socket)) {
            self.early.push((socket, event));
            return;
        }
        let other = self.spec.side.other();
        match event {
            PeerEvent::Opened { socket, port } => {
                self.know_port(socket, port);
                if self.connections.get(&socket).is_some_and(|one| one.opener == other) {
                    self.open(socket, other, port, host);
                }
            }
            PeerEvent::Read { socket, position, at_ns } => {
                let event = SocketEvent::Read { side: other, position };
                self.events.push_back((Instant::from_nanos(at_ns), SocketId(socket), event));
            }
            PeerEvent::Over { socket, at_ns } => self.on_peer_end(socket, Ending::Over, at_ns, host),
            PeerEvent::BothOver { socket, at_ns } => self.on_peer_end(socket, Ending::BothOver, at_ns, host),
            PeerEvent::Broken { socket, why, at_ns } => {
                self.ran.broken.get_or_insert(why);
                self.remove(Instant::from_nanos(at_ns), socket, host);
            }
            PeerEvent::Arrived { number, size, at_ns } => {
                self.on_arrival(Instant::from_nanos(at_ns), self.spec.side, number, Bytes(size));
            }
            PeerEvent::Send { size } => self.send_datagram(self.spec.side, Bytes(size), host),
            PeerEvent::Finished { datagrams } => {
                self.finished = Some(datagrams);
                self.last_datagram = self.now;
            }
        }
    }

    fn on_peer_end(&mut self, socket: SocketNumber, ending: Ending, at_ns: u64, host: &mut dyn ProgramHost) {
        // What the program waits for on account of earlier events, it hears first.
        self.settle_all(host);
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.other = connection.other.max(ending);
        }
        self.end(Instant::from_nanos(at_ns), socket, host);
    }
}

#[cfg(test)]
mod stack_tests;

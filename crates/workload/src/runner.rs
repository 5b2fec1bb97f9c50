//! Runs a program over two hosts: wakes it, executes its commands, and gives it the events of both hosts.
//!
//! A program is woken at the time that it asked for, even if the driver comes a little later: in real time what it does
//! at intervals keeps its mean rate, and happens as often as in virtual time. Events have the time at which they were
//! seen.
//!
//! Where the hosts are on two machines, each machine has a runner with a copy of the program, and a proxy stands for
//! the host elsewhere. A copy may get an event of the other side late; it is then woken at the times at which the other
//! copy was woken, and does the same.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use units::{Bytes, Duration, FlowId, Instant, NodeId, PerSide, Side};

use crate::datagram::OutgoingDatagram;
use crate::executor::Executor;
use crate::host::{EndEvent, Ends, HostEvent, HostTable, Key, Remains};
use crate::log::ProgramLog;
use crate::outcome::{Counters, ProgramConnection, ProgramOutcome, ProgramProgress};
use crate::ports::PortChoice;
use crate::program::{Program, SocketCall, SocketEvent, SocketId, Transfer};

/// A flow as its runner knows it.
#[derive(Clone, Debug)]
pub struct RunnerSetup {
    /// The flow.
    pub flow: FlowId,
    /// The nodes of its hosts.
    pub nodes: PerSide<NodeId>,
    /// The addresses of its datagrams; each side listens for connections on the port of `to`.
    pub ends: PerSide<SocketAddrV4>,
    /// The ports of ends that connect.
    pub ports: PortChoice,
    /// Whether the program gets [`SocketEvent::DatagramReceived`] ([`crate::Service::feedback`]).
    pub feedback: bool,
    /// Whether the host of one side is on another machine.
    pub is_split: bool,
}

/// A program, its connections and its results.
#[derive(Debug)]
pub struct Runner {
    program: Box<dyn Program>,
    state: State,
}

/// State that the execution of commands changes.
#[derive(Debug)]
struct State {
    setup: RunnerSetup,
    /// The latest time that the program was given.
    now: Instant,
    /// The time of the program's next wake-up, and when that time became known.
    due: (Instant, Instant),
    /// Time at which a datagram was last sent or received.
    last_datagram: Instant,
    open: BTreeMap<SocketId, Connection>,
    /// Events that the program has yet to handle, with their times.
    events: VecDeque<(Instant, SocketId, SocketEvent)>,
    opened: Vec<ProgramConnection>,
    /// The number of connections that broke or are open, streams counted each.
    unclosed: usize,
    log: ProgramLog,
    received: u64,
    counters: Option<Counters>,
    broken: Option<String>,
    woken_late_by: Duration,
    heard_late_by: Duration,
}

/// A connection that is not over.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// Its place among the connections that were opened; that of its connection, if it is a stream.
    place: usize,
    is_closed: PerSide<bool>,
}

impl Runner {
    /// A runner of a program that has not begun.
    #[must_use]
    pub fn new(program: Box<dyn Program>, setup: RunnerSetup) -> Self {
        let state = State {
            setup,
            now: Instant::START,
            due: (Instant::START, Instant::START),
            last_datagram: Instant::START,
            open: BTreeMap::new(),
            events: VecDeque::new(),
            opened: Vec::new(),
            unclosed: 0,
            log: ProgramLog::default(),
            received: 0,
            counters: None,
            broken: None,
            woken_late_by: Duration::ZERO,
            heard_late_by: Duration::ZERO,
        };
        Self { program, state }
    }

    /// The flow, its hosts and addresses.
    #[must_use]
    pub const fn setup(&self) -> &RunnerSetup {
        &self.state.setup
    }

    /// The log of the program so far.
    #[must_use]
    pub const fn log(&self) -> &ProgramLog {
        &self.state.log
    }

    /// The results of the program so far.
    #[must_use]
    pub fn progress(&self) -> ProgramProgress<'_> {
        let State { log, opened, received, counters, .. } = &self.state;
        ProgramProgress { log, connections: opened, received: *received, counters: *counters }
    }

    /// Time at which the program is to be woken.
    #[must_use]
    pub fn poll_timeout(&self) -> Instant {
        self.program.poll_timeout()
    }

    /// Whether the program issues no more commands.
    #[must_use]
    pub fn program_is_done(&self) -> bool {
        self.program.is_done()
    }

    /// Whether the program is done and its connections are closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.program.is_done() && self.state.open.is_empty()
    }

    /// Whether the program is done, its connections are closed, and its datagrams have arrived. `is_lost` returns
    /// whether the datagrams that have not arrived are lost; its argument is when the last one was sent or arrived.
    #[must_use]
    pub fn is_done(&self, is_lost: &dyn Fn(Instant) -> bool) -> bool {
        let arriving = self.state.log.outstanding() > 0 && !is_lost(self.state.last_datagram);
        self.is_closed() && !arriving
    }

    /// Time at which a datagram was last sent or received.
    #[must_use]
    pub const fn last_datagram(&self) -> Instant {
        self.state.last_datagram
    }

    /// Wakes the program as often as it is due. Returns whether it was.
    pub fn wake(&mut self, now: Instant, hosts: &mut dyn HostTable) -> bool {
        for woken in 0..BATCH {
            let due = self.program.poll_timeout();
            if due > now {
                self.state.note_due(due, now);
                return woken > 0;
            }
            self.program.handle_timeout(self.state.wake_up_time(due, now));
            self.settle(now, hosts);
        }
        true
    }

    /// Handles an event of the host at one side.
    pub fn handle_event(&mut self, now: Instant, side: Side, event: HostEvent, hosts: &mut dyn HostTable) {
        Execution { state: &mut self.state, now, hosts }.on_event(side, event);
        self.settle(now, hosts);
    }

    /// Sends a datagram in the place of the program, whose only copy runs on the other machine.
    pub fn send_datagram(&mut self, now: Instant, by: Side, size: Bytes, hosts: &mut dyn HostTable) {
        Execution { state: &mut self.state, now, hosts }.send_datagram(by, size);
    }

    /// Wakes the program, and handles the events of both hosts, until there is nothing more to do. What was due before
    /// an event happens before it. Returns whether there was anything.
    pub fn advance(&mut self, now: Instant, hosts: &mut dyn HostTable) -> bool {
        let mut did = false;
        loop {
            did |= self.wake(now, hosts);
            let Some((side, event)) = self.next_event(now, hosts) else { return did };
            self.handle_event(now, side, event, hosts);
            did = true;
        }
    }

    /// Ends the run: closes the books on connections that are open.
    pub fn finish(mut self, now: Instant, hosts: &mut dyn HostTable) -> ProgramOutcome {
        let is_done = self.is_closed();
        let open: Vec<SocketId> = self.state.open.keys().copied().collect();
        let mut execution = Execution { state: &mut self.state, now, hosts };
        open.into_iter().for_each(|socket| execution.remove(socket));
        self.state.into_outcome(is_done)
    }

    fn next_event(&self, now: Instant, hosts: &mut dyn HostTable) -> Option<(Side, HostEvent)> {
        let RunnerSetup { flow, nodes, .. } = &self.state.setup;
        let poll = |side| {
            hosts.host(nodes[side])?.poll_event(now, &|wanted| wanted == *flow).map(|event| (side, event))
        };
        Side::BOTH.into_iter().find_map(poll)
    }

    /// Executes commands and handles events until there are no more of either.
    fn settle(&mut self, now: Instant, hosts: &mut dyn HostTable) {
        let mut execution = Execution { state: &mut self.state, now, hosts };
        loop {
            while let Some(command) = self.program.poll_command() {
                command.execute(&mut execution);
            }
            let Some((at, socket, event)) = execution.state.events.pop_front() else { return };
            self.program.handle_event(at, socket, event);
        }
    }
}

impl State {
    /// Whether a copy of the program runs on the other machine too. A program with feedback has one copy only.
    const fn has_twin(&self) -> bool {
        self.setup.is_split && !self.setup.feedback
    }

    /// Notes when the time of the next wake-up became known.
    fn note_due(&mut self, due: Instant, now: Instant) {
        if self.due.0 != due {
            self.due = (due, now);
        }
    }

    /// The time that the program is given when it was due at `due` and is woken at `now`.
    fn wake_up_time(&mut self, due: Instant, now: Instant) -> Instant {
        self.note_due(due, now);
        // A copy may learn late that it was due.
        let known = if self.has_twin() { self.due.1.max(due) } else { due };
        let late_by = now.saturating_since(known);
        self.woken_late_by = self.woken_late_by.max(late_by);
        self.program_time(if late_by > LONGEST_LAG { now } else { due })
    }

    /// The time of a call of the program. It never decreases, but for a copy that catches up with the other.
    fn program_time(&mut self, at: Instant) -> Instant {
        self.now = if self.has_twin() { at } else { self.now.max(at) };
        self.now
    }

    fn note_event(&mut self, at: Instant, socket: SocketId, event: SocketEvent) {
        let at = self.program_time(at);
        self.events.push_back((at, socket, event));
    }

    fn on_datagram(&mut self, at: Instant, by: Side, number: u64, size: Bytes) {
        self.last_datagram = at;
        let was_sent = self.setup.is_split || (number as usize) < self.log.sent().len();
        let is_new = by == Side::To || (was_sent && self.log.receive_datagram(at, number, size));
        if is_new && self.setup.feedback {
            self.note_event(at, SocketId::FIRST, SocketEvent::DatagramReceived { by, number, size });
        }
    }

    /// A connection begins, or a stream of the connection at a place.
    fn begin(&mut self, socket: SocketId, place: usize) {
        self.open.insert(socket, Connection { place, is_closed: PerSide::default() });
        self.unclosed += 1;
    }

    /// Enters the results of a connection, or of a stream of it.
    fn count(&mut self, place: usize, mut remains: PerSide<Remains>) {
        self.received += remains[Side::To].read;
        if let Some(counters) = remains[Side::From].counters {
            self.counters.get_or_insert_default().add(&counters);
        }
        for side in Side::BOTH {
            self.opened[place].records[side].append(&mut remains[side].records);
        }
    }

    fn into_outcome(self, is_done: bool) -> ProgramOutcome {
        ProgramOutcome {
            log: self.log,
            is_done,
            all_closed: self.unclosed == 0,
            connections: self.opened,
            received: self.received,
            counters: self.counters,
            broken: self.broken,
            woken_late_by: self.woken_late_by,
            heard_late_by: self.heard_late_by,
        }
    }
}

/// The state of a runner with the hosts, during one call.
struct Execution<'a> {
    state: &'a mut State,
    now: Instant,
    hosts: &'a mut dyn HostTable,
}

impl Execution<'_> {
    const fn key(&self, socket: SocketId) -> Key {
        Key { flow: self.state.setup.flow, socket }
    }

    fn open(&mut self, socket: SocketId, side: Side, ends: Ends, connects: bool) {
        let key = self.key(socket);
        if let Some(host) = self.hosts.host(self.state.setup.nodes[side]) {
            host.open(self.now, key, ends, connects);
        }
    }

    fn on_event(&mut self, side: Side, HostEvent { at, late_by, event, .. }: HostEvent) {
        let at = if self.state.has_twin() { at } else { at.min(self.now) };
        self.state.heard_late_by = self.state.heard_late_by.max(late_by);
        match event {
            EndEvent::OtherPort { socket, port } => self.on_other_port(socket, side, port),
            EndEvent::Read { socket, position } => {
                self.state.note_event(at, socket, SocketEvent::Read { side, position });
            }
            EndEvent::Over { socket, broken } => self.on_over(at, socket, side, broken),
            EndEvent::Datagram { number, size } => self.state.on_datagram(at, side.other(), number, size),
            EndEvent::Refused { number } if side == Side::From => self.state.log.refuse_datagram(number),
            EndEvent::Refused { .. } => {}
        }
    }

    /// The end at one side connects from another port: the other side waits for that port.
    fn on_other_port(&mut self, socket: SocketId, side: Side, port: u16) {
        let Some(Connection { place, .. }) = self.state.open.get(&socket) else { return };
        let ends = &mut self.state.opened[*place].ends;
        ends[side].set_port(port);
        let waiting = Ends { local: ends[side.other()], remote: ends[side] };
        self.open(socket, side.other(), waiting, false);
    }

    /// A connection is closed or broken at one end.
    fn on_over(&mut self, at: Instant, socket: SocketId, side: Side, broken: Option<String>) {
        let Some(connection) = self.state.open.get_mut(&socket) else { return };
        if let Some(reason) = broken {
            self.state.broken.get_or_insert(reason);
        } else {
            connection.is_closed[side] = true;
            if !connection.is_closed[side.other()] {
                return;
            }
            self.state.unclosed -= 1;
        }
        self.remove(socket);
        self.state.note_event(at, socket, SocketEvent::Closed);
    }

    /// Removes both ends of a connection, and enters their results.
    fn remove(&mut self, socket: SocketId) {
        let Some(Connection { place, .. }) = self.state.open.remove(&socket) else { return };
        let (key, now, nodes) = (self.key(socket), self.now, self.state.setup.nodes);
        let remove =
            |side| self.hosts.host(nodes[side]).map(|host| host.remove(now, key)).unwrap_or_default();
        let remains = PerSide::from_fn(remove);
        self.state.count(place, remains);
    }
}

impl Executor for Execution<'_> {
    /// The side that listens waits for the connection before the other side is asked to connect.
    fn connect(&mut self, socket: SocketId, by: Side) {
        let RunnerSetup { flow, ports, ends, .. } = &self.state.setup;
        let mut addresses = *ends;
        addresses[by].set_port(ports.port(*flow, socket));
        addresses[by.other()].set_port(ends[Side::To].port());
        let connecting = Ends { local: addresses[by], remote: addresses[by.other()] };
        self.state.begin(socket, self.state.opened.len());
        let opened = ProgramConnection { socket, opener: by, ends: addresses, records: PerSide::default() };
        self.state.opened.push(opened);
        self.open(socket, by.other(), connecting.reversed(), false);
        self.open(socket, by, connecting, true);
    }

    /// The ends of a connection name it: who opens them again opens its next stream.
    fn open_stream(&mut self, socket: SocketId, connection: SocketId) {
        let Some(place) = self.state.opened.iter().position(|one| one.socket == connection) else { return };
        let ProgramConnection { opener: by, ends, .. } = self.state.opened[place];
        self.state.begin(socket, place);
        let opening = Ends { local: ends[by], remote: ends[by.other()] };
        self.open(socket, by.other(), opening.reversed(), false);
        self.open(socket, by, opening, true);
    }

    fn call(&mut self, socket: SocketId, side: Side, call: SocketCall) {
        let key = self.key(socket);
        if self.state.open.contains_key(&socket)
            && let Some(host) = self.hosts.host(self.state.setup.nodes[side])
        {
            host.call(self.now, key, call);
        }
    }

    fn send_datagram(&mut self, by: Side, size: Bytes) {
        let number = self.state.log.send_datagram(self.now, by, size);
        self.state.last_datagram = self.now;
        let RunnerSetup { flow, nodes, .. } = self.state.setup;
        if let Some(host) = self.hosts.host(nodes[by]) {
            host.send_datagram(flow, OutgoingDatagram { number, at: self.now, size });
        }
    }

    fn report(&mut self, transfer: Transfer) {
        self.state.log.report(transfer);
    }
}

/// The number of times that a program is woken before others have their turn.
const BATCH: usize = 64;
/// The largest lateness at which a program is given the time that it asked for; beyond it, it is given the present
/// time. On a machine that cannot send as fast as the program wants to, the program would otherwise never end.
const LONGEST_LAG: Duration = Duration::from_millis(500);

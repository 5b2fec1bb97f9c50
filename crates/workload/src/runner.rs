//! A program over two hosts: wakes it, carries out what it asks for, and tells it what has happened at both its ends.
//!
//! A program is woken at the time that it asked for, even where the driver comes a little later: in real time what it does at
//! intervals keeps its mean rate, and comes as often as in virtual time. Events happen when they are seen.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use sim::workload::{Command, Program, Side, SocketEvent, SocketId};
use sim::{FlowSpec, ObservedProgram, ObservedRecord, Spec};
use units::{Bytes, Duration, Instant};

use super::datagram::OutgoingDatagram;
use super::hosts::{EndAction, EndEvent, HostEvent, HostTable, Key};
use super::ports::ClientPorts;
use crate::stack::{Counters, Ends};

/// A program, its connections, and what has come of them.
#[derive(Debug)]
pub(super) struct Runner {
    /// The flow's place, and the nodes of its `from` and its `to`.
    flow: usize,
    nodes: [usize; 2],
    /// The ends of its datagrams; each end listens for connections on the port of the second.
    ends: [SocketAddrV4; 2],
    program: Box<dyn Program>,
    observed: ObservedProgram,
    /// The time of which the program was last told.
    now: Instant,
    /// When a datagram was last sent or received.
    last_datagram: Instant,
    connections: BTreeMap<u32, Connection>,
    /// Events that the program has yet to handle.
    events: VecDeque<(SocketId, SocketEvent)>,
    opened: Vec<ProgramConnection>,
    /// Connections that were closed at both ends.
    closed: usize,
    received: u64,
    counters: Option<Counters>,
    broken: Option<String>,
    woken_late_by: Duration,
    heard_late_by: Duration,
}

/// A connection that is not over.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// Its place among those that were opened.
    place: usize,
    /// Whether it is closed at `from`, and at `to`.
    closed: [bool; 2],
}

/// A connection of a program.
#[derive(Clone, Debug)]
pub struct ProgramConnection {
    /// The end at the flow's `from`, then the one at its `to`.
    pub ends: [SocketAddrV4; 2],
    /// What the two ends decided, where their stacks tell.
    pub records: [Vec<ObservedRecord>; 2],
}

/// What became of a program.
#[derive(Debug)]
pub struct ProgramOutcome {
    /// What it has done.
    pub program: ObservedProgram,
    /// Whether it was done, and its connections were closed.
    pub is_done: bool,
    /// Its connections, in the order in which they were opened.
    pub connections: Vec<ProgramConnection>,
    /// Whether every connection was closed at both ends.
    pub all_closed: bool,
    /// Bytes that `to` read and checked.
    pub received: u64,
    /// The counts of the stack at `from`, of all connections together, if it has any.
    pub counters: Option<Counters>,
    /// Why a connection broke, if one did: the first reason.
    pub broken: Option<String>,
    /// How late the program was woken at most.
    pub woken_late_by: Duration,
    /// How late it heard at most of what had happened at its ends.
    pub heard_late_by: Duration,
}

impl Runner {
    pub(super) fn new(spec: &Spec, flow: &FlowSpec, index: usize) -> Self {
        let (program, service) = flow.program(spec.seed);
        Self {
            flow: index,
            nodes: [flow.from, flow.to],
            ends: crate::flows::ends(spec, flow, index),
            program,
            observed: ObservedProgram::new(service),
            now: Instant::START,
            last_datagram: Instant::START,
            connections: BTreeMap::new(),
            events: VecDeque::new(),
            opened: Vec::new(),
            closed: 0,
            received: 0,
            counters: None,
            broken: None,
            woken_late_by: Duration::ZERO,
            heard_late_by: Duration::ZERO,
        }
    }

    pub(super) const fn nodes(&self) -> [usize; 2] {
        self.nodes
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        self.program.poll_timeout()
    }

    pub(super) fn is_done(&self, is_lost: &dyn Fn(Instant) -> bool) -> bool {
        let arriving = self.observed.outstanding() > 0 && !is_lost(self.last_datagram);
        self.program.is_done() && self.connections.is_empty() && !arriving
    }

    /// Wakes the program as often as it is due, at the times that it asked for. Returns whether it was.
    pub(super) fn wake(&mut self, now: Instant, hosts: &mut dyn HostTable, ports: &ClientPorts) -> bool {
        for woken in 0..BATCH {
            let due = self.program.poll_timeout();
            if due > now {
                return woken > 0;
            }
            let late_by = now - due;
            self.woken_late_by = self.woken_late_by.max(late_by);
            self.now = self.now.max(if late_by > LONGEST_LAG { now } else { due });
            self.program.handle_timeout(self.now);
            self.settle(now, hosts, ports);
        }
        true
    }

    /// Something has happened at the end of a node, by `now`.
    pub(super) fn handle_event(
        &mut self,
        now: Instant,
        node: usize,
        HostEvent { at, event, .. }: HostEvent,
        hosts: &mut dyn HostTable,
        ports: &ClientPorts,
    ) {
        let side = if node == self.nodes[0] { Side::From } else { Side::To };
        self.heard_late_by = self.heard_late_by.max(now.saturating_since(at));
        match event {
            EndEvent::OtherPort { socket, port } => self.on_other_port(now, socket, side, port, hosts),
            EndEvent::Read { socket, position } => {
                self.events.push_back((SocketId(socket), SocketEvent::Read { side, position }));
            }
            EndEvent::Over { socket, broken } => self.on_over(now, socket, side, broken, hosts),
            EndEvent::Datagram { number, size } => self.on_datagram(at, side.other(), number, size),
            EndEvent::Refused { number } if side == Side::From => self.observed.lose_datagram(number),
            EndEvent::Refused { .. } => {}
        }
        self.now = self.now.max(at);
        self.settle(now, hosts, ports);
    }

    /// Carries out commands and hands over events until there are no more of either.
    fn settle(&mut self, now: Instant, hosts: &mut dyn HostTable, ports: &ClientPorts) {
        loop {
            while let Some(command) = self.program.poll_command() {
                self.execute(now, command, hosts, ports);
            }
            let Some((socket, event)) = self.events.pop_front() else { return };
            self.program.handle_event(self.now, socket, event);
        }
    }

    fn execute(&mut self, now: Instant, command: Command, hosts: &mut dyn HostTable, ports: &ClientPorts) {
        let mut act = |socket: SocketId, side: Side, action: EndAction| {
            if let Some(host) = hosts.host(self.nodes[side as usize]) {
                host.act(now, Key { flow: self.flow, socket: socket.0 }, action);
            }
        };
        match command {
            Command::Connect { socket, by } => self.connect(now, socket.0, by, hosts, ports),
            Command::Write { socket, side, bytes } => act(socket, side, EndAction::Write(bytes.0)),
            Command::WriteUnlimited { socket } => act(socket, Side::From, EndAction::WriteUnlimited),
            Command::Close { socket, side } => act(socket, side, EndAction::Close),
            Command::NotifyRead { socket, side, position } => {
                act(socket, side, EndAction::NotifyRead(position));
            }
            Command::SendDatagram { size } => self.send_datagram(now, Side::From, size, hosts),
            Command::SendFeedback { size } => self.send_datagram(now, Side::To, size, hosts),
            Command::ReportTransfer(transfer) => self.observed.report(transfer),
        }
    }

    /// Opens a connection from the side `by`. The other side waits for it before it is asked.
    fn connect(
        &mut self,
        now: Instant,
        socket: u32,
        by: Side,
        hosts: &mut dyn HostTable,
        ports: &ClientPorts,
    ) {
        let address = |side: Side| *self.ends[side as usize].ip();
        let local = SocketAddrV4::new(address(by), ports.take());
        let remote = SocketAddrV4::new(address(by.other()), self.ends[1].port());
        for (side, ends) in
            [(by.other(), Ends { local: remote, remote: local }), (by, Ends { local, remote })]
        {
            if let Some(host) = hosts.host(self.nodes[side as usize]) {
                host.open(now, Key { flow: self.flow, socket }, ends, side == by);
            }
        }
        let ends = if by == Side::From { [local, remote] } else { [remote, local] };
        self.connections.insert(socket, Connection { place: self.opened.len(), closed: [false; 2] });
        self.opened.push(ProgramConnection { ends, records: Default::default() });
    }

    /// The end at a side connects from another port: the other side waits for that.
    fn on_other_port(&mut self, now: Instant, socket: u32, side: Side, port: u16, hosts: &mut dyn HostTable) {
        let Some(Connection { place, .. }) = self.connections.get(&socket) else { return };
        let ends = &mut self.opened[*place].ends;
        ends[side as usize].set_port(port);
        let [local, remote] = [side.other(), side].map(|side| ends[side as usize]);
        if let Some(host) = hosts.host(self.nodes[side.other() as usize]) {
            host.open(now, Key { flow: self.flow, socket }, Ends { local, remote }, false);
        }
    }

    fn send_datagram(&mut self, now: Instant, by: Side, size: Bytes, hosts: &mut dyn HostTable) {
        let number = self.observed.send_datagram(now, by, size);
        self.last_datagram = now;
        if let Some(host) = hosts.host(self.nodes[by as usize]) {
            host.send_datagram(self.flow, OutgoingDatagram { number, at: now, size });
        }
    }

    fn on_datagram(&mut self, now: Instant, by: Side, number: u64, size: Bytes) {
        self.last_datagram = now;
        let is_new = self.observed.receive_datagram(now, by, number, size);
        if is_new && self.program.hears_datagrams() {
            let event = SocketEvent::DatagramReceived { by, number, size };
            self.events.push_back((SocketId::FIRST, event));
        }
    }

    /// A connection is closed or broken at one end.
    fn on_over(
        &mut self,
        now: Instant,
        socket: u32,
        side: Side,
        broken: Option<String>,
        hosts: &mut dyn HostTable,
    ) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        if let Some(reason) = broken {
            self.broken.get_or_insert(reason);
        } else {
            connection.closed[side as usize] = true;
            if connection.closed != [true; 2] {
                return;
            }
            self.closed += 1;
        }
        self.remove(now, socket, hosts);
        self.events.push_back((SocketId(socket), SocketEvent::Closed));
    }

    /// Forgets a connection, and counts what it has done.
    fn remove(&mut self, now: Instant, socket: u32, hosts: &mut dyn HostTable) {
        let Some(Connection { place, .. }) = self.connections.remove(&socket) else { return };
        let key = Key { flow: self.flow, socket };
        let [from, to] =
            self.nodes.map(|node| hosts.host(node).map(|host| host.remove(now, key)).unwrap_or_default());
        self.received += to.read;
        if let Some(counters) = from.counters {
            self.counters.get_or_insert_default().add(&counters);
        }
        self.opened[place].records = [from.records, to.records];
    }

    /// The run is over: counts the connections that are open.
    pub(super) fn finish(mut self, now: Instant, hosts: &mut dyn HostTable) -> ProgramOutcome {
        let is_done = self.program.is_done() && self.connections.is_empty();
        let open: Vec<u32> = self.connections.keys().copied().collect();
        open.into_iter().for_each(|socket| self.remove(now, socket, hosts));
        ProgramOutcome {
            program: self.observed,
            is_done,
            all_closed: self.closed == self.opened.len(),
            connections: self.opened,
            received: self.received,
            counters: self.counters,
            broken: self.broken,
            woken_late_by: self.woken_late_by,
            heard_late_by: self.heard_late_by,
        }
    }
}

/// Times at which a program is woken before others have their turn.
const BATCH: usize = 64;
/// How far a program may be behind: a machine that cannot send as fast as the program wants to would never get to its end.
/// Who is farther behind than this is told the time that it is.
const LONGEST_LAG: Duration = Duration::from_millis(500);

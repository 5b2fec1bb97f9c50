//! A proxy for the host of a program's other side, on another machine: a host behind the message bus.
//!
//! The copy of the program there gives its own host the same commands, so the proxy executes none. Its events are the
//! messages of that copy.

use std::collections::{BTreeMap, VecDeque};

use units::{Duration, FlowId, Instant, NodeId};
use workload::{
    EndEvent, Ends, HostEvent, Key, OutgoingDatagram, ProgramHost, Remains, SocketCall, SocketId,
};

use super::message::{Envelope, PeerEvent};

/// The proxy.
#[derive(Debug)]
pub(super) struct RemoteHost {
    /// The node of the other side's host.
    node: NodeId,
    flow: FlowId,
    /// Whether the program has feedback: it then has one copy only.
    feedback: bool,
    connections: BTreeMap<SocketId, Connection>,
    /// Messages that have arrived, with their lateness.
    incoming: VecDeque<(Duration, PeerEvent)>,
    /// Messages about connections that the copy here has yet to open.
    early: Vec<(Duration, PeerEvent)>,
    outgoing: VecDeque<Envelope>,
    /// The number of datagrams that the other copy has sent, once it is done, and when that became known.
    finished: Option<(u64, Instant)>,
}

/// A connection that was opened.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    is_removed: bool,
    own: Ending,
    other: Ending,
}

/// Progress of a connection towards its end, at one side. Both copies give their program the end of a connection last:
/// a position that one end had reached long before may be reported after the streams have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    #[default]
    Open,
    /// Both streams have ended at this end.
    Over,
    /// Whether this side knows that they have also ended at the other end.
    BothOver,
}

impl RemoteHost {
    pub(super) const fn new(node: NodeId, flow: FlowId, feedback: bool) -> Self {
        Self {
            node,
            flow,
            feedback,
            connections: BTreeMap::new(),
            incoming: VecDeque::new(),
            early: Vec::new(),
            outgoing: VecDeque::new(),
            finished: None,
        }
    }

    /// A message of the other copy has arrived.
    pub(super) fn receive(&mut self, now: Instant, event: PeerEvent) {
        if let PeerEvent::Finished { datagrams } = event {
            self.finished = Some((datagrams, now));
            return;
        }
        let late_by = event.at().map_or(Duration::ZERO, |at| now.saturating_since(at));
        self.incoming.push_back((late_by, event));
    }

    /// The next message to the other copy.
    pub(super) fn poll_message(&mut self) -> Option<Envelope> {
        self.outgoing.pop_front()
    }

    /// The number of datagrams that the other copy has sent, once it is done, and when that became known.
    pub(super) const fn finished(&self) -> Option<(u64, Instant)> {
        self.finished
    }

    /// Reports to the other copy that the program is done here.
    pub(super) fn finish(&mut self, datagrams: u64) {
        self.send(PeerEvent::Finished { datagrams });
    }

    /// Reports an event of the host here to the other copy.
    pub(super) fn forward(&mut self, HostEvent { at, event, .. }: &HostEvent) {
        let (at, is_open) = (*at, |socket| self.is_open(socket));
        match event {
            EndEvent::Read { socket, position } if is_open(*socket) => {
                self.send(PeerEvent::Read { socket: *socket, position: *position, at });
            }
            EndEvent::Over { socket, broken: None } if is_open(*socket) => {
                self.send(PeerEvent::Over { socket: *socket, at });
                self.advance(at, *socket, |connection| connection.own = connection.own.max(Ending::Over));
            }
            EndEvent::Over { socket, broken: Some(why) } if is_open(*socket) => {
                self.send(PeerEvent::Broken { socket: *socket, why: why.clone(), at });
            }
            EndEvent::Datagram { number, size } if self.feedback => {
                self.send(PeerEvent::Arrived { number: *number, size: *size, at });
            }
            // The proxy is opened again, for the other port.
            EndEvent::OtherPort { .. } => {}
            _ => {}
        }
    }

    fn is_open(&self, socket: SocketId) -> bool {
        self.connections.get(&socket).is_some_and(|connection| !connection.is_removed)
    }

    fn send(&mut self, event: PeerEvent) {
        self.outgoing.push_back(Envelope { node: self.node, flow: self.flow, event });
    }

    /// One end of a connection has changed its state. Returns whether both copies know now that it is over.
    fn advance(&mut self, at: Instant, socket: SocketId, change: impl FnOnce(&mut Connection)) -> bool {
        let Some(connection) = self.connections.get_mut(&socket) else { return false };
        change(connection);
        let both_end = connection.own == Ending::Over && connection.other >= Ending::Over;
        if both_end {
            connection.own = Ending::BothOver;
        }
        let is_over = connection.own.min(connection.other) == Ending::BothOver;
        if both_end {
            self.send(PeerEvent::BothOver { socket, at });
        }
        is_over
    }

    /// The event that a message reports, if it reports one.
    fn event_of(&mut self, now: Instant, event: PeerEvent) -> Option<(Instant, EndEvent)> {
        let over = |socket| EndEvent::Over { socket, broken: None };
        match event {
            PeerEvent::Opened { socket, port } => Some((now, EndEvent::OtherPort { socket, port })),
            PeerEvent::Read { socket, position, at } => Some((at, EndEvent::Read { socket, position })),
            PeerEvent::Over { socket, at } => {
                let change = |one: &mut Connection| one.other = one.other.max(Ending::Over);
                self.advance(at, socket, change).then(|| (at, over(socket)))
            }
            PeerEvent::BothOver { socket, at } => {
                let change = |one: &mut Connection| one.other = Ending::BothOver;
                self.advance(at, socket, change).then(|| (at, over(socket)))
            }
            PeerEvent::Broken { socket, why, at } => Some((at, EndEvent::Over { socket, broken: Some(why) })),
            PeerEvent::Arrived { number, size, at } => Some((at, EndEvent::Datagram { number, size })),
            // The replica handles these.
            PeerEvent::Send { .. } | PeerEvent::Finished { .. } => None,
        }
    }
}

impl ProgramHost for RemoteHost {
    /// The other copy opens the same connection, from the port that both know. A second call reports another port.
    fn open(&mut self, _: Instant, Key { socket, .. }: Key, ends: Ends, connects: bool) {
        if self.connections.contains_key(&socket) {
            if !connects {
                self.send(PeerEvent::Opened { socket, port: ends.remote.port() });
            }
            return;
        }
        self.connections.insert(socket, Connection::default());
        let is_about_it = |(_, event): &(Duration, PeerEvent)| event.socket() == Some(socket);
        let (about_it, rest) = std::mem::take(&mut self.early).into_iter().partition(is_about_it);
        self.early = rest;
        let about_it: Vec<_> = about_it;
        about_it.into_iter().rev().for_each(|message| self.incoming.push_front(message));
    }

    fn call(&mut self, _: Instant, _: Key, _: SocketCall) {}

    fn remove(&mut self, _: Instant, Key { socket, .. }: Key) -> Remains {
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.is_removed = true;
        }
        Remains::default()
    }

    /// The other copy sends it, unless the only copy is here.
    fn send_datagram(&mut self, _: FlowId, outgoing: OutgoingDatagram) {
        if self.feedback {
            self.send(PeerEvent::Send { size: outgoing.size });
        }
    }

    fn poll_event(&mut self, now: Instant, wanted: &dyn Fn(FlowId) -> bool) -> Option<HostEvent> {
        if !wanted(self.flow) {
            return None;
        }
        while let Some((late_by, event)) = self.incoming.pop_front() {
            if event.socket().is_some_and(|socket| !self.connections.contains_key(&socket)) {
                self.early.push((late_by, event));
            } else if let Some((at, event)) = self.event_of(now, event) {
                return Some(HostEvent { at, late_by, flow: self.flow, event });
            }
        }
        None
    }
}

//! A host's ends of the connections and datagrams of programs.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use units::{Duration, FlowId, Instant};
use wire::Payload;
use workload::{
    Advance, End, EndEvent, Ending, Ends, HostEvent, Key, OutgoingDatagram, Reading, Remains, Socket,
    SocketCall, datagram_number, datagram_size,
};

use super::datagram;
use super::early::EarlyPackets;
use crate::stack::{Corrupted, Phase, Stack, StackSocket};

/// The ends of programs at one host.
#[derive(Debug, Default)]
pub(crate) struct ProgramEnds {
    ends: BTreeMap<Key, (StackSocket, End)>,
    datagrams: Vec<DatagramEnd>,
    /// Datagrams to send, as packets.
    packets: VecDeque<Vec<u8>>,
    /// The number of datagrams so far: the IP identification.
    identification: u16,
    events: VecDeque<(FlowId, EndEvent)>,
    early: EarlyPackets,
}

/// One end of a flow of datagrams.
#[derive(Debug)]
struct DatagramEnd {
    flow: FlowId,
    ends: Ends,
    class: u8,
    /// The connection that carries them, of a stack that carries datagrams.
    socket: Option<StackSocket>,
    /// The number after the highest that has arrived.
    expected: u64,
}

impl ProgramEnds {
    /// Adds the end of a flow's datagrams, of a traffic class; `socket` waits for the connection that carries them.
    pub(crate) fn add_datagrams(&mut self, flow: FlowId, ends: Ends, class: u8, socket: Option<StackSocket>) {
        self.datagrams.push(DatagramEnd { flow, ends, class, socket, expected: 0 });
    }

    /// The connection that carries a flow's datagrams.
    pub(crate) fn socket_of_datagrams(&self, flow: FlowId) -> Option<StackSocket> {
        self.datagrams.iter().find(|end| end.flow == flow)?.socket
    }

    /// Opens an end: it connects, or waits for the one peer.
    pub(crate) fn open(&mut self, now: Instant, stack: &mut dyn Stack, key: Key, ends: Ends, connects: bool) {
        self.early.open(ends);
        let socket = if connects { stack.connect(now, ends) } else { stack.listen(ends) };
        if let Some((known, _)) = self.ends.get_mut(&key) {
            stack.release(now, std::mem::replace(known, socket));
        } else {
            self.ends.insert(key, (socket, End::default()));
        }
    }

    /// Makes a call on an end of a connection that is not over.
    pub(crate) fn call(&mut self, key: Key, call: SocketCall) {
        if let Some((_, end)) = self.ends.get_mut(&key) {
            end.call(call);
        }
    }

    /// Removes an end, and gives up a connection that is not over.
    pub(crate) fn remove(&mut self, now: Instant, stack: &mut dyn Stack, key: Key) -> Remains {
        let Some((socket, end)) = self.ends.remove(&key) else { return Remains::default() };
        let (counters, records) = (stack.counters(socket), stack.take_records(socket));
        stack.release(now, socket);
        Remains { read: end.read(), counters, records }
    }

    /// Sends a datagram of a flow, in a packet of UDP or over a stack that carries datagrams. That may refuse it.
    pub(crate) fn send_datagram(&mut self, stack: &mut dyn Stack, flow: FlowId, outgoing: OutgoingDatagram) {
        let Some(end) = self.datagrams.iter_mut().find(|end| end.flow == flow) else { return };
        if stack.carries_datagrams() {
            let socket = *end.socket.get_or_insert_with(|| stack.connect(outgoing.at, end.ends));
            if !stack.send_datagram(socket, outgoing.payload()) {
                self.events.push_back((flow, EndEvent::Refused { number: outgoing.number }));
            }
            return;
        }
        self.identification = self.identification.wrapping_add(1);
        self.packets.push_back(datagram::packet(&outgoing, end.ends, end.class, self.identification));
    }

    /// The sockets of a flow's open connections, each with the number of bytes that were read there.
    pub(crate) fn open_connections(&self, flow: FlowId) -> impl Iterator<Item = (StackSocket, u64)> {
        let own = self.ends.iter().filter(move |(key, _)| key.flow == flow);
        own.map(|(_, (socket, end))| (*socket, end.read()))
    }

    /// Keeps packets to a listening end that come before its program has opened their connection.
    pub(crate) fn keep_early(&mut self, listening: SocketAddrV4) {
        self.early.watch(listening);
    }

    /// Takes the packets that came before a connection was opened.
    pub(crate) fn take_early(&mut self, ends: Ends) -> Vec<Vec<u8>> {
        self.early.take(ends)
    }

    /// A packet has arrived. Returns whether it is a datagram of a program or is kept, and so is not for the stack.
    pub(crate) fn handle_packet(&mut self, packet: &[u8]) -> bool {
        let mut known = self.datagrams.iter_mut();
        let read = known.find_map(|end| Some((datagram::read(packet, end.ends)?, end)));
        let Some((payload, end)) = read else { return self.early.keep(packet) };
        let event = end.receive(&payload);
        self.events.push_back((end.flow, event));
        true
    }

    /// The next datagram to send, as a packet.
    pub(crate) fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.packets.pop_front()
    }

    /// The next event of a flow that is wanted.
    pub(crate) fn poll_event(&mut self, now: Instant, wanted: &dyn Fn(FlowId) -> bool) -> Option<HostEvent> {
        let place = self.events.iter().position(|(flow, _)| wanted(*flow))?;
        let event = |(flow, event)| HostEvent { at: now, late_by: Duration::ZERO, flow, event };
        self.events.remove(place).map(event)
    }

    /// Lets the ends read and write. Returns whether they did.
    pub(crate) fn drive(&mut self, now: Instant, stack: &mut dyn Stack) -> Result<bool, Corrupted> {
        let mut did = self.read_datagrams(stack);
        for (Key { flow, socket }, (stack_socket, end)) in &mut self.ends {
            let (flow, socket) = (*flow, *socket);
            let mut over_stack = OverStack { now, stack: &mut *stack, socket: *stack_socket };
            let corrupted = |wrong: workload::WrongByte| Corrupted { flow, position: wrong.0 };
            let Advance { did: moved, read, over } = end.advance(&mut over_stack).map_err(corrupted)?;
            did |= moved;
            let read = read.map(|position| EndEvent::Read { socket, position });
            let over = over.map(|ending| EndEvent::Over { socket, broken: ending.broken() });
            self.events.extend(read.into_iter().chain(over).map(|event| (flow, event)));
        }
        Ok(did)
    }
}

impl ProgramEnds {
    /// Takes the datagrams that have arrived over a stack that carries them. Returns whether there were any.
    fn read_datagrams(&mut self, stack: &mut dyn Stack) -> bool {
        let before = self.events.len();
        for end in self.datagrams.iter_mut().filter(|end| end.socket.is_some()) {
            while let Some(payload) = end.socket.and_then(|socket| stack.read_datagram(socket)) {
                let event = end.receive(&payload);
                self.events.push_back((end.flow, event));
            }
        }
        self.events.len() > before
    }
}

impl DatagramEnd {
    /// A datagram arrived.
    fn receive(&mut self, payload: &[u8]) -> EndEvent {
        let number = datagram_number(payload, self.expected);
        self.expected = self.expected.max(number.saturating_add(1));
        EndEvent::Datagram { number, size: datagram_size(payload.len()) }
    }
}

/// A socket of a stack, during one call.
struct OverStack<'a> {
    now: Instant,
    stack: &'a mut dyn Stack,
    socket: StackSocket,
}

impl Socket for OverStack<'_> {
    fn is_open(&self) -> bool {
        self.stack.phase(self.socket) == Phase::Open
    }

    fn write(&mut self, payload: &Payload) -> u32 {
        self.stack.write(self.socket, payload)
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Reading {
        if self.stack.read(self.socket, out) { Reading::Ended } else { Reading::Drained }
    }

    fn close(&mut self) {
        self.stack.close(self.now, self.socket);
    }

    fn ending(&self) -> Option<Ending> {
        match self.stack.phase(self.socket) {
            Phase::Opening | Phase::Open => None,
            Phase::Closed => Some(Ending::Closed),
            Phase::Broken(reason) => Some(Ending::Broken(reason.to_owned())),
        }
    }
}

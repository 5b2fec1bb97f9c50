//! A host's ends of the connections and datagrams of programs.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use units::Instant;

use super::datagram::{self, OutgoingDatagram, datagram_number, datagram_size};
use super::early::EarlyPackets;
use super::end::{Advance, End};
use super::hosts::{EndAction, EndEvent, HostEvent, Key, Remains};
use crate::host::Corrupted;
use crate::stack::{Ends, Phase, Stack};

/// The ends of programs at one host.
#[derive(Debug, Default)]
pub(crate) struct ProgramEnds {
    ends: BTreeMap<Key, End>,
    datagrams: Vec<DatagramEnd>,
    /// Datagrams to send, as packets.
    packets: VecDeque<Vec<u8>>,
    /// Datagrams so far: the IP identification.
    identification: u16,
    events: VecDeque<(usize, EndEvent)>,
    early: EarlyPackets,
}

/// One end of a flow of datagrams.
#[derive(Debug)]
struct DatagramEnd {
    flow: usize,
    ends: Ends,
    class: u8,
    /// The number behind the highest that has arrived.
    expected: u64,
}

impl ProgramEnds {
    /// The end of a flow's datagrams, of a traffic class.
    pub(crate) fn add_datagrams(&mut self, flow: usize, ends: Ends, class: u8) {
        self.datagrams.push(DatagramEnd { flow, ends, class, expected: 0 });
    }

    /// Opens an end: it connects, or waits for the one peer.
    pub(crate) fn open(&mut self, now: Instant, stack: &mut dyn Stack, key: Key, ends: Ends, connects: bool) {
        self.early.open(ends);
        let socket = if connects { stack.connect(now, ends) } else { stack.listen(ends) };
        if let Some(end) = self.ends.get_mut(&key) {
            stack.release(now, std::mem::replace(&mut end.socket, socket));
        } else {
            self.ends.insert(key, End::new(socket));
        }
    }

    /// Does something at an end of a connection that is not over.
    pub(crate) fn act(&mut self, key: Key, action: EndAction) {
        let Some(end) = self.ends.get_mut(&key) else { return };
        match action {
            EndAction::Write(bytes) => end.write(bytes),
            EndAction::WriteUnlimited => end.write_unlimited(),
            EndAction::Close => end.close(),
            EndAction::NotifyRead(position) => end.notify_at(position),
        }
    }

    /// Forgets an end. What is left of a connection that is not over is given up.
    pub(crate) fn remove(&mut self, now: Instant, stack: &mut dyn Stack, key: Key) -> Remains {
        let Some(End { socket, read, .. }) = self.ends.remove(&key) else { return Remains::default() };
        let remains = Remains { read, counters: stack.counters(socket), records: stack.take_records(socket) };
        stack.release(now, socket);
        remains
    }

    /// Sends a datagram of a flow.
    pub(crate) fn send_datagram(&mut self, flow: usize, outgoing: OutgoingDatagram) {
        let Some(end) = self.datagrams.iter().find(|end| end.flow == flow) else { return };
        self.identification = self.identification.wrapping_add(1);
        self.packets.push_back(outgoing.packet(end.ends, end.class, self.identification));
    }

    /// Keeps packets to a listening end that come before its program has opened their connection.
    pub(crate) fn keep_early(&mut self, listening: SocketAddrV4) {
        self.early.watch(listening);
    }

    /// Takes the packets that came before a connection was opened.
    pub(crate) fn take_early(&mut self, ends: Ends) -> Vec<Vec<u8>> {
        self.early.take(ends)
    }

    /// A packet has arrived. Returns whether it is a datagram of a program, or kept for one, and not for the stack.
    pub(crate) fn handle_packet(&mut self, packet: &[u8]) -> bool {
        let mut known = self.datagrams.iter_mut();
        let read = known.find_map(|end| Some((datagram::read(packet, end.ends)?, end)));
        let Some((payload, end)) = read else { return self.early.keep(packet) };
        let number = datagram_number(&payload, end.expected);
        end.expected = end.expected.max(number.saturating_add(1));
        let event = EndEvent::Datagram { number, size: datagram_size(payload.len()) };
        self.events.push_back((end.flow, event));
        true
    }

    /// The next datagram to send, as a packet.
    pub(crate) fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.packets.pop_front()
    }

    /// What happened next to a flow that is wanted.
    pub(crate) fn poll_event(&mut self, now: Instant, wanted: &dyn Fn(usize) -> bool) -> Option<HostEvent> {
        let place = self.events.iter().position(|(flow, _)| wanted(*flow))?;
        self.events.remove(place).map(|(flow, event)| HostEvent { at: now, flow, event })
    }

    /// Lets the programs do what they can. Returns whether they did anything.
    pub(crate) fn drive(&mut self, now: Instant, stack: &mut dyn Stack) -> Result<bool, Corrupted> {
        let mut did = false;
        for (key, end) in &mut self.ends {
            let Key { flow, socket } = *key;
            let Advance { did: moved, read, over } =
                end.advance(now, stack).map_err(|wrong| Corrupted { flow, position: wrong.0 })?;
            did |= moved;
            let read = read.map(|position| EndEvent::Read { socket, position });
            let over = over.map(|phase| EndEvent::Over { socket, broken: reason(phase) });
            self.events.extend(read.into_iter().chain(over).map(|event| (flow, event)));
        }
        Ok(did)
    }
}

/// Why a connection broke, if it did.
fn reason(phase: Phase) -> Option<String> {
    match phase {
        Phase::Broken(reason) => Some(reason.to_owned()),
        Phase::Opening | Phase::Open | Phase::Closed => None,
    }
}

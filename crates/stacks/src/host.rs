//! A host of a scenario: a stack, and what begins and ends there: bulk transfers, and the connections and datagrams of programs.

use std::net::SocketAddrV4;

use sim::ObservedRecord;
use units::Instant;

use crate::program::{EndAction, HostEvent, Key, OutgoingDatagram, ProgramEnds, ProgramHost, Remains};
use crate::registry::StackId;
use crate::stack::{Counters, Ends, Phase, Setup, Stack};
use crate::transfer::TransferEnd;

/// A host with a stack in this process.
///
/// Order of calls: as for a [`Stack`]. It begins with [`Host::start`].
pub struct Host {
    stack: Box<dyn Stack>,
    transfers: Vec<TransferEnd>,
    programs: ProgramEnds,
    failure: Option<Corrupted>,
}

/// A receiver read a byte that the sender did not write there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupted {
    /// The flow, by its place among the flows that were given.
    pub flow: usize,
    /// Place in the stream.
    pub position: u64,
}

impl Host {
    /// A host with a stack.
    ///
    /// # Panics
    /// If the stack is not one of this process.
    #[must_use]
    pub fn new(id: StackId, setup: Setup) -> Self {
        let make = id.entry().member.make.expect("the caller asks for stacks of this process only");
        Self { stack: make(setup), transfers: Vec::new(), programs: ProgramEnds::default(), failure: None }
    }

    pub(crate) fn of_parts(stack: Box<dyn Stack>, transfers: Vec<TransferEnd>) -> Self {
        Self { stack, transfers, programs: ProgramEnds::default(), failure: None }
    }

    pub(crate) fn transfers(&self) -> impl Iterator<Item = &TransferEnd> {
        self.transfers.iter()
    }

    /// Adds one end of a flow. Receivers listen at once: their ports are open before anybody connects.
    pub fn add(&mut self, mut transfer: TransferEnd) {
        if !transfer.is_sender() {
            transfer.socket = Some(self.stack.listen(transfer.ends));
        }
        self.transfers.push(transfer);
    }

    /// Keeps what arrives at a listening end for a connection that its program has yet to open, until it does. The program's
    /// other copy, on another machine, may be ahead of the one here.
    pub fn keep_early(&mut self, listening: SocketAddrV4) {
        self.programs.keep_early(listening);
    }

    /// An IP packet has arrived.
    pub fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        if !self.programs.handle_packet(packet) {
            self.stack.handle_packet(now, packet);
            self.drive(now);
        }
    }

    /// The time that [`Host::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.stack.poll_timeout(now).is_some_and(|due| due <= now) {
            self.stack.handle_timeout(now);
        }
        self.drive(now);
    }

    /// The next IP packet to send. Programs write again before it says that there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if let Some(datagram) = self.programs.poll_transmit() {
            return Some(datagram);
        }
        loop {
            let packet = self.stack.poll_transmit(now);
            if packet.is_some() || !self.drive(now) {
                return packet;
            }
        }
    }

    /// When to call [`Host::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let of_stack = self.stack.poll_timeout(now);
        let own = self.transfers.iter().filter_map(|transfer| transfer.poll_timeout(&*self.stack));
        own.chain(of_stack).min()
    }

    /// The first wrong byte that a receiver read, if there was any.
    #[must_use]
    pub const fn failure(&self) -> Option<Corrupted> {
        self.failure
    }

    /// Whether every bulk transfer is over at this end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.transfers.iter().all(|transfer| transfer.is_over(&*self.stack))
    }

    /// This host's end of a flow.
    #[must_use]
    pub fn transfer(&self, flow: usize) -> Option<&TransferEnd> {
        self.transfers.iter().find(|transfer| transfer.flow == flow)
    }

    /// How far a flow is at this end.
    #[must_use]
    pub fn phase(&self, flow: usize) -> Phase {
        let socket = self.transfer(flow).and_then(|transfer| transfer.socket);
        socket.map_or(Phase::Opening, |socket| self.stack.phase(socket))
    }

    /// The stack's own counts of a flow.
    #[must_use]
    pub fn counters(&self, flow: usize) -> Option<Counters> {
        self.stack.counters(self.transfer(flow)?.socket?)
    }

    /// The decisions that this end of a flow has made since the last call.
    pub fn take_records(&mut self, flow: usize) -> Vec<ObservedRecord> {
        let socket = self.transfer(flow).and_then(|transfer| transfer.socket);
        socket.map(|socket| self.stack.take_records(socket)).unwrap_or_default()
    }

    /// One end of a flow of datagrams, of a traffic class.
    pub(crate) fn add_datagrams(&mut self, flow: usize, ends: Ends, class: u8) {
        self.programs.add_datagrams(flow, ends, class);
    }

    /// Lets the programs do what they can. Returns whether they did anything.
    fn drive(&mut self, now: Instant) -> bool {
        let mut did = false;
        for transfer in &mut self.transfers {
            match transfer.drive(now, &mut *self.stack) {
                Ok(done) => did |= done,
                Err(wrong) => {
                    self.failure.get_or_insert(wrong);
                }
            }
        }
        match self.programs.drive(now, &mut *self.stack) {
            Ok(done) => did || done,
            Err(wrong) => {
                self.failure.get_or_insert(wrong);
                did
            }
        }
    }
}

impl ProgramHost for Host {
    fn open(&mut self, now: Instant, key: Key, ends: Ends, connects: bool) {
        self.programs.open(now, &mut *self.stack, key, ends, connects);
        for packet in self.programs.take_early(ends) {
            self.handle_packet(now, &packet);
        }
    }

    fn act(&mut self, now: Instant, key: Key, action: EndAction) {
        self.programs.act(key, action);
        self.drive(now);
    }

    fn remove(&mut self, now: Instant, key: Key) -> Remains {
        self.programs.remove(now, &mut *self.stack, key)
    }

    fn send_datagram(&mut self, flow: usize, outgoing: OutgoingDatagram) {
        self.programs.send_datagram(flow, outgoing);
    }

    fn poll_event(&mut self, now: Instant, wanted: &dyn Fn(usize) -> bool) -> Option<HostEvent> {
        self.programs.poll_event(now, wanted)
    }
}

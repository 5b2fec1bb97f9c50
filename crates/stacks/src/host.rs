//! A host of a scenario: a stack with its ends of bulk transfers, and of the connections and datagrams of programs.

use std::net::SocketAddrV4;

use units::{FlowId, Instant, Side};
use workload::{
    Counters, Ends, HostEvent, Key, ObservedRecord, OutgoingDatagram, ProgramHost, Remains, SocketCall,
};

use crate::program::ProgramEnds;
use crate::registry::StackId;
use crate::report::TransferReport;
use crate::stack::{Corrupted, Phase, Setup, Stack};
use crate::transfer::TransferEnd;

/// A host with a stack in this process.
///
/// Order of calls: as for a [`Stack`].
pub struct Host {
    stack: Box<dyn Stack>,
    transfers: Vec<TransferEnd>,
    programs: ProgramEnds,
    failure: Option<Corrupted>,
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

    /// Adds one end of a bulk transfer. Receivers listen at once: their ports are open before senders connect.
    pub(crate) fn add(&mut self, mut transfer: TransferEnd) {
        if !transfer.is_sender() {
            transfer.socket = Some(self.stack.listen(transfer.ends));
        }
        self.transfers.push(transfer);
    }

    /// Adds one end of a flow of datagrams, of a traffic class.
    pub(crate) fn add_datagrams(&mut self, flow: FlowId, ends: Ends, class: u8, side: Side) {
        // Datagrams that the stack carries need a connection: `to` waits for it, `from` opens it with the first one.
        let waits = self.stack.carries_datagrams() && side == Side::To;
        let socket = waits.then(|| self.stack.listen(ends));
        self.programs.add_datagrams(flow, ends, class, socket);
    }

    /// Whether its stack carries datagrams, and no streams.
    pub(crate) fn carries_datagrams(&self) -> bool {
        self.stack.carries_datagrams()
    }

    /// The counters and decisions of the stack for a flow of datagrams that it carries.
    pub(crate) fn report_on_datagrams(&mut self, flow: FlowId) -> Option<(Counters, Vec<ObservedRecord>)> {
        let socket = self.programs.socket_of_datagrams(flow)?;
        Some((self.stack.counters(socket)?, self.stack.take_records(socket)))
    }

    /// The number of bytes that the open ends of a flow have read, and the counters of their stack so far.
    pub(crate) fn progress(&self, flow: FlowId) -> (u64, Option<Counters>) {
        let bulk = self.transfers.iter().filter(|transfer| transfer.flow == flow);
        let bulk = bulk.filter_map(|transfer| {
            Some((transfer.socket?, if transfer.is_sender() { 0 } else { transfer.bytes() }))
        });
        let of_datagrams = self.programs.socket_of_datagrams(flow).map(|socket| (socket, 0));
        let mut total = (0, None::<Counters>);
        for (socket, read) in bulk.chain(self.programs.open_connections(flow)).chain(of_datagrams) {
            total.0 += read;
            if let Some(counters) = self.stack.counters_so_far(socket) {
                total.1.get_or_insert_default().add(&counters);
            }
        }
        total
    }

    /// Keeps packets that arrive at a listening end for a connection that its program has yet to open, until it opens.
    /// The program's other copy, on another machine, may be ahead of the copy here.
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

    /// The next IP packet to send. Transfers and programs write again before it returns `None`.
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

    /// Time at which to call [`Host::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let of_stack = self.stack.poll_timeout(now);
        let own = self.transfers.iter().filter_map(|transfer| transfer.poll_timeout(&*self.stack));
        own.chain(of_stack).min()
    }

    /// The first wrong byte that an end read, if there was any.
    #[must_use]
    pub const fn failure(&self) -> Option<Corrupted> {
        self.failure
    }

    /// Whether every bulk transfer is over at this end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.transfers.iter().all(|transfer| transfer.is_over(&*self.stack))
    }

    /// The report on the bulk transfers at the end of a run.
    #[must_use]
    pub fn report(&mut self) -> Vec<TransferReport> {
        let stack = &mut self.stack;
        let report = |transfer: &TransferEnd| TransferReport {
            flow: transfer.flow,
            is_sender: transfer.is_sender(),
            bytes: transfer.bytes(),
            is_closed: transfer.socket.is_some_and(|socket| stack.phase(socket) == Phase::Closed),
            counters: transfer.socket.and_then(|socket| stack.counters(socket)),
            records: transfer.socket.map(|socket| stack.take_records(socket)).unwrap_or_default(),
        };
        self.transfers.iter().map(report).collect()
    }

    /// Lets transfers and programs read and write. Returns whether they did.
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

    fn call(&mut self, now: Instant, key: Key, call: SocketCall) {
        self.programs.call(key, call);
        self.drive(now);
    }

    fn remove(&mut self, now: Instant, key: Key) -> Remains {
        self.programs.remove(now, &mut *self.stack, key)
    }

    fn send_datagram(&mut self, flow: FlowId, outgoing: OutgoingDatagram) {
        self.programs.send_datagram(&mut *self.stack, flow, outgoing);
    }

    fn poll_event(&mut self, now: Instant, wanted: &dyn Fn(FlowId) -> bool) -> Option<HostEvent> {
        self.programs.poll_event(now, wanted)
    }
}

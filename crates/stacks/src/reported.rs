//! A host that ran in another process, as that process reported it at the end: enough to observe its flows by.

use units::Instant;
use wire::Payload;

use crate::host::Host;
use crate::stack::{Counters, Ends, Phase, SocketId, Stack};
use crate::transfer::TransferEnd;

/// A host's report of its end of a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedTransfer {
    /// The flow, by its place among the flows that were given.
    pub flow: usize,
    /// Whether it is the end that sends.
    pub is_sender: bool,
    /// Bytes that the sender wrote, or that the receiver read and checked.
    pub bytes: u64,
    /// Whether both streams have ended.
    pub is_closed: bool,
    /// The stack's own counts.
    pub counters: Option<Counters>,
}

impl Host {
    /// The report on the host's transfers at the end of a run.
    #[must_use]
    pub fn ended(&self) -> Vec<EndedTransfer> {
        let ended = |transfer: &TransferEnd| EndedTransfer {
            flow: transfer.flow,
            is_sender: transfer.is_sender(),
            bytes: transfer.bytes(),
            is_closed: self.phase(transfer.flow) == Phase::Closed,
            counters: self.counters(transfer.flow),
        };
        self.transfers().map(ended).collect()
    }

    /// The host of a report. It answers what is asked of its flows, and does nothing more.
    #[must_use]
    pub fn reported(ended: Vec<EndedTransfer>) -> Self {
        let transfers: Vec<TransferEnd> = ended
            .iter()
            .enumerate()
            .map(|(place, one)| TransferEnd::reported(one, SocketId(place)))
            .collect();
        Self::of_parts(Box::new(Reported(ended)), transfers)
    }
}

/// The stack of such a host.
struct Reported(Vec<EndedTransfer>);

impl Stack for Reported {
    fn connect(&mut self, _now: Instant, _ends: Ends) -> SocketId {
        SocketId(usize::MAX)
    }

    fn listen(&mut self, _ends: Ends) -> SocketId {
        SocketId(usize::MAX)
    }

    fn write(&mut self, _socket: SocketId, _payload: &Payload) -> u32 {
        0
    }

    fn read(&mut self, _socket: SocketId, _out: &mut Vec<u8>) -> bool {
        true
    }

    fn close(&mut self, _now: Instant, _socket: SocketId) {}

    fn release(&mut self, _now: Instant, _socket: SocketId) {}

    fn handle_packet(&mut self, _now: Instant, _packet: &[u8]) {}

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<Vec<u8>> {
        None
    }

    fn poll_timeout(&mut self, _now: Instant) -> Option<Instant> {
        None
    }

    fn phase(&self, socket: SocketId) -> Phase {
        let is_closed = self.0.get(socket.0).is_some_and(|one| one.is_closed);
        if is_closed { Phase::Closed } else { Phase::Open }
    }

    fn counters(&self, socket: SocketId) -> Option<Counters> {
        self.0.get(socket.0)?.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reported_host_answers_what_the_other_would() {
        let counters = Some(Counters { packets: 7, ..Counters::default() });
        let sender = EndedTransfer { flow: 3, is_sender: true, bytes: 9, is_closed: true, counters };
        let receiver = EndedTransfer { flow: 1, is_sender: false, is_closed: false, ..sender };
        let host = Host::reported(vec![sender, receiver]);
        assert_eq!(host.ended(), [sender, receiver]);
        assert_eq!((host.phase(3), host.phase(1)), (Phase::Closed, Phase::Open));
    }
}

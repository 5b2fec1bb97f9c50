//! Bulk: as fast as the connection takes it, a number of bytes or until a time; then the sender closes.

use link::registry::Entry;
use units::{Bytes, Duration, Instant, Side};

use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, Transfer};

/// This workload in the registry.
pub const ENTRY: Entry = Entry {
    id: "bulk",
    summary: "one connection, as fast as it goes: `bytes` in all, or whatever goes until `until`",
    example: "bytes = \"1 MB\"",
    source: "RFC 863 (discard) is its other end",
};

/// The amount of data of a bulk flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of bytes.
    Bytes(Bytes),
    /// As many bytes as the path takes until this time of the run.
    Until(Duration),
}

/// One bulk transfer.
#[derive(Debug)]
pub(super) struct Bulk {
    amount: Amount,
    stage: Stage,
    start: Instant,
    commands: CommandQueue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Sending { until: Instant },
    Closing,
    Over,
}

impl Bulk {
    pub(super) fn new(amount: Amount, start: Instant) -> Self {
        Self { amount, stage: Stage::Before, start, commands: CommandQueue::default() }
    }

    fn open(&mut self, now: Instant) {
        self.commands.push(Command::Connect { socket: SocketId::FIRST, by: Side::From });
        match self.amount {
            Amount::Bytes(bytes) => {
                self.commands.push(Command::write(SocketId::FIRST, Side::From, bytes));
                self.commands.push(Command::notify_read(SocketId::FIRST, Side::To, bytes.0));
                self.close();
            }
            Amount::Until(time) => {
                self.commands.push(Command::write_unlimited(SocketId::FIRST));
                self.stage = Stage::Sending { until: (Instant::START + time).max(now) };
            }
        }
    }

    fn close(&mut self) {
        self.commands.push(Command::close(SocketId::FIRST, Side::From));
        self.stage = Stage::Closing;
    }
}

impl Program for Bulk {
    fn poll_timeout(&self) -> Instant {
        match self.stage {
            Stage::Before => self.start,
            Stage::Sending { until } => until,
            Stage::Closing | Stage::Over => Instant::NEVER,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self.stage {
            Stage::Before => self.open(now),
            Stage::Sending { .. } => self.close(),
            Stage::Closing | Stage::Over => {}
        }
    }

    fn handle_event(&mut self, now: Instant, _: SocketId, event: SocketEvent) {
        match (event, self.amount) {
            (SocketEvent::Read { .. }, Amount::Bytes(bytes)) => {
                self.commands.push(Command::ReportTransfer(Transfer { start: self.start, end: now, bytes }));
            }
            (SocketEvent::Read { .. }, Amount::Until(_)) => {}
            (SocketEvent::Closed, _) => self.stage = Stage::Over,
            (SocketEvent::DatagramReceived { .. }, _) => {}
        }
    }

    fn poll_command(&mut self) -> Option<Command> {
        self.commands.poll()
    }

    fn is_done(&self) -> bool {
        self.stage == Stage::Over
    }
}

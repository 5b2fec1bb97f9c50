//! Both ways: data in both directions of one connection at the same time, so that segments with data carry the ACKs.

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, PerSide, Side, Streams};

use super::{BULK_PORT, Service, WorkloadParameters};
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, Transfer};

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "both-ways",
    "both sides send at once over one connection: ACKs ride on segments with data",
    "Bruyeron, Hemon and Zhang 1997, section 3: ttcp both ways in one process; RFC 9293 §3.8.6.3 on ACKs",
)
.written("{ both-ways = { there = \"1 MB\", back = \"200 kB\" } }");

/// The amounts of data. Each direction is a row of the table `transfers`, from the start to its last byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// From `from` to `to`; without it, 1 MB.
    pub there: Bytes,
    /// From `to` to `from`; without it, 1 MB.
    pub back: Bytes,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { there: Bytes(1_000_000), back: Bytes(1_000_000) }
    }
}

impl Parameters {
    const fn from(&self, side: Side) -> Bytes {
        match side {
            Side::From => self.there,
            Side::To => self.back,
        }
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (key, bytes) in [("there", self.there), ("back", self.back)] {
            if bytes.is_zero() {
                let help = "write 1 byte or more, or for one direction the flow's `bytes`";
                return Err(ConfigError::new(key, "a direction without a byte", help));
            }
        }
        Ok(())
    }

    fn service(&self) -> Service {
        Service::connections(BULK_PORT)
    }

    fn program(&self, _: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let stage = if start < until { Stage::Before } else { Stage::Over };
        Box::new(BothWays { parameters: self.clone(), start, stage, commands: CommandQueue::default() })
    }
}

#[derive(Debug)]
struct BothWays {
    parameters: Parameters,
    start: Instant,
    stage: Stage,
    commands: CommandQueue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Sending,
    Over,
}

impl BothWays {
    /// Both sides write before either closes: an end that reads the end of the peer's stream closes its own.
    fn send_both_ways(&mut self) {
        let bytes = PerSide::from_fn(|by| self.parameters.from(by));
        let socket = SocketId::FIRST;
        self.commands.extend(Side::BOTH.map(|by| Command::write(socket, by, bytes[by])));
        self.commands.extend(Side::BOTH.map(|by| Command::notify_read(socket, by, bytes[by.other()].0)));
        self.commands.extend(Side::BOTH.map(|by| Command::close(socket, by)));
    }
}

impl Program for BothWays {
    fn poll_timeout(&self) -> Instant {
        if self.stage == Stage::Before { self.start } else { Instant::NEVER }
    }

    fn handle_timeout(&mut self, _: Instant) {
        self.stage = Stage::Sending;
        self.commands.push(Command::Connect { socket: SocketId::FIRST, by: Side::From });
        self.send_both_ways();
    }

    fn handle_event(&mut self, now: Instant, _: SocketId, event: SocketEvent) {
        match event {
            SocketEvent::Read { side, .. } => {
                let bytes = self.parameters.from(side.other());
                self.commands.push(Command::ReportTransfer(Transfer { start: self.start, end: now, bytes }));
            }
            SocketEvent::Closed => self.stage = Stage::Over,
            SocketEvent::DatagramReceived { .. } => {}
        }
    }

    fn poll_command(&mut self) -> Option<Command> {
        self.commands.poll()
    }

    fn is_done(&self) -> bool {
        self.stage == Stage::Over
    }
}

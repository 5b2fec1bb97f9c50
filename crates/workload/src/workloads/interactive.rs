//! Interactive: a user types at `from`, and `to` echoes each keystroke, as telnet does.

use std::collections::VecDeque;

use link::ConfigError;
use link::distribution::{Distribution, ReadFile, Source, exponential};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Side, Streams};

use super::{Service, WorkloadParameters};
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, Transfer, held_to_schedule};

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "interactive",
    "keystrokes over one connection, each echoed: a transfer lasts from the key to its echo",
    "RFC 854, 857 (telnet and its echo)",
)
.written("{ interactive = { gap = \"200 ms\" } }");

/// Keystrokes of a user, each of which is echoed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Time from one keystroke to the next; without it, exponential with a mean of 1 s.
    pub gap: Distribution<Duration>,
    /// Size of a keystroke's data and of its echo. Default: 1 byte.
    pub size: Bytes,
    /// Whether keystrokes are echoed. Default: true. Otherwise a transfer ends when the keystroke is read.
    pub echo: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        let mean = Duration::from_secs(1);
        Self { gap: Distribution::Exponential(exponential::Parameters { mean }), size: Bytes(1), echo: true }
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.gap.check().map_err(|error| error.below("gap"))?;
        if !self.gap.can_be_positive() {
            return Err(ConfigError::new("gap", "keystrokes without time between them", "write \"200 ms\""));
        }
        if self.size.is_zero() {
            return Err(ConfigError::new("size", "a keystroke without a byte", "write 1 byte or more"));
        }
        Ok(())
    }

    fn service(&self) -> Service {
        Service::connections(23)
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.gap.load_files(read).map_err(|error| error.below("gap"))
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        Box::new(Interactive {
            gap: Source::new(&self.gap, streams.stream("gap")),
            size: self.size,
            echo: self.echo,
            next: start,
            until,
            stage: Stage::Before,
            typed: 0,
            echoed: 0,
            waiting: VecDeque::new(),
            commands: CommandQueue::default(),
        })
    }
}

#[derive(Debug)]
struct Interactive {
    gap: Source<Duration>,
    size: Bytes,
    echo: bool,
    next: Instant,
    until: Instant,
    stage: Stage,
    /// Bytes typed, and bytes echoed.
    typed: u64,
    echoed: u64,
    /// Keystrokes that have not been seen in full: when each was typed, and its last byte.
    waiting: VecDeque<(Instant, u64)>,
    commands: CommandQueue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Typing,
    /// Nothing more is typed, but echoes are still to come.
    Watching,
    Over,
}

impl Interactive {
    /// A keystroke that was due then, and is typed now.
    fn strike(&mut self, due: Instant, now: Instant) {
        self.typed += self.size.0;
        self.waiting.push_back((now, self.typed));
        self.commands.push(Command::write(SocketId::FIRST, Side::From, self.size));
        self.expect_keystroke();
        self.next = due + self.gap.draw();
    }

    /// The far side is to read to the end of the first keystroke of which it has not; a read may end inside one.
    fn expect_keystroke(&mut self) {
        self.expect(Side::To, (self.echoed / self.size.0 + 1) * self.size.0);
    }

    fn expect(&mut self, side: Side, position: u64) {
        self.commands.push(Command::notify_read(SocketId::FIRST, side, position));
    }

    /// The far side has read keystrokes up to `position`.
    fn on_arrival(&mut self, now: Instant, position: u64) {
        let fresh = Bytes(position - self.echoed);
        self.echoed = position;
        if self.echo {
            self.commands.push(Command::write(SocketId::FIRST, Side::To, fresh));
            self.expect(Side::From, self.waiting.front().map_or(u64::MAX, |(_, end)| *end));
        } else {
            self.on_seen(now, position);
        }
        if self.echoed < self.typed {
            self.expect_keystroke();
        }
    }

    fn on_seen(&mut self, now: Instant, position: u64) {
        while let Some(&(start, end)) = self.waiting.front()
            && end <= position
        {
            self.waiting.pop_front();
            self.commands.push(Command::ReportTransfer(Transfer { start, end: now, bytes: self.size }));
        }
        if let Some((_, end)) = self.waiting.front().filter(|_| self.echo) {
            self.commands.push(Command::notify_read(SocketId::FIRST, Side::From, *end));
        }
        if self.stage == Stage::Watching && self.waiting.is_empty() {
            self.close();
        }
    }

    fn close(&mut self) {
        self.commands.push(Command::close(SocketId::FIRST, Side::From));
        self.stage = Stage::Over;
    }
}

impl Program for Interactive {
    fn poll_timeout(&self) -> Instant {
        match self.stage {
            Stage::Before => self.next,
            Stage::Typing => self.next.min(self.until),
            Stage::Watching | Stage::Over => Instant::NEVER,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.stage == Stage::Before {
            self.commands.push(Command::Connect { socket: SocketId::FIRST, by: Side::From });
            self.stage = Stage::Typing;
        }
        let due = held_to_schedule(self.next, now);
        if due < self.until {
            self.strike(due, now);
        } else if self.waiting.is_empty() {
            self.close();
        } else {
            self.stage = Stage::Watching;
        }
    }

    fn handle_event(&mut self, now: Instant, _: SocketId, event: SocketEvent) {
        match event {
            SocketEvent::Read { side: Side::To, position } => self.on_arrival(now, position),
            SocketEvent::Read { side: Side::From, position } => self.on_seen(now, position),
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

//! Web: a user at `to` asks for a page, reads it for a while, and asks for the next.

use link::ConfigError;
use link::distribution::{Distribution, ReadFile, Source, exponential, pareto};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Side, Streams};

use super::{Service, WorkloadParameters};
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, Transfer};

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "web",
    "a user at `to` asks `from` for a page, reads it, and asks for the next",
    "page sizes and reading times: Landström 2008, chapter 7",
)
.written("{ web = { connection = \"persistent\" } }");

/// Sizes of pages and requests, and reading times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Size of a page; without it, Pareto with a mean of 30458 bytes and a shape of 1.7584 (Landström 2008, chapter 7).
    pub size: Distribution<Bytes>,
    /// Time between a page and the next request; without it, exponential with a mean of 0.5 s (Landström 2008, chapter
    /// 7).
    pub think: Distribution<Duration>,
    /// Size of a request; without it, 300 bytes: one segment on any path, as requests were that Mah measured
    /// (INFOCOM 1997).
    pub request: Bytes,
    /// Whether each page has a connection of its own.
    pub connection: Connection,
}

/// Use of connections by pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// A connection for each page, which the server closes after the page (HTTP/1.0).
    #[default]
    New,
    /// One for all (HTTP/1.1).
    Persistent,
}

impl Default for Parameters {
    fn default() -> Self {
        let mean = Bytes(30_458);
        Self {
            size: Distribution::Pareto(pareto::Parameters { mean, shape: 1.7584 }),
            think: Distribution::Exponential(exponential::Parameters { mean: Duration::from_millis(500) }),
            request: Bytes(300),
            connection: Connection::default(),
        }
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.size.check().map_err(|error| error.below("size"))?;
        self.think.check().map_err(|error| error.below("think"))?;
        if !self.size.can_be_positive() {
            return Err(ConfigError::new("size", "a page without a byte", "write 1 byte or more"));
        }
        if self.request.is_zero() {
            return Err(ConfigError::new("request", "a request without a byte", "write 1 byte or more"));
        }
        Ok(())
    }

    fn service(&self) -> Service {
        Service::connections(80)
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.size.load_files(read).map_err(|error| error.below("size"))?;
        self.think.load_files(read).map_err(|error| error.below("think"))
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        Box::new(Web {
            size: Source::new(&self.size, streams.stream("size")),
            think: Source::new(&self.think, streams.stream("think")),
            request: self.request,
            persistent: self.connection == Connection::Persistent,
            until,
            connection: None,
            next_socket: SocketId::FIRST,
            stage: Stage::Thinking { next: start },
            commands: CommandQueue::default(),
        })
    }
}

#[derive(Debug)]
struct Web {
    size: Source<Bytes>,
    think: Source<Duration>,
    request: Bytes,
    persistent: bool,
    until: Instant,
    /// The connection in use.
    connection: Option<Open>,
    next_socket: SocketId,
    stage: Stage,
    commands: CommandQueue,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    socket: SocketId,
    asked: u64,
    answered: u64,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Thinking { next: Instant },
    Asking { since: Instant },
    Loading { since: Instant, size: Bytes },
    Over,
}

impl Web {
    fn ask(&mut self, now: Instant) {
        let mut connection = self.connection.take().unwrap_or_else(|| self.open());
        connection.asked += self.request.0;
        let socket = connection.socket;
        self.commands.push(Command::write(socket, Side::To, self.request));
        self.commands.push(Command::notify_read(socket, Side::From, connection.asked));
        self.connection = Some(connection);
        self.stage = Stage::Asking { since: now };
    }

    fn open(&mut self) -> Open {
        let socket = self.next_socket.take_next();
        self.commands.push(Command::Connect { socket, by: Side::To });
        Open { socket, asked: 0, answered: 0 }
    }

    /// The server has the request.
    fn answer(&mut self, since: Instant) {
        let Some(connection) = &mut self.connection else { return };
        // A page has something in it.
        let size = self.size.draw().max(Bytes(1));
        connection.answered += size.0;
        let socket = connection.socket;
        self.commands.push(Command::write(socket, Side::From, size));
        self.commands.push(Command::notify_read(socket, Side::To, connection.answered));
        if !self.persistent {
            self.commands.push(Command::close(socket, Side::From));
        }
        self.stage = Stage::Loading { since, size };
    }

    /// The user has the page.
    fn read(&mut self, now: Instant, since: Instant, size: Bytes) {
        self.commands.push(Command::ReportTransfer(Transfer { start: since, end: now, bytes: size }));
        if !self.persistent {
            self.connection = None;
        }
        self.rest(now);
    }

    fn rest(&mut self, now: Instant) {
        let next = now + self.think.draw();
        if next < self.until {
            self.stage = Stage::Thinking { next };
        } else {
            self.leave();
        }
    }

    fn leave(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.commands.push(Command::close(connection.socket, Side::To));
        }
        self.stage = Stage::Over;
    }
}

impl Program for Web {
    fn poll_timeout(&self) -> Instant {
        if let Stage::Thinking { next } = self.stage { next } else { Instant::NEVER }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now < self.until { self.ask(now) } else { self.leave() }
    }

    fn handle_event(&mut self, now: Instant, socket: SocketId, event: SocketEvent) {
        if self.connection.is_none_or(|present| present.socket != socket) {
            return;
        }
        match (event, self.stage) {
            (SocketEvent::Read { side: Side::From, .. }, Stage::Asking { since }) => self.answer(since),
            (SocketEvent::Read { side: Side::To, .. }, Stage::Loading { since, size }) => {
                self.read(now, since, size)
            }
            // The connection was lost: the user gives the page up.
            (SocketEvent::Closed, _) => {
                self.connection = None;
                self.rest(now);
            }
            _ => {}
        }
    }

    fn poll_command(&mut self) -> Option<Command> {
        self.commands.poll()
    }

    fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }
}

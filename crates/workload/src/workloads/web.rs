//! Web: a user at `to` asks for a page, reads it for a while, and asks for the next.

use std::collections::BTreeMap;

use link::ConfigError;
use link::distribution::{Distribution, ReadFile, Source, exponential, pareto};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Side, Streams};

use super::{Multiplexing, Service, WorkloadParameters, check_http3_request};
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, Transfer};

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "web",
    "a user at `to` asks `from` for a page, reads it, and asks for the next",
    "page sizes and reading times: Landström 2008, chapter 7; HTTP/3: RFC 9114",
)
.written("{ web = { connection = \"persistent\" } }");

/// Sizes of pages and requests, and reading times. Each request is a row of the table `transfers`, from its request to
/// its last byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Size of a page; without it, Pareto with a mean of 30458 bytes and a shape of 1.7584 (Landström 2008, chapter 7).
    pub size: Distribution<Bytes>,
    /// Time between a page and the next request; without it, exponential with a mean of 0.5 s (Landström 2008, chapter
    /// 7).
    pub think: Distribution<Duration>,
    /// Size of a request; without it, 300 bytes: one segment on any path, as requests were that Mah measured
    /// (INFOCOM 1997). With HTTP/3, that of its header fields before QPACK compresses them: names and values.
    pub request: Bytes,
    /// How pages and their objects share connections.
    pub connection: Connection,
    /// Number of objects of a page, such as its pictures. The user asks for them when the page is there, and reads when
    /// they are there as well; without it, none.
    #[serde(skip_serializing_if = "is_zero")]
    pub objects: u32,
    /// Size of an object; without it, as that of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_size: Option<Distribution<Bytes>>,
}

/// Use of connections by pages and their objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// A connection for each, which the server closes afterwards (HTTP/1.0). Those of objects are opened at once.
    #[default]
    New,
    /// One for all, with one request after the other (HTTP/1.1).
    Persistent,
    /// One of HTTP/3 (RFC 9114) for all, with all requests of a page's objects at once. It needs QUIC.
    Http3,
}

impl Default for Parameters {
    fn default() -> Self {
        let mean = Bytes(30_458);
        Self {
            size: Distribution::Pareto(pareto::Parameters { mean, shape: 1.7584 }),
            think: Distribution::Exponential(exponential::Parameters { mean: Duration::from_millis(500) }),
            request: Bytes(300),
            connection: Connection::default(),
            objects: 0,
            object_size: None,
        }
    }
}

impl Parameters {
    fn check_objects(&self) -> Result<(), ConfigError> {
        if self.objects > MOST_OBJECTS {
            let message = format!("{} objects of a page", self.objects);
            return Err(ConfigError::new("objects", message, format!("write 0 to {MOST_OBJECTS}")));
        }
        let Some(size) = &self.object_size else { return Ok(()) };
        size.check().map_err(|error| error.below("object_size"))?;
        if self.objects == 0 {
            let help = "add objects = 8, or leave the size out";
            return Err(ConfigError::new("object_size", "a page has no objects", help));
        }
        check_size("object_size", "an object", size)
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.size.check().map_err(|error| error.below("size"))?;
        self.think.check().map_err(|error| error.below("think"))?;
        check_size("size", "a page", &self.size)?;
        if self.request.is_zero() {
            return Err(ConfigError::new("request", "a request without a byte", "write 1 byte or more"));
        }
        self.check_objects()?;
        if self.connection == Connection::Http3 { check_http3_request(self.request) } else { Ok(()) }
    }

    fn service(&self) -> Service {
        let http3 = Multiplexing { http3: true, instead: "connection = \"persistent\"" };
        let multiplexing = (self.connection == Connection::Http3).then_some(http3);
        Service { opener: Side::To, multiplexing, ..Service::connections(80) }
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.size.load_files(read).map_err(|error| error.below("size"))?;
        if let Some(size) = &mut self.object_size {
            size.load_files(read).map_err(|error| error.below("object_size"))?;
        }
        self.think.load_files(read).map_err(|error| error.below("think"))
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let object_size = self.object_size.as_ref().unwrap_or(&self.size);
        Box::new(Web {
            size: Source::new(&self.size, streams.stream("size")),
            object_size: Source::new(object_size, streams.stream("object_size")),
            think: Source::new(&self.think, streams.stream("think")),
            request: self.request,
            objects: self.objects,
            kind: self.connection,
            until,
            shared: None,
            open: BTreeMap::new(),
            unasked: 0,
            next_socket: SocketId::FIRST,
            stage: Stage::Thinking { next: start },
            commands: CommandQueue::default(),
        })
    }
}

/// Refuses a size that is never more than nothing.
fn check_size(key: &str, what: &str, size: &Distribution<Bytes>) -> Result<(), ConfigError> {
    if size.can_be_positive() {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{what} without a byte"), "write 1 byte or more"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over by reference")]
const fn is_zero(objects: &u32) -> bool {
    *objects == 0
}

#[derive(Debug)]
struct Web {
    size: Source<Bytes>,
    object_size: Source<Bytes>,
    think: Source<Duration>,
    request: Bytes,
    objects: u32,
    kind: Connection,
    until: Instant,
    /// The connection that all requests share, if it is open.
    shared: Option<SocketId>,
    /// The connections and streams in use for requests.
    open: BTreeMap<SocketId, Open>,
    /// Objects of the page for which the user has yet to ask.
    unasked: u32,
    next_socket: SocketId,
    stage: Stage,
    commands: CommandQueue,
}

/// A connection or stream that carries requests.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// Bytes of requests and of answers so far.
    asked: u64,
    answered: u64,
    /// The request that has no answer yet.
    request: Option<Request>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    since: Instant,
    is_object: bool,
    /// Size of the answer, once the server has the request.
    size: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Thinking { next: Instant },
    Loading,
    Over,
}

impl Web {
    /// Asks for a page or an object.
    fn ask(&mut self, now: Instant, is_object: bool) {
        let socket = self.socket();
        let open = self.open.entry(socket).or_default();
        open.asked += self.request.0;
        open.request = Some(Request { since: now, is_object, size: None });
        self.commands.push(Command::write(socket, Side::To, self.request));
        self.commands.push(Command::notify_read(socket, Side::From, open.asked));
        self.stage = Stage::Loading;
    }

    /// The connection or stream of the next request.
    fn socket(&mut self) -> SocketId {
        match self.kind {
            Connection::New => self.connect(),
            Connection::Persistent => self.shared_connection(),
            Connection::Http3 => {
                let (connection, socket) = (self.shared_connection(), self.next_socket.take_next());
                self.commands.push(Command::OpenStream { socket, connection });
                socket
            }
        }
    }

    fn shared_connection(&mut self) -> SocketId {
        let socket = self.shared.unwrap_or_else(|| self.connect());
        self.shared = Some(socket);
        socket
    }

    fn connect(&mut self) -> SocketId {
        let socket = self.next_socket.take_next();
        self.commands.push(Command::Connect { socket, by: Side::To });
        socket
    }

    /// The server has the request.
    fn answer(&mut self, socket: SocketId) {
        let Some(open) = self.open.get_mut(&socket) else { return };
        let Some(request) = &mut open.request else { return };
        let source = if request.is_object { &mut self.object_size } else { &mut self.size };
        // A page has something in it.
        let size = source.draw().max(Bytes(1));
        request.size = Some(size);
        open.answered += size.0;
        self.commands.push(Command::write(socket, Side::From, size));
        self.commands.push(Command::notify_read(socket, Side::To, open.answered));
        if self.kind != Connection::Persistent {
            self.commands.push(Command::close(socket, Side::From));
        }
    }

    /// The user has the page or object of a request.
    fn read(&mut self, now: Instant, socket: SocketId, request: Request, bytes: Bytes) {
        self.commands.push(Command::ReportTransfer(Transfer { start: request.since, end: now, bytes }));
        if self.kind == Connection::Persistent {
            self.open.entry(socket).or_default().request = None;
        } else {
            self.open.remove(&socket);
        }
        if !request.is_object {
            self.unasked = self.objects;
        }
        self.proceed(now);
    }

    /// A connection or stream was lost: the user gives up what was to come over it.
    fn give_up(&mut self, now: Instant, socket: SocketId) {
        if self.shared == Some(socket) {
            self.shared = None;
        }
        if self.open.remove(&socket).is_some_and(|open| open.request.is_some()) {
            self.proceed(now);
        }
    }

    /// Asks for the objects of a page, or rests when they are there.
    fn proceed(&mut self, now: Instant) {
        let at_once = if self.kind == Connection::Persistent { 1 } else { u32::MAX };
        for _ in 0..self.unasked.min(at_once) {
            self.unasked -= 1;
            self.ask(now, true);
        }
        if self.open.values().all(|open| open.request.is_none()) {
            self.rest(now);
        }
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
        if let Some(connection) = self.shared.take() {
            self.commands.push(Command::close(connection, Side::To));
        }
        self.stage = Stage::Over;
    }
}

impl Program for Web {
    fn poll_timeout(&self) -> Instant {
        if let Stage::Thinking { next } = self.stage { next } else { Instant::NEVER }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now < self.until { self.ask(now, false) } else { self.leave() }
    }

    fn handle_event(&mut self, now: Instant, socket: SocketId, event: SocketEvent) {
        let request = self.open.get(&socket).and_then(|open| open.request);
        match (event, request) {
            (SocketEvent::Read { side: Side::From, .. }, Some(Request { size: None, .. })) => {
                self.answer(socket);
            }
            (SocketEvent::Read { side: Side::To, .. }, Some(request @ Request { size: Some(size), .. })) => {
                self.read(now, socket, request, size);
            }
            (SocketEvent::Closed, _) => self.give_up(now, socket),
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

/// Streams that quinn allows a peer at once.
const MOST_OBJECTS: u32 = 100;

//! Parallel: a user at `to` asks `from` for several objects at once.

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Side, Streams};

use super::{Multiplexing, Service, WorkloadParameters, check_http3_request};
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, Transfer};

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "parallel",
    "a user at `to` asks `from` for several objects at once, by connections of their own or streams of one",
    "streams: RFC 9000 §2; HTTP/3: RFC 9114; parallel connections: RFC 9112 §9.4",
)
.written("{ parallel = { count = 4, size = \"200 kB\" } }");

/// How many objects, and how they are carried. Each object is a row of the table `transfers`, from its request to its
/// last byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Number of objects; without it, 6: as many connections as browsers open to a server.
    pub count: u32,
    /// Size of each; without it, 200 kB.
    pub size: Bytes,
    /// Size of a request; without it, 300 bytes, as in the workload `web`.
    pub request: Bytes,
    /// Whether each object has a connection of its own, or a stream of one connection or a request of HTTP/3, which
    /// need QUIC.
    pub over: Carrier,
}

/// What carries an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// A connection of its own: a loss holds up one object, and each connection has a congestion window.
    #[default]
    Connections,
    /// A stream of one connection: a loss holds up the streams whose data it took, and all share a congestion window.
    Streams,
    /// A request of HTTP/3 (RFC 9114): a stream with headers that QPACK compresses.
    Http3,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { count: 6, size: Bytes(200_000), request: Bytes(300), over: Carrier::default() }
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.count == 0 || self.count > MOST {
            let help = format!("write 1 to {MOST}");
            return Err(ConfigError::new("count", format!("{} objects at once", self.count), help));
        }
        for (key, size) in [("size", self.size), ("request", self.request)] {
            if size.is_zero() {
                return Err(ConfigError::new(key, format!("a {key} without a byte"), "write 1 byte or more"));
            }
        }
        if self.over == Carrier::Http3 { check_http3_request(self.request) } else { Ok(()) }
    }

    fn service(&self) -> Service {
        let streams = |http3| Multiplexing { http3, instead: "over = \"connections\"" };
        let multiplexing = match self.over {
            Carrier::Connections => None,
            Carrier::Streams => Some(streams(false)),
            Carrier::Http3 => Some(streams(true)),
        };
        Service { opener: Side::To, multiplexing, ..Service::connections(80) }
    }

    fn program(&self, _: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let start = if start < until { start } else { Instant::NEVER };
        Box::new(Parallel {
            parameters: self.clone(),
            start,
            asked: start,
            open: if start == Instant::NEVER { 0 } else { self.count },
            connection: None,
            commands: CommandQueue::default(),
        })
    }
}

#[derive(Debug)]
struct Parallel {
    parameters: Parameters,
    /// When it asks; never after it has.
    start: Instant,
    asked: Instant,
    /// Objects whose connection or stream is not closed.
    open: u32,
    /// The connection of HTTP/3, if it is open.
    connection: Option<SocketId>,
    commands: CommandQueue,
}

impl Parallel {
    fn ask_for_all(&mut self) {
        let mut next = SocketId::FIRST;
        if self.parameters.over == Carrier::Http3 {
            let connection = next.take_next();
            self.commands.push(Command::Connect { socket: connection, by: Side::To });
            self.connection = Some(connection);
        }
        for _ in 0..self.parameters.count {
            self.ask(next.take_next());
        }
    }

    fn ask(&mut self, socket: SocketId) {
        self.commands.push(match self.parameters.over {
            Carrier::Streams | Carrier::Http3 if socket != SocketId::FIRST => {
                Command::OpenStream { socket, connection: SocketId::FIRST }
            }
            _ => Command::Connect { socket, by: Side::To },
        });
        let Bytes(request) = self.parameters.request;
        self.commands.push(Command::write(socket, Side::To, self.parameters.request));
        self.commands.push(Command::notify_read(socket, Side::From, request));
    }

    /// The server has the request.
    fn answer(&mut self, socket: SocketId) {
        let Bytes(size) = self.parameters.size;
        self.commands.push(Command::write(socket, Side::From, self.parameters.size));
        self.commands.push(Command::notify_read(socket, Side::To, size));
        self.commands.push(Command::close(socket, Side::From));
    }

    /// An object is there, or lost. The last one ends a connection of HTTP/3.
    fn on_closed(&mut self) {
        self.open -= 1;
        if let Some(connection) = self.connection.filter(|_| self.open == 0) {
            self.commands.push(Command::close(connection, Side::To));
        }
    }
}

impl Program for Parallel {
    fn poll_timeout(&self) -> Instant {
        self.start
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.start = Instant::NEVER;
        self.asked = now;
        self.ask_for_all();
    }

    fn handle_event(&mut self, now: Instant, socket: SocketId, event: SocketEvent) {
        match event {
            SocketEvent::Read { side: Side::From, .. } => self.answer(socket),
            SocketEvent::Read { side: Side::To, .. } => {
                let bytes = self.parameters.size;
                self.commands.push(Command::ReportTransfer(Transfer { start: self.asked, end: now, bytes }));
            }
            SocketEvent::Closed if self.connection == Some(socket) => self.connection = None,
            SocketEvent::Closed => self.on_closed(),
            SocketEvent::DatagramReceived { .. } => {}
        }
    }

    fn poll_command(&mut self) -> Option<Command> {
        self.commands.poll()
    }

    fn is_done(&self) -> bool {
        self.open == 0
    }
}

/// Streams that quinn allows a peer at once, and more connections than a browser opens.
const MOST: u32 = 100;

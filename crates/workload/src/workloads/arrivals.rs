//! Arrivals: connections that come at random, each with something to send: the traffic of others.

use link::ConfigError;
use link::distribution::{Distribution, ReadFile, Source, exponential};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Side, Streams};

use super::{Service, WorkloadParameters};
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, Transfer, held_to_schedule};

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "arrivals",
    "connections at random times, each with an amount of data: background traffic",
    "Poisson arrivals of flows (Paxson and Floyd 1995, section 3)",
)
.written("{ arrivals = { size = \"10 kB\", load = \"200 kbit/s\" } }");

/// Sizes and rate of the connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Amount of data of a connection.
    pub size: Distribution<Bytes>,
    /// Offered load of all connections, which then arrive as a Poisson process. The alternative is `gap`.
    pub load: Option<Rate>,
    /// The time from one connection to the next.
    pub gap: Option<Distribution<Duration>>,
}

impl Parameters {
    /// The time between two connections.
    fn gaps(&self) -> Option<Distribution<Duration>> {
        let (mean, load) = (self.size.mean(), self.load);
        let poisson = || {
            let seconds = 8.0 * mean? / load?.bits_per_sec() as f64;
            let mean = Duration::from_secs_f64(seconds);
            Some(Distribution::Exponential(exponential::Parameters { mean }))
        };
        self.gap.clone().or_else(poisson)
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.size.check().map_err(|error| error.below("size"))?;
        if !self.size.can_be_positive() {
            let message = "connections that send nothing";
            return Err(ConfigError::new("size", message, "write 1 byte or more"));
        }
        if let Some(gap) = &self.gap {
            gap.check().map_err(|error| error.below("gap"))?;
        }
        match (self.load, &self.gap) {
            (None, None) => {
                let help = "add load = \"200 kbit/s\" or gap = \"100 ms\"";
                Err(ConfigError::new("", "how often connections come is missing", help))
            }
            (Some(_), Some(_)) => {
                Err(ConfigError::new("gap", "load is given as well", "keep one of the two"))
            }
            (Some(load), None) if load.bits_per_sec() == 0 => {
                Err(ConfigError::new("load", "a load of nothing", "write a rate above zero"))
            }
            (Some(_), None) if self.size.mean().is_none() => {
                let help =
                    "give gap instead, or a distribution with a plain mean: pareto, exponential, a list";
                Err(ConfigError::new("load", "the mean of these sizes is not known", help))
            }
            (None, Some(gap)) if !gap.can_be_positive() => {
                Err(ConfigError::new("gap", "connections without time between them", "write \"100 ms\""))
            }
            _ => Ok(()),
        }
    }

    fn service(&self) -> Service {
        Service::connections(super::BULK_PORT)
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.size.load_files(read).map_err(|error| error.below("size"))?;
        self.gap.iter_mut().try_for_each(|gap| gap.load_files(read)).map_err(|error| error.below("gap"))
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let gaps = self.gaps().unwrap_or_else(|| Distribution::constant(Duration::MAX));
        let sources =
            (Source::new(&self.size, streams.stream("size")), Source::new(&gaps, streams.stream("gap")));
        Box::new(Arrivals::new(vec![Process::new(Side::From, sources, start)], until))
    }
}

/// Arrivals of one kind: the side that sends, how much, and when the next connection opens.
#[derive(Debug)]
pub(super) struct Process {
    side: Side,
    size: Source<Bytes>,
    gap: Source<Duration>,
    next: Instant,
}

impl Process {
    /// The first comes a gap after `start`.
    pub(super) fn new(
        side: Side,
        (size, mut gap): (Source<Bytes>, Source<Duration>),
        start: Instant,
    ) -> Self {
        let next = start + gap.draw();
        Self { side, size, gap, next }
    }
}

/// One or several processes of arrivals.
#[derive(Debug)]
pub(super) struct Arrivals {
    processes: Vec<Process>,
    until: Instant,
    next_socket: SocketId,
    /// Connections whose data have not all arrived: when they were opened, and what they carry.
    open: Vec<(SocketId, Instant, Bytes)>,
    commands: CommandQueue,
}

impl Arrivals {
    pub(super) fn new(processes: Vec<Process>, until: Instant) -> Self {
        Self {
            processes,
            until,
            next_socket: SocketId::FIRST,
            open: Vec::new(),
            commands: CommandQueue::default(),
        }
    }

    fn arrive(&mut self, now: Instant, side: Side, bytes: Bytes) {
        let socket = self.next_socket.take_next();
        self.open.push((socket, now, bytes));
        self.commands.push(Command::Connect { socket, by: side });
        self.commands.push(Command::write(socket, side, bytes));
        self.commands.push(Command::notify_read(socket, side.other(), bytes.0));
        self.commands.push(Command::close(socket, side));
    }

    fn next(&self) -> Instant {
        let next = self.processes.iter().map(|process| process.next).min().unwrap_or(Instant::NEVER);
        if next < self.until { next } else { Instant::NEVER }
    }
}

impl Program for Arrivals {
    fn poll_timeout(&self) -> Instant {
        self.next()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for place in 0..self.processes.len() {
            let process = &mut self.processes[place];
            // Who is woken late opens what was due before the end.
            if process.next <= now && process.next < self.until {
                let (side, bytes) = (process.side, process.size.draw().max(Bytes(1)));
                process.next = held_to_schedule(process.next, now) + process.gap.draw();
                self.arrive(now, side, bytes);
            }
        }
    }

    fn handle_event(&mut self, now: Instant, socket: SocketId, event: SocketEvent) {
        let Some(place) = self.open.iter().position(|(open, ..)| *open == socket) else { return };
        let (_, start, bytes) = self.open.swap_remove(place);
        if matches!(event, SocketEvent::Read { .. }) {
            self.commands.push(Command::ReportTransfer(Transfer { start, end: now, bytes }));
        }
    }

    fn poll_command(&mut self) -> Option<Command> {
        self.commands.poll()
    }

    fn is_done(&self) -> bool {
        self.next() == Instant::NEVER
    }
}

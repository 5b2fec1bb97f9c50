//! Streaming: a player at `to` asks `from` for chunks of media, plays them, and keeps its buffer filled.

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Side, Streams};

use super::{Service, WorkloadParameters, check_rate};
use crate::playback::{Playback, PlayoutBuffer};
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, Transfer};

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "streaming",
    "a player at `to` asks `from` for chunks of media and plays them; each chunk is a transfer",
    "choice of the rate by the buffer: BBA-0 of Huang, Johari, McKeown, Trunnell and Watson (SIGCOMM 2014)",
)
.written("{ streaming = { rates = [\"500 kbit/s\", \"1 Mbit/s\", \"2.5 Mbit/s\"] } }");

/// Rates of the media, and the player's buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Rates in which the media exist, the lowest first. With one there is no choice.
    pub rates: Vec<Rate>,
    /// Media in a chunk. Default: 4 s.
    #[serde(default = "four_seconds")]
    pub chunk: Duration,
    /// Media that the buffer holds at most: the player asks for a chunk as soon as it has room for it. Default: 30 s.
    #[serde(default = "thirty_seconds")]
    pub buffer: Duration,
    /// Media that is buffered before playback begins, and again after a stall. Default: 4 s.
    #[serde(default = "four_seconds")]
    pub startup: Duration,
    /// Size of a request. Default: 300 bytes.
    #[serde(default = "one_segment")]
    pub request: Bytes,
}

const fn four_seconds() -> Duration {
    Duration::from_secs(4)
}

const fn thirty_seconds() -> Duration {
    Duration::from_secs(30)
}

/// As the requests of `web`.
const fn one_segment() -> Bytes {
    Bytes(300)
}

/// Share of the buffer below which the lowest rate is chosen: 90 s of 240 s in the paper.
const RESERVOIR: f64 = 90.0 / 240.0;
/// Share from which the highest is chosen: 216 s of 240 s.
const CUSHION_END: f64 = 216.0 / 240.0;

impl Parameters {
    const fn playback(&self) -> Playback {
        Playback { chunk: self.chunk, startup: self.startup }
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.rates.is_empty() {
            return Err(ConfigError::new("rates", "media without a rate", "write one or more"));
        }
        for (place, rate) in self.rates.iter().enumerate() {
            check_rate(*rate).map_err(|error| ConfigError { path: format!("rates.{place}"), ..error })?;
        }
        if !self.rates.is_sorted_by(|lower, higher| lower < higher) {
            return Err(ConfigError::new("rates", "not in order", "write the lowest first, each once"));
        }
        if self.chunk.is_zero() {
            return Err(ConfigError::new("chunk", "a chunk without media", "write \"4 s\""));
        }
        if self.buffer < self.chunk || self.buffer < self.startup {
            let message = "a buffer that holds less than a chunk, or less than playback begins with";
            return Err(ConfigError::new(
                "buffer",
                message,
                "write as much as `chunk` and `startup`, or more",
            ));
        }
        if self.request.is_zero() {
            return Err(ConfigError::new("request", "a request without a byte", "write 1 byte or more"));
        }
        Ok(())
    }

    fn service(&self) -> Service {
        Service { opener: Side::To, playback: Some(self.playback()), ..Service::connections(80) }
    }

    fn program(&self, _: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        Box::new(Streaming {
            parameters: self.clone(),
            chosen: 0,
            buffer: PlayoutBuffer::new(self.playback()),
            until,
            asked: 0,
            sent: 0,
            stage: Stage::Before { start },
            commands: CommandQueue::default(),
        })
    }
}

#[derive(Debug)]
struct Streaming {
    parameters: Parameters,
    /// Place of the present rate in the list.
    chosen: usize,
    buffer: PlayoutBuffer,
    until: Instant,
    /// Bytes of requests and of chunks so far.
    asked: u64,
    sent: u64,
    stage: Stage,
    commands: CommandQueue,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Before {
        start: Instant,
    },
    /// The buffer is full until then.
    Full {
        next: Instant,
    },
    Asking {
        since: Instant,
    },
    Loading {
        since: Instant,
        size: Bytes,
    },
    Over,
}

impl Streaming {
    fn ask(&mut self, now: Instant) {
        self.asked += self.parameters.request.0;
        self.commands.push(Command::write(SocketId::FIRST, Side::To, self.parameters.request));
        self.commands.push(Command::notify_read(SocketId::FIRST, Side::From, self.asked));
        self.stage = Stage::Asking { since: now };
    }

    /// The server has the request.
    fn answer(&mut self, since: Instant) {
        let bits =
            self.parameters.rates[self.chosen].bits_per_sec() as f64 * self.parameters.chunk.as_secs_f64();
        let size = Bytes((libm::ceil(bits / 8.0) as u64).max(1));
        self.sent += size.0;
        self.commands.push(Command::write(SocketId::FIRST, Side::From, size));
        self.commands.push(Command::notify_read(SocketId::FIRST, Side::To, self.sent));
        self.stage = Stage::Loading { since, size };
    }

    /// The place of the rate for the next chunk (BBA-0, algorithm 1): a line over the buffer from the lowest rate to
    /// the highest. The present rate is kept until the line reaches the next one up or down.
    fn choose(&self, now: Instant) -> usize {
        let rates = &self.parameters.rates;
        // The player asks when there is room for a chunk: the buffer is never fuller than that at this time.
        let fullest = self.parameters.buffer.saturating_sub(self.parameters.chunk).as_secs_f64();
        let filled = if fullest > 0.0 { self.buffer.level(now).as_secs_f64() / fullest } else { 0.0 };
        let rate = |place: usize| rates[place].bits_per_sec() as f64;
        let highest = rates.len() - 1;
        if filled <= RESERVOIR {
            return 0;
        }
        if filled >= CUSHION_END {
            return highest;
        }
        let line = rate(0) + (rate(highest) - rate(0)) * (filled - RESERVOIR) / (CUSHION_END - RESERVOIR);
        let below = (0..=highest).rev().find(|place| rate(*place) < line).unwrap_or(0);
        let above = (0..=highest).find(|place| rate(*place) > line).unwrap_or(highest);
        if self.chosen < highest && line >= rate(self.chosen + 1) {
            below
        } else if self.chosen > 0 && line <= rate(self.chosen - 1) {
            above
        } else {
            self.chosen
        }
    }

    /// The player has the chunk.
    fn receive(&mut self, now: Instant, since: Instant, size: Bytes) {
        self.commands.push(Command::ReportTransfer(Transfer { start: since, end: now, bytes: size }));
        self.buffer.on_chunk(now);
        let with_next = self.buffer.level(now) + self.parameters.chunk;
        let next = now + with_next.saturating_sub(self.parameters.buffer);
        // Chosen as of the time at which it is due, not of that at which a machine wakes: copies of this program on two
        // machines then choose the same rate.
        self.chosen = self.choose(next);
        if next >= self.until {
            self.leave();
        } else if next > now {
            self.stage = Stage::Full { next };
        } else {
            self.ask(now);
        }
    }

    fn leave(&mut self) {
        self.commands.push(Command::close(SocketId::FIRST, Side::To));
        self.stage = Stage::Over;
    }
}

impl Program for Streaming {
    fn poll_timeout(&self) -> Instant {
        match self.stage {
            Stage::Before { start } => start,
            Stage::Full { next } => next,
            Stage::Asking { .. } | Stage::Loading { .. } | Stage::Over => Instant::NEVER,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if matches!(self.stage, Stage::Before { .. }) {
            if now >= self.until {
                self.stage = Stage::Over;
                return;
            }
            self.commands.push(Command::Connect { socket: SocketId::FIRST, by: Side::To });
        }
        if now < self.until { self.ask(now) } else { self.leave() }
    }

    fn handle_event(&mut self, now: Instant, _: SocketId, event: SocketEvent) {
        match (event, self.stage) {
            (SocketEvent::Read { side: Side::From, .. }, Stage::Asking { since }) => self.answer(since),
            (SocketEvent::Read { side: Side::To, .. }, Stage::Loading { since, size }) => {
                self.receive(now, since, size);
            }
            // The connection was lost: the player shows an error.
            (SocketEvent::Closed, _) => self.stage = Stage::Over,
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

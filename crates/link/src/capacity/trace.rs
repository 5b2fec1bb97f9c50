//! Trace: opportunities to transmit, from a file in Mahimahi's format (Netravali et al. 2015,
//! "Mahimahi: accurate record-and-replay for HTTP"; mm-link(1)).
//!
//! Each line is a time in milliseconds at which 1500 bytes may leave; a time may be in several lines. After the last
//! time the trace repeats, with that time as the period. The unused bytes of an opportunity serve other packets that
//! wait at that very time, and are lost after it. A packet leaves with the opportunity that takes its last byte.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, PacketId, Rate, Streams};

use super::{CapacityParameters, RateSource, TransmissionEnd};
use crate::Link;
use crate::config::{Cell, Config, Handovers};
use crate::distribution::ReadFile;
use crate::error::ConfigError;
use crate::packet::Packet;
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "trace",
    "opportunities to send 1500 bytes, at the times of a file, as Mahimahi replays them",
    "Netravali et al. 2015; mm-link(1)",
)
.written("{ trace = { path = \"lte.trace\" } }");

/// Bytes of an opportunity: Mahimahi's packet, an Ethernet MTU.
pub const OPPORTUNITY: Bytes = Bytes(1500);

/// Path of the file, and its times once it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Path of the file, relative to the file that names it.
    pub path: String,
    /// The times of the opportunities in milliseconds; none before the file was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub millis: Vec<u64>,
}

impl Parameters {
    /// Takes the times from the file's text. Lines that are empty or begin with `#` do not count.
    ///
    /// # Errors
    /// A line that is not a time or runs back, with its number; a file without times, or with a last time of 0.
    pub fn load(&mut self, text: &str) -> Result<(), ConfigError> {
        let mut millis: Vec<u64> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let written = line.trim();
            if written.is_empty() || written.starts_with('#') {
                continue;
            }
            let wrong = |what: String, help: &str| {
                let message = format!("{}, line {}: {what}", self.path, number + 1);
                Err(ConfigError::new("path", message, help))
            };
            match (written.parse(), millis.last()) {
                (Err(_), _) => return wrong(format!("{written} is not a time"), "write whole milliseconds"),
                (Ok(time), Some(last)) if time < *last => {
                    return wrong(format!("{time} is before {last}"), "write the times in order");
                }
                (Ok(time), _) if time > LONGEST_MILLIS => {
                    return wrong(format!("{time} ms is over a year"), "write times of a year at most");
                }
                (Ok(time), _) => millis.push(time),
            }
        }
        self.millis = millis;
        self.check_times()
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let message = match self.millis.last() {
            None => format!("{} gave no times", self.path),
            Some(0) => format!("{} ends at 0 ms, so it lasts no time", self.path),
            Some(_) => return Ok(()),
        };
        Err(ConfigError::new("path", message, "write a time in milliseconds to each line"))
    }
}

impl CapacityParameters for Parameters {
    fn check(&self, _: Option<Rate>) -> Result<(), ConfigError> {
        self.check_times()?;
        if self.millis.windows(2).any(|pair| pair[1] < pair[0]) {
            return Err(ConfigError::new("millis", "the times run back", "write them in order"));
        }
        if self.millis.last().is_some_and(|last| *last > LONGEST_MILLIS) {
            return Err(ConfigError::new("millis", "the last time is over a year", "write a year at most"));
        }
        Ok(())
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        if self.millis.is_empty() {
            let text = read(&self.path).map_err(|error| error.below("path"))?;
            self.load(&text)?;
        }
        Ok(())
    }

    fn source(&self, _: Option<Rate>, _: &Streams) -> Box<dyn RateSource> {
        Box::new(Trace { millis: self.millis.clone(), next: 0, left: Bytes::ZERO, left_at: Instant::START })
    }

    fn nominal(&self, _: Option<Rate>) -> Option<Rate> {
        let period = *self.millis.last()?;
        let bits = 8_000 * OPPORTUNITY.0 * self.millis.len() as u64;
        Some(Rate::from_bits_per_sec(bits / period.max(1)))
    }
}

/// Writes opportunities as a trace: each at the millisecond in which it is.
#[must_use]
pub fn write(opportunities: impl IntoIterator<Item = Instant>) -> String {
    opportunities.into_iter().fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "{}", at.as_nanos() / NANOS_PER_MILLI);
        text
    })
}

/// The opportunities that a link's transmitter gives in a time, as a trace: the departures of packets of 1500 bytes
/// with an infinite backlog. Only the stages that decide when the transmitter sends count: rate, capacity, available
/// rate, spikes, pre-emption, handovers and frames, but not allocation, resets, or later stages.
#[must_use]
pub fn record(config: &Config, streams: &Streams, length: Duration) -> String {
    let config = Config {
        rate: config.rate,
        capacity: config.capacity.clone(),
        available_rate: config.available_rate.clone(),
        rate_change_interval: config.rate_change_interval.clone(),
        frames: config.frames.clone(),
        spikes: config.spikes.clone(),
        preemption: config.preemption.clone(),
        handovers: config.handovers.clone().map(without_propagation),
        ..Config::default()
    };
    let (mut link, mut times) = (Link::new(&config, streams), Vec::new());
    let mut now = Instant::START;
    while now <= Instant::START + length && times.len() < MOST_OPPORTUNITIES {
        link.handle_packet(now, Full, &mut ());
        while let Some(due) = link.poll_timeout() {
            now = due;
            link.handle_timeout(now, &mut ());
            times.extend(link.poll_delivery().map(|_| now));
        }
        times.extend(link.poll_delivery().map(|_| now));
    }
    write(times.into_iter().filter(|at| *at <= Instant::START + length))
}

fn without_propagation(handovers: Handovers) -> Handovers {
    let cells = handovers.cells.into_iter().map(|cell| Cell { propagation: None, ..cell });
    Handovers { cells: cells.collect(), ..handovers }
}

/// A packet that uses up an opportunity.
struct Full;

impl Packet for Full {
    fn id(&self) -> PacketId {
        PacketId(0)
    }

    fn size(&self) -> Bytes {
        OPPORTUNITY
    }

    fn corrupt(&mut self) {}
}

/// If a link has no rate, its opportunities never end; a file of them would be 100 MB.
const MOST_OPPORTUNITIES: usize = 10_000_000;

#[derive(Debug)]
struct Trace {
    millis: Vec<u64>,
    /// The first opportunity that is neither used nor missed, counted over all rounds.
    next: u64,
    /// Remaining bytes of the last opportunity, and its time.
    left: Bytes,
    left_at: Instant,
}

impl Trace {
    fn time(&self, opportunity: u64) -> Instant {
        let count = self.millis.len() as u64;
        let period = self.millis[self.millis.len() - 1];
        let millis = (opportunity / count) * period + self.millis[(opportunity % count) as usize];
        Instant::START + Duration::from_millis(millis)
    }

    /// Opportunities before `now` are missed.
    fn skip_to(&mut self, now: Instant) {
        let period = self.millis[self.millis.len() - 1] * NANOS_PER_MILLI;
        // The last of a round falls together with the start of the next, so look one round back.
        let round = (now.as_nanos() / period).saturating_sub(1);
        let within = now.as_nanos() - round * period;
        let place = self.millis.partition_point(|millis| millis * NANOS_PER_MILLI < within);
        self.next = self.next.max(round * self.millis.len() as u64 + place as u64);
        while self.time(self.next) < now {
            self.next += 1;
        }
    }
}

impl RateSource for Trace {
    fn transmit(&mut self, now: Instant, size: Bytes) -> TransmissionEnd {
        if self.left_at != now {
            self.left = Bytes::ZERO;
            self.skip_to(now);
        }
        let (mut missing, mut at) = (size, now);
        while self.left < missing {
            missing -= self.left;
            at = self.time(self.next);
            self.next += 1;
            self.left = OPPORTUNITY;
        }
        self.left -= missing;
        self.left_at = at;
        TransmissionEnd::At(at)
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;

/// The longest trace: 365 days, of which 64 bits of nanoseconds hold many.
const LONGEST_MILLIS: u64 = 365 * 24 * 3_600_000;

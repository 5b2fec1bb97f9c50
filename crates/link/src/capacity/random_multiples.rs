//! Random multiples: at intervals the rate becomes another multiple of the base rate, as where a
//! terminal is given more or fewer channels (Sarolahti 2000, chapter 4: Seawind's available rate).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Stream, Streams};

use super::piecewise::PiecewiseRate;
use super::{RateSource, Setting, TransmissionEnd};
use crate::distribution::{Distribution, ReadFile, Source};
use crate::error::ConfigError;
use crate::random::unit;
use crate::registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "random-multiples",
    summary: "at intervals another multiple of the base rate, at random",
    example: "{ random-multiples = { multiples = [1.0, 2.0, 4.0], interval = \"10 s\" } }",
    source: "Sarolahti 2000, chapter 4",
};

/// The multiples, and their durations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Multiples of the base rate, all equally likely. Zero is an outage.
    pub multiples: Vec<f64>,
    /// Time from one change to the next, at least a microsecond. The base rate itself holds until the
    /// first.
    pub interval: Distribution<Duration>,
}

impl Parameters {
    fn rate(base: Rate, multiple: f64) -> Rate {
        Rate::from_bits_per_sec((base.bits_per_sec() as f64 * multiple).round() as u64)
    }
}

impl Setting for Parameters {
    fn check(&self, base: Option<Rate>) -> Result<(), ConfigError> {
        if base.is_none() {
            let help = "give the link a rate";
            return Err(ConfigError::new("multiples", "there is no base rate", help));
        }
        if let Some(place) = self.multiples.iter().position(|multiple| !(0.0..=1e6).contains(multiple)) {
            let message = format!("{} is no multiple", self.multiples[place]);
            return Err(ConfigError::new(format!("multiples[{place}]"), message, "write 0 to 1000000"));
        }
        if !self.multiples.iter().any(|multiple| *multiple > 0.0) {
            let message = "there is never a rate above zero";
            return Err(ConfigError::new("multiples", message, "write numbers like 0.5 or 2.0"));
        }
        self.interval.check().map_err(|error| error.below("interval"))?;
        if !self.interval.can_be_positive() {
            let message = "the rate would change all the time";
            return Err(ConfigError::new("interval", message, "write a value above zero"));
        }
        Ok(())
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.interval.load_files(read).map_err(|error| error.below("interval"))
    }

    fn source(&self, base: Option<Rate>, streams: &Streams) -> Box<dyn RateSource> {
        let base = base.unwrap_or_default();
        let mut intervals = Source::new(&self.interval, streams.stream("rate_change_interval"));
        let end = Instant::START + intervals.draw().max(SHORTEST_INTERVAL);
        Box::new(RandomMultiples {
            rates: self.multiples.iter().map(|multiple| Self::rate(base, *multiple)).collect(),
            stream: streams.stream("available_rate"),
            intervals,
            known: VecDeque::from([(base, end)]),
        })
    }

    fn nominal(&self, base: Option<Rate>) -> Option<Rate> {
        let mean = self.multiples.iter().sum::<f64>() / self.multiples.len() as f64;
        base.map(|base| Self::rate(base, mean))
    }
}

#[derive(Debug)]
struct RandomMultiples {
    rates: Vec<Rate>,
    stream: Stream,
    intervals: Source<Duration>,
    /// The pieces drawn so far that are not over: each rate and until when it holds.
    known: VecDeque<(Rate, Instant)>,
}

impl PiecewiseRate for RandomMultiples {
    fn piece(&mut self, at: Instant) -> (Rate, Instant) {
        if let Some(known) = self.known.iter().find(|(_, end)| *end > at) {
            return *known;
        }
        loop {
            let last = self.known.back().map_or(Instant::START, |(_, end)| *end);
            let rate = self.rates[(unit(&mut self.stream) * self.rates.len() as f64) as usize];
            let end = last + self.intervals.draw().max(SHORTEST_INTERVAL);
            self.known.push_back((rate, end));
            if end > at {
                return (rate, end);
            }
        }
    }
}

impl RateSource for RandomMultiples {
    fn transmit(&mut self, now: Instant, size: Bytes) -> TransmissionEnd {
        while self.known.len() > 1 && self.known.front().is_some_and(|(_, end)| *end <= now) {
            self.known.pop_front();
        }
        PiecewiseRate::transmit(self, now, size)
    }
}

/// Minimum of a draw: time must advance.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);

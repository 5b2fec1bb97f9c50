//! Background: the traffic of others around the flow that one looks at. Short and medium connections come at random,
//! both ways, and offer a share of what a link carries.

use link::ConfigError;
use link::distribution::{Distribution, ReadFile, Source, exponential, lognormal};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Side, Streams};

use super::arrivals::{Arrivals, Process};
use super::line::Line;
use super::{FindLines, Service, WorkloadParameters};
use crate::program::Program;

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new("background", "short and medium connections at random, and some the other way, at a share of a link's capacity", "Poisson arrivals (Paxson and Floyd 1995, section 3), sizes by Barford and Crovella 1998; reverse traffic: RFC 5166, section 3").written("{ background = { share = 0.2, of = \"lasthop.down\" } }");

/// Load, directions and sizes of the connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// A direction of a link that the flow crosses: "lasthop.down". Its capacity is what the shares are of: its rate,
    /// or where that varies, the mean.
    pub of: String,
    /// The share of that capacity that connections which send from `from` to `to` offer, headers included: all that
    /// they would send were nothing lost. It may be more than 1.
    pub share: f64,
    /// The share of the link's other direction that connections which send from `to` to `from` offer; without it, 0.1.
    #[serde(default = "a_tenth")]
    pub reverse: f64,
    /// Amount of data of a short connection. Default: lognormal with a median of 11580 bytes and sigma 1.318, as files
    /// of the web were (Barford and Crovella, SIGMETRICS 1998: the body of their sizes, mu 9.357).
    #[serde(default = "web_files")]
    pub short: Distribution<Bytes>,
    /// Amount of data of a medium connection. Default: exponential with a mean of 300 kB: ours, ten times a short one,
    /// and light in the tail, so that the load settles soon.
    #[serde(default = "ten_times_as_much")]
    pub medium: Distribution<Bytes>,
    /// The share of the load, in bytes, that medium connections bring; without it, 0.5.
    #[serde(default = "a_half")]
    pub medium_load: f64,
    /// Rates of the link in that direction and in the opposite direction, once looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub lines: Option<[Line; 2]>,
}

const fn a_tenth() -> f64 {
    0.1
}

const fn a_half() -> f64 {
    0.5
}

fn web_files() -> Distribution<Bytes> {
    Distribution::Lognormal(lognormal::Parameters { median: Bytes(11_580), sigma: 1.318 })
}

fn ten_times_as_much() -> Distribution<Bytes> {
    Distribution::Exponential(exponential::Parameters { mean: Bytes(300_000) })
}

impl Parameters {
    /// The processes of arrivals: the name of their streams, the side that sends, their share of the line, and the
    /// sizes.
    fn kinds(&self) -> [(&'static str, Side, f64, &Distribution<Bytes>); 4] {
        let (medium, short) = (self.medium_load, 1.0 - self.medium_load);
        [
            ("short", Side::From, self.share * short, &self.short),
            ("medium", Side::From, self.share * medium, &self.medium),
            ("reverse.short", Side::To, self.reverse * short, &self.short),
            ("reverse.medium", Side::To, self.reverse * medium, &self.medium),
        ]
    }

    fn process(
        &self,
        (name, side, share, size): (&str, Side, f64, &Distribution<Bytes>),
        streams: &Streams,
        start: Instant,
    ) -> Option<Process> {
        let [there, back] = self.lines?;
        let line = if side == Side::From { there } else { back };
        let mean = line.gap(share, size.mean()?)?;
        let gap = Distribution::Exponential(exponential::Parameters { mean });
        let stream = |what: &str| streams.stream(&format!("{name}.{what}"));
        let sources = (Source::new(size, stream("size")), Source::new(&gap, stream("gap")));
        Some(Process::new(side, sources, start))
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (key, share) in [("share", self.share), ("reverse", self.reverse)] {
            if !(0.0..=MOST).contains(&share) {
                let help = "write a share of the capacity like 0.2";
                return Err(ConfigError::new(key, format!("{share} is no share"), help));
            }
        }
        if !(0.0..=1.0).contains(&self.medium_load) {
            let message = format!("{} is no share of the load", self.medium_load);
            return Err(ConfigError::new("medium_load", message, "write a number from 0 to 1"));
        }
        for (key, size) in [("short", &self.short), ("medium", &self.medium)] {
            size.check().map_err(|error| error.below(key))?;
            if size.mean().is_none_or(|mean| mean < 1.0) {
                let help = "give a distribution with a plain mean: lognormal, pareto, exponential, a list";
                return Err(ConfigError::new(key, "the mean of these sizes is not known, or nothing", help));
            }
        }
        Ok(())
    }

    fn service(&self) -> Service {
        Service::connections(super::BULK_PORT)
    }

    fn crosses(&self) -> Option<&str> {
        Some(&self.of)
    }

    fn look_up_lines(&mut self, find: &mut FindLines) -> Result<(), ConfigError> {
        self.lines = Some(find(&self.of).map_err(|error| error.below("of"))?);
        Ok(())
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.short.load_files(read).map_err(|error| error.below("short"))?;
        self.medium.load_files(read).map_err(|error| error.below("medium"))
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let kinds = self.kinds().into_iter();
        Box::new(Arrivals::new(kinds.filter_map(|kind| self.process(kind, streams, start)).collect(), until))
    }
}

/// More than ten times what a link carries is a slip of the pen.
const MOST: f64 = 10.0;

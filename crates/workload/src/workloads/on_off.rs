//! On-off: packets at a constant rate in spurts, with silence between them.

use link::ConfigError;
use link::distribution::{Distribution, ReadFile, Source, exponential};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Streams};

use super::train::{Rest, Spurts, Train, time_at};
use super::{BULK_PORT, Service, Transport, WorkloadParameters, check_packets};
use crate::program::Program;

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "on-off",
    "packets at a constant rate in spurts, with silence between them",
    "exponential or Pareto spurts, as in Willinger et al. 1997",
)
.written("{ on-off = { rate = \"256 kbit/s\", on = \"1 s\", off = \"2 s\" } }");

/// Rate, and lengths of spurts and silences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Rate during a spurt, headers included.
    pub rate: Rate,
    /// Size of a packet, IP and UDP headers included; over TCP, of a write. Without it, 1500 bytes (RFC 894).
    #[serde(default = "super::full_packet")]
    pub packet: Bytes,
    /// Length of a spurt; without it, exponential with a mean of 1 s.
    #[serde(default = "one_second")]
    pub on: Distribution<Duration>,
    /// Length of a silence; without it, exponential with a mean of 1 s.
    #[serde(default = "one_second")]
    pub off: Distribution<Duration>,
    /// Transport. Default: datagrams.
    #[serde(default)]
    pub transport: Transport,
    /// Datagrams that take longer than this count as late.
    pub budget: Option<Duration>,
}

fn one_second() -> Distribution<Duration> {
    Distribution::Exponential(exponential::Parameters { mean: Duration::from_secs(1) })
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        check_packets(self.rate, self.packet)?;
        self.on.check().map_err(|error| error.below("on"))?;
        self.off.check().map_err(|error| error.below("off"))
    }

    fn service(&self) -> Service {
        Service { transport: self.transport, ..Service::datagrams(BULK_PORT, self.budget) }
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.on.load_files(read).map_err(|error| error.below("on"))?;
        self.off.load_files(read).map_err(|error| error.below("off"))
    }

    fn largest_packet(&self) -> Option<Bytes> {
        Some(self.packet)
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let gap = Source::Constant(time_at(self.rate, self.packet));
        let on = Source::new(&self.on, streams.stream("on"));
        let off = Source::new(&self.off, streams.stream("off"));
        let spurts = Some(Spurts::new(on, off, Rest::Carried));
        Box::new(Train::new((self.transport, self.packet), gap, spurts, [start, until]))
    }
}

//! Poisson: datagrams of one size at independent random times.

use link::ConfigError;
use link::distribution::{Distribution, Source, exponential};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Streams};

use super::packets::Packets;
use super::{Service, WorkloadParameters};
use crate::program::Program;

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "poisson",
    "datagrams of one size at independent random times",
    "the Poisson process: exponential times between packets",
)
.written("{ poisson = { rate = \"64 kbit/s\" } }");

/// Rate and size of the datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters(Packets);

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.0.check()
    }

    fn service(&self) -> Service {
        self.0.service()
    }

    fn largest_packet(&self) -> Option<Bytes> {
        Some(self.0.size())
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let mean = self.0.interval();
        let gaps = Distribution::Exponential(exponential::Parameters { mean });
        let mut gap = Source::new(&gaps, streams.stream("gap"));
        let first = start + gap.draw();
        Box::new(self.0.train(gap, [first, until]))
    }
}

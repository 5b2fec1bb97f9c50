//! Constant rate: datagrams of one size at equal intervals.

use link::ConfigError;
use link::distribution::Source;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Streams};

use super::packets::Packets;
use super::{Service, WorkloadParameters};
use crate::program::Program;

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "constant-rate",
    "datagrams of one size at equal intervals",
    "UDP (RFC 768); the size that ns-2's constant-rate source has is 210 bytes, ours is Ethernet's largest",
)
.written("{ constant-rate = { rate = \"64 kbit/s\" } }");

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

    fn program(&self, _: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let gap = Source::Constant(self.0.interval());
        Box::new(self.0.train(gap, [start, until]))
    }
}

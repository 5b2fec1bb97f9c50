//! Poisson: datagrams of one size at independent random times.

use link::distribution::{Distribution, Source, exponential};
use link::{ConfigError, registry::Entry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Streams};

use super::train::{Train, time_at};
use super::{BULK_PORT, Service, Setting, Transport, check_packets};
use crate::program::Program;

/// This workload in the registry.
pub const ENTRY: Entry = Entry {
    id: "poisson",
    summary: "datagrams of one size at independent random times",
    example: "{ poisson = { rate = \"64 kbit/s\" } }",
    source: "the Poisson process: exponential times between packets",
};

/// How much is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Bits per second as a mean, IP and UDP headers included.
    pub rate: Rate,
    /// Size of a packet, IP and UDP headers included; without it, 1500 bytes (RFC 894).
    #[serde(default = "super::full_packet")]
    pub packet: Bytes,
    /// Packets that take longer than this count as late.
    pub budget: Option<Duration>,
}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        check_packets(self.rate, self.packet)
    }

    fn service(&self) -> Service {
        Service::datagrams(BULK_PORT, self.budget)
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let mean = time_at(self.rate, self.packet);
        let gaps = Distribution::Exponential(exponential::Parameters { mean });
        let mut gap = Source::new(&gaps, streams.stream("gap"));
        let first = start + gap.draw();
        Box::new(Train::new((Transport::Udp, self.packet), gap, None, [first, until]))
    }
}

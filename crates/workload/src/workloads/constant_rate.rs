//! Constant rate: datagrams of one size at equal intervals.

use link::distribution::Source;
use link::{ConfigError, registry::Entry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Streams};

use super::train::{Train, time_at};
use super::{BULK_PORT, Service, Setting, Transport, check_packets};
use crate::program::Program;

/// This workload in the registry.
pub const ENTRY: Entry = Entry {
    id: "constant-rate",
    summary: "datagrams of one size at equal intervals",
    example: "{ constant-rate = { rate = \"64 kbit/s\" } }",
    source: "UDP (RFC 768); the size that ns-2's constant-rate source has is 210 bytes, ours is Ethernet's largest",
};

/// How much is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Bits per second, IP and UDP headers included.
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

    fn program(&self, _: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let gap = Source::Constant(time_at(self.rate, self.packet));
        Box::new(Train::new((Transport::Udp, self.packet), gap, None, [start, until]))
    }
}

//! Packets of one size at a mean rate: the parameters that a constant-rate and a Poisson source share.

use link::ConfigError;
use link::distribution::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate};

use super::train::{Train, time_at};
use super::{BULK_PORT, Service, Transport, check_packets};

/// Datagrams of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PacketSource")]
pub struct Packets {
    /// Mean rate, IP and UDP headers included.
    rate: Rate,
    /// Size of a packet, IP and UDP headers included; without it, 1500 bytes (RFC 894).
    #[serde(default = "super::full_packet")]
    packet: Bytes,
    /// Packets that take longer than this count as late.
    budget: Option<Duration>,
}

impl Packets {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_packets(self.rate, self.packet)
    }

    pub(super) const fn service(&self) -> Service {
        Service::datagrams(BULK_PORT, self.budget)
    }

    pub(super) const fn size(&self) -> Bytes {
        self.packet
    }

    /// The mean time from one packet to the next.
    pub(super) fn interval(&self) -> Duration {
        time_at(self.rate, self.packet)
    }

    /// A program that sends a packet at `first` and after each `gap`, until `until`.
    pub(super) fn train(&self, gap: Source<Duration>, [first, until]: [Instant; 2]) -> Train {
        Train::new((Transport::Udp, self.packet), gap, None, [first, until])
    }
}

//! The choices of a flow of TFRC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// Parameters of the datagrams and of the rate control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Size of a packet, IP and UDP headers included; without it, 1500 bytes (RFC 894).
    #[serde(default = "super::super::full_packet")]
    pub packet: Bytes,
    /// Whether it has the rate of a TCP with segments of 1460 bytes, less the headers of its small packets, which are
    /// then 10 ms apart at least (TFRC-SP, RFC 4828).
    #[serde(default)]
    pub small_packets: bool,
    /// Whether a round trip longer than the average lowers the rate at once, against oscillation where few flows share
    /// a queue (RFC 5348 §4.5).
    #[serde(default)]
    pub damped: bool,
    /// Packets that take longer than this count as late.
    pub budget: Option<Duration>,
}

impl Parameters {
    /// The segment size of the equation.
    pub(super) fn segment(&self) -> Bytes {
        // RFC 4828 §4: 1460 bytes for small packets.
        if self.small_packets { Bytes(1460) } else { self.packet }
    }
}

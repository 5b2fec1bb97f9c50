//! What a direction of a link carries, and how often connections come that offer a share of it.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rate};

/// Rate of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Bits per second.
    pub rate: Rate,
    /// Maximum size of a packet, IP header included.
    pub mtu: Bytes,
    /// Overhead of the link for each packet.
    pub framing: Bytes,
}

impl Line {
    /// Bits on this line for a connection that sends `bytes`, in the mean: full packets, and one each for opening,
    /// the acknowledgment of that, and closing.
    fn bits(self, bytes: f64) -> f64 {
        let payload = self.mtu.saturating_sub(HEADERS).max(Bytes(1)).0 as f64;
        let overhead = (HEADERS.0 + self.framing.0) as f64;
        8.0 * (bytes + overhead * (bytes / payload + OTHER_PACKETS))
    }

    /// The time between two connections of this mean size that offer a share of the line.
    pub(super) fn gap(self, share: f64, bytes: f64) -> Option<Duration> {
        let load = share * self.rate.bits_per_sec() as f64;
        (load > 0.0).then(|| Duration::from_secs_f64(self.bits(bytes) / load).max(Duration::from_nanos(1)))
    }
}

/// Headers of IPv4 and TCP without options (RFC 791, RFC 9293).
const HEADERS: Bytes = Bytes(40);
/// SYN, the ACK of the SYN-ACK, FIN.
const OTHER_PACKETS: f64 = 3.0;

//! Settings of a host with quinn: quinn's own congestion controls, its initial window, and 0-RTT. Files have them in
//! every build, those without quinn too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// Settings of a host whose stack is quinn; without them, quinn's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuinnSettings {
    /// The congestion control of its connections, one of quinn's own.
    pub congestion: QuinnCongestion,
    /// The first congestion window; without it that of quinn: 12000 bytes for CUBIC and NewReno (RFC 9002 §7.2), 240000
    /// bytes for BBR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Bytes>,
    /// The rate of ACKs that the host requests from its peer (draft-ietf-quic-ack-frequency); without it the peer
    /// acknowledges every second packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_frequency: Option<AckFrequency>,
    /// Whether a connection that it opens sends data with its first packets (0-RTT, RFC 9001 §4.6), as after an earlier
    /// connection to that server, and whether it takes such data. Both hosts of a flow have it, or neither.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub zero_rtt: bool,
    /// The interval after which a connection that the host opened continues from another UDP port, again and again, as
    /// behind a NAT that maps it anew (RFC 9000 §9.3); without it, never. The peer validates each new path, and what is
    /// under way to the former port still arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebind_every: Option<Duration>,
}

/// The rate of ACKs that quinn requests from its peer: the fields of an ACK_FREQUENCY frame
/// (draft-ietf-quic-ack-frequency §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AckFrequency {
    /// Number of ack-eliciting packets that the peer may receive without an ACK. Default: 1, as in QUIC without the
    /// frame: an ACK for every second packet; 0: for each packet.
    pub threshold: u32,
    /// Maximum delay of an ACK; without it that of the peer, 25 ms. quinn limits it to the larger of that and the round
    /// trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Duration>,
    /// Number of packets by which one must be overtaken for an ACK at once; 0: none is. Default: 2, as quinn has it for
    /// the packet threshold of RFC 9002, 3.
    pub reordering: u32,
}

impl Default for AckFrequency {
    fn default() -> Self {
        Self { threshold: 1, max_delay: None, reordering: 2 }
    }
}

/// A congestion control of quinn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuinnCongestion {
    /// CUBIC (RFC 9438), quinn's default.
    #[default]
    Cubic,
    /// NewReno (RFC 9002 §7).
    NewReno,
    /// BBR, version 1, which quinn calls experimental.
    Bbr,
}

impl QuinnSettings {
    /// quinn's defaults.
    pub const DEFAULT: Self = Self {
        congestion: QuinnCongestion::Cubic,
        initial_window: None,
        ack_frequency: None,
        zero_rtt: false,
        rebind_every: None,
    };
}

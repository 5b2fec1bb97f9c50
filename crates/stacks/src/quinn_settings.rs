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
        zero_rtt: false,
        rebind_every: None,
    };
}

//! What a host with quinn chooses: quinn's own congestion controls, its first window, and 0-RTT.

use std::sync::Arc;

use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

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
    pub const DEFAULT: Self =
        Self { congestion: QuinnCongestion::Cubic, initial_window: None, zero_rtt: false };

    /// What makes the controllers of its connections.
    ///
    /// quinn's BBR draws the first place of its gain cycle from a generator of the machine's. Only the pacing rate that
    /// it reports depends on it: quinn paces by the window, and records here do not have that rate.
    pub(super) fn controllers(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        macro_rules! with_window {
            ($config:ty) => {{
                let mut config = <$config>::default();
                if let Some(window) = self.initial_window {
                    config.initial_window(window.0);
                }
                Arc::new(config)
            }};
        }
        match self.congestion {
            QuinnCongestion::Cubic => with_window!(CubicConfig),
            QuinnCongestion::NewReno => with_window!(NewRenoConfig),
            QuinnCongestion::Bbr => with_window!(BbrConfig),
        }
    }
}

//! A preset: a named link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// A named link, which a scenario's link can take as its base.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// One line that describes the link.
    pub summary: String,
    /// Sources of its values.
    pub sources: Vec<String>,
    /// Maximum size of a packet, IP header included.
    pub mtu: Option<Bytes>,
    /// The direction towards the mobile host. Required unless a shared channel takes its place.
    #[serde(default)]
    pub down: link::Config,
    /// The direction from the mobile host.
    pub up: link::Config,
    /// The shared channel that takes the place of `down`.
    pub cell: Option<cell::Config>,
}

//! A profile: a named TCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named TCP: its summary and its sources; every other key is one of the endpoint's configuration.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Profile {
    /// One line that describes the TCP.
    pub summary: String,
    /// The RFCs, papers or source files that it follows.
    pub sources: Vec<String>,
    /// Another profile, whose keys apply where this one has none: its name, or a path to it.
    pub extends: Option<String>,
    /// The endpoint's configuration.
    #[serde(flatten)]
    #[schemars(skip)]
    pub tcp: serde_json::Map<String, serde_json::Value>,
}

//! Split connections (I-TCP: Bakre and Badrinath 1995, "I-TCP: Indirect TCP for Mobile Hosts"; RFC 3135 §2.4): the
//! node ends each connection and begins a second one over the link, each with a TCP of its own.
//!
//! The node acknowledges data that the receiver does not have yet: the semantics are no longer from end to end
//! (RFC 3135 §4.1.3). It takes the addresses and ports of the ends, so that neither knows of it.

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{ProxyParameters, at_least_one};
use crate::agent::Agent;

/// The list's line.
pub const ENTRY: Entry = Entry::new(
    "split",
    "ends each connection and relays its bytes over a second one",
    "Bakre and Badrinath 1995; RFC 3135 §2.4",
);

/// A node that ends connections and relays their bytes over second ones. The TCPs of the node are keys of the proxy,
/// `wired` and `wireless`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The most bytes of a direction of a connection that were read from one side and are not acknowledged by the
    /// other. With more, no more is read, and the window that the node advertises, which is no larger than this,
    /// closes. Default: 64 kB.
    pub buffer: Bytes,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { buffer: Bytes(64_000) }
    }
}

impl ProxyParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        at_least_one("buffer", self.buffer.0, "write a size like \"64 kB\"")
    }

    fn agent(&self) -> Option<Box<dyn Agent>> {
        None
    }
}

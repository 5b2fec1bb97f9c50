//! A receive buffer of fixed size: the room that unread bytes leave is offered. Bytes that wait beyond a gap lie inside
//! the window that was offered already, and take nothing off it (as in BSD).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{Held, Window};
use registry::{Algorithm, Build};

/// Parameters of the fixed buffer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The buffer's size. 4 MiB: above the bandwidth-delay product of any link that the presets name, so
    /// that the window is not what limits a transfer unless a file says so.
    pub size: Bytes,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { size: Bytes(4 << 20) }
    }
}

#[derive(Debug)]
struct Fixed(Bytes);

impl Window for Fixed {
    fn room(&mut self, held: &Held) -> Bytes {
        self.0.saturating_sub(held.unread)
    }

    fn greatest(&self) -> Bytes {
        self.0
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Window> = Algorithm::of(
    "fixed",
    "a receive buffer of constant size",
    "RFC 9293 §3.8.6",
    &Build(|parameters: &Parameters| {
        let Parameters { size } = *parameters;
        Box::new(Fixed(size))
    }),
);

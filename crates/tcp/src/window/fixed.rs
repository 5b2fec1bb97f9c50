//! A receive buffer of fixed size: the room that unread bytes leave is offered. Bytes that wait beyond a gap lie inside the
//! window that was offered already, and take nothing off it (as in BSD).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{Held, Window};
use crate::registry::Entry;

/// Parameters of the fixed buffer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The buffer's size. 4 MiB: above the bandwidth-delay product of any link that the presets name, so
    /// that the window is not what limits a transfer unless a file says so.
    pub size: Bytes,
}

impl Default for Params {
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
pub const ENTRY: Entry<dyn Window> = Entry {
    id: "fixed",
    summary: "a receive buffer of constant size",
    source: "RFC 9293 §3.8.6",
    parse: |value| {
        let Params { size } = Entry::<dyn Window>::read(value)?;
        Ok(Arc::new(move || Box::new(Fixed(size))))
    },
    schema: Entry::<dyn Window>::describe::<Params>,
};

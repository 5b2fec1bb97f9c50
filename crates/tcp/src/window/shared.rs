//! One budget for the windows of several connections: all of an interface, or all from one address
//! (Sarolahti 2000, section 3.5 and appendix C).
//!
//! Each connection offers its part of the rest of the budget, so that together they never put more data into the last
//! hop than it holds. Received bytes count against the budget until the user reads them or the peer has closed, after
//! which it sends no more. A part that becomes smaller, because another connection has opened, does not shrink the
//! window (RFC 9293 §3.8.6): the window stays closed until the data that it offered have arrived. Bytes that wait
//! beyond a gap lie inside the window that was offered already and do not count, or a window of the pipe's size would
//! stop a sender in recovery (Sarolahti 2000, Table 33, buffer 7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{Held, Traits, Window};
use registry::{Algorithm, Build};

/// Parameters of the shared window.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Total window of all connections. Sarolahti 2000, section 6.3, tries 2048, 3072 and 5120 bytes; the default is
    /// the first, below the capacity of that document's smallest pipe.
    pub budget: Bytes,
    /// Which connections share it.
    pub over: Over,
    /// The receive buffer of each connection, which bounds its own window. Sarolahti 2000, Table 48: 32 KiB.
    pub buffer: Bytes,
}

/// Which connections share a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SharedBudget")]
pub enum Over {
    /// All of one interface.
    #[default]
    Interface,
    /// All from one address.
    Address,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { budget: Bytes(2048), over: Over::Interface, buffer: Bytes(32 << 10) }
    }
}

/// A part of a budget.
#[derive(Debug)]
struct PartOfBudget(Parameters);

impl Window for PartOfBudget {
    fn room(&mut self, held: &Held) -> Bytes {
        let left = self.0.budget.saturating_sub(Bytes(held.shared.held));
        let share = left / held.shared.connections.max(1);
        share.min(self.0.buffer.saturating_sub(held.unread))
    }

    fn greatest(&self) -> Bytes {
        self.0.budget.min(self.0.buffer)
    }

    fn traits(&self) -> Traits {
        Traits { sharing: Some(self.0.over), ..Traits::default() }
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Window> = Algorithm::of(
    "shared",
    "a part of one budget for all connections of an interface or from an address",
    "Sarolahti 2000 section 3.5, appendix C",
    &Build(|parameters: &Parameters| Box::new(PartOfBudget(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use super::super::Shared;
    use super::*;

    fn room(connections: u64, held: u64, unread: u64) -> Bytes {
        let shared = Shared { connections, held };
        let held = Held { unread: Bytes(unread), shared, ..Held::default() };
        PartOfBudget(Parameters::default()).room(&held)
    }

    #[test]
    fn each_connection_gets_its_part() {
        assert_eq!([room(1, 0, 0), room(2, 0, 0)], [Bytes(2048), Bytes(1024)]);
    }

    #[test]
    fn what_one_holds_unread_all_lack() {
        assert_eq!([room(2, 1000, 1000), room(2, 1000, 0)], [Bytes(524), Bytes(524)]);
    }
}

//! One budget for the windows of several connections: all of an interface, or all from one address
//! (Sarolahti 2000, section 3.5 and appendix C).
//!
//! Each connection offers its part of what is left of the budget, so that together they never put more
//! into the last hop than it holds. Bytes received take of the budget until the user reads them or the peer has closed,
//! who then sends no more. When the
//! part becomes smaller, because another connection has opened, the window is not shrunk (RFC 9293
//! §3.8.6): it is just not opened again until what it offered has arrived. Bytes that wait behind a gap lie
//! inside what was offered already, and take nothing off the budget, or a window of the pipe's size would stop
//! a sender in recovery (Sarolahti 2000, Table 33, buffer 7).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{Held, Window};
use registry::{Algorithm, Build};

/// Parameters of the shared window.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// What all connections together may offer. Sarolahti 2000, section 6.3, tries 2048, 3072 and 5120
    /// bytes; the default is the first, below the capacity of that document's smallest pipe.
    pub budget: Bytes,
    /// Which connections share it.
    pub over: Over,
    /// The receive buffer of each connection, which bounds its own window. Sarolahti 2000, Table 48: 32 KiB.
    pub buffer: Bytes,
}

/// Which connections share a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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

/// What connections that share a budget know of each other.
#[derive(Debug, Default)]
pub struct Pool {
    /// How many are open for receiving.
    connections: AtomicU64,
    /// Bytes that have arrived in order at any of them and are not read.
    held: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    parameters: Parameters,
    pool: Arc<Pool>,
    /// Whether this connection counts.
    entered: bool,
    /// Its part of what the pool holds.
    held: u64,
}

impl Shared {
    fn report(&mut self, held: u64) {
        // Wrapping arithmetic on purpose: the sum of all differences is what all hold.
        self.pool.held.fetch_add(held.wrapping_sub(self.held), Ordering::Relaxed);
        self.held = held;
    }
}

impl Window for Shared {
    fn room(&mut self, held: &Held) -> Bytes {
        if self.entered {
            self.report(held.unread.0);
        }
        let left = self.parameters.budget.saturating_sub(Bytes(self.pool.held.load(Ordering::Relaxed)));
        let share = left / self.pool.connections.load(Ordering::Relaxed).max(1);
        share.min(self.parameters.buffer.saturating_sub(held.unread))
    }

    fn greatest(&self) -> Bytes {
        self.parameters.budget.min(self.parameters.buffer)
    }

    fn sharing(&self) -> Option<Over> {
        Some(self.parameters.over)
    }

    fn join(&mut self, pool: &Arc<Pool>) {
        self.pool = Arc::clone(pool);
    }

    fn enter(&mut self) {
        if !std::mem::replace(&mut self.entered, true) {
            self.pool.connections.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn leave(&mut self) {
        self.report(0);
        if std::mem::take(&mut self.entered) {
            self.pool.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Window> = Algorithm::of(
    "shared",
    "a part of one budget for all connections of an interface or from an address",
    "Sarolahti 2000 section 3.5, appendix C",
    &Build(|parameters: &Parameters| {
        Box::new(Shared { parameters: parameters.clone(), pool: Arc::default(), entered: false, held: 0 })
    }),
);

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: Held = Held { unread: Bytes::ZERO, out_of_order: Bytes::ZERO };

    fn two() -> [Shared; 2] {
        let pool = Arc::default();
        [0, 1].map(|_| Shared {
            parameters: Parameters::default(),
            pool: Arc::clone(&pool),
            entered: false,
            held: 0,
        })
    }

    #[test]
    fn each_connection_gets_its_part_while_it_is_open() {
        let [mut first, mut second] = two();
        first.enter();
        assert_eq!(first.room(&EMPTY), Bytes(2048));
        second.enter();
        assert_eq!((first.room(&EMPTY), second.room(&EMPTY)), (Bytes(1024), Bytes(1024)));
        first.leave();
        first.leave();
        assert_eq!(second.room(&EMPTY), Bytes(2048));
    }

    #[test]
    fn one_that_has_left_takes_nothing_though_its_user_reads_late() {
        let [mut first, mut second] = two();
        first.enter();
        second.enter();
        let full = Held { unread: Bytes(1000), out_of_order: Bytes::ZERO };
        first.room(&full);
        first.leave();
        first.room(&full);
        assert_eq!(second.room(&EMPTY), Bytes(2048));
    }

    #[test]
    fn what_one_holds_unread_all_lack() {
        let [mut first, mut second] = two();
        first.enter();
        second.enter();
        let full = Held { unread: Bytes(1000), out_of_order: Bytes::ZERO };
        assert_eq!((first.room(&full), second.room(&EMPTY)), (Bytes(524), Bytes(524)));
        assert_eq!((first.room(&EMPTY), second.room(&EMPTY)), (Bytes(1024), Bytes(1024)));
    }
}

//! The connections that share one budget for their windows, as each of them sees the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The connections that share a budget.
#[derive(Debug, Default)]
pub struct Pool {
    /// Number of connections that receive.
    connections: AtomicU64,
    /// Bytes that have arrived in order at any of them and are not read.
    held: AtomicU64,
}

/// The state of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Number of connections that receive.
    pub connections: u64,
    /// Bytes that have arrived in order at any of them and are not read.
    pub held: u64,
}

impl Shared {
    /// That of a connection which shares nothing.
    pub const ALONE: Self = Self { connections: 0, held: 0 };
}

/// One connection's part in a pool.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    pool: Arc<Pool>,
    /// Whether this connection counts.
    entered: bool,
    /// Its part of the bytes that the pool holds.
    held: u64,
}

impl Membership {
    /// Becomes a part of `pool`.
    pub(crate) fn join(&mut self, pool: &Arc<Pool>) {
        self.pool = Arc::clone(pool);
    }

    /// The peer's SYN has arrived: the connection receives.
    pub(crate) fn enter(&mut self) {
        if !std::mem::replace(&mut self.entered, true) {
            self.pool.connections.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The peer's stream has ended, or the connection has.
    pub(crate) fn leave(&mut self) {
        self.hold(0);
        if std::mem::take(&mut self.entered) {
            self.pool.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Reports `unread` bytes that this connection holds; returns the state of the pool.
    pub(crate) fn report(&mut self, unread: u64) -> Shared {
        if self.entered {
            self.hold(unread);
        }
        let (connections, held) = (&self.pool.connections, &self.pool.held);
        Shared { connections: connections.load(Ordering::Relaxed), held: held.load(Ordering::Relaxed) }
    }

    fn hold(&mut self, held: u64) {
        // Wrapping arithmetic on purpose: the sum of all differences is what all hold.
        self.pool.held.fetch_add(held.wrapping_sub(self.held), Ordering::Relaxed);
        self.held = held;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> [Membership; 2] {
        let pool = Arc::default();
        [0, 1].map(|_| {
            let mut member = Membership::default();
            member.join(&pool);
            member.enter();
            member
        })
    }

    #[test]
    fn a_connection_counts_until_it_leaves() {
        let [mut first, mut second] = two();
        assert_eq!(second.report(0).connections, 2);
        first.leave();
        first.leave();
        assert_eq!(second.report(0).connections, 1);
    }

    #[test]
    fn unread_bytes_of_one_concern_all_until_it_leaves() {
        let [mut first, mut second] = two();
        first.report(1000);
        assert_eq!(second.report(0).held, 1000);
        assert_eq!(second.report(24).held, 1024);
        first.leave();
        assert_eq!(first.report(1000).held, 24, "it takes nothing any more, though its user reads late");
    }
}

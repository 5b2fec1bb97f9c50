//! The start of the user's program, which waits until the programs of other hosts have opened their ports.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the hosts whose programs have yet to open their ports. All threads of a process share one.
#[derive(Clone, Debug)]
pub(crate) struct StartBarrier {
    hosts: usize,
    remaining: Arc<AtomicUsize>,
}

impl StartBarrier {
    /// Makes a barrier for a number of hosts with programs.
    pub(crate) fn new(hosts: usize) -> Self {
        Self { hosts, remaining: Arc::new(AtomicUsize::new(hosts)) }
    }

    /// A host has opened its ports.
    pub(crate) fn open_one(&self) {
        self.remaining.fetch_sub(1, Ordering::SeqCst);
    }

    /// Returns the number of hosts that have yet to open their ports.
    pub(crate) fn remaining(&self) -> usize {
        self.remaining.load(Ordering::SeqCst)
    }

    /// Returns the number of hosts that have opened their ports.
    pub(crate) fn opened(&self) -> usize {
        self.hosts.saturating_sub(self.remaining())
    }

    /// Returns whether all hosts have opened their ports.
    pub(crate) fn is_open(&self) -> bool {
        self.remaining() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_with_the_last_host() {
        let barrier = StartBarrier::new(2);
        barrier.clone().open_one();
        assert_eq!((barrier.opened(), barrier.remaining(), barrier.is_open()), (1, 1, false));
        barrier.open_one();
        assert!(barrier.is_open());
        assert!(StartBarrier::new(0).is_open());
    }
}

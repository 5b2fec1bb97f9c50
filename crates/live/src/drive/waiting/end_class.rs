//! The scheduling class of a thread at the end of a bulk transfer.

use linux::scheduling::{Priority, Rank, RealTimeLimit, Scheduling, leave_real_time, return_to_real_time};

use super::budget::{Budget, Thrift};
use super::thread_time;
use crate::clock::Clock;

/// The raised scheduling class of a sender or a receiver, kept while it stays within its budget.
///
/// A receiver that waits for a processor while a train of segments comes finds all of them in the queue. Linux then
/// assumes a program that does not keep up, and leaves the window at 76 KB for good (`tcp_rcv_space_adjust()`). A
/// sender that waits lets its buffer run empty, and then fills the congestion window at once, which overflows a short
/// queue.
#[derive(Debug)]
pub(crate) struct EndClass {
    clock: Clock,
    budget: Budget,
    priority: Priority,
}

impl EndClass {
    /// Raises the class of the calling thread, one of several ends in this process.
    pub(crate) fn raise(clock: Clock, ends: u64) -> Self {
        let budget = Budget::of_end(clock.now(), thread_time(), RealTimeLimit::of_this_machine(), ends);
        Self { clock, budget, priority: Priority::raise(Rank::End) }
    }

    /// Leaves the real-time class if the thread has been busy, and returns to it later. The thread calls it after each
    /// read or write.
    pub(crate) fn keep_to_budget(&mut self) {
        let now = self.clock.now();
        if self.priority.scheduling() != Scheduling::Fifo || !self.budget.is_due(now) {
            return;
        }
        match self.budget.verdict(now, thread_time()) {
            Some(Thrift::Ordinary) => leave_real_time(),
            Some(Thrift::Sleeping) => return_to_real_time(Rank::End),
            Some(Thrift::Polling) | None => {}
        }
    }
}

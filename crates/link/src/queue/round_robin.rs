//! Weighted round robin over sub-queues, as several schedulers use it.

use super::sub_queue::SubQueue;

/// Sends as many packets of each non-empty sub-queue as its weight, then those of the next. The unused part of a turn
/// is lost.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    current: usize,
    /// Packets that the current sub-queue may still send.
    quota: u32,
}

impl RoundRobin {
    /// The sub-queue that is served next.
    pub(super) fn next(&mut self, sub_queues: &[SubQueue], weight: impl Fn(usize) -> u32) -> Option<usize> {
        let is_backlogged = |number: usize| sub_queues.get(number).is_some_and(|queue| !queue.is_empty());
        if self.quota > 0 && is_backlogged(self.current) {
            return Some(self.current);
        }
        let after = (1..=sub_queues.len()).map(|step| (self.current + step) % sub_queues.len());
        let next = after.into_iter().find(|number| is_backlogged(*number))?;
        (self.current, self.quota) = (next, weight(next));
        Some(next)
    }

    /// A packet of the current sub-queue was served.
    pub(super) const fn on_served(&mut self) {
        self.quota = self.quota.saturating_sub(1);
    }
}

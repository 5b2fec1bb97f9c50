//! The latest of some lengths of time, and how they are distributed.

use units::Duration;

/// The latest [`REMEMBERED`] lengths.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    lengths: Vec<Duration>,
    next: usize,
}

impl Recent {
    /// Adds a length, in the place of the oldest. Returns whether it is time to look at all of them again: now and then, and
    /// every time while there are few.
    pub(super) fn add(&mut self, length: Duration) -> bool {
        match self.lengths.get_mut(self.next) {
            Some(oldest) => *oldest = length,
            None => self.lengths.push(length),
        }
        self.next = (self.next + 1) % REMEMBERED;
        self.lengths.len() <= LOOK_EVERY || self.next.is_multiple_of(LOOK_EVERY)
    }

    /// Returns those at some percentiles. It takes a microsecond or two.
    ///
    /// # Panics
    /// If there are none.
    pub(super) fn at<const N: usize>(&self, percentiles: [usize; N]) -> [Duration; N] {
        let mut sorted = self.lengths.clone();
        sorted.sort_unstable();
        percentiles.map(|percentile| sorted[(sorted.len() - 1) * percentile / 100])
    }
}

/// Lengths that are remembered, and after how many of them conclusions are drawn.
pub(super) const REMEMBERED: usize = 64;
pub(super) const LOOK_EVERY: usize = 16;

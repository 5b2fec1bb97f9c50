//! The latest of a series of lengths of time, and their percentiles.

use units::Duration;

/// The latest [`REMEMBERED`] lengths.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    lengths: Vec<Duration>,
    next: usize,
}

impl Recent {
    /// Adds a length, in the place of the oldest. Returns whether percentiles are to be computed again: after every
    /// [`LOOK_EVERY`] lengths, and after each of the first.
    pub(super) fn add(&mut self, length: Duration) -> bool {
        match self.lengths.get_mut(self.next) {
            Some(oldest) => *oldest = length,
            None => self.lengths.push(length),
        }
        self.next = (self.next + 1) % REMEMBERED;
        self.lengths.len() <= LOOK_EVERY || self.next.is_multiple_of(LOOK_EVERY)
    }

    /// Returns the lengths at some percentiles. It takes a microsecond or two.
    ///
    /// # Panics
    /// If there are none.
    pub(super) fn at<const N: usize>(&self, percentiles: [usize; N]) -> [Duration; N] {
        let mut sorted = self.lengths.clone();
        sorted.sort_unstable();
        percentiles.map(|percentile| sorted[(sorted.len() - 1) * percentile / 100])
    }
}

/// Number of lengths that are remembered.
pub(super) const REMEMBERED: usize = 64;
/// Number of lengths between two computations of percentiles.
pub(super) const LOOK_EVERY: usize = 16;

//! Sets of bytes.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that neither overlap nor touch, from their starts to their ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range. Returns how many of its bytes were there already.
    pub(crate) fn add(&mut self, range: &Range<u64>) -> u64 {
        let (mut start, mut end) = (range.start, range.end);
        if start >= end {
            return 0;
        }
        let mut known = 0;
        while let Some((&from, &to)) = self.0.range(..=end).next_back()
            && to >= start
        {
            known += to.min(range.end).saturating_sub(from.max(range.start));
            self.0.remove(&from);
            start = start.min(from);
            end = end.max(to);
        }
        if self.0.len() < MOST {
            self.0.insert(start, end);
        }
        known
    }

    /// Number of bytes of a range that are there.
    pub(crate) fn overlap(&self, range: &Range<u64>) -> u64 {
        let reaching = self.0.range(..range.end).rev().take_while(|(_, to)| **to > range.start);
        reaching.map(|(from, to)| *to.min(&range.end) - from.max(&range.start)).sum()
    }
}

/// Bounds the memory of a stream.
const MOST: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_and_count_what_is_known() {
        let mut ranges = Ranges::default();
        assert_eq!((ranges.add(&(0..10)), ranges.add(&(20..30)), ranges.add(&(40..50))), (0, 0, 0));
        assert_eq!(ranges.overlap(&(5..45)), 5 + 10 + 5);
        assert_eq!(ranges.add(&(5..25)), 10);
        assert_eq!((ranges.add(&(30..40)), ranges.0.len()), (0, 1));
        assert_eq!((ranges.add(&(7..7)), ranges.overlap(&(50..60))), (0, 0));
    }
}

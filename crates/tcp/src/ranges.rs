//! A set of sequence numbers, kept as the runs that it consists of.

use std::collections::VecDeque;

use units::{Seq, SeqRange};

/// Disjoint ranges in the order of the stream. Ranges that touch are one range. All of them lie within 2³¹ numbers, as a
/// window does, so that their order is well defined.
///
/// The ends are looked at first: in a transfer, what is added mostly extends the last range, and what is taken out
/// mostly shortens the first. Everything else is a binary search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: VecDeque<SeqRange>,
}

impl RangeSet {
    /// A set without numbers.
    pub const EMPTY: Self = Self { ranges: VecDeque::new() };

    /// Whether there is no number in it.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many ranges there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The range of the lowest numbers.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<SeqRange> {
        self.ranges.front().copied()
    }

    /// The range of the highest numbers.
    #[must_use]
    #[inline]
    pub fn last(&self) -> Option<SeqRange> {
        self.ranges.back().copied()
    }

    /// The ranges, from the lowest numbers to the highest.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = SeqRange> {
        self.ranges.iter().copied()
    }

    /// The range that `seq` lies in.
    #[must_use]
    pub fn containing(&self, seq: Seq) -> Option<SeqRange> {
        let range = *self.ranges.get(self.first_ending_after(seq))?;
        range.contains(seq).then_some(range)
    }

    /// Adds `range`; returns the range of the set that it is part of now.
    pub fn insert(&mut self, range: SeqRange) -> SeqRange {
        if range.is_empty() {
            return range;
        }
        let from = self.first_ending_at_or_after(range.start);
        let mut whole = range;
        let mut to = from;
        while let Some(other) = self.ranges.get(to).filter(|other| other.start.at_or_before(range.end)) {
            whole = SeqRange { start: whole.start.min(other.start), end: whole.end.max(other.end) };
            to += 1;
        }
        self.replace(from, to, whole);
        whole
    }

    /// Takes the numbers of `range` out.
    pub fn remove(&mut self, range: SeqRange) {
        let mut index = self.first_ending_after(range.start);
        while let Some(other) = self.ranges.get_mut(index) {
            if range.is_empty() || other.start.at_or_after(range.end) {
                break;
            }
            let behind = SeqRange { start: range.end, end: other.end };
            let has_front = other.start.before(range.start);
            let has_behind = behind.start.before(behind.end);
            match (has_front, has_behind) {
                (true, _) => {
                    other.end = range.start;
                    index += 1;
                    if has_behind {
                        self.ranges.insert(index, behind);
                    }
                }
                (false, true) => *other = behind,
                (false, false) => drop(self.ranges.remove(index)),
            }
        }
    }

    /// Takes all numbers before `seq` out.
    pub fn remove_before(&mut self, seq: Seq) {
        while let Some(first) = self.ranges.front_mut() {
            if first.end.after(seq) {
                first.start = first.start.max(seq);
                break;
            }
            self.ranges.pop_front();
        }
    }

    /// Puts `whole` in the place of the ranges `from..to`.
    fn replace(&mut self, from: usize, to: usize, whole: SeqRange) {
        if from == to {
            return self.ranges.insert(from, whole);
        }
        self.ranges[from] = whole;
        if to > from + 1 {
            self.ranges.drain(from + 1..to);
        }
    }

    /// Index of the first range of which a number comes after `seq` or is `seq`.
    fn first_ending_after(&self, seq: Seq) -> usize {
        self.first_with(|range| range.end.after(seq))
    }

    /// The same, and a range that ends just before `seq` counts too.
    fn first_ending_at_or_after(&self, seq: Seq) -> usize {
        self.first_with(|range| range.end.at_or_after(seq))
    }

    /// Index of the first range of which `reaches` is true; it is false of all before, and true of all behind.
    #[inline]
    fn first_with(&self, reaches: impl Fn(&SeqRange) -> bool) -> usize {
        let last = self.ranges.len().wrapping_sub(1);
        if self.ranges.front().is_none_or(&reaches) {
            return 0;
        }
        if self.ranges.back().is_none_or(|range| !reaches(range)) {
            return self.ranges.len();
        }
        if self.ranges.get(last.wrapping_sub(1)).is_some_and(|range| !reaches(range)) {
            return last;
        }
        self.ranges.partition_point(|range| !reaches(range))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers near the wrap: 0 is the first of them.
    fn range(start: u32, end: u32) -> SeqRange {
        SeqRange { start: ORIGIN + start, end: ORIGIN + end }
    }

    fn runs(numbers: &[bool]) -> Vec<SeqRange> {
        let mut runs = RangeSet::EMPTY.ranges;
        for (n, _) in (0..).zip(numbers).filter(|(_, is_in)| **is_in) {
            match runs.back_mut().filter(|run| run.end == ORIGIN + n) {
                Some(run) => run.end += 1,
                None => runs.push_back(range(n, n + 1)),
            }
        }
        runs.into()
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u32, u32),
        Remove(u32, u32),
        RemoveBefore(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..LEN, 0..12u32).prop_map(|(start, len)| Step::Insert(start, len)),
            3 => (0..LEN, 0..20u32).prop_map(|(start, len)| Step::Remove(start, len)),
            1 => (0..LEN / 4).prop_map(Step::RemoveBefore),
        ]
    }

    proptest! {
        #[test]
        fn the_ranges_are_the_runs_of_the_numbers_in_the_set(steps in prop::collection::vec(step(), 0..60)) {
            let mut set = RangeSet::default();
            let mut numbers = [false; LEN as usize];
            for step in steps {
                match step {
                    Step::Insert(start, len) => {
                        let end = (start + len).min(LEN);
                        let whole = set.insert(range(start, end));
                        numbers[start as usize..end as usize].fill(true);
                        prop_assert!(start == end || runs(&numbers).contains(&whole));
                    }
                    Step::Remove(start, len) => {
                        let end = (start + len).min(LEN);
                        set.remove(range(start, end));
                        numbers[start as usize..end as usize].fill(false);
                    }
                    Step::RemoveBefore(end) => {
                        set.remove_before(ORIGIN + end);
                        numbers[..end as usize].fill(false);
                    }
                }
                let expected = runs(&numbers);
                prop_assert_eq!(set.iter().collect::<Vec<_>>(), expected.clone());
                prop_assert_eq!((set.first(), set.last()), (expected.first().copied(), expected.last().copied()));
                prop_assert_eq!((set.len(), set.is_empty()), (expected.len(), expected.is_empty()));
                for n in 0..LEN {
                    let around = expected.iter().find(|run| run.contains(ORIGIN + n)).copied();
                    prop_assert_eq!(set.containing(ORIGIN + n), around);
                }
            }
        }
    }

    const LEN: u32 = 120;
    const ORIGIN: Seq = Seq(u32::MAX - LEN / 2);
}

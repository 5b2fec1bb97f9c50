//! A set of sequence numbers, kept as the ranges that it consists of.

use std::collections::VecDeque;

use units::{Seq, SeqRange};

/// Disjoint ranges in the order of the stream, each with the value of the last insertion into it. Ranges that touch are
/// one range. All of them lie within 2³¹ numbers, as a window does, so that their order is well defined.
///
/// The ends are looked at first: in a transfer, what is added mostly extends the last range, and what is taken out
/// mostly shortens the first. Everything else is a binary search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSet<T = ()> {
    ranges: VecDeque<(SeqRange, T)>,
}

impl<T> Default for RangeSet<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<T> RangeSet<T> {
    /// A set without numbers.
    pub const EMPTY: Self = Self { ranges: VecDeque::new() };
}

impl<T: Copy> RangeSet<T> {
    /// Whether there is no number in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of ranges.
    #[inline]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The range of the lowest numbers.
    #[inline]
    pub fn first(&self) -> Option<SeqRange> {
        self.ranges.front().map(|(range, _)| *range)
    }

    /// The range of the highest numbers.
    #[inline]
    pub fn last(&self) -> Option<SeqRange> {
        self.ranges.back().map(|(range, _)| *range)
    }

    /// The ranges, from the lowest numbers to the highest.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = SeqRange> {
        self.ranges.iter().map(|(range, _)| *range)
    }

    /// The range that `seq` lies in.
    pub fn containing(&self, seq: Seq) -> Option<SeqRange> {
        self.get(seq).map(|(range, _)| range)
    }

    /// The range that `seq` lies in, and its value.
    pub fn get(&self, seq: Seq) -> Option<(SeqRange, T)> {
        let found = *self.ranges.get(self.first_ending_after(seq))?;
        found.0.contains(seq).then_some(found)
    }

    /// Adds `range`; returns the range of the set that it is part of now, which has this value.
    pub fn insert(&mut self, range: SeqRange, value: T) -> SeqRange {
        if range.is_empty() {
            return range;
        }
        let from = self.first_ending_at_or_after(range.start);
        let mut whole = range;
        let mut to = from;
        while let Some((other, _)) =
            self.ranges.get(to).filter(|(other, _)| other.start.at_or_before(range.end))
        {
            whole = SeqRange { start: whole.start.min(other.start), end: whole.end.max(other.end) };
            to += 1;
        }
        self.replace(from, to, (whole, value));
        whole
    }

    /// Takes the numbers of `range` out.
    pub fn remove(&mut self, range: SeqRange) {
        let mut index = self.first_ending_after(range.start);
        while let Some((other, value)) = self.ranges.get_mut(index) {
            if range.is_empty() || other.start.at_or_after(range.end) {
                break;
            }
            let after = SeqRange { start: range.end, end: other.end };
            let has_after = after.start.before(after.end);
            if other.start.before(range.start) {
                other.end = range.start;
                index += 1;
                if has_after {
                    let value = *value;
                    self.ranges.insert(index, (after, value));
                }
            } else if has_after {
                *other = after;
            } else {
                self.ranges.remove(index);
            }
        }
    }

    /// Takes all numbers before `seq` out.
    #[inline]
    pub fn remove_before(&mut self, seq: Seq) {
        while let Some((first, _)) = self.ranges.front_mut() {
            if first.end.after(seq) {
                first.start = first.start.max(seq);
                break;
            }
            self.ranges.pop_front();
        }
    }

    /// Takes everything from `seq` on out.
    pub fn remove_from(&mut self, seq: Seq) {
        while let Some((last, _)) = self.ranges.back_mut() {
            if last.start.before(seq) {
                last.end = last.end.min(seq);
                break;
            }
            self.ranges.pop_back();
        }
    }

    /// Puts `whole` in the place of the ranges `from..to`.
    fn replace(&mut self, from: usize, to: usize, whole: (SeqRange, T)) {
        if from == to {
            return self.ranges.insert(from, whole);
        }
        self.ranges[from] = whole;
        if to > from + 1 {
            self.ranges.drain(from + 1..to);
        }
    }

    /// Index of the first range in which a number is `seq` or comes after it.
    fn first_ending_after(&self, seq: Seq) -> usize {
        self.first_with(|range| range.end.after(seq))
    }

    /// The same, and a range that ends just before `seq` counts too.
    fn first_ending_at_or_after(&self, seq: Seq) -> usize {
        self.first_with(|range| range.end.at_or_after(seq))
    }

    /// Index of the first range of which `reaches` is true; it is false of all before, and true of all after it.
    #[inline]
    fn first_with(&self, reaches: impl Fn(SeqRange) -> bool) -> usize {
        let falls_short = |(range, _): &(SeqRange, T)| !reaches(*range);
        let len = self.ranges.len();
        if !self.ranges.front().is_some_and(falls_short) {
            return 0;
        }
        if self.ranges.back().is_some_and(falls_short) {
            return len;
        }
        if self.ranges.get(len - 2).is_some_and(falls_short) {
            return len - 1;
        }
        self.ranges.partition_point(falls_short)
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
        let mut runs = vec![];
        for (n, _) in (0..).zip(numbers).filter(|(_, is_in)| **is_in) {
            match runs.last_mut().filter(|run: &&mut SeqRange| run.end == ORIGIN + n) {
                Some(run) => run.end += 1,
                None => runs.push(range(n, n + 1)),
            }
        }
        runs
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
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(start, len) => {
                        let end = (start + len).min(LEN);
                        let whole = set.insert(range(start, end), number);
                        prop_assert!(start == end || set.get(ORIGIN + start) == Some((whole, number)));
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

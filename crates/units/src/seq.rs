//! TCP sequence numbers (RFC 9293 §3.4): 32 bits that wrap, so they have no `<`.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A sequence number. Two of them are compared by which comes first on a circle of 2³², which is
/// only meaningful while they are less than 2³¹ apart; hence `before` and `after`, and no `Ord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

/// The sequence numbers from `start` up to, and without, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqRange {
    /// First number inside.
    pub start: Seq,
    /// First number after it.
    pub end: Seq,
}

impl Seq {
    /// Whether this number comes before `other`.
    #[must_use]
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether this number comes after `other`.
    #[must_use]
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Whether this number is `other` or comes before it.
    #[must_use]
    pub const fn at_or_before(self, other: Self) -> bool {
        !other.before(self)
    }

    /// Whether this number is `other` or comes after it.
    #[must_use]
    pub const fn at_or_after(self, other: Self) -> bool {
        !self.before(other)
    }

    /// Number of steps from `earlier` to this one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// The later of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// The earlier of the two.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if self.before(other) { self } else { other }
    }
}

impl SeqRange {
    /// The `len` numbers from `start`.
    #[must_use]
    pub const fn new(start: Seq, len: u32) -> Self {
        Self { start, end: Seq(start.0.wrapping_add(len)) }
    }

    /// Number of sequence numbers inside.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.end.since(self.start)
    }

    /// Whether there is none inside.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start.0 == self.end.0
    }

    /// Whether `seq` is inside.
    #[must_use]
    pub const fn contains(self, seq: Seq) -> bool {
        self.start.at_or_before(seq) && seq.before(self.end)
    }

    /// Whether all of `other` is inside.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.start.at_or_before(other.start) && other.end.at_or_before(self.end)
    }

    /// Whether the two share a number.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.start.before(other.end) && other.start.before(self.end)
    }
}

impl Add<u32> for Seq {
    type Output = Self;
    fn add(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, count: u32) {
        *self = *self + count;
    }
}

impl Sub<u32> for Seq {
    type Output = Self;
    fn sub(self, count: u32) -> Self {
        Self(self.0.wrapping_sub(count))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SeqRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let last = Seq(u32::MAX);
        let first = last + 1;
        assert!(last.before(first) && first.after(last));
        assert_eq!(first.since(last), 1);
        assert_eq!(last.max(first), first);
    }

    #[test]
    fn a_range_across_the_wrap_knows_its_members() {
        let range = SeqRange::new(Seq(u32::MAX - 1), 4);
        assert!(range.contains(Seq(1)) && !range.contains(Seq(2)));
        assert!(range.overlaps(SeqRange::new(Seq(1), 1)));
        assert!(!range.overlaps(SeqRange::new(Seq(2), 1)));
        assert_eq!(range.len(), 4);
    }
}

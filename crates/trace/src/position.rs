//! Sequence numbers without the wrap.

use units::{Seq, SeqRange};

/// Turns sequence numbers into positions that never wrap, by taking each number for the position nearest to the highest
/// one so far. This is right as long as no step exceeds 2³¹; a window allows 2³⁰ (RFC 7323 §2.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct Positions {
    highest: Option<u64>,
}

/// The positions from `start` up to, and without, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Positions {
    /// The position of `seq`; updates the highest position.
    pub fn of(&mut self, seq: Seq) -> u64 {
        let position = self.place(seq);
        self.highest = self.highest.max(Some(position));
        position
    }

    /// The highest position so far.
    #[must_use]
    pub const fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// The position of `seq`, without updating the highest: the peer may have invented it.
    #[must_use]
    pub fn place(&self, seq: Seq) -> u64 {
        // The first turn of the circle is turn 1, so that positions shortly before it stay positive.
        let highest = self.highest.unwrap_or(TURN + u64::from(seq.0));
        let step = seq.since(Seq(highest as u32)) as i32;
        highest.saturating_add_signed(i64::from(step))
    }

    /// The positions of `range`.
    pub(crate) fn span(&mut self, range: SeqRange) -> Span {
        let start = self.of(range.start);
        let end = start + u64::from(range.len());
        self.highest = self.highest.max(Some(end));
        Span { start, end }
    }
}

impl Span {
    /// Number of positions inside.
    pub(crate) const fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Number of segments on the wire, of which the largest has this many bytes; the number of a FIN is no byte.
    pub(crate) const fn on_wire(self, largest: u64) -> usize {
        (self.len().saturating_sub(2) / largest + 1) as usize
    }

    /// Whether the position is inside.
    pub(crate) const fn contains(self, position: u64) -> bool {
        self.start <= position && position < self.end
    }

    /// Whether the two share a position.
    pub(crate) const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// Numbers on the circle.
const TURN: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_grow_across_the_wrap() {
        let mut positions = Positions::default();
        let before = positions.span(SeqRange::new(Seq(u32::MAX - 9), 20));
        let after = positions.span(SeqRange::new(Seq(10), 5));
        let again = positions.span(SeqRange::new(Seq(u32::MAX - 9), 20));
        assert_eq!(before.end, after.start);
        assert_eq!(before, again);
    }

    #[test]
    fn what_comes_before_the_first_number_has_a_place() {
        let mut positions = Positions::default();
        let first = positions.of(Seq(0));
        assert_eq!(positions.of(Seq(u32::MAX)), first - 1);
    }
}

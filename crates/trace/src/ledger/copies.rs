//! The copies of each byte: numbers of copies sent and lost so far.

use std::collections::BTreeMap;

use crate::position::Span;

use super::Loss;

/// The copies of one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Copies {
    /// Copies sent again, without the original.
    pub(super) resent: u32,
    /// Those of them that a proxy on the way sent.
    pub(super) local: u32,
    /// Copies lost, with the original.
    pub(super) lost: u32,
    /// Whether the original is one of the lost.
    pub(super) original_lost: bool,
    /// The latest loss.
    pub(super) loss: Option<Loss>,
}

/// The copies of every byte. Bytes that nothing is known of were sent once and not lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    /// Runs of bytes with the same copies, by the position of the first byte. Runs do not overlap.
    runs: BTreeMap<u64, Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    end: u64,
    copies: Copies,
}

impl Copies {
    /// Number of copies, the original included, that were not lost.
    pub(super) fn surviving(&self) -> u32 {
        (1 + self.resent).saturating_sub(self.lost)
    }

    /// Whether the original was lost, and only copies of a proxy on the way can have arrived.
    pub(super) const fn is_repaired_locally(&self) -> bool {
        self.original_lost && self.local > 0 && self.local == self.resent
    }
}

impl Book {
    /// A copy of `span` was sent again.
    pub(super) fn resend(&mut self, span: Span) {
        self.change(span, |copies| copies.resent += 1);
    }

    /// A copy of `span` was sent again by a proxy on the way.
    pub(super) fn resend_locally(&mut self, span: Span) {
        self.change(span, |copies| (copies.resent, copies.local) = (copies.resent + 1, copies.local + 1));
    }

    /// A copy of `span` was lost.
    pub(super) fn lose(&mut self, span: Span, loss: Loss, original: bool) {
        self.change(span, |copies| {
            copies.lost += 1;
            copies.original_lost |= original;
            copies.loss = Some(loss);
        });
    }

    /// The byte of `span` with the fewest surviving copies; the first of several.
    pub(super) fn worst(&self, span: Span) -> Copies {
        if let Some(run) = self.runs.get(&span.start).filter(|run| span.end <= run.end) {
            return run.copies;
        }
        let mut worst = None;
        let mut position = span.start;
        let before = self.runs.range(..span.start).next_back().map(|(_, run)| (span.start, run));
        let inside = self.runs.range(span.start..span.end).map(|(start, run)| (*start, run));
        for (start, run) in before.into_iter().chain(inside).filter(|(start, run)| *start < run.end) {
            if position < start {
                worst = Some(fewer(worst, Copies::default()));
            }
            worst = Some(fewer(worst, run.copies));
            position = run.end;
        }
        if position < span.end { fewer(worst, Copies::default()) } else { worst.unwrap_or_default() }
    }

    /// Changes the copies of all bytes of `span`. Most spans are those of whole segments: unknown and after everything
    /// known, or those of a run.
    fn change(&mut self, span: Span, change: impl Fn(&mut Copies)) {
        if span.start >= span.end {
            return;
        }
        if self.runs.last_key_value().is_none_or(|(_, last)| last.end <= span.start) {
            self.insert(span, &change);
        } else if let Some(run) = self.runs.get_mut(&span.start).filter(|run| run.end == span.end) {
            change(&mut run.copies);
        } else {
            self.change_parts(span, &change);
        }
    }

    /// Changes the runs of which `span` consists, and the unknown bytes between them.
    fn change_parts(&mut self, span: Span, change: &impl Fn(&mut Copies)) {
        self.cut(span.start);
        self.cut(span.end);
        let mut unknown = vec![];
        let mut position = span.start;
        for (start, run) in self.runs.range_mut(span.start..span.end) {
            unknown.push(Span { start: position, end: *start });
            change(&mut run.copies);
            position = run.end;
        }
        unknown.push(Span { start: position, end: span.end });
        for gap in unknown.into_iter().filter(|gap| gap.start < gap.end) {
            self.insert(gap, change);
        }
    }

    /// Adds a run of bytes that nothing was known of.
    fn insert(&mut self, span: Span, change: &impl Fn(&mut Copies)) {
        let mut copies = Copies::default();
        change(&mut copies);
        self.runs.insert(span.start, Run { end: span.end, copies });
    }

    /// Splits the run that `position` lies inside.
    fn cut(&mut self, position: u64) {
        if let Some((_, run)) =
            self.runs.range_mut(..position).next_back().filter(|(_, run)| position < run.end)
        {
            let after = *run;
            run.end = position;
            self.runs.insert(position, after);
        }
    }
}

/// The copies of the byte of which fewer copies survive; those of the first if equal.
fn fewer(first: Option<Copies>, second: Copies) -> Copies {
    first.filter(|first| first.surviving() <= second.surviving()).unwrap_or(second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::{Instant, PacketId};

    use super::*;

    const LOSS: Loss = Loss { packet: PacketId(0), at: Instant::START, rule: "test", since: None };

    proptest! {
        #[test]
        fn the_book_agrees_with_counting_byte_by_byte(
            changes in prop::collection::vec((any::<bool>(), 0_u64..60, 0_u64..30), 0..40),
            start in 0_u64..60,
            len in 1_u64..40,
        ) {
            let mut book = Book::default();
            let mut bytes = vec![Copies::default(); 100];
            for (lost, from, len) in changes {
                let span = Span { start: from, end: from + len };
                if lost { book.lose(span, LOSS, false) } else { book.resend(span) }
                for byte in &mut bytes[from as usize..(from + len) as usize] {
                    if lost { byte.lost += 1 } else { byte.resent += 1 }
                }
            }
            let expected = bytes[start as usize..(start + len) as usize].iter().map(Copies::surviving).min();
            prop_assert_eq!(Some(book.worst(Span { start, end: start + len }).surviving()), expected);
        }
    }
}

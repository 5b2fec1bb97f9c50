//! The copies of each byte: numbers of copies sent and lost so far.

use std::collections::BTreeMap;

use crate::position::Span;

use super::Loss;

/// The copies of one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Copies {
    /// Copies sent again, without the original.
    pub(super) resent: u32,
    /// Copies lost, with the original.
    pub(super) lost: u32,
    /// Whether the original is one of the lost.
    pub(super) original_lost: bool,
    /// The latest loss.
    pub(super) loss: Option<Loss>,
}

/// The copies of every byte. Bytes that nothing is known of were sent once and not lost. Kept as
/// runs: an entry holds from its key to the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    runs: BTreeMap<u64, Copies>,
}

impl Copies {
    /// How many copies, the original counted, were not lost.
    pub(super) fn surviving(&self) -> u32 {
        (1 + self.resent).saturating_sub(self.lost)
    }
}

impl Book {
    /// A copy of `span` was sent again.
    pub(super) fn resend(&mut self, span: Span) {
        self.change(span, |copies| copies.resent += 1);
    }

    /// A copy of `span` was lost.
    pub(super) fn lose(&mut self, span: Span, loss: Loss, original: bool) {
        self.change(span, |copies| {
            copies.lost += 1;
            copies.original_lost |= original;
            copies.loss = Some(loss);
        });
    }

    /// The byte of `span` with the fewest surviving copies.
    pub(super) fn worst(&self, span: Span) -> Copies {
        let first = self.at(span.start);
        let inside = self.runs.range(span.start..span.end).map(|(_, copies)| *copies);
        inside
            .fold(first, |worst, copies| if copies.surviving() < worst.surviving() { copies } else { worst })
    }

    fn at(&self, position: u64) -> Copies {
        self.runs.range(..=position).next_back().map_or_else(Copies::default, |(_, copies)| *copies)
    }

    fn change(&mut self, span: Span, change: impl Fn(&mut Copies)) {
        if span.start < span.end {
            self.cut(span.start);
            self.cut(span.end);
            self.runs.range_mut(span.start..span.end).for_each(|(_, copies)| change(copies));
        }
    }

    /// Makes a run begin at `position`.
    fn cut(&mut self, position: u64) {
        let copies = self.at(position);
        self.runs.entry(position).or_insert(copies);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::{Instant, PacketId};

    use super::*;

    const LOSS: Loss = Loss { packet: PacketId(0), at: Instant::START, rule: "test" };

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

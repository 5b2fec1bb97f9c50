//! Which runs of bytes have arrived out of order, and in which order they last changed.

use std::collections::VecDeque;

use units::{Seq, SeqRange};
use wire::SackBlocks;

use crate::ranges::RangeSet;

/// The islands after the first gap: maximal runs of sequence numbers that have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Islands {
    /// Each with the number of its last change.
    islands: RangeSet<u64>,
    /// The changes, newest first. A change counts while its number is that of the island which its sequence numbers lie
    /// in, so each island has exactly one change that counts; the others are left until there are many.
    changes: VecDeque<Change>,
    /// The number of changes at the front that are known to count, with their whole islands.
    known: usize,
    /// Number of the last change.
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    number: u64,
    /// The island as it was after this change.
    island: SeqRange,
}

impl Islands {
    /// No islands.
    pub(super) const NONE: Self =
        Self { islands: RangeSet::EMPTY, changes: VecDeque::new(), known: 0, count: 0 };

    /// The bytes of `range` have arrived, for the first time or again.
    pub(super) fn insert(&mut self, range: SeqRange) {
        self.count += 1;
        let island = self.islands.insert(range, self.count);
        self.forget_known(|known| island.covers(known));
        self.changes.push_front(Change { number: self.count, island });
        self.known += 1;
        if self.changes.len() > 2 * self.islands.len() + SPARE_CHANGES {
            let islands = &self.islands;
            self.changes.retain(|change| change.counts(islands));
            self.known = self.known.min(self.changes.len());
        }
    }

    /// Everything before `next` is in order now.
    pub(super) fn remove_before(&mut self, next: Seq) {
        self.islands.remove_before(next);
        self.forget_known(|known| known.start.before(next));
        if self.islands.is_empty() {
            self.changes.clear();
            self.known = 0;
        }
    }

    /// The island that `seq` lies in.
    pub(super) fn containing(&self, seq: Seq) -> Option<SeqRange> {
        self.islands.containing(seq)
    }

    /// The islands that changed last, newest first (RFC 2018 §4), at most `limit`.
    pub(super) fn newest(&mut self, limit: usize) -> SackBlocks {
        while self.known < limit && self.known < self.changes.len() {
            self.know_next();
        }
        let mut blocks = SackBlocks::default();
        for change in self.changes.iter().take(limit.min(self.known)) {
            blocks.push(change.island);
        }
        blocks
    }

    /// Looks whether the first change that is not known to count does.
    fn know_next(&mut self) {
        let change = &mut self.changes[self.known];
        match self.islands.get(change.island.start) {
            Some((island, number)) if number == change.number => {
                change.island = island;
                self.known += 1;
            }
            _ => {
                self.changes.remove(self.known);
            }
        }
    }

    /// Takes out the known changes of such islands; of those that no reader has asked for, nothing is known any more.
    fn forget_known(&mut self, is_gone: impl Fn(SeqRange) -> bool) {
        self.known = self.known.min(SackBlocks::MAX);
        let mut place = 0;
        while place < self.known {
            if is_gone(self.changes[place].island) {
                self.changes.remove(place);
                self.known -= 1;
            } else {
                place += 1;
            }
        }
    }
}

impl Change {
    /// Whether its island has not changed since.
    fn counts(&self, islands: &RangeSet<u64>) -> bool {
        islands.get(self.island.start).is_some_and(|(_, last_change)| last_change == self.number)
    }
}

/// The number of changes which no longer count that may stay besides one for each island.
const SPARE_CHANGES: usize = 8;

//! Runs of bytes that have arrived out of order, and the order of their last changes.

use std::collections::VecDeque;

use units::{Seq, SeqRange};
use wire::SackBlocks;

use crate::ranges::RangeSet;

/// The islands beyond the first gap: maximal runs of sequence numbers that have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Islands {
    /// Each with the number of its last change.
    islands: RangeSet<u64>,
    /// The changes, newest first. A change counts while its number is that of the island which its sequence number lies
    /// in, so each island has exactly one change that counts; the others are left until there are many.
    changes: VecDeque<Change>,
    /// Number of the last change.
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    number: u64,
    seq: Seq,
}

impl Islands {
    /// No islands.
    pub(super) const NONE: Self = Self { islands: RangeSet::EMPTY, changes: VecDeque::new(), count: 0 };

    /// The bytes of `range` have arrived, for the first time or again.
    pub(super) fn insert(&mut self, range: SeqRange) {
        self.count += 1;
        let island = self.islands.insert(range, self.count);
        if self.changes.front().is_some_and(|newest| island.contains(newest.seq)) {
            self.changes.pop_front();
        }
        self.changes.push_front(Change { number: self.count, seq: range.start });
        if self.changes.len() > 2 * self.islands.len() + SPARE_CHANGES {
            let islands = &self.islands;
            self.changes.retain(|change| change.island(islands).is_some());
        }
    }

    /// Everything before `next` is in order now.
    pub(super) fn remove_before(&mut self, next: Seq) {
        self.islands.remove_before(next);
        if self.islands.is_empty() {
            self.changes.clear();
        }
    }

    /// Nothing from `seq` on waits any more.
    pub(super) fn remove_from(&mut self, seq: Seq) {
        self.islands.remove_from(seq);
        let islands = &self.islands;
        self.changes.retain(|change| change.island(islands).is_some());
    }

    /// The island before all others.
    pub(super) fn first(&self) -> Option<SeqRange> {
        self.islands.first()
    }

    /// The island that `seq` lies in.
    pub(super) fn containing(&self, seq: Seq) -> Option<SeqRange> {
        self.islands.containing(seq)
    }

    /// The islands that changed last, newest first (RFC 2018 §4), at most `limit`.
    pub(super) fn newest(&self, limit: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let islands = self.changes.iter().filter_map(|change| change.island(&self.islands));
        for island in islands.take(limit) {
            blocks.push(island);
        }
        blocks
    }
}

impl Change {
    /// The island that it was the last change of.
    fn island(&self, islands: &RangeSet<u64>) -> Option<SeqRange> {
        let (range, last_change) = islands.get(self.seq)?;
        (last_change == self.number).then_some(range)
    }
}

/// Number of changes that do not count any more which may stay, besides one for each island.
const SPARE_CHANGES: usize = 8;

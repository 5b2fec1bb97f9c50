//! Packets with the times at which they go on, earliest first; ties in the order of coming.

use std::collections::VecDeque;

use units::Instant;

/// Nearly all come in order of time, so a sorted ring is enough: the usual case costs what a plain
/// queue costs, and one out of order is put in its place.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    due: VecDeque<(Instant, u32)>,
}

impl Schedule {
    /// The earliest time, or never.
    pub(super) fn first(&self) -> Instant {
        self.due.front().map_or(Instant::NEVER, |(at, _)| *at)
    }

    /// The latest time, or the start.
    pub(super) fn last(&self) -> Instant {
        self.due.back().map_or(Instant::START, |(at, _)| *at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    pub(super) fn insert(&mut self, at: Instant, slot: u32) {
        if self.last() <= at {
            self.due.push_back((at, slot));
        } else {
            let place = self.due.partition_point(|(other, _)| *other <= at);
            self.due.insert(place, (at, slot));
        }
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        self.due.pop_front().map(|(_, slot)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_come_first_and_ties_in_the_order_of_coming() {
        let mut schedule = Schedule::default();
        for (at, slot) in [(5, 0), (3, 1), (5, 2), (4, 3), (3, 4)] {
            schedule.insert(Instant::from_nanos(at), slot);
        }
        assert_eq!(schedule.first(), Instant::from_nanos(3));
        let order: Vec<u32> = std::iter::from_fn(|| schedule.pop()).collect();
        assert_eq!(order, [1, 4, 3, 0, 2]);
        assert_eq!(schedule.first(), Instant::NEVER);
    }
}

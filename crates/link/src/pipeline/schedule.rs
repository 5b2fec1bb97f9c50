//! Packets with the times at which they go on, earliest first; ties in the order of coming.

use std::collections::VecDeque;

use units::Instant;

/// Nearly all come in order of time, so a sorted ring is enough: the usual case costs what a plain
/// queue costs, and one out of order is put in its place. The ends are kept beside the ring, as they
/// are asked for far more often than they change.
#[derive(Debug)]
pub(super) struct Schedule {
    due: VecDeque<(Instant, u32)>,
    first: Instant,
    last: Instant,
}

impl Schedule {
    pub(super) const fn new() -> Self {
        Self { due: VecDeque::new(), first: Instant::NEVER, last: Instant::START }
    }

    /// The earliest time, or never.
    #[inline]
    pub(super) const fn first(&self) -> Instant {
        self.first
    }

    /// The latest time there is or was.
    #[inline]
    pub(super) const fn last(&self) -> Instant {
        self.last
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// Puts a packet in its place; its time is not before that of any that was taken out.
    #[inline(always)]
    pub(super) fn insert(&mut self, at: Instant, slot: u32) {
        if self.last <= at {
            self.last = at;
            self.due.push_back((at, slot));
        } else {
            let place = self.due.partition_point(|(other, _)| *other <= at);
            self.due.insert(place, (at, slot));
        }
        self.first = self.first.min(at);
    }

    /// Takes everything out, in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.first = Instant::NEVER;
        self.last = Instant::START;
        self.due.drain(..).map(|(_, slot)| slot)
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        let (_, slot) = self.due.pop_front()?;
        self.first = self.due.front().map_or(Instant::NEVER, |(at, _)| *at);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_come_first_and_ties_in_the_order_of_coming() {
        let mut schedule = Schedule::new();
        for (at, slot) in [(5, 0), (3, 1), (5, 2), (4, 3), (3, 4)] {
            schedule.insert(Instant::from_nanos(at), slot);
        }
        assert_eq!(schedule.first(), Instant::from_nanos(3));
        let order: Vec<u32> = std::iter::from_fn(|| schedule.pop()).collect();
        assert_eq!(order, [1, 4, 3, 0, 2]);
        assert_eq!(schedule.first(), Instant::NEVER);
    }
}

//! Packets with the times at which they move on, earliest first; of equal times in the order of insertion.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::Instant;

use crate::store::Handle;

/// Nearly all packets are inserted in order of time, so a ring holds those: they cost the same as in a plain queue. A
/// packet that is due before one inserted earlier goes to a separate heap. The first and the last time are kept, as
/// they are read far more often than they change.
#[derive(Debug)]
pub(super) struct TimedQueue {
    in_order: VecDeque<(DueOrder, Handle)>,
    out_of_order: BinaryHeap<Reverse<TimedItem>>,
    inserted: u64,
    first: Instant,
    last: Instant,
}

/// The time at which a packet is due, and its number among those inserted.
type DueOrder = (Instant, u64);

#[derive(Clone, Copy, Debug)]
struct TimedItem(DueOrder, Handle);

impl TimedQueue {
    pub(super) const fn new() -> Self {
        Self {
            in_order: VecDeque::new(),
            out_of_order: BinaryHeap::new(),
            inserted: 0,
            first: Instant::NEVER,
            last: Instant::START,
        }
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
        self.in_order.is_empty() && self.out_of_order.is_empty()
    }

    /// Inserts a packet that is due at `at`, which is not before the time of any that was taken out.
    #[inline(always)]
    pub(super) fn insert(&mut self, at: Instant, handle: Handle) {
        let key = (at, self.inserted);
        self.inserted += 1;
        if self.last <= at {
            self.last = at;
            self.in_order.push_back((key, handle));
        } else {
            self.out_of_order.push(Reverse(TimedItem(key, handle)));
        }
        self.first = self.first.min(at);
    }

    /// Takes the packet that is due first.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Handle> {
        let handle = if self.out_of_order.is_empty() {
            self.in_order.pop_front().map(|(_, handle)| handle)
        } else {
            self.pop_earlier()
        };
        let in_order = self.in_order.front().map_or(Instant::NEVER, |((at, _), _)| *at);
        let out_of_order = self.out_of_order.peek().map_or(Instant::NEVER, |Reverse(entry)| entry.0.0);
        self.first = in_order.min(out_of_order);
        handle
    }

    /// Takes whichever is earlier: the first of the ring or the first of the heap, which is not empty.
    fn pop_earlier(&mut self) -> Option<Handle> {
        let Reverse(TimedItem(other, _)) = *self.out_of_order.peek()?;
        if self.in_order.front().is_some_and(|(key, _)| *key < other) {
            return self.in_order.pop_front().map(|(_, handle)| handle);
        }
        self.out_of_order.pop().map(|Reverse(entry)| entry.1)
    }

    /// Takes everything out, in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Handle> + '_ {
        let drained = std::iter::from_fn(|| self.pop()).collect::<Vec<Handle>>();
        *self = Self::new();
        drained.into_iter()
    }
}

impl PartialEq for TimedItem {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for TimedItem {}

impl PartialOrd for TimedItem {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TimedItem {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_earliest_come_first_and_equal_ones_in_the_order_of_insertion() {
        let mut queue = TimedQueue::new();
        for (at, number) in [(5, 0), (3, 1), (5, 2), (4, 3), (3, 4)] {
            queue.insert(Instant::from_nanos(at), Handle::from_index(number));
        }
        assert_eq!(queue.first(), Instant::from_nanos(3));
        let order: Vec<usize> = std::iter::from_fn(|| queue.pop()).map(Handle::index).collect();
        assert_eq!(order, [1, 4, 3, 0, 2]);
        assert_eq!(queue.first(), Instant::NEVER);
    }

    proptest! {
        #[test]
        fn packets_leave_as_a_stable_sort_by_time_would_have_them(
            steps in proptest::collection::vec((0_u64..30, any::<bool>()), 1..200),
        ) {
            let (mut queue, mut sorted) = (TimedQueue::new(), Vec::<(u64, u32)>::new());
            let mut earliest = 0;
            for (number, (delay, pops)) in steps.into_iter().enumerate() {
                let at = earliest + delay;
                queue.insert(Instant::from_nanos(at), Handle::from_index(number as u32));
                sorted.push((at, number as u32));
                sorted.sort_by_key(|(at, _)| *at);
                if pops {
                    let (first, number) = sorted.remove(0);
                    earliest = first;
                    prop_assert_eq!(queue.pop(), Some(Handle::from_index(number)));
                }
                let first = sorted.first().map_or(Instant::NEVER, |(at, _)| Instant::from_nanos(*at));
                prop_assert_eq!(queue.first(), first);
            }
        }
    }
}

//! The packets that wait for one user, and the transport block that is under way to it.
//!
//! A block carries the first bytes that wait, whole packets or parts. They stay in the queue until the block has got
//! through, so that nothing need be put back after an error.

use std::collections::VecDeque;

use link::compression::CompressedPacket;
use units::{Bytes, Duration, Instant};

/// A user's queue.
#[derive(Debug)]
pub(crate) struct UserQueue<P> {
    waiting: VecDeque<Waiting<P>>,
    bytes: Bytes,
    /// Arrival of the oldest packet, while one waits: read in every TTI, and closer in memory than the packet itself.
    oldest: Instant,
}

/// A packet that waits, whole or in part.
#[derive(Debug)]
pub(crate) struct Waiting<P> {
    pub packet: P,
    pub arrived: Instant,
    /// Its headers on the channel, if they are compressed.
    pub compressed: Option<Box<CompressedPacket>>,
    /// Bytes that have not got through yet.
    pub left: Bytes,
    /// Blocks that carried any of it, repetitions counted.
    pub blocks: u32,
}

impl<P> UserQueue<P> {
    pub(crate) const fn new() -> Self {
        Self { waiting: VecDeque::new(), bytes: Bytes::ZERO, oldest: Instant::START }
    }

    pub(crate) fn push(
        &mut self,
        now: Instant,
        packet: P,
        size: Bytes,
        compressed: Option<Box<CompressedPacket>>,
    ) {
        self.bytes += size;
        if self.waiting.is_empty() {
            self.oldest = now;
        }
        self.waiting.push_back(Waiting { packet, arrived: now, compressed, left: size, blocks: 0 });
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes that have not got through yet.
    pub(crate) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Age of the oldest packet.
    pub(crate) fn delay(&self, now: Instant) -> Duration {
        if self.is_empty() { Duration::ZERO } else { now - self.oldest }
    }

    /// The packets of which a block with `bytes` bytes carries a part.
    pub(crate) fn carried(&mut self, mut bytes: Bytes) -> impl Iterator<Item = &mut Waiting<P>> {
        self.waiting.iter_mut().take_while(move |waiting| {
            let takes = !bytes.is_zero();
            bytes = bytes.saturating_sub(waiting.left);
            takes
        })
    }

    /// A block with `bytes` bytes was received: returns the next packet that it completes, until there is none.
    pub(crate) fn complete(&mut self, bytes: &mut Bytes) -> Option<Waiting<P>> {
        let oldest = self.waiting.front_mut()?;
        let taken = oldest.left.min(*bytes);
        *bytes = bytes.saturating_sub(taken);
        self.bytes = self.bytes.saturating_sub(taken);
        oldest.left = oldest.left.saturating_sub(taken);
        if oldest.left.is_zero() { self.pop() } else { None }
    }

    /// The oldest packet, whole or not.
    pub(crate) fn pop(&mut self) -> Option<Waiting<P>> {
        let oldest = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(oldest.left);
        self.oldest = self.waiting.front().map_or(Instant::START, |next| next.arrived);
        Some(oldest)
    }

    /// The oldest packet, if it has waited longer than `budget`.
    pub(crate) fn expire(&mut self, now: Instant, budget: Duration) -> Option<Waiting<P>> {
        if self.delay(now) <= budget {
            return None;
        }
        self.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> UserQueue<char> {
        let mut queue = UserQueue::new();
        for (at, packet, size) in [(0, 'a', 100), (5, 'b', 50), (9, 'c', 400)] {
            queue.push(Instant::START + Duration::from_millis(at), packet, Bytes(size), None);
        }
        queue
    }

    fn completed(queue: &mut UserQueue<char>, bytes: u64) -> Vec<char> {
        let mut left = Bytes(bytes);
        std::iter::from_fn(|| queue.complete(&mut left)).map(|waiting| waiting.packet).collect()
    }

    #[test]
    fn a_block_completes_whole_packets_and_begins_the_next() {
        let mut queue = queue();
        assert_eq!(queue.carried(Bytes(160)).map(|waiting| waiting.packet).collect::<String>(), "abc");
        assert_eq!(completed(&mut queue, 160), ['a', 'b']);
        assert_eq!(queue.bytes(), Bytes(390));
        assert_eq!(completed(&mut queue, 389), []);
        assert_eq!(completed(&mut queue, 20), ['c']);
        assert!(queue.is_empty() && queue.bytes().is_zero());
    }

    #[test]
    fn packets_expire_when_they_are_older_than_the_budget_and_not_before() {
        let mut queue = queue();
        let (now, budget) = (Instant::START + Duration::from_millis(45), Duration::from_millis(40));
        assert_eq!(queue.delay(now), Duration::from_millis(45));
        assert_eq!(queue.expire(now, budget).map(|waiting| waiting.packet), Some('a'));
        assert!(queue.expire(now, budget).is_none(), "the second is 40 ms old");
        assert_eq!(queue.bytes(), Bytes(450));
    }
}

//! A classful queue: sub-queues and the scheduler that serves them.

use units::{Bytes, Instant};

use super::fifo::QueuedPacket;
use super::policy::{Arrival, Decision};
use super::scheduler::{Keys, Scheduler};
use super::sub_queue::SubQueue;

#[derive(Debug)]
pub(super) struct ClassfulQueue {
    sub_queues: Vec<SubQueue>,
    scheduler: Box<dyn Scheduler>,
    /// The sub-queue of the packet that arrived last.
    arriving: usize,
    /// The sub-queue that is served next, where the scheduler was asked since anything changed.
    next: Option<usize>,
}

impl ClassfulQueue {
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self { sub_queues: Vec::new(), scheduler, arriving: 0, next: None }
    }

    /// A packet arrives: it is classified. All that follows until the next arrival is about its sub-queue.
    pub(super) fn classify(&mut self, keys: &Keys) {
        self.arriving = self.scheduler.classify(keys);
        while self.sub_queues.len() <= self.arriving {
            self.sub_queues.push(SubQueue::new(self.scheduler.policy(self.sub_queues.len())));
        }
    }

    /// Whether the packet that arrived last fits into its sub-queue.
    pub(super) fn has_room(&self, size: Bytes) -> bool {
        self.scheduler.has_room(&self.sub_queues[self.arriving], size)
    }

    /// The decision of its sub-queue's policy on the packet that arrived last.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival) -> Decision {
        let sub_queue = &self.sub_queues[self.arriving];
        let (queued, queued_bytes) = (sub_queue.len(), sub_queue.bytes());
        let arrival = Arrival { queued, queued_bytes, ..*arrival };
        self.scheduler.on_arrival(&mut self.sub_queues, self.arriving, &arrival)
    }

    /// The packet that arrived last waits in its sub-queue.
    pub(super) fn push(&mut self, packet: QueuedPacket) {
        self.sub_queues[self.arriving].push(packet);
        self.scheduler.on_queued(self.arriving);
        self.next = None;
    }

    /// Takes out a packet that the last pushed one makes redundant, if there is one.
    pub(super) fn take_superseded(&mut self) -> Option<QueuedPacket> {
        let place = self.scheduler.superseded(self.arriving)?;
        self.next = None;
        self.sub_queues[self.arriving].remove(place)
    }

    /// The packet that leaves next; called only while packets wait.
    pub(super) fn head(&mut self, now: Instant) -> Option<&QueuedPacket> {
        let next = self.next(now)?;
        self.sub_queues[next].head()
    }

    fn next(&mut self, now: Instant) -> Option<usize> {
        if self.next.is_none() {
            self.next = self.scheduler.next(&self.sub_queues, now);
        }
        self.next
    }

    /// Time at which the next packet may leave, if the scheduler shapes.
    pub(super) fn ready_at(&self) -> Option<Instant> {
        self.scheduler.ready_at()
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<(QueuedPacket, Decision)> {
        let next = self.next(now)?;
        self.next = None;
        let (head, departure) = self.sub_queues[next].take_head(now)?;
        let decision = self.scheduler.on_departure(&mut self.sub_queues, next, &departure);
        if !matches!(decision, Decision::Drop(_)) {
            self.scheduler.on_served(next, head.size);
        }
        Some((head, decision))
    }

    /// Removes packets to make room, if the scheduler names a sub-queue for that.
    pub(super) fn evict(&mut self, now: Instant, evicted: &mut Vec<QueuedPacket>) {
        let Some((number, most)) = self.scheduler.victims(&self.sub_queues, self.arriving) else { return };
        self.next = None;
        for _ in 0..most {
            let Some(removed) = self.sub_queues[number].remove_head(now) else { return };
            self.scheduler.on_removed(number);
            evicted.push(removed);
        }
    }

    /// The sub-queue with the packet that has waited longest, and when that arrived.
    pub(super) fn oldest(&self) -> Option<(Instant, usize)> {
        let heads = self.sub_queues.iter().enumerate();
        heads.filter_map(|(number, queue)| Some((queue.head()?.arrived, number))).min()
    }

    pub(super) fn remove_oldest(&mut self, now: Instant) -> Option<QueuedPacket> {
        let (_, number) = self.oldest()?;
        self.next = None;
        let removed = self.sub_queues[number].remove_head(now)?;
        self.scheduler.on_removed(number);
        Some(removed)
    }
}

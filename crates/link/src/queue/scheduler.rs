//! Several lanes in one queue: who belongs where, and whose turn it is.

use std::fmt::Debug;

use units::{Bytes, Instant};

use super::lane::{Lane, Waiting};
use super::{Arrival, Policy, Verdict};

/// By what packets are told apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keys {
    /// Which flow it belongs to.
    pub flow: u64,
    /// The host that sent it.
    pub source: u64,
    /// The host that it is for.
    pub destination: u64,
    /// Its traffic class, 0 the lowest.
    pub class: u8,
}

/// Serves lanes by turns.
///
/// Order of calls for a packet: [`lane_of`](Self::lane_of) on arrival,
/// [`on_queued`](Self::on_queued) once it waits; [`next`](Self::next) as often as anybody asks, then
/// [`on_served`](Self::on_served) when the head of that lane leaves and is not dropped.
pub trait Scheduler: Debug + Send {
    /// The lane of a packet. Lanes up to it are made as they are needed.
    fn lane_of(&mut self, keys: &Keys) -> usize;

    /// The policy of the lane of this number, which is made.
    fn policy(&self, lane: usize) -> Box<dyn Policy>;

    /// Whether a packet of this size fits into its lane, whatever the limits of the whole.
    fn has_room(&self, _lane: &Lane, _size: Bytes) -> bool {
        true
    }

    /// A packet waits in this lane.
    fn on_queued(&mut self, _lane: usize) {}

    /// Whose head leaves next, of those lanes where somebody waits. Asked only while somebody does.
    fn next(&mut self, lanes: &[Lane]) -> Option<usize>;

    /// A packet of this size has left this lane.
    fn on_served(&mut self, lane: usize, size: Bytes);

    /// From which lane packets are dropped to make room for one that comes to the lane `arriving`, and how many at
    /// most; without one, it is the arriving packet that is dropped.
    fn victims(&self, _lanes: &[Lane], _arriving: usize) -> Option<(usize, u32)> {
        None
    }
}

/// The lanes and who serves them.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    scheduler: Box<dyn Scheduler>,
    len: u32,
    bytes: Bytes,
    /// The lane of the packet that was judged last.
    judged: usize,
}

impl Lanes {
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self { lanes: Vec::new(), scheduler, len: 0, bytes: Bytes::ZERO, judged: 0 }
    }

    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    pub(super) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(super) fn on_arrival(&mut self, arrival: &Arrival, keys: &Keys) -> Verdict {
        let lane = self.scheduler.lane_of(keys);
        while self.lanes.len() <= lane {
            self.lanes.push(Lane::new(self.scheduler.policy(self.lanes.len())));
        }
        self.judged = lane;
        let lane = &mut self.lanes[lane];
        lane.on_arrival(&Arrival { waiting: lane.len(), waiting_bytes: lane.bytes(), ..*arrival })
    }

    /// Whether the packet that was judged last fits into its lane.
    pub(super) fn has_room(&self, size: Bytes) -> bool {
        self.scheduler.has_room(&self.lanes[self.judged], size)
    }

    /// The packet that was judged last waits in its lane.
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.len += 1;
        self.bytes += waiting.size;
        self.lanes[self.judged].push(waiting);
        self.scheduler.on_queued(self.judged);
    }

    pub(super) fn next_size(&mut self) -> Option<Bytes> {
        let lane = self.next()?;
        self.lanes[lane].head().map(|head| head.size)
    }

    fn next(&mut self) -> Option<usize> {
        if self.len == 0 { None } else { self.scheduler.next(&self.lanes) }
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<(Waiting, Verdict)> {
        let lane = self.next()?;
        let (head, verdict) = self.lanes[lane].pop(now)?;
        self.forget(&head);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.scheduler.on_served(lane, head.size);
        }
        Some((head, verdict))
    }

    /// Takes packets away to make room, if the scheduler has some for that.
    pub(super) fn evict(&mut self, now: Instant, evicted: &mut Vec<Waiting>) {
        let Some((lane, most)) = self.scheduler.victims(&self.lanes, self.judged) else { return };
        for _ in 0..most {
            let Some(head) = self.lanes[lane].remove_head(now) else { return };
            self.forget(&head);
            evicted.push(head);
        }
    }

    /// The lane in which somebody has been waiting longest, and since when.
    pub(super) fn oldest(&self) -> Option<(Instant, usize)> {
        let heads = self.lanes.iter().enumerate();
        heads.filter_map(|(lane, fifo)| Some((fifo.head()?.since, lane))).min()
    }

    pub(super) fn remove_oldest(&mut self, now: Instant) -> Option<Waiting> {
        let (_, lane) = self.oldest()?;
        let head = self.lanes[lane].remove_head(now)?;
        self.forget(&head);
        Some(head)
    }

    fn forget(&mut self, head: &Waiting) {
        self.len -= 1;
        self.bytes -= head.size;
    }
}

/// Turns of several packets: each lane in which somebody waits is served as many as its weight, then
/// the next. What a lane does not use of its turn is lost.
#[derive(Debug, Default)]
pub(super) struct Turns {
    lane: usize,
    left: u32,
}

impl Turns {
    /// The lane whose turn it is.
    pub(super) fn next(&mut self, lanes: &[Lane], weight: impl Fn(usize) -> u32) -> Option<usize> {
        if self.left > 0 && lanes.get(self.lane).is_some_and(|lane| !lane.is_empty()) {
            return Some(self.lane);
        }
        let after = (1..=lanes.len()).map(|step| (self.lane + step) % lanes.len());
        let next = after.into_iter().find(|lane| !lanes[*lane].is_empty())?;
        (self.lane, self.left) = (next, weight(next));
        Some(next)
    }

    /// A packet of the lane whose turn it is was served.
    pub(super) const fn on_served(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

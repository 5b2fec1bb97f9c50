//! Schedulers: into which sub-queues packets are classified, and which of them is served next.

use std::fmt::Debug;

use units::Bytes;

use super::policy::Policy;
use super::sub_queue::SubQueue;

/// The fields by which packets are classified.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keys {
    /// The flow of the packet.
    pub flow: u64,
    /// The host that sent it.
    pub source: u64,
    /// The host that it is for.
    pub destination: u64,
    /// Its traffic class, 0 the lowest.
    pub class: u8,
}

/// Serves several sub-queues, which are numbered from 0.
///
/// Order of calls for a packet: [`classify`](Self::classify) when it arrives,
/// [`on_queued`](Self::on_queued) once it waits; [`next`](Self::next) any number of times, then
/// [`on_served`](Self::on_served) when the head of that sub-queue leaves and is not dropped.
pub trait Scheduler: Debug + Send {
    /// The number of the packet's sub-queue. Sub-queues up to it are made as they are needed.
    fn classify(&mut self, keys: &Keys) -> usize;

    /// The policy of a sub-queue that is made.
    fn policy(&self, sub_queue: usize) -> Box<dyn Policy>;

    /// Whether a packet of this size fits into its sub-queue, whatever the limits of the whole queue.
    fn has_room(&self, _sub_queue: &SubQueue, _size: Bytes) -> bool {
        true
    }

    /// A packet waits in this sub-queue.
    fn on_queued(&mut self, _sub_queue: usize) {}

    /// The sub-queue, not an empty one, whose head leaves next. Called only while packets wait.
    fn next(&mut self, sub_queues: &[SubQueue]) -> Option<usize>;

    /// A packet of this size has left this sub-queue.
    fn on_served(&mut self, sub_queue: usize, size: Bytes);

    /// The sub-queue from which packets are dropped to make room for one that arrives at the sub-queue `arriving`,
    /// and at most how many; none if the arriving packet is the one to drop.
    fn victims(&self, _sub_queues: &[SubQueue], _arriving: usize) -> Option<(usize, u32)> {
        None
    }
}

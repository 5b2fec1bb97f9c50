//! Priority: waiting packets of the highest traffic class leave first, however long the others have waited. All classes
//! share the queue's limit. At the limit, an arriving packet replaces the oldest packet of the lowest waiting class; if
//! that class is not below its own, the arriving packet is dropped.

use units::{Bytes, Instant, Stream};

use super::{Entry, Keys, Policy, QueueParameters, Scheduler, Service, SubQueue, tail_drop};

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "priority",
    "the highest traffic class first, each class in order",
    "RFC 2474 §4.2.2 (class selectors)",
);

registry::no_parameters!();

impl QueueParameters for Parameters {
    fn service(&self, _: Stream) -> Service {
        Priority::by(|keys| usize::from(keys.class))
    }
}

/// A sub-queue for each class, the highest first.
#[derive(Debug)]
pub(super) struct Priority {
    class: fn(&Keys) -> usize,
}

impl Priority {
    /// The service that goes by this class of a packet.
    pub(super) fn by(class: fn(&Keys) -> usize) -> Service {
        Service::Classful(Box::new(Self { class }))
    }
}

impl Scheduler for Priority {
    fn classify(&mut self, keys: &Keys) -> usize {
        (self.class)(keys)
    }

    fn policy(&self, _: usize) -> Box<dyn Policy> {
        tail_drop::policy()
    }

    fn next(&mut self, sub_queues: &[SubQueue], _: Instant) -> Option<usize> {
        sub_queues.iter().rposition(|queue| !queue.is_empty())
    }

    fn on_served(&mut self, _: usize, _: Bytes) {}

    fn victims(&self, sub_queues: &[SubQueue], arriving: usize) -> Option<(usize, u32)> {
        let lowest = sub_queues.iter().position(|queue| !queue.is_empty())?;
        (lowest < arriving).then_some((lowest, 1))
    }
}

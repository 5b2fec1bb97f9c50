//! Priority: waiting packets of the highest traffic class leave first, however long the others have waited. All classes
//! share the queue's limit. At the limit, an arriving packet replaces the oldest packet of the lowest waiting class; if
//! that class is not below its own, the arriving packet is dropped.

use units::{Bytes, Instant, Stream};

use super::{Entry, Keys, Policy, Scheduler, Service, Setting, SubQueue, tail_drop};

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "priority",
    summary: "the highest traffic class first, each class in order",
    example: "\"priority\"",
    source: "RFC 2474 §4.2.2 (class selectors)",
};

crate::no_parameters!();

impl Setting for Parameters {
    fn service(&self, _: Stream) -> Service {
        Service::Classful(Box::new(Priority))
    }
}

/// A sub-queue for each class.
#[derive(Debug)]
struct Priority;

impl Scheduler for Priority {
    fn classify(&mut self, keys: &Keys) -> usize {
        usize::from(keys.class)
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

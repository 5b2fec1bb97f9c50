//! ACKs before data: waiting packets that are only an ACK of TCP leave before all others, as on a narrow way back that
//! data of the other direction fill. Both share the queue's limit; at the limit, an arriving ACK replaces the oldest
//! waiting packet that is none.

use units::{Bytes, Instant, Stream};

use super::{Entry, Keys, Policy, QueueParameters, Scheduler, Service, SubQueue, tail_drop};

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "acks-first",
    "ACKs of TCP without data before all other packets, each in order",
    "RFC 3449 §5.4.2 (ACKs-first scheduling)",
);

registry::no_parameters!();

impl QueueParameters for Parameters {
    fn service(&self, _: Stream) -> Service {
        Service::Classful(Box::new(AcksFirst))
    }
}

/// A sub-queue of ACKs, and one of all other packets.
#[derive(Debug)]
struct AcksFirst;

impl Scheduler for AcksFirst {
    fn classify(&mut self, keys: &Keys) -> usize {
        if keys.is_ack { ACKS } else { OTHERS }
    }

    fn policy(&self, _: usize) -> Box<dyn Policy> {
        tail_drop::policy()
    }

    fn next(&mut self, sub_queues: &[SubQueue], _: Instant) -> Option<usize> {
        sub_queues.iter().rposition(|queue| !queue.is_empty())
    }

    fn on_served(&mut self, _: usize, _: Bytes) {}

    fn victims(&self, sub_queues: &[SubQueue], arriving: usize) -> Option<(usize, u32)> {
        (arriving == ACKS && !sub_queues[OTHERS].is_empty()).then_some((OTHERS, 1))
    }
}

/// The numbers of the sub-queues: the highest leaves first.
const OTHERS: usize = 0;
const ACKS: usize = 1;

//! Tail drop: a packet that finds the queue at its limit is dropped. The limit is the queue's own, so the policy lets
//! every packet pass.

use units::Stream;

use super::{Arrival, Decision, Entry, Policy, QueueParameters, Service, Victim};

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "tail-drop",
    "first in, first out; a packet that finds the queue at its limit is dropped",
    "RFC 7567 §3",
);

registry::no_parameters!();

impl QueueParameters for Parameters {
    fn service(&self, _: Stream) -> Service {
        Service::Plain(Victim::Arriving)
    }
}

/// The policy that lets every packet pass.
pub(super) fn policy() -> Box<dyn Policy> {
    Box::new(TailDrop)
}

#[derive(Debug)]
struct TailDrop;

impl Policy for TailDrop {
    fn on_arrival(&mut self, _: &Arrival) -> Decision {
        Decision::Pass
    }
}

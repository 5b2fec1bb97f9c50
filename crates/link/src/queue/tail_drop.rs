//! Tail drop: a packet that finds the queue at its limit is dropped. The limit is the queue's own, so the policy lets
//! every packet pass.

use units::Stream;

use super::{Arrival, Decision, Entry, Policy, Service, Setting, Victim};

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "tail-drop",
    summary: "first in, first out; a packet that finds the queue at its limit is dropped",
    example: "\"tail-drop\"",
    source: "RFC 7567 §3",
};

crate::no_parameters!();

impl Setting for Parameters {
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

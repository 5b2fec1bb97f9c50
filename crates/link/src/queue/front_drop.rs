//! Front drop: where a packet finds no room, the oldest one is dropped in its place. The sender learns of the
//! congestion one queueing delay earlier than with tail drop (Lakshman, Neidhardt and Ott 1996, "The
//! drop from front strategy in TCP and in TCP over ATM").

use units::Stream;

use super::{Entry, QueueParameters, Service, Victim};

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "front-drop",
    "first in, first out; at its limit the queue drops the oldest packets until the new one fits",
    "Lakshman, Neidhardt and Ott 1996; RFC 7567 §3",
);

registry::no_parameters!();

impl QueueParameters for Parameters {
    fn service(&self, _: Stream) -> Service {
        Service::Plain(Victim::Oldest)
    }
}

//! Front drop: where a packet finds no room, the oldest one is dropped in its place. The sender learns of the
//! congestion one queueing delay earlier than with tail drop (Lakshman, Neidhardt and Ott 1996, "The
//! drop from front strategy in TCP and in TCP over ATM").

use units::Stream;

use super::{Entry, Service, Setting, Victim};

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "front-drop",
    summary: "first in, first out; at its limit the queue drops the oldest packets until the new one fits",
    example: "\"front-drop\"",
    source: "Lakshman, Neidhardt and Ott 1996; RFC 7567 §3",
};

crate::no_parameters!();

impl Setting for Parameters {
    fn service(&self, _: Stream) -> Service {
        Service::Plain(Victim::Oldest)
    }
}

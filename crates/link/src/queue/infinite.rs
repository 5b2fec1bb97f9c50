//! Infinite: drops no packet. A limit beside it is refused, as it would have no effect.

use units::Stream;

use super::{Entry, Service, Setting, Victim};

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "infinite",
    summary: "first in, first out, without limit",
    example: "\"infinite\"",
    source: "the dedicated buffer of an analysis",
};

crate::no_parameters!();

impl Setting for Parameters {
    fn service(&self, _: Stream) -> Service {
        Service::Plain(Victim::Arriving)
    }

    fn is_unlimited(&self) -> bool {
        true
    }
}

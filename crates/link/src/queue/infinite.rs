//! Infinite: drops no packet. A limit with it is refused, as it would have no effect.

use units::Stream;

use super::{Entry, QueueParameters, Service, Victim};

/// The registry's line.
pub const ENTRY: Entry =
    Entry::new("infinite", "first in, first out, without limit", "the dedicated buffer of an analysis");

registry::no_parameters!();

impl QueueParameters for Parameters {
    fn service(&self, _: Stream) -> Service {
        Service::Plain(Victim::Arriving)
    }

    fn is_unlimited(&self) -> bool {
        true
    }
}

//! ACKs before data: waiting packets that are only an ACK of TCP leave before all others, as on a narrow way back that
//! data of the other direction fill. Both share the queue's limit; at the limit, an arriving ACK replaces the oldest
//! waiting packet that is none.

use units::Stream;

use super::priority::Priority;
use super::{Entry, QueueParameters, Service};

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "acks-first",
    "ACKs of TCP without data before all other packets, each in order",
    "RFC 3449 §5.4.2 (ACKs-first scheduling)",
);

registry::no_parameters!();

impl QueueParameters for Parameters {
    fn service(&self, _: Stream) -> Service {
        Priority::by(|keys| usize::from(keys.is_ack))
    }
}

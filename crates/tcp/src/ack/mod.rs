//! When the receiver acknowledges.
//!
//! A policy sees each segment with data that arrives and says how long its acknowledgment may wait. The
//! endpoint does the rest: any segment that goes out carries the acknowledgment and ends the wait.

mod delayed;
mod every_segment;
mod linux_2000;

use units::{Bytes, Duration, Instant};

use crate::reassembly::Arrival;
use crate::registry::Entry;

/// The policies that there are.
pub const ENTRIES: &[Entry<dyn AckPolicy>] = &[every_segment::ENTRY, delayed::ENTRY, linux_2000::ENTRY];

/// Decides when to acknowledge.
pub trait AckPolicy: std::fmt::Debug + Send {
    /// A segment with data arrived.
    fn on_data(&mut self, data: &Data) -> When;

    /// An acknowledgment went out, alone or with data.
    fn on_ack_sent(&mut self);
}

/// A segment with data, as the policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// When it came.
    pub now: Instant,
    /// How many bytes it brought.
    pub len: Bytes,
    /// What it did to the stream.
    pub arrival: Arrival,
    /// Whether something still waits behind a gap.
    pub gap: bool,
    /// The largest segment that the peer has sent so far: what "full-sized" means here.
    pub full: Bytes,
}

/// How long an acknowledgment may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Not at all.
    Now,
    /// At most so long, counted from now; a wait that already runs is not made longer.
    Within(Duration),
}

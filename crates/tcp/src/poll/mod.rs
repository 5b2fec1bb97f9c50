//! Which segments ask for an acknowledgment.
//!
//! A receiver that acknowledges rarely does not know the sender's window, and so cannot keep enough ACKs
//! in it. Here the sender says which segments it wants acknowledged, by a bit in the header
//! ([`wire::Flags::POLL`]), and the receiver (`ack/polled.rs`) does as it is told (Landström 2008 §6.3).
//! Both ends must understand it: they tell each other on their SYNs.

mod none;
mod nth;
mod per_window;

use units::{Bytes, Seq};

use crate::registry::Entry;

/// The policies that there are.
pub const ENTRIES: &[Entry<dyn Poll>] = &[none::ENTRY, nth::ENTRY, per_window::ENTRY];

/// Chooses the segments that ask.
pub trait Poll: std::fmt::Debug + Send {
    /// Whether this segment, which goes out now, asks.
    fn asks(&mut self, outgoing: &Outgoing) -> bool;

    /// Whether it ever asks, and so has to tell the peer on the SYN.
    fn is_on(&self) -> bool {
        true
    }

    /// Whether the sender goes by the acknowledgment fixes of Landström 2008 §6.4.3: see `polling.rs`.
    fn fixes(&self) -> bool {
        false
    }
}

/// For a connection whose peer does not answer polls.
#[must_use]
pub fn unanswered() -> Box<dyn Poll> {
    Box::new(none::Silent)
}

/// A segment with data that goes out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Its data.
    pub len: Bytes,
    /// Its end.
    pub end: Seq,
    /// The window that steers the sender: the lesser of cwnd and the peer's.
    pub window: Bytes,
    /// The segment size.
    pub smss: Bytes,
    /// Whether it is sent again.
    pub again: bool,
    /// Whether nothing more follows it now, for lack of data.
    pub last: bool,
}

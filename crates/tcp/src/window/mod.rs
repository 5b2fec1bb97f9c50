//! What window the receiver advertises.
//!
//! A policy names the room that it would offer; the endpoint then sees to it that the right edge of the
//! window never moves left and never moves by silly amounts (RFC 9293 §3.8.6.2.2).

mod fixed;
mod linux;

use units::Bytes;

use crate::registry::Entry;

/// The policies that there are.
pub const ENTRIES: &[Entry<dyn Window>] = &[fixed::ENTRY, linux::ENTRY];

/// Sizes the advertised window.
pub trait Window: std::fmt::Debug + Send {
    /// Room to offer while the buffer holds so much.
    fn room(&self, held: &Held) -> Bytes;

    /// The most that the policy will ever offer: it decides the window scale (RFC 7323 §2.3).
    fn greatest(&self) -> Bytes;
}

/// What the receive buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Bytes in order that the user has not read.
    pub unread: Bytes,
    /// Bytes that wait behind a gap.
    pub out_of_order: Bytes,
}

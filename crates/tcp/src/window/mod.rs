//! What window the receiver advertises.
//!
//! A policy names the room that it would offer; the endpoint then sees to it that the right edge of the
//! window never moves left and never moves by silly amounts (RFC 9293 §3.8.6.2.2).

use std::sync::Arc;

use units::{Bytes, Instant};

pub use shared::{Over, Pool};

use registry::algorithms;

algorithms! {
    /// The policies for the advertised window.
    dyn Window in "window", a "advertised window":
    fixed,
    linux,
    right_sizing,
    shared,
}

/// Sizes the advertised window.
pub trait Window: std::fmt::Debug + Send {
    /// Room to offer while the buffer holds so much.
    fn room(&mut self, held: &Held) -> Bytes;

    /// The most that the policy will ever offer: it decides the window scale (RFC 7323 §2.3).
    fn greatest(&self) -> Bytes;

    /// Whether it is told of data that arrive ([`Window::on_data`]).
    fn observes_data(&self) -> bool {
        false
    }

    /// Data have arrived, before they are acknowledged; whether more will be offered for it.
    fn on_data(&mut self, _arrived: &Arrived) -> bool {
        false
    }

    /// With which other connections it wants to share a [`Pool`], if with any.
    fn sharing(&self) -> Option<Over> {
        None
    }

    /// The pool that it shares.
    fn join(&mut self, _pool: &Arc<Pool>) {}

    /// The peer's SYN has come: from now on it offers.
    fn enter(&mut self) {}

    /// The peer's stream has ended, or the connection has.
    fn leave(&mut self) {}
}

/// Data that have arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// When.
    pub now: Instant,
    /// How many bytes.
    pub len: Bytes,
    /// Bytes in order since the connection began, with these.
    pub received: Bytes,
    /// Of them, those that the user had not read before these came.
    pub unread: Bytes,
    /// Bytes that wait behind a gap.
    pub out_of_order: Bytes,
    /// How far they reach beyond the bytes in order.
    pub behind_gap: Bytes,
    /// Whether they lie behind a gap of which the peer learns by duplicate ACKs alone, as SACK is not agreed: a window that
    /// opens would make something else of them (RFC 5681 §2).
    pub asks_for_duplicate: bool,
    /// The window as the peer knows it.
    pub offered: Bytes,
    /// When we sent the clock that they echo.
    pub echoed: Option<Instant>,
}

/// What the receive buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Bytes in order that the user has not read.
    pub unread: Bytes,
    /// Bytes that wait behind a gap.
    pub out_of_order: Bytes,
}

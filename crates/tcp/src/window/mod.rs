//! The window that the receiver advertises.
//!
//! A policy names the room that it would offer; the endpoint then keeps the right edge of the window from moving left
//! or by silly amounts (RFC 9293 §3.8.6.2.2).

mod packet_memory;
mod pool;

use units::{Bytes, Instant};

pub(crate) use packet_memory::{COLLAPSED, COLLAPSED_MEMORY};
pub use packet_memory::{PacketBuffer, PacketMemory};
pub(crate) use pool::Membership;
pub use pool::{Pool, Shared};
pub use shared::Over;

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
    /// Room to offer while the buffer holds `held`.
    fn room(&mut self, held: &Held) -> Bytes;

    /// The most that the policy will ever offer: it decides the window scale (RFC 7323 §2.3).
    fn greatest(&self) -> Bytes;

    /// The size of segments is agreed.
    fn on_agreed(&mut self, _segment: Bytes) {}

    /// Data have arrived and are not acknowledged yet; returns whether more will be offered for them. Called only where
    /// [`observes_data`](Traits::observes_data).
    fn on_data(&mut self, _arrived: &Arrived) -> bool {
        false
    }

    /// The buffer, where [`packets`](Traits::packets) take memory in it.
    fn buffer(&self) -> Option<PacketBuffer> {
        None
    }

    /// The user sets the size of the buffer, which does not grow any more (`SO_RCVBUF`).
    fn resize(&mut self, _size: Bytes) {}

    /// A packet finds no memory in addition to what the buffer holds: the buffer may grow.
    fn on_overrun(&mut self, _held: &Held) {}

    /// The window of a SYN, from an end that announces `mss`.
    fn on_syn(&mut self, _mss: Bytes) -> Bytes {
        self.room(&Held::default())
    }

    /// The constants of the policy with its parameters.
    fn traits(&self) -> Traits {
        Traits::default()
    }
}

/// The constants of a window policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It observes arriving data ([`Window::on_data`]).
    pub observes_data: bool,
    /// The connections with which it shares a [`Pool`].
    pub sharing: Option<Over>,
    /// The memory that packets take in its buffer, where it counts that and not bytes.
    pub packets: Option<PacketMemory>,
    /// The steps by which the right edge moves.
    pub steps: Steps,
}

/// The steps by which the right edge of the window moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steps {
    /// By a segment or half the buffer at least (RFC 9293 §3.8.6.2.2).
    #[default]
    Worthwhile,
    /// As in Linux (`__tcp_select_window`): a scaled window is rounded up to its unit, another one down to segments;
    /// reading is worth an update if it doubles the window (`tcp_cleanup_rbuf`).
    Linux,
}

/// Data that have arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// When.
    pub now: Instant,
    /// Number of bytes.
    pub len: Bytes,
    /// Number of those of a segment: fewer, where the network card has joined several.
    pub segment: Bytes,
    /// Bytes in order since the connection began, with these.
    pub received: Bytes,
    /// The part of it that was unread when this data arrived.
    pub unread: Bytes,
    /// Memory of all that waits, without data that these bring in order.
    pub memory: Bytes,
    /// Extent beyond the bytes in order.
    pub behind_gap: Bytes,
    /// Whether they lie beyond a gap that duplicate ACKs alone report to the peer, as SACK is not agreed: a window
    /// that opens would make something else of them (RFC 5681 §2).
    pub asks_for_duplicate: bool,
    /// The window as the peer knows it.
    pub offered: Bytes,
    /// Time at which we sent the clock that they echo.
    pub echoed: Option<Instant>,
}

/// Contents of the receive buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes in order that the user has not read.
    pub unread: Bytes,
    /// Bytes that wait beyond a gap.
    pub out_of_order: Bytes,
    /// Memory of their packets, where the policy counts it ([`Traits::packets`]).
    pub memory: Bytes,
    /// The state of the pool that the connection shares, where it shares one.
    pub shared: Shared,
}

//! How much the user may have written that is not acknowledged: the socket's send buffer.
//!
//! The endpoint itself takes whatever is written. What lies beyond the buffer is data that a user of a real socket
//! could not have written yet: it is not sent.

use units::Bytes;

use crate::registry::algorithms;

algorithms! {
    /// The policies for the send buffer.
    dyn SendBuffer:
    unlimited,
    fixed,
    auto_tuning,
}

/// Sizes the send buffer.
pub trait SendBuffer: std::fmt::Debug + Send {
    /// How much may be written and not acknowledged; [`Bytes::MAX`] where nothing limits it.
    fn size(&self) -> Bytes;

    /// The handshake is done, or the buffer is full although the congestion window has room: it may grow.
    fn grow(&mut self, _sender: &Sender) {}
}

/// What a send buffer is sized by.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// The congestion window.
    pub cwnd: Bytes,
    /// What it sends at once.
    pub smss: Bytes,
    /// The segment size that it has announced.
    pub mss: Bytes,
    /// How many duplicate ACKs mean a loss.
    pub dupthresh: u32,
}

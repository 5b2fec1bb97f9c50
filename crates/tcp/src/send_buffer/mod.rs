//! The socket's send buffer: the limit of data that are written and not acknowledged.
//!
//! The endpoint itself takes whatever is written. What lies beyond the buffer is data that a user of a real socket
//! could not have written yet: it is not sent.

use units::Bytes;

use registry::algorithms;

algorithms! {
    /// The policies for the send buffer.
    dyn SendBuffer in "send_buffer", a "send buffer":
    unlimited,
    fixed,
    auto_tuning,
}

/// Sizes the send buffer.
pub trait SendBuffer: std::fmt::Debug + Send {
    /// Limit of the data that are written and not acknowledged; [`Bytes::MAX`] where nothing limits it.
    fn size(&self) -> Bytes;

    /// The most data in it, where a program's writes lie in packets of `packet` bytes.
    fn data(&self, _packet: Bytes) -> Bytes {
        self.size()
    }

    /// The handshake is done, or the buffer is full although the congestion window has room: it may grow.
    fn grow(&mut self, _sender: &Sender) {}
}

/// State on which the size of a send buffer depends.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// The congestion window.
    pub cwnd: Bytes,
    /// Amount that it sends at once.
    pub smss: Bytes,
    /// The segment size that it has announced.
    pub mss: Bytes,
    /// Number of duplicate ACKs that indicates a loss.
    pub dupthresh: u32,
}

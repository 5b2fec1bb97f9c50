//! Congestion control: the one owner of cwnd and ssthresh.
//!
//! The endpoint tells it of acknowledged data and of losses; it answers with a window. It knows no
//! sequence numbers, and nothing of what is sent again: that is the recovery algorithm's business.

mod reno;

use units::{Bytes, Instant};

use crate::registry::Entry;

/// The algorithms that there are.
pub const ENTRIES: &[Entry<dyn Congestion>] = &[reno::ENTRY];

/// How the congestion window grows and shrinks.
pub trait Congestion: std::fmt::Debug + Send {
    /// The connection is established: its segment size and its first window are known.
    fn start(&mut self, smss: Bytes, initial_window: Bytes);

    /// New data was acknowledged outside of fast recovery.
    fn on_ack(&mut self, ack: &Growth);

    /// A loss was detected by duplicate or selective ACKs: fast recovery begins.
    fn on_loss(&mut self, loss: &Loss);

    /// The retransmission timer ran out.
    fn on_timeout(&mut self, loss: &Loss);

    /// Fast recovery ended, and the recovery algorithm wants this window.
    fn on_recovery_exit(&mut self, window: Bytes);

    /// The congestion window.
    fn cwnd(&self) -> Bytes;

    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    fn ssthresh(&self) -> Bytes;

    /// Whether the window is below the threshold (RFC 5681 §3.1).
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
}

/// An acknowledgment of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// When it came.
    pub now: Instant,
    /// How much it newly acknowledged.
    pub acked: Bytes,
    /// FlightSize before it.
    pub flight: Bytes,
}

/// A sign of loss, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was detected.
    pub now: Instant,
    /// FlightSize at that time.
    pub flight: Bytes,
    /// Whether the segment that timed out had timed out before (RFC 5681 §3.1: ssthresh is then held).
    pub again: bool,
}

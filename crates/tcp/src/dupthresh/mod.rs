//! How many duplicate ACKs mean a loss.

mod fixed;

use units::Bytes;

use crate::registry::Entry;

/// The policies that there are.
pub const ENTRIES: &[Entry<dyn DupThresh>] = &[fixed::ENTRY];

/// Chooses the threshold.
pub trait DupThresh: std::fmt::Debug + Send {
    /// The number of duplicate ACKs (or of segments SACKed above a hole) that mean a loss now.
    fn segments(&self, view: &View) -> u32;

    /// Segments arrived out of order: what seemed missing came, or had been sent again in vain.
    fn on_reordering(&mut self, _reordering: &Reordering) {}

    /// The retransmission timer ran out.
    fn on_timeout(&mut self) {}
}

/// A gap at the receiver that was closed by nothing but patience.
#[derive(Clone, Copy, Debug)]
pub struct Reordering {
    /// How many duplicate ACKs told of the gap until it was closed.
    pub extent: u32,
    /// Whether the missing segment had been sent again, needlessly.
    pub retransmitted: bool,
    /// The view on the window when it was closed.
    pub view: View,
}

/// What a threshold may depend on.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Sent and not acknowledged.
    pub flight: Bytes,
    /// The congestion window.
    pub cwnd: Bytes,
    /// The window that the peer advertises.
    pub advertised: Bytes,
    /// The segment size.
    pub smss: Bytes,
}

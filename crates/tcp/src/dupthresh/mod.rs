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
}

/// What a threshold may depend on.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Sent and not acknowledged.
    pub flight: Bytes,
    /// The congestion window.
    pub cwnd: Bytes,
    /// The segment size.
    pub smss: Bytes,
}

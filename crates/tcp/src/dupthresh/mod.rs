//! The number of duplicate ACKs that indicates a loss.
//!
//! A threshold above three is reached only if new segments go out while duplicates come: a SACK recovery's
//! pipe sees to that, and the others extend limited transmit where the threshold is not
//! [constant](DupThresh::constant).

use units::{Bytes, Duration};

use registry::algorithms;

algorithms! {
    /// The duplicate thresholds.
    dyn DupThresh in "dupthresh", a "duplicate threshold":
    fixed,
    window_share,
    constant_increase,
    average,
    ewma,
    mean_deviation,
    rr,
    winthresh,
    linux,
}

/// Chooses the threshold.
pub trait DupThresh: std::fmt::Debug + Send {
    /// The number of duplicate ACKs (or of segments SACKed above a hole) that mean a loss now.
    fn segments(&self, view: &View) -> u32;

    /// The threshold, if it never changes. One that may grow needs each duplicate ACK below it to let a new segment
    /// out, beyond the two of RFC 3042.
    fn constant(&self) -> Option<u32> {
        None
    }

    /// Segments arrived out of order: what seemed missing came, or had been sent again in vain.
    fn on_reordering(&mut self, _reordering: &Reordering) {}

    /// SACKs show that a segment arrived after others sent after it, up to `segments` segments beyond it.
    fn on_overtaken(&mut self, _segments: u32) {}

    /// The retransmission timer has expired.
    fn on_timeout(&mut self) {}
}

/// A gap at the receiver that was closed by nothing but patience.
#[derive(Clone, Copy, Debug)]
pub struct Reordering {
    /// Number of duplicate ACKs that reported the gap until it was closed.
    pub extent: u32,
    /// Whether the missing segment had been sent again, needlessly.
    pub retransmitted: bool,
    /// The view on the window when it was closed.
    pub view: View,
}

/// State on which a threshold may depend.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Sent and not acknowledged; while duplicate ACKs come, as it was when the first of them came.
    pub flight: Bytes,
    /// The congestion window.
    pub cwnd: Bytes,
    /// The window that the peer advertises.
    pub advertised: Bytes,
    /// Still to be sent, at the same time as the flight; [`Bytes::MAX`] where no end of it is in sight.
    pub unsent: Bytes,
    /// The segment size.
    pub smss: Bytes,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// Length of the retransmission timer.
    pub rto: Duration,
}

impl View {
    /// A threshold in segments, at least the standard one, and at most nine tenths of the window, beyond
    /// which duplicates may never come (Blanton and Allman 2002).
    fn bounded(&self, segments: u64) -> u32 {
        let most = (self.cwnd * 9 / 10).whole(self.smss).max(STANDARD);
        u32::try_from(segments.clamp(STANDARD, most)).unwrap_or(u32::MAX)
    }
}

/// RFC 5681 §3.2.
const STANDARD: u64 = 3;

#[cfg(test)]
mod tests;

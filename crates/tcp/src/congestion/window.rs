//! cwnd and ssthresh, and the moves on them that algorithms have in common.

use units::Bytes;

use super::reno::Increase;

/// The two windows of a connection.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The segment size.
    pub smss: Bytes,
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    pub ssthresh: Bytes,
}

impl Window {
    /// Before the connection is established.
    pub const UNSET: Self = Self { smss: Bytes::ZERO, cwnd: Bytes::ZERO, ssthresh: Bytes::MAX };

    pub fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        self.cwnd = initial_window;
    }

    /// RFC 5681 equation 2: at most a segment for each ACK.
    pub fn slow_start(&mut self, acked: Bytes) {
        self.cwnd += acked.min(self.smss);
    }

    pub fn is_below_threshold(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// RFC 5681 equation 4: two segments at least; in whole ones, which is ours (`docs/spec/tcp.md`).
    pub fn set_threshold(&mut self, to: Bytes) {
        self.ssthresh = (self.smss * to.whole(self.smss)).max(self.smss * 2);
    }

    /// RFC 5681 §3.1: the loss window, one segment.
    pub fn collapse(&mut self) {
        self.cwnd = self.smss;
    }

    pub fn restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.cwnd = cwnd;
        self.ssthresh = ssthresh;
    }
}

/// Congestion avoidance by α segments in a round trip; α = 1 is RFC 5681.
#[derive(Debug)]
pub(super) struct Avoidance {
    increase: Increase,
    /// Towards the next segment: α times the bytes, or the ACKs, counted so far.
    counted: f64,
}

impl Avoidance {
    pub const fn new(increase: Increase) -> Self {
        Self { increase, counted: 0.0 }
    }

    pub fn grow(&mut self, window: &mut Window, acked: Bytes, alpha: f64) {
        let (smss, cwnd) = (window.smss.0 as f64, window.cwnd.0 as f64);
        // RFC 5681 §3.1: at least one byte.
        let open = |window: &mut Window, acked: Bytes| {
            window.cwnd += Bytes(((alpha * smss * acked.0 as f64 / cwnd + ROUNDING) as u64).max(1));
        };
        match self.increase {
            Increase::PerAck => open(window, window.smss),
            Increase::PerByte => open(window, acked.min(window.cwnd)),
            Increase::PerWindow => self.count(window, alpha * acked.0 as f64, cwnd, alpha),
            Increase::CountAcks => {
                let full = window.cwnd.whole(window.smss) as f64;
                self.count(window, alpha, full, alpha);
            }
        }
    }

    /// One ACK opens the window by no more segments than a round trip does.
    fn count(&mut self, window: &mut Window, step: f64, full: f64, alpha: f64) {
        self.counted += step;
        let segments = (self.counted / full + ROUNDING).min(alpha.max(1.0) + ROUNDING).floor();
        if segments > 0.0 {
            let left = (self.counted - segments * full).max(0.0);
            self.counted = if self.increase == Increase::CountAcks { 0.0 } else { left };
            window.cwnd += window.smss * segments as u64;
        }
    }

    /// A reduction starts the count anew; that of ACKs outlives it, as in the Linux of 2000.
    pub fn on_reduction(&mut self) {
        if self.increase != Increase::CountAcks {
            self.counted = 0.0;
        }
    }

    pub const fn clear(&mut self) {
        self.counted = 0.0;
    }
}

/// What sums of an α like 1/2 that is 3β/(2 − β) may be off; less than one byte in any window.
const ROUNDING: f64 = 1e-9;

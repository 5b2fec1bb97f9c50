//! Congestion avoidance: how the window grows by α segments in a round trip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::window::{Alpha, Window};

/// Counting of congestion avoidance for its α segments per round trip; α = 1 is RFC 5681.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Increase {
    /// SMSS·SMSS/cwnd for each ACK (RFC 5681 equation 3).
    #[default]
    PerAck,
    /// SMSS·acked/cwnd: as equation 3 for each segment that an ACK acknowledges, however few the ACKs, and one
    /// segment at most. The window has fractions of a segment, and so opens later than with `per-window`.
    PerByte,
    /// One segment whenever a whole window of bytes is acknowledged (RFC 3465 §2.1 with L = 1 segment).
    PerWindow,
    /// One segment whenever as many ACKs came as the window has segments. As in the Linux of 2000, a timeout
    /// clears the counter and a fast retransmit does not; that kernel waited for one ACK more than the window has
    /// segments.
    CountAcks,
}

impl Increase {
    /// As Linux counts (`tcp_cong_avoid_ai`): every acknowledged segment, however few the ACKs.
    pub(super) const fn of_linux() -> Self {
        Self::PerByte
    }
}

/// Congestion avoidance with what it has counted towards the next segment.
#[derive(Debug)]
pub(super) struct Avoidance {
    increase: Increase,
    /// α times the bytes, or times the ACKs, counted so far, in units of 2^-20.
    counted: u64,
}

impl Avoidance {
    pub const fn new(increase: Increase) -> Self {
        Self { increase, counted: 0 }
    }

    /// An ACK of `acked` bytes.
    pub fn on_ack(&mut self, window: &mut Window, acked: Bytes, alpha: Alpha) {
        match self.increase {
            Increase::PerAck => window.open_by_part(window.smss, alpha),
            Increase::PerByte => window.open_by_part(acked.min(window.cwnd()), alpha),
            Increase::PerWindow => self.count(window, acked.0, window.cwnd().0, alpha),
            Increase::CountAcks => self.count(window, 1, window.cwnd().whole(window.smss), alpha),
        }
    }

    /// One segment each time that α·counted makes up the whole window; one ACK opens the window by no more than a round
    /// trip does.
    fn count(&mut self, window: &mut Window, step: u64, full: u64, alpha: Alpha) {
        self.counted += alpha.scaled(step);
        let full = Alpha::ONE.scaled(full);
        if self.counted < full {
            return;
        }
        let segments = (self.counted / full).min(alpha.whole().max(1));
        self.counted = if self.increase == Increase::CountAcks { 0 } else { self.counted - segments * full };
        window.open(window.smss * segments);
    }

    /// A reduction starts the count anew; that of ACKs outlives it, as in the Linux of 2000.
    pub fn on_reduction(&mut self) {
        if self.increase != Increase::CountAcks {
            self.counted = 0;
        }
    }

    pub const fn clear(&mut self) {
        self.counted = 0;
    }
}

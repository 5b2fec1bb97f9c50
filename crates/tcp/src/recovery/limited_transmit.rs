//! Limited transmit (RFC 3042): each of the first duplicate ACKs lets a new segment out, beyond the window,
//! so that a small window still draws enough duplicates for a fast retransmit.

use units::Bytes;

use super::{AckEvent, SentEvent};
use crate::scoreboard::Scoreboard;

/// Amount that may be sent beyond the window, and amount that was sent. An algorithm without selective acknowledgments
/// adds the first to its inflation: there the pipe does not shrink by a duplicate ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LimitedTransmit {
    on: bool,
    allowed: Bytes,
    sent: Bytes,
}

/// RFC 3042 §2: outstanding data stays within cwnd and two segments.
const MOST_SEGMENTS: u64 = 2;

impl LimitedTransmit {
    pub(super) const fn new(on: bool) -> Self {
        Self { on, allowed: Bytes::ZERO, sent: Bytes::ZERO }
    }

    /// A duplicate ACK has arrived that means no loss yet. Where the threshold is an adaptive one, each lets a segment
    /// out until it is reached: with two, it never would be.
    pub(super) fn on_duplicate(&mut self, ack: &AckEvent) {
        let most = ack.extended.map_or(MOST_SEGMENTS, |threshold| u64::from(threshold.saturating_sub(1)));
        if (self.on || ack.extended.is_some()) && self.allowed < ack.smss * most {
            self.allowed += ack.smss;
        }
    }

    /// A segment was sent: it is counted if it is new and exceeds the congestion window.
    pub(super) fn on_sent(&mut self, sent: &SentEvent, board: &Scoreboard) {
        if sent.again || self.allowed.is_zero() {
            return;
        }
        if board.get(sent.index).is_some_and(|segment| board.outstanding() > segment.cwnd) {
            self.sent = (self.sent + sent.len).min(self.allowed);
        }
    }

    /// The row of duplicates is over: by new data acknowledged, by a loss found or by a timeout.
    pub(super) fn end(&mut self) {
        (self.allowed, self.sent) = (Bytes::ZERO, Bytes::ZERO);
    }

    /// Amount that may be sent beyond the window.
    pub(super) const fn allowed(&self) -> Bytes {
        self.allowed
    }

    /// Amount that was sent beyond the window, which a reduction does not count (RFC 5681 §3.2 step 2).
    pub(super) const fn sent(&self) -> Bytes {
        self.sent
    }
}

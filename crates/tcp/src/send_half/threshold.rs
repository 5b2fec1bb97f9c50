//! The number of duplicate ACKs that mean a loss, as a connection applies it.

use units::{Bytes, SeqRange};

use crate::dupthresh::{DupThresh, Reordering, View};
use crate::scoreboard::Delivered;

/// The duplicate threshold of a connection.
#[derive(Debug)]
pub(super) struct Threshold {
    policy: Box<dyn DupThresh>,
    /// Its value, where it never changes.
    constant: Option<u32>,
}

impl Threshold {
    pub(super) fn new(policy: Box<dyn DupThresh>) -> Self {
        Self { constant: policy.constant(), policy }
    }

    /// Its value where it never changes.
    #[inline]
    pub(super) const fn constant(&self) -> Option<u32> {
        self.constant
    }

    /// Its value now.
    pub(super) fn segments(&self, view: &View) -> u32 {
        self.policy.segments(view)
    }

    /// An ACK has delivered these segments: one below others that were sent after it was overtaken.
    pub(super) fn on_delivered(&mut self, delivered: &Delivered, smss: Bytes) {
        if let (None, Some(SeqRange { start, .. }), Some(highest)) =
            (self.constant, delivered.overtaken(), delivered.fack)
        {
            let distance = u64::from(highest.since(start)).div_ceil(smss.0);
            self.policy.on_overtaken(u32::try_from(distance).unwrap_or(u32::MAX));
        }
    }

    /// Segments arrived out of order, `reordering.extent` duplicate ACKs long.
    pub(super) fn on_reordering(&mut self, reordering: &Reordering) {
        self.policy.on_reordering(reordering);
    }

    /// The retransmission timer has expired.
    pub(super) fn on_timeout(&mut self) {
        self.policy.on_timeout();
    }
}

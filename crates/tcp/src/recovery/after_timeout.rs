//! Behaviour of a sender after a retransmission timeout.
//!
//! The window is one segment by then (congestion control saw to that), and the first segment goes out
//! again. The styles differ in the rest of what was outstanding (Sarolahti 2000, appendix C).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::AckEvent;
use crate::Cause;
use crate::scoreboard::Scoreboard;

/// Treatment of the rest of the window after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Everything is considered lost and sent again in slow start, before new data (BSD; RFC 5681 §3.1).
    /// Duplicate ACKs release nothing.
    #[default]
    GoBackN,
    /// As go-back-N, but each duplicate ACK counts as a segment that has left the network and lets
    /// another one out, as the Linux of 2000 counts.
    Linux,
    /// A fault that Gurtov 2001 found in FreeBSD: each ACK that advances sends all that is still outstanding
    /// again at once, whatever the window.
    ResendAll,
    /// Only the first segment is taken for lost; each ACK that advances points at the next one. No new
    /// data until all that was outstanding is acknowledged.
    Hold,
    /// Segments that the loss detector considers lost by then, and later (RFC 8985 §6.3, Linux
    /// `tcp_timeout_mark_lost`): the first segment is, others may still arrive. Not for files, as it is a part of such
    /// a detector.
    #[serde(skip)]
    ByDetector,
}

/// The mode after a timeout, while it lasts.
#[derive(Clone, Copy, Debug)]
pub struct AfterTimeout {
    style: Style,
    recover: Option<Seq>,
    /// Bytes that duplicate ACKs say have left the network ([`Style::Linux`] only).
    left: Bytes,
}

impl AfterTimeout {
    /// No timeout yet.
    #[must_use]
    pub const fn new(style: Style) -> Self {
        Self { style, recover: None, left: Bytes::ZERO }
    }

    /// The detector decides which segments are lost.
    #[must_use]
    pub const fn by_detector() -> Self {
        Self::new(Style::ByDetector)
    }

    /// The timer ran out with data up to `nxt` outstanding.
    pub fn on_timeout(&mut self, nxt: Seq, board: &mut Scoreboard) {
        self.recover = Some(nxt);
        self.left = Bytes::ZERO;
        if self.style != Style::ByDetector {
            board.clear_lost();
        }
        match self.style {
            Style::GoBackN | Style::Linux => board.mark_all_lost(),
            Style::ResendAll | Style::Hold => board.mark_lost(0, Cause::Timeout),
            Style::ByDetector => {}
        }
    }

    /// An ACK came; the mode may end with it.
    pub fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) {
        let Some(recover) = self.recover else { return };
        if ack.advances && ack.number.at_or_after(recover) {
            self.recover = None;
            self.left = Bytes::ZERO;
            return;
        }
        match self.style {
            Style::GoBackN | Style::ByDetector => {}
            Style::ResendAll if ack.advances => {
                (0..board.len()).for_each(|index| board.mark_lost(index, Cause::AfterTimeout));
            }
            Style::Linux if ack.advances => {
                self.left = self.left.saturating_sub(ack.acked.saturating_sub(ack.smss));
            }
            Style::Linux if ack.duplicate => self.left += ack.smss,
            Style::Hold if ack.advances && board.front().is_some_and(|first| first.transmissions == 1) => {
                board.mark_lost(0, Cause::AfterTimeout);
            }
            Style::ResendAll | Style::Linux | Style::Hold => {}
        }
    }

    /// End of what was outstanding at the timeout, while the mode lasts.
    #[must_use]
    pub const fn recover(&self) -> Option<Seq> {
        self.recover
    }

    /// Leaves the mode: another reaction takes over.
    pub fn leave(&mut self) {
        self.recover = None;
        self.left = Bytes::ZERO;
    }

    /// Whether what is marked lost goes out whatever the window says: with [`Style::Hold`] the rest of the
    /// flight still fills it, and with [`Style::ResendAll`] nothing is asked.
    #[must_use]
    pub fn forces(&self) -> bool {
        self.recover.is_some() && matches!(self.style, Style::Hold | Style::ResendAll)
    }

    /// Room in the window beyond the one segment after a timeout: the data still in the network, where not everything
    /// is taken for lost (Linux `tcp_enter_loss`).
    #[must_use]
    pub fn window_beyond_one(&self, board: &Scoreboard) -> Bytes {
        if self.style == Style::ByDetector { board.pipe() } else { Bytes::ZERO }
    }

    /// Whether new data may be sent.
    #[must_use]
    pub fn allows_new(&self) -> bool {
        self.recover.is_none() || self.style != Style::Hold
    }

    /// Amount to add to the window.
    #[must_use]
    pub const fn inflation(&self) -> i64 {
        self.left.0.cast_signed()
    }
}

//! The segments that an ACK delivers, as far as their times and their order say something of losses (RFC 8985, RFC
//! 4653).

use units::{Instant, Seq, SeqRange};

use super::sent::Sent;

/// What an ACK delivers, cumulatively or selectively, as far as time and order say something of losses. It is kept
/// while segments are SACKed or were sent again; else an ACK delivers the oldest segments, each sent once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Of the segments that were sent once, the one sent last.
    pub once: Option<Newest>,
    /// Of the segments that were sent more than once, the one sent last.
    pub again: Option<Newest>,
    /// The lowest of the segments that were sent once.
    pub lowest_once: Option<SeqRange>,
    /// End of the highest SACKed segment before the ACK.
    pub fack: Option<Seq>,
}

/// When a delivered segment was last sent, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Its last transmission.
    pub sent: Instant,
    /// The number after it.
    pub end: Seq,
}

impl Delivered {
    /// Nothing.
    pub(super) const NONE: Self = Self { once: None, again: None, lowest_once: None, fack: None };

    /// A segment is delivered that was not SACKed before.
    pub(super) fn count(&mut self, sent: &Sent) {
        if sent.sacked {
            return;
        }
        let this = Newest { sent: sent.last_sent, end: sent.range.end };
        let newest = if sent.transmissions > 1 { &mut self.again } else { &mut self.once };
        *newest = Some(newest.map_or(this, |other| other.max(this)));
        if sent.transmissions == 1 {
            let lowest = self.lowest_once.filter(|lowest| lowest.start.before(sent.range.start));
            self.lowest_once = Some(lowest.unwrap_or(sent.range));
        }
    }

    /// A segment below one that was delivered before it, though neither was sent again: the network has reordered them.
    #[must_use]
    pub fn overtaken(&self) -> Option<SeqRange> {
        let fack = self.fack?;
        self.lowest_once.filter(|lowest| lowest.end.before(fack))
    }
}

impl Newest {
    /// Whether it was sent after a segment that was sent `at` and ends at `end` (`RACK_sent_after()` of RFC 8985 §6.2).
    #[must_use]
    pub fn is_after(&self, at: Instant, end: Seq) -> bool {
        self.sent > at || (self.sent == at && self.end.after(end))
    }

    /// The one that was sent later.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if other.is_after(self.sent, self.end) { other } else { self }
    }
}

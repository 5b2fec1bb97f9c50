//! The segments that an ACK delivers, as far as their times and their order say something of losses (RFC 8985, RFC
//! 4653).

use units::{Instant, Seq, SeqRange};

use super::sent::Sent;

/// Data that an ACK delivers, cumulatively or selectively, as far as time and order indicate losses. It is kept while
/// segments are SACKed or were sent again; else an ACK delivers the oldest segments, each sent once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Of the segments that were sent once, the one sent last.
    pub once: Option<Newest>,
    /// Of the segments that were sent more than once, the one sent last.
    pub again: Option<Newest>,
    /// The lowest of the segments that were sent once.
    pub lowest_once: Option<SeqRange>,
    /// The last segment that was taken into account, and whether it was sent more than once. No SYN: Linux keeps that
    /// of a listener elsewhere, and that of a client is alone.
    pub last: Option<(Newest, bool)>,
    /// End of the highest SACKed segment before the ACK.
    pub fack: Option<Seq>,
}

/// Time of the last transmission of a delivered segment, and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Its last transmission.
    pub sent: Instant,
    /// The number after it.
    pub end: Seq,
}

impl Delivered {
    /// Nothing.
    pub(super) const NONE: Self = Self { once: None, again: None, lowest_once: None, last: None, fack: None };

    /// A segment is delivered that was not SACKed before.
    pub(super) fn count(&mut self, sent: &Sent) {
        if sent.sacked {
            return;
        }
        let this = Newest { sent: sent.last_sent, end: sent.range.end };
        if !sent.syn {
            self.last = Some((this, sent.transmissions > 1));
        }
        let newest = if sent.transmissions > 1 { &mut self.again } else { &mut self.once };
        *newest = Some(newest.map_or(this, |other| other.max(this)));
        if sent.transmissions == 1 {
            let lowest = self.lowest_once.filter(|lowest| lowest.start.before(sent.range.start));
            self.lowest_once = Some(lowest.unwrap_or(sent.range));
        }
    }

    /// A segment was delivered after a higher segment, and neither was retransmitted: the network has reordered them.
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

    /// The segment that was sent later.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if other.is_after(self.sent, self.end) { other } else { self }
    }
}

//! The cause of a retransmission, inferred from the packets at the sender's end.
//!
//! The reasoning, in short: a sender reacts to an acknowledgment at once, whereas a timer expires independently of
//! acknowledgments. A retransmission directly after an arrival is therefore ascribed to the acknowledgments
//! (duplicates, SACK blocks, a partial ACK), and any other one to a timer, unless a loss was known already and the
//! timer cannot have expired yet.

use crate::ledger::causes;

/// The cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Its retransmission timer ran out.
    Timeout,
    /// It followed a segment whose timer expired, or from which Tahoe started again.
    AfterTimeout,
    /// Duplicate ACKs or SACK blocks indicated a loss, and recovery began.
    FastRetransmit,
    /// In recovery, a partial ACK pointed at it (RFC 6582 §3.2).
    PartialAck,
    /// In recovery, SACK blocks showed that it is lost (RFC 6675 §5).
    Scoreboard,
    /// The last segment, sent again to get an answer (RFC 8985 §7).
    TailLossProbe,
    /// A SYN-ACK in answer to another SYN.
    Answer,
    /// Nothing that was seen explains it.
    Unknown,
}

/// Where the sender is between losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SenderPhase {
    /// Nothing is being repaired.
    #[default]
    Open,
    /// Fast recovery, until everything before this position is acknowledged.
    Recovery(u64),
    /// A timer ran out; until everything before this position is acknowledged.
    AfterTimeout(u64),
}

/// Evidence for one cause or another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// It is a SYN.
    pub(super) opening: bool,
    /// Something arrived just before, and was not yet answered with new data: senders repair
    /// first, and send new data then.
    pub(super) prompted: bool,
    /// It is the first segment that is not acknowledged.
    pub(super) head: bool,
    /// An acknowledgment has just advanced to it: its timer has just been restarted (RFC 6298 §5.3).
    pub(super) advanced: bool,
    /// It is the last segment that was sent.
    pub(super) tail: bool,
    /// It has been sent again before in this phase.
    pub(super) resent: bool,
    /// After a timeout, originals were acknowledged and new data was sent: the sender has found its
    /// timeout spurious (RFC 5682 §2).
    pub(super) moved_on: bool,
    /// Duplicate ACKs in a row.
    pub(super) duplicates: u32,
    /// SACK blocks above it are there.
    pub(super) sacked_above: bool,
    /// The last arrival brought a new SACK block.
    pub(super) sack_news: bool,
    /// SACK blocks have come at some time.
    pub(super) sack_seen: bool,
    /// The time since the last transmission is long enough for a timer to have expired.
    pub(super) overdue: bool,
}

impl Cause {
    /// The name in tables, one of the ledger's.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Timeout => causes::TIMEOUT,
            Self::AfterTimeout => causes::AFTER_TIMEOUT,
            Self::FastRetransmit => causes::FAST_RETRANSMIT,
            Self::PartialAck => causes::PARTIAL_ACK,
            Self::Scoreboard => causes::SCOREBOARD,
            Self::TailLossProbe => "tail_loss_probe",
            Self::Answer => "answer",
            Self::Unknown => "unknown",
        }
    }
}

impl Evidence {
    /// The cause that fits best.
    pub(super) fn cause(&self, phase: SenderPhase) -> Cause {
        match (self.opening, self.prompted) {
            (true, true) => Cause::Answer,
            (true, false) => Cause::Timeout,
            (false, true) if self.head => self.prompted_head(phase),
            (false, true) => self.behind_head(phase),
            (false, false) if self.head => self.unprompted_head(phase),
            (false, false) if self.tail && phase == SenderPhase::Open => Cause::TailLossProbe,
            (false, false) => self.behind_head(phase),
        }
    }

    fn prompted_head(&self, phase: SenderPhase) -> Cause {
        match phase {
            SenderPhase::Recovery(_) | SenderPhase::AfterTimeout(_) if self.resent => self.once_more(phase),
            SenderPhase::Recovery(_) if self.sack_seen => Cause::Scoreboard,
            // A sender without SACK does not wait for duplicates after a partial ACK, unless it has
            // left recovery with that ACK: Reno (RFC 5681 §3.2).
            SenderPhase::Recovery(_) if self.duplicates >= DUPTHRESH => Cause::FastRetransmit,
            SenderPhase::Recovery(_) => Cause::PartialAck,
            SenderPhase::AfterTimeout(_) if self.duplicates >= DUPTHRESH => Cause::FastRetransmit,
            SenderPhase::AfterTimeout(_) if self.moved_on && self.sacked_above => Cause::FastRetransmit,
            SenderPhase::AfterTimeout(_) => Cause::AfterTimeout,
            SenderPhase::Open if self.duplicates >= DUPTHRESH || self.sacked_above => Cause::FastRetransmit,
            SenderPhase::Open if self.overdue => Cause::Timeout,
            SenderPhase::Open if self.duplicates > 0 => Cause::FastRetransmit,
            SenderPhase::Open => Cause::Unknown,
        }
    }

    /// The first segment, which this phase has retransmitted already. Without SACK the loss of the copy cannot be
    /// known: the cause is the timer, even if a packet has just arrived. With SACK it may be known (RFC 8985 §6.2).
    fn once_more(&self, phase: SenderPhase) -> Cause {
        match phase {
            _ if !self.advanced && !self.sack_news && (self.overdue || !self.sack_seen) => Cause::Timeout,
            SenderPhase::AfterTimeout(_) => Cause::AfterTimeout,
            _ if self.sack_seen => Cause::Scoreboard,
            _ => Cause::PartialAck,
        }
    }

    fn unprompted_head(&self, phase: SenderPhase) -> Cause {
        let loss_known = self.duplicates >= DUPTHRESH || self.sacked_above;
        match phase {
            _ if self.overdue => Cause::Timeout,
            SenderPhase::Open if self.resent && !self.advanced => Cause::Timeout,
            _ if self.resent => self.once_more(phase),
            // A sender that waits for reordering to resolve (RFC 8985 §6.2), or paces.
            SenderPhase::Open if loss_known => Cause::FastRetransmit,
            SenderPhase::Recovery(_) if loss_known => Cause::Scoreboard,
            SenderPhase::Recovery(_) => Cause::PartialAck,
            SenderPhase::AfterTimeout(_) => Cause::AfterTimeout,
            SenderPhase::Open if self.advanced => Cause::Unknown,
            SenderPhase::Open if self.tail => Cause::TailLossProbe,
            SenderPhase::Open => Cause::Timeout,
        }
    }

    fn behind_head(&self, phase: SenderPhase) -> Cause {
        match phase {
            SenderPhase::AfterTimeout(_) => Cause::AfterTimeout,
            SenderPhase::Recovery(_) if self.sack_seen => Cause::Scoreboard,
            // Only SACK indicates losses after the first segment: this is Tahoe, which goes back as after a timeout.
            SenderPhase::Recovery(_) => Cause::AfterTimeout,
            SenderPhase::Open if self.duplicates > 0 || self.sacked_above => Cause::FastRetransmit,
            SenderPhase::Open => Cause::Unknown,
        }
    }
}

/// RFC 5681 §3.2: three duplicate ACKs indicate a loss.
const DUPTHRESH: u32 = 3;

//! What made a sender send something again, judged by what was seen at its own end.
//!
//! The reasoning, in short: a sender that reacts to an acknowledgment does so at once, a timer does
//! not care when acknowledgments come. So a retransmission right behind an arrival is ascribed to
//! what the acknowledgments said (duplicates, SACK blocks, a partial ACK), and one out of the blue
//! to a timer, unless a loss was known already and the timer cannot have run out yet.

use crate::ledger::causes;

/// What made the sender send something again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Its retransmission timer ran out.
    Timeout,
    /// It lay behind a segment whose timer ran out, or from which Tahoe went back.
    AfterTimeout,
    /// Duplicate ACKs or SACK blocks told of a loss, and recovery began.
    FastRetransmit,
    /// In recovery, a partial ACK pointed at it (RFC 6582 §3.2).
    PartialAck,
    /// In recovery, SACK blocks told that it is lost (RFC 6675 §5).
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
pub(super) enum Phase {
    /// Nothing is being repaired.
    #[default]
    Open,
    /// Fast recovery, until everything before this position is acknowledged.
    Recovery(u64),
    /// A timer ran out; until everything before this position is acknowledged.
    AfterTimeout(u64),
}

/// What speaks for one cause or another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// It is a SYN.
    pub(super) opening: bool,
    /// Something arrived just before, and was not yet answered with new data: senders repair
    /// first, and send new data then.
    pub(super) prompted: bool,
    /// It is the first segment that is not acknowledged.
    pub(super) head: bool,
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
    /// So much time has passed that a timer can have run out.
    pub(super) overdue: bool,
}

impl Cause {
    /// The name in tables, as the ledger knows it.
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
    pub(super) fn cause(&self, phase: Phase) -> Cause {
        match (self.opening, self.prompted) {
            (true, true) => Cause::Answer,
            (true, false) => Cause::Timeout,
            (false, true) if self.head => self.prompted_head(phase),
            (false, true) => self.behind_head(phase),
            (false, false) if self.head => self.unprompted_head(phase),
            (false, false) if self.tail && phase == Phase::Open => Cause::TailLossProbe,
            (false, false) => self.behind_head(phase),
        }
    }

    fn prompted_head(&self, phase: Phase) -> Cause {
        match phase {
            Phase::Recovery(_) | Phase::AfterTimeout(_) if self.resent => self.once_more(phase),
            Phase::Recovery(_) if self.sack_seen => Cause::Scoreboard,
            // A sender without SACK does not wait for duplicates after a partial ACK, unless it has
            // left recovery with that ACK: Reno (RFC 5681 §3.2).
            Phase::Recovery(_) if self.duplicates >= DUPTHRESH => Cause::FastRetransmit,
            Phase::Recovery(_) => Cause::PartialAck,
            Phase::AfterTimeout(_) if self.duplicates >= DUPTHRESH => Cause::FastRetransmit,
            Phase::AfterTimeout(_) if self.moved_on && self.sacked_above => Cause::FastRetransmit,
            Phase::AfterTimeout(_) => Cause::AfterTimeout,
            Phase::Open if self.duplicates >= DUPTHRESH || self.sacked_above => Cause::FastRetransmit,
            Phase::Open if self.overdue => Cause::Timeout,
            Phase::Open if self.duplicates > 0 => Cause::FastRetransmit,
            Phase::Open => Cause::Unknown,
        }
    }

    /// The first segment, which this phase has sent again already. Without SACK nothing tells that
    /// the copy was lost too: it is the timer, even if something has just arrived. With SACK it may
    /// be known (RFC 8985 §6.2).
    fn once_more(&self, phase: Phase) -> Cause {
        match phase {
            _ if !self.sack_news && (self.overdue || !self.sack_seen) => Cause::Timeout,
            Phase::AfterTimeout(_) => Cause::AfterTimeout,
            _ => Cause::Scoreboard,
        }
    }

    fn unprompted_head(&self, phase: Phase) -> Cause {
        let loss_known = self.duplicates >= DUPTHRESH || self.sacked_above;
        match phase {
            _ if self.overdue => Cause::Timeout,
            Phase::Open if self.resent => Cause::Timeout,
            _ if self.resent => self.once_more(phase),
            // A sender that waits a little for reordering to sort itself out (RFC 8985 §6.2), or
            // paces what it sends.
            Phase::Open if loss_known => Cause::FastRetransmit,
            Phase::Recovery(_) if loss_known => Cause::Scoreboard,
            Phase::Recovery(_) => Cause::PartialAck,
            Phase::AfterTimeout(_) => Cause::AfterTimeout,
            Phase::Open if self.tail => Cause::TailLossProbe,
            Phase::Open => Cause::Timeout,
        }
    }

    fn behind_head(&self, phase: Phase) -> Cause {
        match phase {
            Phase::AfterTimeout(_) => Cause::AfterTimeout,
            Phase::Recovery(_) if self.sack_seen => Cause::Scoreboard,
            // Only SACK points behind the first segment: this is Tahoe, which goes back as after a
            // timeout.
            Phase::Recovery(_) => Cause::AfterTimeout,
            Phase::Open if self.duplicates > 0 || self.sacked_above => Cause::FastRetransmit,
            Phase::Open => Cause::Unknown,
        }
    }
}

/// RFC 5681 §3.2: three duplicate ACKs tell of a loss.
const DUPTHRESH: u32 = 3;

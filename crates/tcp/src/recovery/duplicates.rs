//! Counting duplicate ACKs: the detector of Tahoe, Reno and NewReno (RFC 5681 §3.2, RFC 6582).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Seq;

use super::composed::{Detection, FastRecovery, LossDetector, Stage};
use super::{AckEvent, TimeoutEvent};
use crate::Cause;
use crate::scoreboard::Scoreboard;

/// Number of consecutive duplicate ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Duplicates {
    count: u32,
    reached: bool,
}

impl Duplicates {
    /// None yet.
    pub(super) const NONE: Self = Self { count: 0, reached: false };

    /// One more; whether the threshold, which may have moved, is reached for the first time in this row.
    pub(super) fn reach(&mut self, threshold: u32) -> bool {
        self.count = self.count.saturating_add(1);
        let reached = self.count >= threshold;
        reached && !std::mem::replace(&mut self.reached, reached)
    }

    /// Number of duplicate ACKs.
    pub(super) const fn count(self) -> u32 {
        self.count
    }

    /// The row is broken.
    pub(super) fn clear(&mut self) {
        *self = Self::NONE;
    }
}

/// Duplicate ACKs that may start fast retransmit once a loss was repaired up to some point: those below it may be the
/// echo of segments that were sent again needlessly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bugfix {
    /// All of them.
    None,
    /// Duplicates that acknowledge all up to that point, so that needless retransmissions can still trigger one (RFC
    /// 2582 §5).
    LessCareful,
    /// Duplicates that acknowledge more than that (RFC 2582 §5, RFC 6582 §3.2 step 2; `bugFix_` in ns-2).
    Careful,
}

/// The point that the bugfix remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remembers {
    /// The highest number sent at the last timeout (`send_high` of RFC 2582).
    Timeouts,
    /// The highest number at the last timeout or fast retransmit (`recover` of RFC 6582).
    Losses,
}

/// This number of duplicate ACKs is a loss of the first segment, unless the bugfix bars them.
#[derive(Debug)]
pub(super) struct DuplicateThreshold {
    duplicates: Duplicates,
    bugfix: Bugfix,
    remembers: Remembers,
    /// `send_high` or `recover`: duplicate ACKs up to there are barred.
    barred_to: Option<Seq>,
    /// Whether a partial ACK reports another loss (RFC 6582).
    reads_partial_acks: bool,
    /// Whether what go-back-N was still to send stays marked.
    keeps_marks: bool,
}

impl DuplicateThreshold {
    pub(super) const fn new(bugfix: Bugfix, remembers: Remembers) -> Self {
        Self {
            duplicates: Duplicates::NONE,
            bugfix,
            remembers,
            barred_to: None,
            reads_partial_acks: false,
            keeps_marks: false,
        }
    }

    /// A partial ACK reports another loss.
    pub(super) const fn reading_partial_acks(mut self) -> Self {
        self.reads_partial_acks = true;
        self
    }

    /// A fast retransmit leaves the marks of go-back-N.
    pub(super) const fn keeping_marks(mut self, keeps: bool) -> Self {
        self.keeps_marks = keeps;
        self
    }

    fn on_advance(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) {
        self.duplicates.clear();
        // Beyond the point nothing is barred; and half round the circle of numbers it would seem ahead again.
        self.barred_to = self.barred_to.filter(|point| ack.number.at_or_before(*point));
        if let Stage::FastRecovery(recovery) = stage
            && self.reads_partial_acks
        {
            board.mark_lost(0, Cause::PartialAck);
            recovery.forced = true;
        }
    }

    /// Whether duplicates with this number may be the echo of an earlier repair.
    fn is_barred(&self, number: Seq) -> bool {
        self.barred_to.is_some_and(|point| match self.bugfix {
            Bugfix::None => false,
            Bugfix::LessCareful => number.before(point),
            Bugfix::Careful => number.at_or_before(point),
        })
    }
}

impl LossDetector for DuplicateThreshold {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        if ack.advances {
            self.on_advance(ack, stage, board);
            return Detection::Nothing;
        }
        if !ack.duplicate || matches!(stage, Stage::FastRecovery(_)) {
            return Detection::Nothing;
        }
        let reached = self.duplicates.reach(ack.dupthresh);
        if self.is_barred(ack.number) {
            Detection::Nothing
        } else if reached {
            Detection::Loss
        } else {
            Detection::Duplicate
        }
    }

    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        recovery.duplicates = self.duplicates.count();
        if self.remembers == Remembers::Losses {
            self.barred_to = Some(ack.nxt);
        }
        if !self.keeps_marks {
            board.clear_lost();
        }
        board.mark_lost(0, Cause::FastRetransmit);
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, _board: &mut Scoreboard) {
        self.duplicates.clear();
        self.barred_to = Some(timeout.nxt);
    }

    fn on_spurious(&mut self) {
        self.duplicates.clear();
        // RFC 5682 §2 step 3 b: nothing was repaired, so there are no echoes to bar.
        self.barred_to = None;
    }

    fn is_idle(&self) -> bool {
        self.barred_to.is_none()
    }
}

/// No duplicate ACK reports anything.
#[derive(Debug)]
pub(super) struct NoDetection;

impl LossDetector for NoDetection {
    fn on_ack(&mut self, _ack: &AckEvent, _stage: Stage<'_>, _board: &mut Scoreboard) -> Detection {
        Detection::Nothing
    }

    fn begin(&mut self, _ack: &AckEvent, _recovery: &mut FastRecovery, _board: &mut Scoreboard) {}

    fn on_timeout(&mut self, _timeout: &TimeoutEvent, _board: &mut Scoreboard) {}

    fn on_spurious(&mut self) {}
}

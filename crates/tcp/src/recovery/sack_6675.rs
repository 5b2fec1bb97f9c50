//! Conservative loss recovery with SACK: the pipe algorithm (RFC 6675).
//!
//! A segment counts as lost once enough was SACKed above it. During recovery the sender fills the pipe
//! up to cwnd: first with what is lost, then with new data, then with what might be lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::composed::{
    Composed, Detection, FastRecovery, HalveAtOnce, LossDetector, Response, Selector, Stage,
};
use super::duplicates::Duplicates;
use super::judged::Judged;
use super::prr::{Prr, RecoveryFrom, Reduction};
use super::{AckEvent, AfterTimeout, Next, Recovery, Room, SentEvent, Style, TimeoutEvent, lost_first};
use crate::Cause;
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Retransmission after a timeout.
    pub after_timeout: Style,
    /// The reduction of the window in recovery: at once (RFC 6675 §5), or evenly over a round trip.
    pub reduction: Reduction,
    /// Base of an even reduction.
    pub recovery_from: RecoveryFrom,
}

impl Default for Parameters {
    fn default() -> Self {
        let (after_timeout, recovery_from) = (Style::default(), RecoveryFrom::default());
        Self { after_timeout, reduction: Reduction::AtOnce, recovery_from }
    }
}

/// `IsLost()` of RFC 6675 §4, and its duplicate ACKs (§2).
#[derive(Debug)]
pub(super) struct IsLost {
    duplicates: Duplicates,
    judged: Judged,
}

impl LossDetector for IsLost {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        if ack.advances {
            self.duplicates.clear();
        }
        match stage {
            Stage::Open { .. } => self.in_order(ack, board),
            Stage::FastRecovery(recovery) => {
                self.judged.mark_below(lost_edge(ack, board), ack, recovery, board);
                Detection::Nothing
            }
            // §5.1: after a timeout no new recovery until what was outstanding is acknowledged.
            Stage::AfterTimeout => Detection::Nothing,
            Stage::Over => {
                self.judged = Judged::NONE;
                Detection::Nothing
            }
        }
    }

    /// §5 step 4.
    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        recovery.duplicates = self.duplicates.count();
        self.judged = Judged::NONE;
        board.mark_lost(0, Cause::FastRetransmit);
        self.judged.mark_below(lost_edge(ack, board), ack, recovery, board);
    }

    fn on_timeout(&mut self, _timeout: &TimeoutEvent, board: &mut Scoreboard) {
        self.on_spurious();
        // RFC 6675 §5.1: the receiver may have reneged.
        board.forget_sacks();
    }

    fn on_spurious(&mut self) {
        self.duplicates.clear();
        self.judged = Judged::NONE;
    }
}

impl IsLost {
    pub(super) const fn new() -> Self {
        Self { duplicates: Duplicates::NONE, judged: Judged::NONE }
    }

    fn in_order(&mut self, ack: &AckEvent, board: &Scoreboard) -> Detection {
        // §2: a duplicate is an ACK that SACKs something new, whatever else it brings. One without news, as
        // needless retransmissions draw, says nothing of a loss.
        if ack.advances || ack.newly_sacked.is_zero() {
            return Detection::Nothing;
        }
        let enough = self.duplicates.reach(ack.dupthresh);
        if enough || lost_edge(ack, board).is_some_and(|edge| edge.after(ack.number)) {
            return Detection::Loss;
        }
        Detection::Duplicate
    }
}

/// Everything before this is lost unless SACKed: more than (dupthresh − 1)·SMSS bytes are enough (§4).
fn lost_edge(ack: &AckEvent, board: &Scoreboard) -> Option<Seq> {
    let enough = ack.smss * u64::from(ack.dupthresh.saturating_sub(1)) + Bytes(1);
    board.lost_edge(ack.dupthresh, enough)
}

/// `NextSeg()` of RFC 6675 §4.
#[derive(Debug)]
pub(super) struct NextSeg {
    /// Whether the last segment before the recovery point was sent again: the one rescue that is allowed.
    rescued: bool,
}

impl Selector for NextSeg {
    fn next(
        &self,
        recovery: Option<&FastRecovery>,
        after_timeout: &AfterTimeout,
        board: &Scoreboard,
        room: &Room,
    ) -> Next {
        let Some(recovery) = recovery else {
            return lost_first(board, room, after_timeout.forces(), after_timeout.allows_new());
        };
        match lost_first(board, room, recovery.forced, true) {
            Next::Nothing if room.usable >= room.smss && board.first_lost().is_none() => {
                self.maybe_lost(recovery, board)
            }
            next => next,
        }
    }

    fn on_ack(&mut self, _ack: &AckEvent, _recovery: &FastRecovery, begins: bool, _board: &Scoreboard) {
        self.rescued &= !begins;
    }

    fn on_sent(&mut self, sent: &SentEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        let Some(end) = board.get(sent.index).filter(|_| sent.again).map(|segment| segment.range.end) else {
            return;
        };
        if board.highest_sacked().is_some_and(|highest| end.at_or_before(highest)) {
            recovery.count_as_sent(sent, board);
        } else {
            // With nothing SACKed above it, it is the rescue, which leaves HighRxt alone and so does not
            // count in the pipe (§4, NextSeg rule 4).
            recovery.forced = false;
            self.rescued = true;
            board.forget_first_copy(sent.index);
        }
    }
}

impl NextSeg {
    pub(super) const fn new() -> Self {
        Self { rescued: false }
    }

    /// NextSeg() rules 3 and 4: with nothing known to be lost and nothing new to send, try what lies
    /// below the highest SACK, and once the last segment before the recovery point, if it was not yet.
    fn maybe_lost(&self, recovery: &FastRecovery, board: &Scoreboard) -> Next {
        let again = |index| Next::Retransmit { index, cause: Cause::Scoreboard };
        let highest = board.highest_sacked().unwrap_or(recovery.high_rxt);
        let hole = |index: &usize| board.get(*index).is_some_and(|sent| !sent.sacked);
        let (from, to) = (board.index_of(recovery.high_rxt), board.index_of(highest));
        if let Some(index) = board.first_hole(from..to) {
            return again(index);
        }
        let last = board.index_of(recovery.recover).checked_sub(1);
        last.filter(|index| !self.rescued && *index >= from && hole(index)).map_or(Next::Nothing, again)
    }
}

/// RFC 6675, all of it.
pub(super) fn composed(after_timeout: Style) -> Composed {
    respond_by(HalveAtOnce, after_timeout)
}

/// RFC 6675's detection and selection, with a response of one's own.
pub(super) fn respond_by(response: impl Response + 'static, after_timeout: Style) -> Composed {
    Composed::new(IsLost::new(), NextSeg::new(), response, AfterTimeout::new(after_timeout)).on_sack()
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "sack-6675",
    "keeps the pipe full from the SACK scoreboard",
    "RFC 6675",
    &Build(|parameters: &Parameters| {
        let Parameters { after_timeout, reduction, recovery_from } = *parameters;
        match reduction {
            Reduction::AtOnce => Box::new(composed(after_timeout)),
            Reduction::Proportional => Box::new(respond_by(Prr::new(recovery_from, false), after_timeout)),
        }
    }),
);

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 6675 §5: DupAcks counts a row, and a loss signal that was false has ended it.
    #[test]
    fn after_a_false_signal_duplicates_are_counted_from_zero() {
        let mut detector = IsLost::new();
        assert!(!detector.duplicates.reach(2));
        detector.on_spurious();
        assert!(!detector.duplicates.reach(2));
        assert!(detector.duplicates.reach(2));
    }
}

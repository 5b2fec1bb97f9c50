//! Conservative loss recovery with SACK as RFC 3517 had it, and the pipe algorithm of 1996 before it.
//!
//! It differs from RFC 6675, which replaced it, in four points:
//! - only `dupthresh` duplicate ACKs in the sense of RFC 2581 begin a recovery, whatever the SACKs say;
//! - a segment is lost once `dupthresh` separate runs, or `dupthresh`·SMSS bytes, are SACKed above it, where
//!   RFC 6675 is content with a byte more than (`dupthresh` − 1)·SMSS;
//! - a hole that was not yet called lost is tried when nothing else may be sent (`NextSeg` rule 3), but there
//!   is no rescue of the last segment (rule 4);
//! - a duplicate that SACKs nothing new counts as one.
//!
//! The pipe of Fall and Floyd 1996 is counted, not read from the scoreboard: what was lost stays in it until
//! the ACK of its retransmission takes two segments out. Every hole may then be sent again (`lost`). Other
//! traits of early ports are parameters too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::actions::DUPLICATES;
use super::composed::{Composed, Detection, Event, FastRecovery, LossDetector, Response, Selector, Stage};
use super::disorder::{Change, Disorder};
use super::duplicates::Duplicates;
use super::judged::Judged;
use super::limited_transmit::LimitedTransmit;
use super::{
    AckEvent, Actions, AfterTimeout, Next, Recovery, RecoveryState, Room, SendWindow, SentEvent, Style,
    TimeoutEvent, TimerAction, lost_first,
};
use crate::Cause;
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Retransmission after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042; RFC 3517 §5 leaves it open).
    pub limited_transmit: bool,
    /// Contents of the scoreboard after a timeout.
    pub scoreboard_after_timeout: AfterTimeoutBoard,
    /// Estimate of the pipe.
    pub pipe: Pipe,
    /// Segments that count as lost during recovery.
    pub lost: LostBy,
    /// Maximum number of segments that one ACK releases during recovery. Default: as many as the pipe has room for
    /// (RFC 3517 §5 step C).
    pub per_ack: Option<u32>,
}

/// Contents of the scoreboard after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterTimeoutBoard {
    /// Nothing: the receiver may have reneged (RFC 2018 §8, RFC 3517 §5.1). All is sent again.
    #[default]
    Cleared,
    /// The former contents: SACKed segments are not sent again.
    Kept,
}

/// Segments that count as lost during recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostBy {
    /// Segments with `dupthresh` SACKed runs, or `dupthresh`·SMSS SACKed bytes, above it (RFC 3517 §4, `IsLost`).
    #[default]
    Dupthresh,
    /// Every hole below the highest SACK, as in the simulator of Fall and Floyd 1996 (ns-2, `GetNextRetran`).
    AnyHole,
}

/// Estimate of the pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pipe {
    /// From the scoreboard: what is neither SACKed nor lost, and what was sent again (RFC 3517 §4, `SetPipe`).
    #[default]
    Scoreboard,
    /// By counting (Fall and Floyd 1996, §5): the flight less a segment for each duplicate that has come at first
    /// (`dupthresh`, unless the acknowledgment fixes have waited for more), later a segment less for each duplicate
    /// and two for each partial ACK, one more for each that is sent. The fast retransmit itself takes the place of
    /// what it repairs.
    Counted,
}

/// `IsLost()` of RFC 3517 §4, and the duplicate ACKs of RFC 2581.
#[derive(Debug)]
pub(super) struct IsLost {
    lost: LostBy,
    duplicates: Duplicates,
    judged: Judged,
    after_timeout: AfterTimeoutBoard,
    /// Whether a duplicate is what SACKs something new (RFC 6675 §2), whatever else it brings.
    counts_sacks: bool,
}

impl LossDetector for IsLost {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        if ack.advances {
            self.duplicates.clear();
        }
        match stage {
            Stage::Open { .. } => self.in_order(ack),
            Stage::FastRecovery(recovery) => {
                self.judged.mark_below(self.lost.edge(ack, board), ack, recovery, board);
                Detection::Nothing
            }
            // §5.1: after a timeout no new recovery until what was outstanding is acknowledged.
            Stage::AfterTimeout | Stage::Over => Detection::Nothing,
        }
    }

    /// §5 steps 1 to 4.
    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        recovery.duplicates = self.duplicates.count();
        // What is sent again without being lost by IsLost() is in the pipe twice (§4, SetPipe).
        let edge = self.lost.edge(ack, board);
        if edge.is_some() {
            board.mark_lost(0, Cause::FastRetransmit);
        }
        self.judged = Judged::NONE;
        self.judged.mark_below(edge, ack, recovery, board);
    }

    fn on_timeout(&mut self, _timeout: &TimeoutEvent, board: &mut Scoreboard) {
        self.duplicates.clear();
        if self.after_timeout == AfterTimeoutBoard::Cleared {
            board.forget_sacks();
        }
    }

    fn on_spurious(&mut self) {
        self.duplicates.clear();
    }
}

impl IsLost {
    fn in_order(&mut self, ack: &AckEvent) -> Detection {
        let sacks = !ack.advances && !ack.newly_sacked.is_zero();
        let duplicate = if self.counts_sacks { sacks } else { ack.duplicate };
        match duplicate {
            false => Detection::Nothing,
            true if self.duplicates.reach(ack.dupthresh) => Detection::Loss,
            true => Detection::Duplicate,
        }
    }
}

/// `NextSeg()` of RFC 3517 §4, and `SetPipe()`.
#[derive(Debug)]
pub(super) struct NextSeg {
    per_ack: Option<u32>,
    /// Segments that the last ACK has let out.
    let_out: u32,
    pipe: Pipe,
    /// The counted pipe ([`Pipe::Counted`]).
    counted: Bytes,
    /// Whether what is SACKed before a recovery lets out no more than limited transmit does.
    withholds: bool,
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
        if self.per_ack.is_some_and(|most| self.let_out >= most) {
            return Next::Nothing;
        }
        if recovery.forced {
            return Next::Retransmit { index: 0, cause: Cause::FastRetransmit };
        }
        match lost_first(board, room, false, true) {
            Next::Nothing if room.usable >= room.smss && board.first_lost().is_none() => {
                maybe_lost(recovery, board)
            }
            next => next,
        }
    }

    fn on_ack(&mut self, ack: &AckEvent, recovery: &FastRecovery, begins: bool, board: &Scoreboard) {
        self.let_out = 0;
        // Fall and Floyd 1996: a partial ACK stands for two segments, the lost one and the one sent again.
        let (before, left) = match ack.advances {
            _ if begins => (board.outstanding(), u64::from(recovery.duplicates)),
            true => (self.counted, 2),
            false => (self.counted, u64::from(ack.duplicate)),
        };
        self.counted = before.saturating_sub(ack.smss * left);
    }

    fn on_sent(&mut self, sent: &SentEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        self.let_out += 1;
        // The fast retransmit takes the place of what it repairs.
        let replaces = sent.again && recovery.forced;
        self.counted += if replaces { Bytes::ZERO } else { sent.len };
        recovery.count_as_sent(sent, board);
    }

    fn pipe(&self, state: RecoveryState, board: &Scoreboard) -> Bytes {
        match state {
            RecoveryState::FastRecovery { .. } if self.pipe == Pipe::Counted => self.counted,
            // SACKed bytes have left the pipe, and let out no more than limited transmit does.
            RecoveryState::Open if self.withholds => board.pipe() + board.sacked(),
            _ => board.pipe(),
        }
    }
}

/// `NextSeg()` rule 3: with nothing known to be lost and nothing new to send, a hole below the highest SACK.
fn maybe_lost(recovery: &FastRecovery, board: &Scoreboard) -> Next {
    let Some(highest) = board.highest_sacked() else { return Next::Nothing };
    let hole = board.first_hole(board.index_of(recovery.high_rxt)..board.index_of(highest));
    hole.map_or(Next::Nothing, |index| Next::Retransmit { index, cause: Cause::Scoreboard })
}

/// Limited transmit before a recovery, and half of the window in it.
#[derive(Debug)]
struct LimitedThenHalf {
    limited_transmit: LimitedTransmit,
}

impl Response for LimitedThenHalf {
    fn in_order(&mut self, ack: &AckEvent, found: Detection, _: Change, _board: &Scoreboard) -> Actions {
        if ack.advances {
            self.limited_transmit.end();
        } else if found == Detection::Duplicate {
            self.limited_transmit.on_duplicate(ack);
        }
        Actions::ordinary(ack)
    }

    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, _board: &Scoreboard) -> Actions {
        let counted = ack.flight.saturating_sub(self.limited_transmit.sent());
        self.limited_transmit.end();
        Actions::reduce(ack.congestion_event(counted), DUPLICATES)
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        Actions::hold(TimerAction::restart_if(ack.advances))
    }

    fn on_event(&mut self, event: Event) {
        if event == Event::Abandoned {
            self.limited_transmit.end();
        }
    }

    fn on_sent(&mut self, sent: &SentEvent, _disorder: &Disorder, board: &Scoreboard) {
        self.limited_transmit.on_sent(sent, board);
    }

    fn limited_transmit(&self, _disorder: &Disorder) -> Bytes {
        self.limited_transmit.sent()
    }

    fn window(&self, cwnd: Bytes, _disorder: &Disorder) -> SendWindow {
        SendWindow { cwnd, inflation: self.limited_transmit.allowed().0.cast_signed() }
    }
}

/// The loss detector and the selector; `beneath` means under an algorithm that has rules of its own until the loss.
fn parts(parameters: &Parameters, beneath: bool) -> (IsLost, NextSeg) {
    let detector = IsLost {
        lost: parameters.lost,
        duplicates: Duplicates::NONE,
        judged: Judged::NONE,
        after_timeout: parameters.scoreboard_after_timeout,
        counts_sacks: beneath,
    };
    let (per_ack, pipe) = (parameters.per_ack, parameters.pipe);
    (detector, NextSeg { per_ack, let_out: 0, pipe, counted: Bytes::ZERO, withholds: !beneath })
}

/// RFC 3517's parts under such an algorithm.
pub(super) fn parts_beneath() -> (IsLost, NextSeg) {
    parts(&Parameters::default(), true)
}

fn composed(parameters: &Parameters, beneath: bool) -> Composed {
    let (detector, selector) = parts(parameters, beneath);
    let limited_transmit = LimitedTransmit::new(parameters.limited_transmit && !beneath);
    let after_timeout = AfterTimeout::new(parameters.after_timeout);
    Composed::new(detector, selector, LimitedThenHalf { limited_transmit }, after_timeout).on_sack()
}

/// The recovery of ns-2's `sack1`, under an algorithm that starts it and has rules of its own until then.
pub(super) fn sack1(after_timeout: Style) -> Composed {
    let parameters =
        Parameters { pipe: Pipe::Counted, lost: LostBy::AnyHole, after_timeout, ..Parameters::default() };
    composed(&parameters, true)
}

/// RFC 3517 under such an algorithm.
pub(super) fn beneath(after_timeout: Style) -> Composed {
    composed(&Parameters { after_timeout, ..Parameters::default() }, true)
}

impl LostBy {
    /// Everything before this is lost unless SACKed.
    fn edge(self, ack: &AckEvent, board: &Scoreboard) -> Option<Seq> {
        match self {
            Self::Dupthresh => board.lost_edge(ack.dupthresh, ack.smss * u64::from(ack.dupthresh)),
            Self::AnyHole => board.highest_sacked(),
        }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.per_ack == Some(0) {
            return Err(refusal("per_ack is 0, and nothing would ever be sent again", "1 or more"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::checked(
    "sack-3517",
    "the pipe of RFC 3517, with traits of the ports before it",
    "RFC 3517; Fall and Floyd 1996",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(composed(parameters, false))),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_ends_limited_transmit_and_a_mark_does_not() {
        let mut response = LimitedThenHalf { limited_transmit: LimitedTransmit::new(true) };
        response.limited_transmit.on_duplicate(&AckEvent { smss: Bytes(1000), ..AckEvent::default() });
        response.on_event(Event::Marked { before: Bytes(8000), nxt: Seq(1) });
        assert_eq!(response.limited_transmit.allowed(), Bytes(1000));
        response.on_event(Event::Abandoned);
        assert_eq!(response.limited_transmit.allowed(), Bytes::ZERO);
    }
}

//! NewReno as in Linux, for a peer that does not permit SACK.
//!
//! Each duplicate ACK counts as a segment that has left the network, as if the peer had SACKed it
//! (`tcp_add_reno_sack`), and so the estimate of the pipe and the proportional reduction are those of a connection with
//! SACK. Which segment it was is unknown: those after the first hole are marked. A partial ACK acknowledges the hole
//! and as many of them as it has segments besides (`tcp_remove_reno_sacks`), and shows that the next segment is lost,
//! too (`tcp_newreno_mark_lost`).

use units::Duration;

use super::composed::{Composed, Detection, FastRecovery, LossDetector, LostFirst, Stage};
use super::prr::Prr;
use super::rack::mark_overdue;
use super::{AckEvent, AfterTimeout, Recovery, TimeoutEvent};
use crate::Cause;
use crate::scoreboard::Scoreboard;

/// Duplicate ACKs that stand for segments (`sacked_out`). They are marks on the board.
#[derive(Debug, Default)]
struct CountedDuplicates {
    /// Number since SND.UNA last advanced outside of fast recovery.
    count: u32,
}

impl CountedDuplicates {
    /// One more segment has left the network, unless all but the first have (`tcp_limit_reno_sacked`).
    fn count_one(&mut self, board: &mut Scoreboard) -> Detection {
        let counted = mark_next(board);
        self.count += u32::from(counted);
        if counted { Detection::Duplicate } else { Detection::Nothing }
    }

    /// `tcp_reset_reno_sack`.
    fn forget(&mut self, board: &mut Scoreboard) {
        if std::mem::take(&mut self.count) > 0 {
            board.forget_sacks();
        }
    }
}

/// The lowest segment after the first that is not marked becomes so; whether there was one.
fn mark_next(board: &mut Scoreboard) -> bool {
    let next = board.first_hole(1..board.len()).and_then(|index| board.get(index));
    next.map(|sent| sent.range).is_some_and(|range| !board.sack(range).is_zero())
}

/// A partial ACK: the first segment now is the next hole, and the duplicates that are left stand for others.
fn on_partial_ack(board: &mut Scoreboard) {
    if board.front().is_some_and(|first| first.sacked) {
        board.forget_sack(0);
        mark_next(board);
    }
    if board.front().is_some_and(|first| first.transmissions == 1) {
        board.mark_lost(0, Cause::PartialAck);
    }
}

impl LossDetector for CountedDuplicates {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        match stage {
            Stage::FastRecovery(recovery) if ack.advances && ack.number.before(recovery.recover) => {
                on_partial_ack(board);
                Detection::Nothing
            }
            Stage::FastRecovery(_) if !ack.advances && ack.duplicate => self.count_one(board),
            Stage::Open { .. } if !ack.advances && ack.duplicate => match self.count_one(board) {
                _ if self.count >= ack.dupthresh => Detection::Loss,
                found => found,
            },
            Stage::FastRecovery(_) | Stage::Open { .. } if !ack.advances => Detection::Nothing,
            _ => {
                self.forget(board);
                Detection::Nothing
            }
        }
    }

    fn begin(&mut self, _ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        recovery.duplicates = self.count;
        board.mark_lost(0, Cause::FastRetransmit);
    }

    /// `tcp_timeout_mark_lost`: the first segment is lost, and whatever was sent a round trip ago.
    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) {
        self.forget(board);
        mark_overdue(timeout, Duration::ZERO, board);
    }

    fn on_spurious(&mut self) {}

    fn is_idle(&self) -> bool {
        self.count == 0
    }
}

/// Recovery of Linux without SACK.
pub(super) fn linux() -> Box<dyn Recovery> {
    let detector = CountedDuplicates::default();
    let composed = Composed::new(detector, LostFirst, Prr::without_sack(), AfterTimeout::by_detector());
    Box::new(composed.restarting_timer_for_oldest())
}

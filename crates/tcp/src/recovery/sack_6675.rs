//! Conservative loss recovery with SACK: the pipe algorithm (RFC 6675).
//!
//! A segment counts as lost once enough was SACKed above it. During recovery the sender fills the pipe
//! up to cwnd: first with what is lost, then with new data, then with what might be lost.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::duplicates::Duplicates;
use super::{Ack, AfterTimeout, Next, Phase, Recovery, Repair, Room, Style, Timeout, Verdict, lost_first};
use crate::Cause;
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
}

#[derive(Debug)]
pub(super) struct Sack6675 {
    duplicates: Duplicates,
    after_timeout: AfterTimeout,
    mode: Option<FastRecovery>,
    /// Everything before this was judged by the SACKs above it.
    judged: Option<Seq>,
}

/// Fast recovery, while it lasts.
#[derive(Clone, Copy, Debug)]
struct FastRecovery {
    /// RecoveryPoint.
    recover: Seq,
    /// HighRxt: end of the highest segment sent again.
    high_rxt: Seq,
    /// Whether the last segment before `recover` was sent again: the one rescue that is allowed.
    rescued: bool,
    /// The first retransmission goes out whatever the pipe says (§5 step 4.3).
    forced: bool,
}

impl Recovery for Sack6675 {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if ack.advances {
            self.duplicates.clear();
        }
        match self.mode {
            Some(mode) => self.in_recovery(mode, ack, board),
            None => self.in_order(ack, board),
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.mode = None;
        self.judged = None;
        self.duplicates.clear();
        // RFC 6675 §5.1: the receiver may have reneged.
        board.forget_sacks();
        self.after_timeout.on_timeout(timeout.nxt, board);
    }

    fn on_spurious(&mut self) {
        self.mode = None;
        self.judged = None;
        self.duplicates.clear();
        self.after_timeout.leave();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let Some(mode) = self.mode else {
            return lost_first(board, room, self.after_timeout.forces(), self.after_timeout.allows_new());
        };
        match lost_first(board, room, mode.forced, true) {
            Next::Nothing if room.usable >= room.smss && board.first_lost().is_none() => {
                mode.maybe_lost(board)
            }
            next => next,
        }
    }

    fn on_retransmitted(&mut self, index: usize, board: &mut Scoreboard) {
        let (Some(mode), Some(sent)) = (&mut self.mode, board.get(index)) else { return };
        mode.forced = false;
        let end = sent.range.end;
        if board.highest_sacked().is_some_and(|highest| end.at_or_before(highest)) {
            mode.high_rxt = mode.high_rxt.max(end);
        } else {
            // With nothing SACKed above it, it is the rescue, which leaves HighRxt alone and so does not
            // count in the pipe (§4, NextSeg rule 4).
            mode.rescued = true;
            board.forget_first_copy(index);
        }
    }

    fn inflation(&self) -> i64 {
        self.after_timeout.inflation()
    }

    fn phase(&self) -> Phase {
        Phase::of(self.mode.map(|mode| mode.recover), &self.after_timeout)
    }

    fn needs_sack(&self) -> bool {
        true
    }
}

impl Repair for Sack6675 {
    fn finds_loss(&mut self, ack: &Ack, board: &mut Scoreboard) -> bool {
        self.after_timeout.on_ack(ack, board);
        // §2: a duplicate is an ACK that SACKs something new, whatever else it brings. One without news, as
        // needless retransmissions draw, says nothing of a loss.
        let duplicate = !ack.advances && !ack.newly_sacked.is_zero();
        // §5.1: after a timeout no new recovery until what was outstanding is acknowledged.
        if !duplicate || self.after_timeout.recover().is_some() {
            return false;
        }
        let enough = self.duplicates.reach(ack.dupthresh);
        enough || self.lost_edge(ack, board).is_some_and(|edge| edge.after(ack.number))
    }

    /// §5 step 4.
    fn enter(&mut self, ack: &Ack, board: &mut Scoreboard) {
        self.judged = None;
        board.mark_lost(0, Cause::FastRetransmit);
        self.judge(ack, board);
        self.mode =
            Some(FastRecovery { recover: ack.nxt, high_rxt: ack.number, rescued: false, forced: true });
    }
}

impl Sack6675 {
    pub(super) const fn new(after_timeout: Style) -> Self {
        let after_timeout = AfterTimeout::new(after_timeout);
        Self { duplicates: Duplicates::NONE, after_timeout, mode: None, judged: None }
    }

    /// RFC 6675 §5, outside of recovery.
    fn in_order(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if !self.finds_loss(ack, board) {
            return Verdict::Ordinary;
        }
        self.enter(ack, board);
        Verdict::Loss
    }

    /// §5 steps A to C.
    fn in_recovery(&mut self, mut mode: FastRecovery, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if ack.number.at_or_after(mode.recover) {
            self.mode = None;
            self.judged = None;
            return Verdict::Recovered { window: ack.ssthresh };
        }
        mode.high_rxt = mode.high_rxt.max(ack.number);
        self.mode = Some(mode);
        self.judge(ack, board);
        Verdict::Hold { restart_timer: ack.advances }
    }

    /// Update(): marks as lost whatever lies below the edge and was not judged before (§4).
    fn judge(&mut self, ack: &Ack, board: &mut Scoreboard) {
        let Some(edge) = self.lost_edge(ack, board) else { return };
        let judged = self.judged.unwrap_or(ack.number);
        let sent_again = board.index_of(self.mode.map_or(judged, |mode| mode.high_rxt));
        for index in board.index_of(judged)..board.index_of(edge) {
            if index < sent_again {
                board.forget_first_copy(index);
            } else {
                board.mark_lost(index, Cause::Scoreboard);
            }
        }
        self.judged = Some(judged.max(edge));
    }

    /// Everything before this is lost unless SACKed: more than (dupthresh − 1)·SMSS bytes are enough (§4).
    fn lost_edge(&self, ack: &Ack, board: &Scoreboard) -> Option<Seq> {
        let enough = ack.smss * u64::from(ack.dupthresh.saturating_sub(1)) + Bytes(1);
        board.lost_edge(ack.dupthresh, enough)
    }
}

impl FastRecovery {
    /// NextSeg() rules 3 and 4: with nothing known to be lost and nothing new to send, try what lies
    /// below the highest SACK, and once the last segment before the recovery point, if it was not yet.
    fn maybe_lost(&self, board: &Scoreboard) -> Next {
        let again = |index| Next::Retransmit { index, cause: Cause::Scoreboard };
        let highest = board.highest_sacked().unwrap_or(self.high_rxt);
        let hole = |index: &usize| board.get(*index).is_some_and(|sent| !sent.sacked);
        let (from, to) = (board.index_of(self.high_rxt), board.index_of(highest));
        if let Some(index) = board.first_hole(from..to) {
            return again(index);
        }
        let last = board.index_of(self.recover).checked_sub(1);
        last.filter(|index| !self.rescued && *index >= from && hole(index)).map_or(Next::Nothing, again)
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "sack-6675",
    summary: "keeps the pipe full from the SACK scoreboard",
    source: "RFC 6675",
    parse: |value| {
        let Params { after_timeout } = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || Box::new(Sack6675::new(after_timeout))))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

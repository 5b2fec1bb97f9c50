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

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::duplicates::Duplicates;
use super::limited_transmit::LimitedTransmit;
use super::{Ack, AfterTimeout, Next, Phase, Recovery, Repair, Room, Style, Timeout, Verdict, lost_first};
use crate::Cause;
use crate::registry::{Entry, refusal};
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042; RFC 3517 §5 leaves it open).
    pub limited_transmit: bool,
    /// What the scoreboard knows after a timeout.
    pub scoreboard_after_timeout: AfterTimeoutBoard,
    /// How the pipe is estimated.
    pub pipe: Pipe,
    /// What counts as lost during recovery.
    pub lost: LostBy,
    /// The most segments that one ACK lets out during recovery; without it, as many as the pipe has room for
    /// (RFC 3517 §5 step C).
    pub per_ack: Option<u32>,
}

/// What the scoreboard knows after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterTimeoutBoard {
    /// Nothing: the receiver may have reneged (RFC 2018 §8, RFC 3517 §5.1). All is sent again.
    #[default]
    Cleared,
    /// What it knew: segments that were SACKed are not sent again.
    Kept,
}

/// What counts as lost during recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostBy {
    /// What has `dupthresh` SACKed runs, or `dupthresh`·SMSS SACKed bytes, above it (RFC 3517 §4, `IsLost`).
    #[default]
    Dupthresh,
    /// Every hole below the highest SACK, as in the simulator of Fall and Floyd 1996 (ns-2, `GetNextRetran`).
    AnyHole,
}

/// How the pipe is estimated.
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

#[derive(Debug)]
pub(super) struct Sack3517 {
    params: Params,
    duplicates: Duplicates,
    limited_transmit: LimitedTransmit,
    after_timeout: AfterTimeout,
    mode: Option<FastRecovery>,
    /// SACKed bytes before a recovery: they have left the pipe, and let out no more than limited transmit does.
    sacked: Bytes,
    /// Whether an algorithm above has rules of its own for that time.
    beneath: bool,
}

/// Fast recovery, while it lasts.
#[derive(Clone, Copy, Debug)]
struct FastRecovery {
    /// `RecoveryPoint`.
    recover: Seq,
    /// `HighRxt`: end of the highest segment sent again.
    high_rxt: Seq,
    /// Everything before this was judged by the SACKs above it.
    judged: Seq,
    /// The first retransmission goes out whatever the pipe says (§5 step 3).
    forced: bool,
    /// Segments that the last ACK has let out.
    let_out: u32,
    /// The counted pipe ([`Pipe::Counted`]), and how much it is above that of the scoreboard.
    counted: Bytes,
    excess: i64,
}

impl Recovery for Sack3517 {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if ack.advances {
            self.duplicates.clear();
            self.limited_transmit.end();
        }
        let verdict = match self.mode {
            Some(mode) => self.in_recovery(mode, ack, board),
            None => self.in_order(ack, board),
        };
        let holds_back = self.phase() == Phase::Open && !self.beneath;
        self.sacked = if holds_back { board.sacked() } else { Bytes::ZERO };
        verdict
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.start_over();
        if self.params.scoreboard_after_timeout == AfterTimeoutBoard::Cleared {
            board.forget_sacks();
        }
        self.after_timeout.on_timeout(timeout.nxt, board);
    }

    fn on_spurious(&mut self) {
        self.start_over();
        self.after_timeout.leave();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let room = Room { usable: room.usable.saturating_sub(self.withheld()), ..*room };
        let Some(mode) = self.mode else {
            return lost_first(board, &room, self.after_timeout.forces(), self.after_timeout.allows_new());
        };
        if self.params.per_ack.is_some_and(|most| mode.let_out >= most) {
            return Next::Nothing;
        }
        if mode.forced {
            return Next::Retransmit { index: 0, cause: Cause::FastRetransmit };
        }
        match lost_first(board, &room, false, true) {
            Next::Nothing if room.usable >= room.smss && board.first_lost().is_none() => {
                mode.maybe_lost(board)
            }
            next => next,
        }
    }

    fn on_retransmitted(&mut self, index: usize, board: &mut Scoreboard) {
        let (Some(mode), Some(sent)) = (&mut self.mode, board.get(index)) else { return };
        mode.high_rxt = mode.high_rxt.max(sent.range.end);
        let more = if std::mem::take(&mut mode.forced) { Bytes::ZERO } else { sent.size() };
        mode.on_sent(more, self.params.pipe, board);
    }

    fn on_new(&mut self, len: Bytes, board: &Scoreboard) {
        if let Some(mode) = &mut self.mode {
            mode.on_sent(len, self.params.pipe, board);
        }
    }

    fn inflation(&self) -> i64 {
        let short = self.mode.map_or(0, |mode| (-mode.excess).max(0));
        self.after_timeout.inflation() + self.limited_transmit.allowed().0.cast_signed() + short
    }

    fn beyond_window(&self) -> Bytes {
        self.limited_transmit.allowed()
    }

    /// SACKed bytes before a recovery, and what is counted beyond the scoreboard in one.
    fn withheld(&self) -> Bytes {
        self.mode.map_or(self.sacked, |mode| Bytes(mode.excess.max(0).unsigned_abs()))
    }

    fn phase(&self) -> Phase {
        Phase::of(self.mode.map(|mode| mode.recover), &self.after_timeout)
    }

    fn needs_sack(&self) -> bool {
        true
    }
}

impl Repair for Sack3517 {
    fn finds_loss(&mut self, ack: &Ack, board: &mut Scoreboard) -> bool {
        if ack.advances {
            self.duplicates.clear();
        }
        self.after_timeout.on_ack(ack, board);
        let duplicate = !ack.advances && !ack.newly_sacked.is_zero();
        duplicate && self.after_timeout.recover().is_none() && self.duplicates.reach(ack.dupthresh)
    }

    /// §5 steps 1 to 4.
    fn enter(&mut self, ack: &Ack, board: &mut Scoreboard) {
        self.limited_transmit.end();
        let mut mode = FastRecovery {
            recover: ack.nxt,
            high_rxt: ack.number,
            judged: ack.number,
            forced: true,
            let_out: 0,
            counted: board.outstanding().saturating_sub(ack.smss * u64::from(self.duplicates.count())),
            excess: 0,
        };
        // What is sent again without being lost by IsLost() is in the pipe twice (§4, SetPipe).
        if self.params.lost.edge(ack, board).is_some() {
            board.mark_lost(0, Cause::FastRetransmit);
        }
        mode.judge(self.params.lost, ack, board);
        mode.compare(self.params.pipe, board);
        self.mode = Some(mode);
    }
}

impl Sack3517 {
    fn new(params: Params) -> Self {
        Self {
            duplicates: Duplicates::NONE,
            limited_transmit: LimitedTransmit::new(params.limited_transmit),
            after_timeout: AfterTimeout::new(params.after_timeout),
            params,
            mode: None,
            sacked: Bytes::ZERO,
            beneath: false,
        }
    }

    /// What repairs in ns-2's `sack1`, beneath an algorithm that begins it.
    pub(super) fn sack1(after_timeout: Style) -> Self {
        let params =
            Params { pipe: Pipe::Counted, lost: LostBy::AnyHole, after_timeout, ..Params::default() };
        Self { beneath: true, ..Self::new(params) }
    }

    fn start_over(&mut self) {
        self.mode = None;
        self.duplicates.clear();
        self.limited_transmit.end();
        self.sacked = Bytes::ZERO;
    }

    /// §5, outside of recovery.
    fn in_order(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        self.after_timeout.on_ack(ack, board);
        // §5.1: after a timeout no new recovery until what was outstanding is acknowledged.
        if !ack.duplicate || self.after_timeout.recover().is_some() {
            return Verdict::Ordinary;
        }
        if !self.duplicates.reach(ack.dupthresh) {
            self.limited_transmit.on_duplicate(ack);
            return Verdict::Ordinary;
        }
        self.enter(ack, board);
        Verdict::Loss
    }

    /// §5 steps A to C.
    fn in_recovery(&mut self, mut mode: FastRecovery, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if ack.number.at_or_after(mode.recover) {
            self.mode = None;
            return Verdict::Recovered { window: ack.ssthresh };
        }
        mode.high_rxt = mode.high_rxt.max(ack.number);
        mode.let_out = 0;
        // Fall and Floyd 1996: a partial ACK stands for two segments, the lost one and the one sent again.
        let left = if ack.advances { 2 } else { u64::from(ack.duplicate) };
        mode.counted = mode.counted.saturating_sub(ack.smss * left);
        mode.judge(self.params.lost, ack, board);
        mode.compare(self.params.pipe, board);
        self.mode = Some(mode);
        Verdict::Hold { restart_timer: ack.advances }
    }
}

impl FastRecovery {
    /// `Update()` and `IsLost()`, turned round: everything before an edge is lost unless SACKed.
    fn judge(&mut self, lost: LostBy, ack: &Ack, board: &mut Scoreboard) {
        let Some(edge) = lost.edge(ack, board) else { return };
        let judged = self.judged.max(ack.number);
        let sent_again = board.index_of(self.high_rxt);
        for index in board.index_of(judged)..board.index_of(edge) {
            if index < sent_again {
                board.forget_first_copy(index);
            } else {
                board.mark_lost(index, Cause::Scoreboard);
            }
        }
        self.judged = judged.max(edge);
    }

    /// A segment went out, with so much `more` in the counted pipe.
    fn on_sent(&mut self, more: Bytes, pipe: Pipe, board: &Scoreboard) {
        self.let_out += 1;
        self.counted += more;
        self.compare(pipe, board);
    }

    fn compare(&mut self, pipe: Pipe, board: &Scoreboard) {
        if pipe == Pipe::Counted {
            self.excess = self.counted.0.cast_signed() - board.pipe().0.cast_signed();
        }
    }

    /// `NextSeg()` rule 3: with nothing known to be lost and nothing new to send, a hole below the highest SACK.
    fn maybe_lost(&self, board: &Scoreboard) -> Next {
        let Some(highest) = board.highest_sacked() else { return Next::Nothing };
        let hole = board.first_hole(board.index_of(self.high_rxt)..board.index_of(highest));
        hole.map_or(Next::Nothing, |index| Next::Retransmit { index, cause: Cause::Scoreboard })
    }
}

impl LostBy {
    /// Everything before this is lost unless SACKed.
    fn edge(self, ack: &Ack, board: &Scoreboard) -> Option<Seq> {
        match self {
            Self::Dupthresh => board.lost_edge(ack.dupthresh, ack.smss * u64::from(ack.dupthresh)),
            Self::AnyHole => board.highest_sacked(),
        }
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "sack-3517",
    summary: "the pipe of RFC 3517, with traits of the ports before it",
    source: "RFC 3517; Fall and Floyd 1996",
    parse: |value| {
        let params: Params = Entry::<dyn Recovery>::read(value)?;
        if params.per_ack == Some(0) {
            return Err(refusal("per_ack is 0, and nothing would ever be sent again", "1 or more"));
        }
        Ok(Arc::new(move || Box::new(Sack3517::new(params.clone()))))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

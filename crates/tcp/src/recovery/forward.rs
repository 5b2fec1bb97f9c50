//! Forward acknowledgment: whatever lies below the highest SACK and was not SACKed has left the network
//! (Mathis and Mahdavi 1996, section 2).
//!
//! Marked lost, it is off the pipe, which so becomes their *awnd*: SND.NXT − snd.fack + retran_data. What was
//! sent again since is on its way until a segment that was sent after it is SACKed (section 2; the "thorough
//! recovery" of Rate-Halving).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::AckEvent;
use crate::Cause;
use crate::scoreboard::Scoreboard;

/// Conclusion from the forward-most SACK on the segments below it.
#[derive(Debug, Default)]
pub(super) struct Forward {
    /// Everything before this was judged.
    judged: Option<Seq>,
    /// Retransmissions in the order of sending: the start of each, and SND.NXT at that time.
    resent: VecDeque<(Seq, Seq)>,
}

impl Forward {
    /// Takes what lies below the highest SACK for lost; says how many segments lie there.
    pub(super) fn judge(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> usize {
        // Half round the circle of numbers what is acknowledged would seem ahead again.
        self.judged = self.judged.filter(|point| point.after(ack.number));
        self.resent.retain(|(start, _)| start.at_or_after(ack.number));
        let Some(fack) = board.highest_sacked() else { return 0 };
        let judged = self.judged.unwrap_or(ack.number);
        let below = board.index_of(fack);
        (board.index_of(judged)..below).for_each(|index| board.mark_lost(index, Cause::Scoreboard));
        self.judged = Some(judged.max(fack));
        below
    }

    /// Takes for lost again what was sent again before something that is SACKed by now.
    pub(super) fn judge_retransmissions(&mut self, board: &mut Scoreboard) {
        let Some(fack) = board.highest_sacked() else { return };
        while let Some((start, nxt)) = self.resent.front().copied() {
            if nxt.at_or_after(fack) {
                break;
            }
            board.mark_lost(board.index_of(start), Cause::Scoreboard);
            self.resent.pop_front();
        }
    }

    /// The segment at `index` was sent again.
    pub(super) fn on_retransmitted(&mut self, index: usize, board: &Scoreboard) {
        if let (Some(sent), Some(last)) = (board.get(index), board.back()) {
            self.resent.push_back((sent.range.start, last.range.end));
        }
    }

    /// The first segment is judged otherwise: by duplicates without a SACK.
    pub(super) fn skip_first(&mut self, board: &Scoreboard) {
        let end = board.front().map(|first| first.range.end);
        self.judged = end.map(|end| self.judged.map_or(end, |judged| judged.max(end)));
    }

    /// All up to here is judged otherwise: by the timer.
    pub(super) fn start_over(&mut self, nxt: Seq) {
        self.judged = Some(nxt);
        self.resent.clear();
    }

    /// Whether nothing is remembered.
    pub(super) fn is_idle(&self) -> bool {
        self.judged.is_none() && self.resent.is_empty()
    }
}

/// Data in exchange for which new data are released before the loss is found.
///
/// The kernel takes each hole for a place in the network (`tcp_packets_in_flight`); then the first duplicate of a
/// loss lets out two segments where one has left, and a full queue drops the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NewData {
    /// Nothing (RFC 5681 §3.2).
    Withheld,
    /// Each segment that is SACKed.
    ForSacked,
    /// Whatever lies below the highest SACK, as that kernel.
    ForHoles,
}

impl NewData {
    /// Amount that the scoreboard has removed from the pipe without releasing new data.
    pub(super) fn withheld(self, board: &Scoreboard) -> Bytes {
        match self {
            Self::Withheld => board.outstanding().saturating_sub(board.pipe()),
            Self::ForSacked => board.outstanding().saturating_sub(board.pipe() + board.sacked()),
            Self::ForHoles => Bytes::ZERO,
        }
    }
}

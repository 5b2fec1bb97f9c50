//! FACK (Mathis and Mahdavi 1996, "Forward Acknowledgment: Refining TCP Congestion Control"): SACK's knowledge
//! of the forward-most data used to say exactly how much is in the network, so that data recovery and
//! congestion control can each do their own.
//!
//! It differs from `sack_6675.rs` in two places: a hole counts as gone as soon as anything above it is
//! SACKed, and a loss is found once more than three segments lie below the highest SACK, in one ACK if need
//! be. Its two refinements for the window, *Overdamping* and *Rampdown*, can be switched on.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::duplicates::Duplicates;
use super::forward::Forward;
use super::{Ack, AfterTimeout, Next, Phase, Recovery, Room, Style, Timeout, Verdict, lost_first};
use crate::Cause;
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Whether a loss in slow start quarters the window instead of halving it: when it is found, the window is
    /// twice what it was when the segment was sent (Overdamping).
    pub overdamping: bool,
    /// Whether the window comes down by half of what arrives instead of at once, which keeps the ACK clock going
    /// (Rampdown).
    pub rampdown: bool,
    /// Whether a retransmission that is lost itself is told by SACKs of what was sent after it.
    pub finds_lost_retransmissions: bool,
    /// What happens after a timeout.
    pub after_timeout: Style,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            overdamping: false,
            rampdown: false,
            finds_lost_retransmissions: true,
            after_timeout: Style::GoBackN,
        }
    }
}

/// FACK, and what Rate-Halving shares with it.
#[derive(Debug)]
pub(super) struct Fack {
    params: Params,
    forward: Forward,
    duplicates: Duplicates,
    after_timeout: AfterTimeout,
    /// End of what is being repaired.
    recover: Option<Seq>,
    /// The fast retransmit has yet to go out.
    forced: bool,
    /// The window when the loss was found.
    before: Bytes,
    /// What has arrived since then.
    delivered: Bytes,
    /// What the window still has to come down by; `None` until the reduced window is known.
    above: Option<Bytes>,
    /// Whether the window was below the threshold at the last ACK.
    slow_start: bool,
}

impl Recovery for Fack {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if ack.advances {
            self.duplicates.clear();
        }
        self.slow_start = ack.cwnd < ack.ssthresh;
        let below = self.forward.judge(ack, board);
        match self.recover {
            Some(recover) if ack.number.at_or_after(recover) => self.leave(ack),
            Some(_) => self.in_recovery(ack, board),
            None => self.in_order(ack, below, board),
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.on_spurious();
        // RFC 2018 §8: the receiver may have reneged.
        board.forget_sacks();
        self.forward.start_over(timeout.nxt);
        self.after_timeout.on_timeout(timeout.nxt, board);
    }

    fn on_spurious(&mut self) {
        self.recover = None;
        self.forced = false;
        self.above = None;
        self.duplicates.clear();
        self.after_timeout.leave();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        if self.recover.is_some() {
            return lost_first(board, room, self.forced, true);
        }
        if self.after_timeout.recover().is_some() {
            return lost_first(board, room, self.after_timeout.forces(), self.after_timeout.allows_new());
        }
        // Not yet believed to be lost, though it is off the pipe: new data may take its place (section 2).
        match room.new {
            Some(len) if len <= room.usable => Next::New,
            _ => Next::Nothing,
        }
    }

    fn on_retransmitted(&mut self, index: usize, board: &mut Scoreboard) {
        self.forced = false;
        self.forward.on_retransmitted(index, board);
    }

    /// Overdamping: half of half.
    fn counted(&self, flight: Bytes, _board: &Scoreboard) -> Bytes {
        if self.params.overdamping && self.slow_start { flight / 2 } else { flight }
    }

    fn inflation(&self) -> i64 {
        self.above.unwrap_or(Bytes::ZERO).0.cast_signed() + self.after_timeout.inflation()
    }

    fn phase(&self) -> Phase {
        Phase::of(self.recover, &self.after_timeout)
    }

    fn needs_sack(&self) -> bool {
        true
    }
}

impl Fack {
    pub(super) fn new(params: Params) -> Self {
        let after_timeout = AfterTimeout::new(params.after_timeout);
        Self {
            params,
            forward: Forward::default(),
            duplicates: Duplicates::NONE,
            after_timeout,
            recover: None,
            forced: false,
            before: Bytes::ZERO,
            delivered: Bytes::ZERO,
            above: None,
            slow_start: true,
        }
    }

    /// The window when the loss that is being repaired was found.
    pub(super) const fn before(&self) -> Bytes {
        self.before
    }

    /// Section 2: a loss once more than dupthresh segments lie below the highest SACK, or after as many
    /// duplicates.
    fn in_order(&mut self, ack: &Ack, below: usize, board: &mut Scoreboard) -> Verdict {
        self.after_timeout.on_ack(ack, board);
        let duplicate = ack.duplicate || (!ack.advances && !ack.newly_sacked.is_zero());
        if !duplicate || self.after_timeout.recover().is_some() {
            return Verdict::Ordinary;
        }
        if !self.duplicates.reach(ack.dupthresh) && below <= ack.dupthresh as usize {
            return Verdict::Ordinary;
        }
        self.enter(ack, board);
        Verdict::Loss
    }

    fn enter(&mut self, ack: &Ack, board: &mut Scoreboard) {
        self.recover = Some(ack.nxt);
        self.before = ack.cwnd;
        self.above = None;
        self.delivered = ack.delivered;
        self.forced = true;
        board.mark_lost(0, Cause::FastRetransmit);
        board.blame_first(Cause::FastRetransmit);
        self.forward.skip_first(board);
    }

    fn in_recovery(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if self.params.finds_lost_retransmissions {
            self.forward.judge_retransmissions(board);
        }
        if self.params.rampdown {
            self.delivered += ack.delivered;
            self.above = Some(self.before.saturating_sub(ack.cwnd + self.delivered / 2));
        }
        Verdict::Hold { restart_timer: ack.advances }
    }

    fn leave(&mut self, ack: &Ack) -> Verdict {
        self.recover = None;
        self.forced = false;
        self.above = None;
        Verdict::Recovered { window: ack.ssthresh }
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "fack",
    summary: "counts all below the highest SACK as gone, and so knows what is in the network",
    source: "Mathis and Mahdavi 1996",
    parse: |value| {
        let params: Params = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || Box::new(Fack::new(params.clone()))))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

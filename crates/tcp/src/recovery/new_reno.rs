//! NewReno: Reno that stays in fast recovery until all that was outstanding is acknowledged, and takes
//! each partial ACK for another loss (RFC 2582 and RFC 6582), in the variants that Sarolahti 2000
//! (appendix C) and the two RFCs know.
//!
//! It differs from Reno in three places: the partial ACK, the window on leaving, and the *bugfix* that
//! keeps the echoes of a timeout's retransmissions from starting fast recovery anew.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::duplicates::Duplicates;
use super::limited_transmit::LimitedTransmit;
use super::{Ack, AfterTimeout, Next, Phase, Recovery, Room, Style, Timeout, Verdict, lost_first};
use crate::Cause;
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// Parameters; the defaults are those of RFC 6582.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Which duplicate ACKs may start fast retransmit after an earlier loss.
    pub bugfix: Bugfix,
    /// What the bugfix remembers.
    pub remembers: Remembers,
    /// Whether a partial ACK lets one new segment out beside the retransmission, if it acknowledges a
    /// segment's worth at least (RFC 6582 §3.2 step 3).
    pub new_data_on_partial_ack: bool,
    /// The window on leaving fast recovery.
    pub exit: Exit,
    /// Which partial ACKs restart the timer.
    pub timer: Timer,
    /// What happens after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042).
    pub limited_transmit: bool,
    /// Whether each duplicate ACK restarts the retransmission timer (Gurtov 2001): it keeps the timer from
    /// running out while needless copies are still being answered, and delays the repair of real losses.
    pub timer_restarts_on_duplicates: bool,
}

/// Which duplicate ACKs may start fast retransmit once a loss was repaired up to some point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bugfix {
    /// All of them.
    None,
    /// Those that acknowledge all up to that point, so that needless retransmissions can still trigger
    /// one (RFC 2582 §5).
    LessCareful,
    /// Those that acknowledge more than that (RFC 2582 §5, RFC 6582 §3.2 step 2).
    Careful,
}

/// The point that the bugfix remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remembers {
    /// The highest number sent at the last timeout (`send_high` of RFC 2582).
    Timeouts,
    /// That of the last timeout or fast retransmit (`recover` of RFC 6582).
    Losses,
}

/// The window on leaving fast recovery (RFC 6582 §3.2 step 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// min(ssthresh, max(FlightSize, SMSS) + SMSS): no burst.
    Flight,
    /// ssthresh.
    Ssthresh,
}

/// Which partial ACKs restart the retransmission timer (RFC 6582 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// Only the first: "impatient", falls back to a timeout when many segments are lost.
    FirstPartialAck,
    /// Each: "slow but steady".
    EachPartialAck,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            bugfix: Bugfix::Careful,
            remembers: Remembers::Losses,
            new_data_on_partial_ack: true,
            exit: Exit::Flight,
            timer: Timer::FirstPartialAck,
            after_timeout: Style::GoBackN,
            limited_transmit: false,
            timer_restarts_on_duplicates: false,
        }
    }
}

#[derive(Debug)]
struct NewReno {
    params: Params,
    duplicates: Duplicates,
    limited_transmit: LimitedTransmit,
    after_timeout: AfterTimeout,
    mode: Option<FastRecovery>,
    /// Duplicate ACKs below this are barred: `send_high` or `recover`.
    barred_below: Option<Seq>,
    /// A retransmission has to go out, whatever the window says.
    forced: bool,
}

/// Fast recovery, while it lasts.
#[derive(Clone, Copy, Debug)]
struct FastRecovery {
    recover: Seq,
    /// What duplicates added to the window, less what partial ACKs took off; it may fall below zero.
    inflation: i64,
    partial_acks: u32,
}

impl Recovery for NewReno {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if ack.advances {
            self.on_advance(ack, board)
        } else if ack.duplicate {
            self.on_duplicate(ack, board)
        } else {
            Verdict::Ordinary
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.mode = None;
        self.forced = false;
        self.duplicates.clear();
        self.barred_below = Some(timeout.nxt);
        self.limited_transmit.end();
        self.after_timeout.on_timeout(timeout.nxt, board);
    }

    fn on_spurious(&mut self) {
        self.mode = None;
        self.forced = false;
        self.duplicates.clear();
        // RFC 5682 §2 step 3 b: nothing was repaired, so there are no echoes to bar.
        self.barred_below = None;
        self.limited_transmit.end();
        self.after_timeout.leave();
    }

    fn beyond_window(&self) -> Bytes {
        self.limited_transmit.allowed()
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        lost_first(board, room, self.forced || self.after_timeout.forces(), self.after_timeout.allows_new())
    }

    fn on_retransmitted(&mut self, _index: usize, _board: &mut Scoreboard) {
        self.forced = false;
    }

    fn inflation(&self) -> i64 {
        let before_recovery =
            self.after_timeout.inflation() + self.limited_transmit.allowed().0.cast_signed();
        self.mode.map_or(before_recovery, |mode| mode.inflation)
    }

    fn phase(&self) -> Phase {
        Phase::of(self.mode.map(|mode| mode.recover), &self.after_timeout)
    }
}

impl NewReno {
    const fn new(params: Params) -> Self {
        let after_timeout = AfterTimeout::new(params.after_timeout);
        let limited_transmit = LimitedTransmit::new(params.limited_transmit);
        let duplicates = Duplicates::NONE;
        Self {
            params,
            duplicates,
            limited_transmit,
            after_timeout,
            mode: None,
            barred_below: None,
            forced: false,
        }
    }

    fn on_advance(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        self.duplicates.clear();
        self.limited_transmit.end();
        self.after_timeout.on_ack(ack, board);
        // Beyond the point nothing is barred; and half round the circle of numbers it would seem ahead again.
        self.barred_below = self.barred_below.filter(|point| ack.number.at_or_before(*point));
        match self.mode {
            None => Verdict::Ordinary,
            Some(FastRecovery { recover, .. }) if ack.number.at_or_after(recover) => self.leave(ack, board),
            Some(mode) => self.on_partial_ack(mode, ack, board),
        }
    }

    fn on_duplicate(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        let restart_timer = self.params.timer_restarts_on_duplicates;
        if let Some(mode) = &mut self.mode {
            mode.inflation += ack.smss.0.cast_signed();
            return Verdict::Hold { restart_timer };
        }
        self.after_timeout.on_ack(ack, board);
        let barred = self.is_barred(ack.number);
        if !self.duplicates.reach(ack.dupthresh) || barred {
            if !barred && self.duplicates.count() < ack.dupthresh {
                self.limited_transmit.on_duplicate(ack);
            }
            return Verdict::Hold { restart_timer };
        }
        self.enter(ack, board);
        Verdict::Loss
    }

    /// Whether these duplicates may be the echo of an earlier repair.
    fn is_barred(&self, number: Seq) -> bool {
        self.barred_below.is_some_and(|point| match self.params.bugfix {
            Bugfix::None => false,
            Bugfix::LessCareful => number.before(point),
            Bugfix::Careful => number.at_or_before(point),
        })
    }

    fn enter(&mut self, ack: &Ack, board: &mut Scoreboard) {
        let inflation = (ack.smss * u64::from(ack.dupthresh)).0.cast_signed();
        self.mode = Some(FastRecovery { recover: ack.nxt, inflation, partial_acks: 0 });
        if self.params.remembers == Remembers::Losses {
            self.barred_below = Some(ack.nxt);
        }
        self.after_timeout.leave();
        self.limited_transmit.end();
        board.clear_lost();
        board.mark_lost(0, Cause::FastRetransmit);
        self.forced = true;
    }

    /// RFC 6582 §3.2 step 3: send the next hole, deflate by what was acknowledged, and add one segment back if that was
    /// a segment at least, so that new data may go out beside it.
    fn on_partial_ack(&mut self, mode: FastRecovery, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        let adds_back = self.params.new_data_on_partial_ack && ack.acked >= ack.smss;
        let back = if adds_back { ack.smss } else { Bytes::ZERO };
        let inflation = mode.inflation - ack.acked.0.cast_signed() + back.0.cast_signed();
        self.mode = Some(FastRecovery { inflation, partial_acks: mode.partial_acks + 1, ..mode });
        board.mark_lost(0, Cause::PartialAck);
        self.forced = true;
        let restart_timer = self.params.timer == Timer::EachPartialAck || mode.partial_acks == 0;
        Verdict::Hold { restart_timer }
    }

    fn leave(&mut self, ack: &Ack, board: &Scoreboard) -> Verdict {
        self.mode = None;
        self.forced = false;
        let window = match self.params.exit {
            Exit::Ssthresh => ack.ssthresh,
            Exit::Flight => ack.ssthresh.min(board.outstanding().max(ack.smss) + ack.smss),
        };
        Verdict::Recovered { window }
    }
}

/// NewReno by RFC 6582.
pub(super) fn standard() -> Box<dyn Recovery> {
    Box::new(NewReno::new(Params::default()))
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "new-reno",
    summary: "Reno that repairs one loss per partial ACK until all are repaired",
    source: "RFC 6582, RFC 2582; Sarolahti 2000 appendix C",
    parse: |value| {
        let params: Params = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || Box::new(NewReno::new(params.clone()))))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

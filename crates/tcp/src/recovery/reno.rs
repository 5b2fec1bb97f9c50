//! Reno: fast retransmit and fast recovery (RFC 5681 §3.2, without NewReno's partial ACKs).
//!
//! The third duplicate ACK sends the first segment again at once, halves the window and inflates it by
//! the three segments that have left the network; each further duplicate inflates it by one. The first
//! ACK of new data ends recovery, whether or not more was lost.

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

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042).
    pub limited_transmit: bool,
    /// Whether each duplicate ACK restarts the retransmission timer (Gurtov 2001): it keeps the timer from
    /// running out while needless copies are still being answered, and delays the repair of real losses.
    pub timer_restarts_on_duplicates: bool,
    /// Whether go-back-N after a timeout outlives a fast retransmit, as in BSD, which goes on where it was
    /// (`snd_nxt = onxt`). Otherwise what it has not sent again yet is taken for on its way.
    pub go_back_n_goes_on: bool,
    /// Whether duplicate ACKs inflate the window by no more than was outstanding when the loss was found: more
    /// segments cannot have left the network, so that spoofed duplicates gain nothing (RFC 5681 §3.2, MAY).
    pub limits_inflation: bool,
}

#[derive(Debug)]
struct Reno {
    params: Params,
    duplicates: Duplicates,
    limited_transmit: LimitedTransmit,
    after_timeout: AfterTimeout,
    recover: Option<Seq>,
    inflation: Bytes,
    /// The most that it may become.
    greatest_inflation: Bytes,
    /// The fast retransmit has yet to go out.
    forced: bool,
}

impl Recovery for Reno {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if ack.advances {
            return self.on_advance(ack, board);
        }
        if !ack.duplicate {
            return Verdict::Ordinary;
        }
        let restart_timer = self.params.timer_restarts_on_duplicates;
        if self.recover.is_some() {
            self.inflation = (self.inflation + ack.smss).min(self.greatest_inflation);
            return Verdict::Hold { restart_timer };
        }
        self.after_timeout.on_ack(ack, board);
        if !self.duplicates.reach(ack.dupthresh) {
            self.limited_transmit.on_duplicate(ack);
            return Verdict::Hold { restart_timer };
        }
        self.enter(ack, board);
        Verdict::Loss
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.leave();
        self.duplicates.clear();
        self.limited_transmit.end();
        self.after_timeout.on_timeout(timeout.nxt, board);
    }

    fn on_spurious(&mut self) {
        self.leave();
        self.duplicates.clear();
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
        (self.inflation + self.limited_transmit.allowed()).0.cast_signed() + self.after_timeout.inflation()
    }

    fn phase(&self) -> Phase {
        Phase::of(self.recover, &self.after_timeout)
    }
}

impl Reno {
    fn on_advance(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        self.duplicates.clear();
        self.limited_transmit.end();
        self.after_timeout.on_ack(ack, board);
        if self.recover.is_none() {
            return Verdict::Ordinary;
        }
        self.leave();
        // RFC 5681 §3.2 step 6: deflate to ssthresh.
        Verdict::Recovered { window: ack.ssthresh }
    }

    fn enter(&mut self, ack: &Ack, board: &mut Scoreboard) {
        if !self.params.go_back_n_goes_on {
            self.after_timeout.leave();
            board.clear_lost();
        }
        self.limited_transmit.end();
        self.recover = Some(ack.nxt);
        self.greatest_inflation = if self.params.limits_inflation { board.outstanding() } else { Bytes::MAX };
        self.inflation = (ack.smss * u64::from(ack.dupthresh)).min(self.greatest_inflation);
        self.forced = true;
        board.mark_lost(0, Cause::FastRetransmit);
    }

    fn leave(&mut self) {
        self.recover = None;
        self.inflation = Bytes::ZERO;
        self.forced = false;
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "reno",
    summary: "fast retransmit and fast recovery, over with the first new ACK",
    source: "RFC 5681 §3.2; Jacobson 1990",
    parse: |value| {
        let params: Params = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || {
            Box::new(Reno {
                duplicates: Duplicates::default(),
                limited_transmit: LimitedTransmit::new(params.limited_transmit),
                after_timeout: AfterTimeout::new(params.after_timeout),
                params: params.clone(),
                recover: None,
                inflation: Bytes::ZERO,
                greatest_inflation: Bytes::MAX,
                forced: false,
            })
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

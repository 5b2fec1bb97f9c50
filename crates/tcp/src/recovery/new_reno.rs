//! NewReno: Reno that stays in fast recovery until all that was outstanding is acknowledged, and takes
//! each partial ACK for another loss (RFC 2582 and RFC 6582), in the variants that Sarolahti 2000
//! (appendix C) and the two RFCs know.
//!
//! It differs from Reno in three places: the partial ACK, the window on leaving, and the *bugfix* that
//! keeps the echoes of a timeout's retransmissions from starting fast recovery anew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::actions::DUPLICATES;
use super::composed::{Composed, Detection, Event, LostFirst, Response};
use super::disorder::{Change, Disorder};
use super::duplicates::{Bugfix, DuplicateThreshold, Remembers};
use super::limited_transmit::LimitedTransmit;
use super::{AckEvent, Actions, AfterTimeout, Recovery, SendWindow, SentEvent, Style, TimerAction};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters; the defaults are those of RFC 6582.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Duplicate ACKs that may start fast retransmit after an earlier loss.
    pub bugfix: Bugfix,
    /// Sequence number that the bugfix uses.
    pub remembers: Remembers,
    /// Whether a partial ACK lets one new segment out in addition to the retransmission, if it acknowledges a
    /// segment's worth at least (RFC 6582 §3.2 step 3).
    pub new_data_on_partial_ack: bool,
    /// The window on leaving fast recovery.
    pub exit: Exit,
    /// Partial ACKs that restart the timer.
    pub timer: Timer,
    /// Retransmission after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042).
    pub limited_transmit: bool,
    /// Whether each duplicate ACK restarts the retransmission timer (Gurtov 2001): it keeps the timer from
    /// running out while needless copies are still being answered, and delays the repair of real losses.
    pub timer_restarts_on_duplicates: bool,
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

/// Partial ACKs that restart the retransmission timer (RFC 6582 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// Only the first: "impatient", falls back to a timeout when many segments are lost.
    FirstPartialAck,
    /// Each: "slow but steady".
    EachPartialAck,
}

impl Default for Parameters {
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

/// Reno's inflation, deflated by what partial ACKs acknowledge.
#[derive(Debug)]
struct Inflate {
    parameters: Parameters,
    limited_transmit: LimitedTransmit,
    /// Amount that duplicates added to the window, less the amount that partial ACKs subtracted; may be below zero.
    inflation: i64,
    partial_acks: u32,
}

impl Response for Inflate {
    fn in_order(&mut self, ack: &AckEvent, found: Detection, _: Change, _board: &Scoreboard) -> Actions {
        if ack.advances {
            self.limited_transmit.end();
        } else if found == Detection::Duplicate {
            self.limited_transmit.on_duplicate(ack);
        }
        if ack.duplicate { self.on_duplicate() } else { Actions::ordinary(ack) }
    }

    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, _board: &Scoreboard) -> Actions {
        let counted = ack.flight.saturating_sub(self.limited_transmit.sent());
        self.limited_transmit.end();
        self.inflation = (ack.smss * u64::from(ack.dupthresh)).0.cast_signed();
        self.partial_acks = 0;
        Actions::reduce(ack.congestion_event(counted), DUPLICATES)
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        if ack.advances {
            return self.on_partial_ack(ack);
        }
        if !ack.duplicate {
            return Actions::NONE;
        }
        self.inflation += ack.smss.0.cast_signed();
        self.on_duplicate()
    }

    fn exit(&mut self, ack: &AckEvent, board: &Scoreboard) -> Actions {
        self.inflation = 0;
        Actions::exit(self.parameters.exit.window(ack, board))
    }

    fn on_event(&mut self, event: Event) {
        if event == Event::Abandoned {
            self.limited_transmit.end();
            self.inflation = 0;
        }
    }

    fn on_sent(&mut self, sent: &SentEvent, _disorder: &Disorder, board: &Scoreboard) {
        self.limited_transmit.on_sent(sent, board);
    }

    fn limited_transmit(&self, _disorder: &Disorder) -> Bytes {
        self.limited_transmit.sent()
    }

    fn window(&self, cwnd: Bytes, _disorder: &Disorder) -> SendWindow {
        let inflation = self.inflation + self.limited_transmit.allowed().0.cast_signed();
        SendWindow { cwnd, inflation }
    }
}

impl Inflate {
    fn on_duplicate(&self) -> Actions {
        Actions::hold(TimerAction::restart_if(self.parameters.timer_restarts_on_duplicates))
    }

    /// RFC 6582 §3.2 step 3: deflate by what was acknowledged, and add one segment back if that was a segment at least,
    /// so that new data may go out in addition to the retransmission of the next hole.
    fn on_partial_ack(&mut self, ack: &AckEvent) -> Actions {
        let adds_back = self.parameters.new_data_on_partial_ack && ack.acked >= ack.smss;
        let back = if adds_back { ack.smss } else { Bytes::ZERO };
        self.inflation += back.0.cast_signed() - ack.acked.0.cast_signed();
        let restarts = self.parameters.timer == Timer::EachPartialAck || self.partial_acks == 0;
        self.partial_acks += 1;
        Actions::hold(TimerAction::restart_if(restarts))
    }
}

impl Exit {
    /// The window at the end of fast recovery.
    pub(super) fn window(self, ack: &AckEvent, board: &Scoreboard) -> Bytes {
        match self {
            Self::Ssthresh => ack.ssthresh,
            Self::Flight => ack.ssthresh.min(board.outstanding().max(ack.smss) + ack.smss),
        }
    }
}

fn composed(parameters: Parameters) -> Composed {
    let bugfix = DuplicateThreshold::new(parameters.bugfix, parameters.remembers).reading_partial_acks();
    let after_timeout = AfterTimeout::new(parameters.after_timeout);
    let limited_transmit = LimitedTransmit::new(parameters.limited_transmit);
    let response = Inflate { parameters, limited_transmit, inflation: 0, partial_acks: 0 };
    Composed::new(bugfix, LostFirst, response, after_timeout)
}

/// NewReno by RFC 6582.
pub(super) fn standard() -> Box<dyn Recovery> {
    Box::new(composed(Parameters::default()))
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "new-reno",
    "Reno that repairs one loss per partial ACK until all are repaired",
    "RFC 6582, RFC 2582; Sarolahti 2000 appendix C",
    &Build(|parameters: &Parameters| Box::new(composed(parameters.clone()))),
);

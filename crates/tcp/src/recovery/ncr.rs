//! TCP-NCR, robustness to non-congestion events (RFC 4653): SACK recovery that waits for as many duplicate
//! ACKs as a round trip brings, and keeps the ACK clock going meanwhile (extended limited transmit).
//!
//! It differs from `sack_6675.rs`, or from RFC 3517 on which it was written, only from the first duplicate ACK until
//! the gap is closed or taken for a loss; the letters and numbers are those of the RFC's steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::composed::{Composed, Detection, FastRecovery, LossDetector, Response, Selector, Stage};
use super::disorder::{Change, Disorder};
use super::{
    AckEvent, Actions, AfterTimeout, Finding, Recovery, SendWindow, SentEvent, Style, TimeoutEvent,
    TimerAction, WindowAction, sack_3517, sack_6675,
};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Amount of new data that duplicate ACKs release.
    pub transmit: Transmit,
    /// Standard by which losses are detected and repaired.
    pub repair: RepairBy,
    /// Retransmission after a timeout.
    pub after_timeout: Style,
}

/// Standard by which losses are detected and repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "NcrRepair")]
pub enum RepairBy {
    /// By RFC 6675: enough is SACKed anywhere above a segment.
    #[default]
    #[serde(rename = "sack-6675")]
    Sack6675,
    /// By RFC 3517, which RFC 4653 extends: as many duplicates of the first gap as the threshold asks for.
    #[serde(rename = "sack-3517")]
    Sack3517,
}

/// Amount of new data that duplicate ACKs release (RFC 4653 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transmit {
    /// One segment for every two duplicates: half the rate, as if the loss were real. A loss then takes
    /// two thirds of the flight as duplicates.
    #[default]
    Careful,
    /// One segment for each duplicate: the rate is kept. A loss takes half of the flight, which grows to
    /// twice the window.
    Aggressive,
}

/// The standard's detection by a threshold of as many duplicates as a round trip brings.
#[derive(Debug)]
struct RoundTripThreshold<D> {
    transmit: Transmit,
    sack: D,
    /// `DupThresh` as it was last set; it holds in recovery too.
    threshold: u32,
}

impl<D: LossDetector> LossDetector for RoundTripThreshold<D> {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        let dupthresh = match stage {
            Stage::Open { .. } => {
                // I.3 and E.6: set by the flight as the last transmission left it, which is as this ACK found it.
                self.threshold = self.transmit.threshold(board.outstanding(), ack);
                self.threshold
            }
            _ => self.threshold.max(ack.dupthresh),
        };
        self.sack.on_ack(&AckEvent { dupthresh, ..*ack }, stage, board)
    }

    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        self.sack.begin(&AckEvent { dupthresh: self.threshold, ..*ack }, recovery, board);
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) {
        self.sack.on_timeout(timeout, board);
    }

    fn on_spurious(&mut self) {
        self.sack.on_spurious();
    }
}

/// Extended limited transmit: the former flight is held, and new data replace what has arrived.
#[derive(Debug)]
struct ExtendedLimitedTransmit {
    transmit: Transmit,
    /// `Skipped`: new data whose like the next duplicate may not let out (careful only).
    skipped: Bytes,
}

impl Response for ExtendedLimitedTransmit {
    fn in_order(&mut self, ack: &AckEvent, _: Detection, disorder: Change, board: &Scoreboard) -> Actions {
        match disorder {
            // I.2.
            Change::Begins => self.skipped = Bytes::ZERO,
            Change::Closed { flight } => return self.terminate(flight, ack, board),
            Change::None | Change::Lasts => {}
        }
        Actions::ordinary(ack)
    }

    /// §3.4: the reduction goes by FlightSizePrev.
    fn enter(&mut self, ack: &AckEvent, disorder: &Disorder, _board: &Scoreboard) -> Actions {
        disorder.reduce(ack)
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        Actions::hold(TimerAction::restart_if(ack.advances))
    }

    fn on_sent(&mut self, sent: &SentEvent, disorder: &Disorder, _board: &Scoreboard) {
        if !sent.again && disorder.flight().is_some() && self.transmit == Transmit::Careful {
            // E.4.
            self.skipped += sent.len;
        }
    }

    fn limited_transmit(&self, disorder: &Disorder) -> Bytes {
        disorder.limited_transmit()
    }

    fn window(&self, cwnd: Bytes, disorder: &Disorder) -> SendWindow {
        // E.2: pipe + Skipped ≤ FlightSizePrev − SMSS.
        let held = disorder.flight().map(|flight| flight.saturating_sub(self.skipped));
        SendWindow { cwnd: held.unwrap_or(cwnd), inflation: 0 }
    }
}

impl ExtendedLimitedTransmit {
    /// §3.2: it was reordering. No burst (T.1), and slow start back to where the sender was (T.2).
    fn terminate(&mut self, flight_prev: Bytes, ack: &AckEvent, board: &Scoreboard) -> Actions {
        // T.4: with another gap the same phase continues, from I.2.
        self.skipped = Bytes::ZERO;
        let cwnd = (board.outstanding() + ack.smss).min(flight_prev);
        let (timer, finding) = (TimerAction::Restart, Finding::Resized("reordering"));
        Actions { window: WindowAction::Set { cwnd, ssthresh: flight_prev }, timer, finding }
    }
}

impl Transmit {
    /// I.3: `max(LT_F · FlightSize / SMSS, 3)` with `LT_F` = 2/3 or 1/2, in whole duplicates. The 3 is the
    /// threshold of the profile.
    fn threshold(self, flight: Bytes, ack: &AckEvent) -> u32 {
        let share = match self {
            Self::Careful => flight * 2 / 3,
            Self::Aggressive => flight / 2,
        };
        u32::try_from(share.whole(ack.smss)).unwrap_or(u32::MAX).max(ack.dupthresh)
    }
}

fn composed(parameters: &Parameters) -> Composed {
    match parameters.repair {
        RepairBy::Sack6675 => over(sack_6675::IsLost::new(), sack_6675::NextSeg::new(), parameters),
        RepairBy::Sack3517 => {
            let (sack, selector) = sack_3517::parts_beneath();
            over(sack, selector, parameters)
        }
    }
}

fn over(
    sack: impl LossDetector + 'static,
    selector: impl Selector + 'static,
    &Parameters { transmit, after_timeout, .. }: &Parameters,
) -> Composed {
    let detector = RoundTripThreshold { transmit, sack, threshold: 0 };
    let response = ExtendedLimitedTransmit { transmit, skipped: Bytes::ZERO };
    Composed::new(detector, selector, response, AfterTimeout::new(after_timeout)).on_sack()
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "ncr",
    "waits a round trip's duplicates for what is missing, and keeps sending meanwhile",
    "RFC 4653",
    &Build(|parameters: &Parameters| Box::new(composed(parameters))),
);

//! FACK (Mathis and Mahdavi 1996, "Forward Acknowledgment: Refining TCP Congestion Control"): SACK's knowledge
//! of the forward-most data used to say exactly how much is in the network, so that data recovery and
//! congestion control can each do their own.
//!
//! It differs from `sack_6675.rs` in two places: a hole counts as gone as soon as anything above it is
//! SACKed, and a loss is found once more than three segments lie below the highest SACK, in one ACK if need
//! be. Its two refinements for the window, *Overdamping* and *Rampdown*, can be switched on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::actions::DUPLICATES;
use super::composed::{Composed, Detection, Event, FastRecovery, LossDetector, Response, Selector, Stage};
use super::disorder::Disorder;
use super::duplicates::Duplicates;
use super::forward::{Forward, NewData};
use super::{
    AckEvent, Actions, AfterTimeout, Finding, Next, Recovery, RecoveryState, Room, SendWindow, SentEvent,
    Style, TimeoutEvent, TimerAction, lost_first,
};
use crate::Cause;
use crate::congestion::{CongestionEvent, CongestionSignal};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Whether a loss in slow start quarters the window instead of halving it: when it is found, the window is
    /// twice what it was when the segment was sent (Overdamping).
    pub overdamping: bool,
    /// Whether the window comes down by half of what arrives instead of at once, which keeps the ACK clock going
    /// (Rampdown).
    pub rampdown: bool,
    /// Whether SACKs of later segments show that a retransmission was lost itself.
    pub finds_lost_retransmissions: bool,
    /// Data in exchange for which duplicates release new data before the loss is found. Mathis and Mahdavi 1996,
    /// section 2: for all that lies below the highest SACK; RFC 5681 §3.2 and ns-2 withhold it.
    pub new_data_before_loss: NewData,
    /// The window when a loss is found. Overdamping and Rampdown apply to a window that is halved.
    pub window_on_loss: WindowOnLoss,
    /// Retransmission after a timeout.
    pub after_timeout: Style,
}

/// The window when a loss is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowOnLoss {
    /// It is reduced as congestion control says, and held during recovery (Mathis and Mahdavi 1996).
    #[default]
    Reduced,
    /// It restarts from one segment, and each ACK of the recovery, duplicates too, opens it as in slow start, as in
    /// ns-2 (`CLOSE_CWND_RESTART` and `opencwnd` in `tcp-fack.cc`).
    Restarted,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            overdamping: false,
            rampdown: false,
            finds_lost_retransmissions: true,
            new_data_before_loss: NewData::ForHoles,
            window_on_loss: WindowOnLoss::Reduced,
            after_timeout: Style::GoBackN,
        }
    }
}

/// A loss is found once more than three segments lie below the highest SACK, and all of them are lost.
#[derive(Debug)]
struct BelowSack {
    forward: Forward,
    duplicates: Duplicates,
    finds_lost_retransmissions: bool,
}

impl LossDetector for BelowSack {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        if ack.advances {
            self.duplicates.clear();
        }
        let below = self.forward.judge(ack, board);
        match stage {
            Stage::Open { .. } => self.in_order(ack, below),
            Stage::FastRecovery(_) if self.finds_lost_retransmissions => {
                self.forward.judge_retransmissions(board);
                Detection::Nothing
            }
            Stage::FastRecovery(_) | Stage::AfterTimeout | Stage::Over => Detection::Nothing,
        }
    }

    fn begin(&mut self, _ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        recovery.duplicates = self.duplicates.count();
        board.mark_lost(0, Cause::FastRetransmit);
        board.blame_first(Cause::FastRetransmit);
        self.forward.skip_first(board);
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) {
        self.duplicates.clear();
        // RFC 2018 §8: the receiver may have reneged.
        board.forget_sacks();
        self.forward.start_over(timeout.nxt);
    }

    fn on_spurious(&mut self) {
        self.duplicates.clear();
    }

    fn on_sent(&mut self, sent: &SentEvent, board: &Scoreboard) {
        if sent.again {
            self.forward.on_retransmitted(sent.index, board);
        }
    }

    fn is_idle(&self) -> bool {
        self.forward.is_idle()
    }
}

impl BelowSack {
    /// Section 2: a loss once more than dupthresh segments lie below the highest SACK, or after as many
    /// duplicates.
    fn in_order(&mut self, ack: &AckEvent, below: usize) -> Detection {
        if ack.advances || (!ack.duplicate && ack.newly_sacked.is_zero()) {
            return Detection::Nothing;
        }
        if self.duplicates.reach(ack.dupthresh) || below > ack.dupthresh as usize {
            return Detection::Loss;
        }
        Detection::Duplicate
    }
}

/// A segment marked lost is sent again once the loss is confirmed.
#[derive(Debug)]
struct OnceBelieved {
    new_data_before_loss: NewData,
}

impl Selector for OnceBelieved {
    fn next(
        &self,
        recovery: Option<&FastRecovery>,
        after_timeout: &AfterTimeout,
        board: &Scoreboard,
        room: &Room,
    ) -> Next {
        if let Some(recovery) = recovery {
            return lost_first(board, room, recovery.forced, true);
        }
        if after_timeout.recover().is_some() {
            return lost_first(board, room, after_timeout.forces(), after_timeout.allows_new());
        }
        // Not yet believed to be lost, though it is off the pipe: new data may take its place (section 2).
        room.next_new()
    }

    fn pipe(&self, state: RecoveryState, board: &Scoreboard) -> Bytes {
        match state {
            RecoveryState::Open => board.pipe() + self.new_data_before_loss.withheld(board),
            RecoveryState::FastRecovery { .. } | RecoveryState::AfterTimeout { .. } => board.pipe(),
        }
    }
}

/// Half of the window, at once or by Rampdown.
#[derive(Debug)]
pub(super) struct Rampdown {
    overdamping: bool,
    rampdown: bool,
    /// The window when the loss was found.
    before: Bytes,
    /// Amount that has arrived since then.
    delivered: Bytes,
    /// Remaining reduction of the window; `None` until the reduced window is known.
    above: Option<Bytes>,
}

impl Rampdown {
    pub(super) const fn new(parameters: &Parameters) -> Self {
        let Parameters { overdamping, rampdown, .. } = *parameters;
        Self { overdamping, rampdown, before: Bytes::ZERO, delivered: Bytes::ZERO, above: None }
    }

    /// The window when the loss that is being repaired was found.
    pub(super) const fn before(&self) -> Bytes {
        self.before
    }
}

impl Response for Rampdown {
    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, _board: &Scoreboard) -> Actions {
        self.before = ack.cwnd;
        self.above = None;
        self.delivered = ack.delivered;
        // Overdamping: half of half.
        let damped = self.overdamping && ack.cwnd < ack.ssthresh;
        let counted = if damped { ack.flight / 2 } else { ack.flight };
        Actions::reduce(ack.congestion_event(counted), DUPLICATES)
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        if self.rampdown {
            self.delivered += ack.delivered;
            self.above = Some(self.before.saturating_sub(ack.cwnd + self.delivered / 2));
        }
        Actions::hold(TimerAction::restart_if(ack.advances))
    }

    fn exit(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Actions {
        self.above = None;
        Actions::exit(ack.ssthresh)
    }

    fn on_event(&mut self, event: Event) {
        if event == Event::Abandoned {
            self.above = None;
        }
    }

    fn window(&self, cwnd: Bytes, _disorder: &Disorder) -> SendWindow {
        SendWindow { cwnd, inflation: self.above.unwrap_or(Bytes::ZERO).0.cast_signed() }
    }
}

/// One segment, and more with each ACK.
#[derive(Debug)]
struct Restart;

impl Response for Restart {
    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, _board: &Scoreboard) -> Actions {
        let signal = CongestionSignal::Timeout { repeated: false };
        Actions::reduce(CongestionEvent { signal, ..ack.congestion_event(ack.flight) }, DUPLICATES)
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        Actions::grow(ack.smss, TimerAction::Restart)
    }

    fn exit(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Actions {
        Actions { finding: Finding::Recovered, ..Actions::grow(ack.smss, TimerAction::Restart) }
    }
}

/// FACK's detection and selection, with a response of one's own.
pub(super) fn respond_by(parameters: &Parameters, response: impl Response + 'static) -> Composed {
    let detector = BelowSack {
        forward: Forward::default(),
        duplicates: Duplicates::NONE,
        finds_lost_retransmissions: parameters.finds_lost_retransmissions,
    };
    let selector = OnceBelieved { new_data_before_loss: parameters.new_data_before_loss };
    Composed::new(detector, selector, response, AfterTimeout::new(parameters.after_timeout)).on_sack()
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "fack",
    "considers all segments below the highest SACK to have left the network",
    "Mathis and Mahdavi 1996",
    &Build(|parameters: &Parameters| {
        Box::new(match parameters.window_on_loss {
            WindowOnLoss::Reduced => respond_by(parameters, Rampdown::new(parameters)),
            WindowOnLoss::Restarted => respond_by(parameters, Restart),
        })
    }),
);

#[cfg(test)]
mod tests {
    use units::Seq;

    use super::*;

    #[test]
    fn a_timeout_ends_rampdown_and_a_mark_does_not() {
        let mut rampdown = Rampdown::new(&Parameters::default());
        rampdown.above = Some(Bytes(3000));
        rampdown.on_event(Event::Marked { before: Bytes(8000), nxt: Seq(1) });
        assert_eq!(rampdown.above, Some(Bytes(3000)));
        rampdown.on_event(Event::Abandoned);
        assert_eq!(rampdown.above, None);
    }
}

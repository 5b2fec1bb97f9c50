//! Tahoe: fast retransmit without fast recovery (Jacobson 1988).
//!
//! The third duplicate ACK is treated as a timeout without the wait: the window falls to one segment,
//! and everything outstanding is sent again in slow start unless an ACK covers it first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::composed::{Composed, Detection, Event, FastRecovery, Response, Selector};
use super::disorder::{Change, Disorder};
use super::duplicates::{Bugfix, DuplicateThreshold, Remembers};
use super::limited_transmit::LimitedTransmit;
use super::{
    AckEvent, Actions, AfterTimeout, Finding, Next, Recovery, Room, SendWindow, SentEvent, Style, lost_first,
};
use crate::Cause;
use crate::congestion::{CongestionEvent, CongestionSignal};
use crate::scoreboard::{Mark, Scoreboard};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Retransmission after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042). BSD's Tahoe did not; ns-2's does
    /// (`singledup_`).
    pub limited_transmit: bool,
    /// Duplicate ACKs that may start another fast retransmit while what was outstanding at the last loss is sent again:
    /// below that point they are echoes of it. ns-2 (`bugFix_`) is `careful`.
    pub bugfix: Bugfix,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { after_timeout: Style::default(), limited_transmit: false, bugfix: Bugfix::LessCareful }
    }
}

/// Everything starts over as after a timeout.
#[derive(Debug)]
struct StartOver {
    limited_transmit: LimitedTransmit,
}

impl Response for StartOver {
    fn in_order(&mut self, ack: &AckEvent, found: Detection, _: Change, _board: &Scoreboard) -> Actions {
        if ack.advances {
            self.limited_transmit.end();
        } else if found == Detection::Duplicate {
            self.limited_transmit.on_duplicate(ack);
        }
        Actions::ordinary(ack)
    }

    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, _board: &Scoreboard) -> Actions {
        let event = ack.congestion_event(ack.flight.saturating_sub(self.limited_transmit.sent()));
        self.limited_transmit.end();
        let signal = CongestionSignal::Timeout { repeated: false };
        Actions::reduce(CongestionEvent { signal, ..event }, Finding::Collapse("duplicate ACKs"))
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        Actions::ordinary(ack)
    }

    fn on_event(&mut self, event: Event) {
        if event == Event::Abandoned {
            self.limited_transmit.end();
        }
    }

    fn on_sent(&mut self, sent: &SentEvent, _disorder: &Disorder, board: &Scoreboard) {
        self.limited_transmit.on_sent(sent, board);
    }

    fn limited_transmit(&self, _disorder: &Disorder) -> Bytes {
        self.limited_transmit.sent()
    }

    fn window(&self, cwnd: Bytes, _disorder: &Disorder) -> SendWindow {
        SendWindow { cwnd, inflation: self.limited_transmit.allowed().0.cast_signed() }
    }
}

/// Segments marked lost first; a fast retransmit is sent whatever the window is.
#[derive(Debug)]
pub(super) struct FastRetransmitFirst;

impl Selector for FastRetransmitFirst {
    fn next(
        &self,
        recovery: Option<&FastRecovery>,
        after_timeout: &AfterTimeout,
        board: &Scoreboard,
        room: &Room,
    ) -> Next {
        let first_again = board.front().is_some_and(|first| first.mark == Mark::Lost(Cause::FastRetransmit));
        let forced = first_again || recovery.is_some_and(|recovery| recovery.forced);
        lost_first(board, room, forced || after_timeout.forces(), after_timeout.allows_new())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "tahoe",
    "fast retransmit, then slow start from one segment",
    "Jacobson 1988; Fall and Floyd 1996",
    &Build(|parameters: &Parameters| {
        let response = StartOver { limited_transmit: LimitedTransmit::new(parameters.limited_transmit) };
        let detector = DuplicateThreshold::new(parameters.bugfix, Remembers::Losses);
        let after_timeout = AfterTimeout::new(parameters.after_timeout);
        Box::new(Composed::new(detector, FastRetransmitFirst, response, after_timeout))
    }),
);

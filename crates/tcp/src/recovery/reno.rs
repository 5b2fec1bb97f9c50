//! Reno: fast retransmit and fast recovery (RFC 5681 §3.2, without NewReno's partial ACKs).
//!
//! The third duplicate ACK sends the first segment again at once, halves the window and inflates it by
//! the three segments that have left the network; each further duplicate inflates it by one. The first
//! ACK of new data ends recovery, whether or not more was lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Seq};

use super::actions::DUPLICATES;
use super::composed::{Composed, Detection, Event, LostFirst, Response};
use super::disorder::{Change, Disorder};
use super::duplicates::{Bugfix, DuplicateThreshold, Remembers};
use super::limited_transmit::LimitedTransmit;
use super::{AckEvent, Actions, AfterTimeout, Recovery, SendWindow, SentEvent, Style, TimerAction};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Retransmission after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042).
    pub limited_transmit: bool,
    /// Whether each duplicate ACK restarts the retransmission timer (Gurtov 2001): it keeps the timer from
    /// running out while needless copies are still being answered, and delays the repair of real losses.
    pub timer_restarts_on_duplicates: bool,
    /// Whether go-back-N after a timeout continues after a fast retransmit, as in BSD (`snd_nxt = onxt`). Otherwise
    /// segments that were not yet sent again count as in flight.
    pub go_back_n_goes_on: bool,
    /// Whether duplicate ACKs inflate the window by no more than was outstanding when the loss was found: more
    /// segments cannot have left the network, so that spoofed duplicates gain nothing (RFC 5681 §3.2, MAY).
    pub limits_inflation: bool,
    /// Duplicate ACKs that may start another fast retransmit after an earlier loss. RFC 5681 leaves it open, and BSD
    /// took all of them; ns-2 (`bugFix_`) is `careful`.
    pub bugfix: Bugfix,
    /// Sequence number that the bugfix uses; in ns-2, that of the last loss of either kind.
    pub remembers: Remembers,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            after_timeout: Style::default(),
            limited_transmit: false,
            timer_restarts_on_duplicates: false,
            go_back_n_goes_on: false,
            limits_inflation: false,
            bugfix: Bugfix::None,
            remembers: Remembers::Losses,
        }
    }
}

/// The window is inflated by each segment that a duplicate ACK shows to have left the network.
#[derive(Debug)]
pub(super) struct Inflate {
    limited_transmit: LimitedTransmit,
    timer_restarts_on_duplicates: bool,
    limits_inflation: bool,
    /// Whether the loss of a segment that was sent before the last reduction reduces nothing.
    reduces_once_per_window: bool,
    reduced_at: Option<Instant>,
    /// Whether fast recovery begins with an inflation by the duplicates that came, and not by three; and whether
    /// duplicates after a retransmission outside of it inflate too.
    inflates_by_duplicates: bool,
    /// Duplicates in a row, and whether something was sent again since the last ACK of new data.
    duplicates: u32,
    repaired: bool,
    inflation: Bytes,
    /// The most that it may become.
    greatest_inflation: Bytes,
}

impl Response for Inflate {
    fn in_order(&mut self, ack: &AckEvent, found: Detection, _: Change, _board: &Scoreboard) -> Actions {
        if ack.advances {
            self.limited_transmit.end();
            self.deflate();
        } else if found == Detection::Duplicate {
            self.limited_transmit.on_duplicate(ack);
            self.duplicates += 1;
            if self.inflates_by_duplicates && self.repaired {
                self.inflation += ack.smss;
            }
        }
        self.on_any(ack)
    }

    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, board: &Scoreboard) -> Actions {
        let counted = ack.flight.saturating_sub(self.limited_transmit.sent());
        self.limited_transmit.end();
        self.greatest_inflation = if self.limits_inflation { board.outstanding() } else { Bytes::MAX };
        let left = if self.inflates_by_duplicates { self.duplicates + 1 } else { ack.dupthresh };
        self.inflation = (ack.smss * u64::from(left)).min(self.greatest_inflation);
        let first_sent = board.front().map(|first| first.first_sent);
        if self.reduces_once_per_window && first_sent < self.reduced_at {
            return Actions { finding: DUPLICATES, ..Actions::hold(TimerAction::StartWhole) };
        }
        self.reduced_at = Some(ack.now);
        Actions::reduce(ack.congestion_event(counted), DUPLICATES)
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        if ack.duplicate {
            self.inflation = (self.inflation + ack.smss).min(self.greatest_inflation);
        }
        self.on_any(ack)
    }

    fn is_over(&self, ack: &AckEvent, _recover: Seq) -> bool {
        ack.advances
    }

    /// RFC 5681 §3.2 step 6: deflate to ssthresh.
    fn exit(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Actions {
        self.deflate();
        Actions::exit(ack.ssthresh)
    }

    fn on_event(&mut self, event: Event) {
        if event == Event::Abandoned {
            self.limited_transmit.end();
            self.deflate();
            // A reduction that was undone was none.
            self.reduced_at = None;
        }
    }

    fn on_sent(&mut self, sent: &SentEvent, _disorder: &Disorder, board: &Scoreboard) {
        self.limited_transmit.on_sent(sent, board);
        self.repaired |= sent.again;
    }

    fn limited_transmit(&self, _disorder: &Disorder) -> Bytes {
        self.limited_transmit.sent()
    }

    fn window(&self, cwnd: Bytes, _disorder: &Disorder) -> SendWindow {
        let inflation = (self.inflation + self.limited_transmit.allowed()).0.cast_signed();
        SendWindow { cwnd, inflation }
    }
}

impl Inflate {
    pub(super) const fn new(limited_transmit: LimitedTransmit) -> Self {
        Self {
            limited_transmit,
            timer_restarts_on_duplicates: false,
            limits_inflation: false,
            reduces_once_per_window: false,
            reduced_at: None,
            inflates_by_duplicates: false,
            duplicates: 0,
            repaired: false,
            inflation: Bytes::ZERO,
            greatest_inflation: Bytes::MAX,
        }
    }

    /// The loss of a segment that was sent before the last reduction reduces nothing.
    pub(super) const fn reducing_once_per_window(mut self) -> Self {
        self.reduces_once_per_window = true;
        self
    }

    /// Fast recovery begins with an inflation by the duplicates that came, and duplicates after a retransmission
    /// outside of it inflate too.
    pub(super) const fn inflating_by_duplicates(mut self) -> Self {
        self.inflates_by_duplicates = true;
        self
    }

    fn deflate(&mut self) {
        self.inflation = Bytes::ZERO;
        self.duplicates = 0;
        self.repaired = false;
    }

    fn on_any(&self, ack: &AckEvent) -> Actions {
        if ack.duplicate {
            return Actions::hold(TimerAction::restart_if(self.timer_restarts_on_duplicates));
        }
        Actions::ordinary(ack)
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "reno",
    "fast retransmit and fast recovery, over with the first new ACK",
    "RFC 5681 §3.2; Jacobson 1990",
    &Build(|parameters: &Parameters| {
        let response = Inflate {
            timer_restarts_on_duplicates: parameters.timer_restarts_on_duplicates,
            limits_inflation: parameters.limits_inflation,
            ..Inflate::new(LimitedTransmit::new(parameters.limited_transmit))
        };
        let goes_on = parameters.go_back_n_goes_on;
        let detector =
            DuplicateThreshold::new(parameters.bugfix, parameters.remembers).keeping_marks(goes_on);
        let after_timeout = AfterTimeout::new(parameters.after_timeout);
        let composed = Composed::new(detector, LostFirst, response, after_timeout);
        Box::new(composed.with_go_back_n_that_continues(goes_on))
    }),
);

#[cfg(test)]
mod tests {
    use units::{Duration, SeqRange};
    use wire::Payload;

    use super::*;
    use crate::recovery::actions::WindowAction;
    use crate::scoreboard::New;

    fn board_sent_at(sent: Instant) -> Scoreboard {
        let mut board = Scoreboard::EMPTY;
        let range = SeqRange { start: Seq(1), end: Seq(1001) };
        board.push(
            New { range, payload: Payload::Pattern { offset: 0, len: 1000 }, syn: false, fin: false },
            sent,
            Bytes(8000),
        );
        board
    }

    // Jacobson 1990 halves once for the losses of a window: one that was sent before the halving asks for no other.
    #[test]
    fn a_segment_sent_before_the_last_reduction_reduces_nothing_more() {
        let at = |ms| Instant::START + Duration::from_millis(ms);
        let mut response = Inflate::new(LimitedTransmit::new(false)).reducing_once_per_window();
        let ack = |now| AckEvent { now, smss: Bytes(1000), dupthresh: 3, ..AckEvent::default() };
        let mut reduces = |sent, now| {
            let actions = response.enter(&ack(now), &Disorder::default(), &board_sent_at(sent));
            matches!(actions.window, WindowAction::Reduce { .. })
        };
        assert!(reduces(at(10), at(100)));
        assert!(!reduces(at(90), at(200)));
        assert!(reduces(at(110), at(300)), "sent after the reduction");
    }

    // RFC 5681 §3.2 step 2: what limited transmit sent is not counted in the flight that is halved.
    #[test]
    fn new_data_beyond_the_window_count_as_sent_by_limited_transmit() {
        let mut response = Inflate::new(LimitedTransmit::new(true));
        let ack = AckEvent { smss: Bytes(1000), dupthresh: 3, ..AckEvent::default() };
        response.limited_transmit.on_duplicate(&ack);
        let mut board = board_sent_at(Instant::START);
        let range = SeqRange { start: Seq(1001), end: Seq(2001) };
        let payload = Payload::Pattern { offset: 1000, len: 1000 };
        board.push(New { range, payload, syn: false, fin: false }, Instant::START, Bytes(1000));
        let sent = |again| SentEvent { index: 1, len: Bytes(1000), again, srtt: None };
        response.on_sent(&sent(true), &Disorder::default(), &board);
        assert_eq!(response.limited_transmit(&Disorder::default()), Bytes::ZERO, "data sent again");
        response.on_sent(&sent(false), &Disorder::default(), &board);
        assert_eq!(response.limited_transmit(&Disorder::default()), Bytes(1000));
    }
}

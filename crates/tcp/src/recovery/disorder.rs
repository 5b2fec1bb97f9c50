//! Disorder: the time from the first duplicate ACK until the gap that it reports is closed, or taken for a
//! loss.
//!
//! A robust sender continues to send new data meanwhile (extended limited transmit, RFC 4653 §3.3), and must
//! not count them when it reduces its window after all: half of a flight twice as large as the window would
//! be no reduction.

use units::Bytes;

use super::actions::DUPLICATES;
use super::{AckEvent, Actions};
use crate::scoreboard::Scoreboard;

/// The time of disorder, if there is any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disorder {
    /// `FlightSizePrev`: what was outstanding when it began.
    flight: Option<Bytes>,
    /// The outstanding data.
    outstanding: Bytes,
}

/// Effect of an ACK on the disorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// There was none, and there is none.
    None,
    /// It reports a gap for the first time.
    Begins,
    /// The gap is still there.
    Lasts,
    /// The gap is closed. If there is another beyond it, the disorder continues from where it began.
    Closed {
        /// `FlightSizePrev`.
        flight: Bytes,
    },
}

impl Disorder {
    /// No disorder.
    pub(super) const NONE: Self = Self { flight: None, outstanding: Bytes::ZERO };

    /// An ACK came while no loss is being repaired.
    pub(super) fn on_ack(&mut self, ack: &AckEvent, board: &Scoreboard) -> Change {
        self.outstanding = board.outstanding();
        let gap = !board.sacked().is_zero();
        match (self.flight, ack.advances) {
            (None, _) if gap && !ack.newly_sacked.is_zero() => {
                self.flight = Some(self.outstanding);
                Change::Begins
            }
            (None, _) => Change::None,
            (Some(_), false) => Change::Lasts,
            (Some(flight), true) => {
                self.flight = self.flight.filter(|_| gap);
                Change::Closed { flight }
            }
        }
    }

    /// A segment was sent.
    pub(super) fn on_sent(&mut self, board: &Scoreboard) {
        self.outstanding = board.outstanding();
    }

    /// A loss is repaired from here on, or nothing is known any more.
    pub(super) fn end(&mut self) {
        self.flight = None;
    }

    /// `FlightSizePrev`, while it lasts.
    pub(super) const fn flight(&self) -> Option<Bytes> {
        self.flight
    }

    /// Outstanding data sent by limited transmit since it began.
    pub(super) fn limited_transmit(&self) -> Bytes {
        self.flight.map_or(Bytes::ZERO, |flight| self.outstanding.saturating_sub(flight))
    }

    /// The disorder was a loss: the reduction is based on the former flight.
    pub(super) fn reduce(&self, ack: &AckEvent) -> Actions {
        let counted = ack.flight.saturating_sub(self.limited_transmit());
        Actions::reduce(ack.congestion_event(counted), DUPLICATES)
    }
}

//! RFC 6675's detection, believed when the gap is still there some time after its first duplicate ACK. `dcr.rs` and
//! `reordering_timer.rs` say how long that is.

use units::{Duration, Instant};

use super::composed::{Detection, FastRecovery, LossDetector, Stage};
use super::disorder::Change;
use super::sack_6675::IsLost;
use super::{AckEvent, TimeoutEvent};
use crate::scoreboard::Scoreboard;

/// The detection, with the gap that may be a loss.
#[derive(Debug)]
pub(super) struct Delayed {
    sack: IsLost,
    gap: Option<Gap>,
}

/// Between the first duplicate ACK and the response.
#[derive(Clone, Copy, Debug)]
struct Gap {
    since: Instant,
    until: Instant,
    /// Enough duplicates came for a loss.
    enough: bool,
}

impl Delayed {
    pub(super) const fn new() -> Self {
        Self { sack: IsLost::new(), gap: None }
    }

    /// An ACK has arrived. The response to a gap that begins with it waits for `delay`.
    pub(super) fn on_ack(
        &mut self,
        ack: &AckEvent,
        stage: Stage<'_>,
        board: &mut Scoreboard,
        delay: Duration,
    ) -> Detection {
        let Stage::Open { disorder: change, .. } = stage else { return self.sack.on_ack(ack, stage, board) };
        let begun = Gap { since: ack.now, until: ack.now + delay, enough: false };
        if change == Change::Begins {
            self.gap = Some(begun);
        }
        let found = self.sack.on_ack(ack, stage, board);
        if matches!(change, Change::Closed { .. }) {
            // A gap was closed; another one has a delay of its own.
            self.gap = (!board.sacked().is_zero()).then_some(begun);
            return Detection::Nothing;
        }
        let Some(gap) = &mut self.gap else { return Detection::Nothing };
        gap.enough |= found == Detection::Loss;
        self.respond(ack)
    }

    /// Time of the gap's first duplicate ACK.
    pub(super) fn since(&self) -> Option<Instant> {
        self.gap.map(|gap| gap.since)
    }

    /// The loss is believed once its time has come.
    pub(super) fn respond(&self, ack: &AckEvent) -> Detection {
        match self.gap {
            Some(gap) if gap.enough && ack.now >= gap.until => Detection::Loss,
            _ => Detection::Nothing,
        }
    }

    pub(super) fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        self.gap = None;
        self.sack.begin(ack, recovery, board);
    }

    pub(super) fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) {
        self.gap = None;
        self.sack.on_timeout(timeout, board);
    }

    pub(super) fn on_spurious(&mut self) {
        self.gap = None;
        self.sack.on_spurious();
    }

    pub(super) fn deadline(&self, board: &Scoreboard) -> Option<Instant> {
        // As long as duplicates are still to come, the response waits for the next of them: the
        // retransmission then takes the place of what has left the network, and not one more.
        let all_sacked = board.back().map(|last| last.range.end) == board.highest_sacked();
        self.gap.filter(|gap| gap.enough && all_sacked).map(|gap| gap.until)
    }

    pub(super) const fn is_idle(&self) -> bool {
        self.gap.is_none()
    }
}

//! TCP-NCR, robustness to non-congestion events (RFC 4653): SACK recovery that waits for as many duplicate
//! ACKs as a round trip brings, and keeps the ACK clock going meanwhile (extended limited transmit).
//!
//! It differs from `sack_6675.rs` only from the first duplicate ACK until the gap is closed or taken for a
//! loss; the letters and numbers are those of the RFC's steps.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::disorder::{Change, Disorder};
use super::sack_6675::Sack6675;
use super::{Ack, Next, Phase, Recovery, Room, Style, Timeout, Verdict};
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How much new data duplicate ACKs let out.
    pub transmit: Transmit,
    /// What happens after a timeout.
    pub after_timeout: Style,
}

/// How much new data duplicate ACKs let out (RFC 4653 §3).
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

#[derive(Debug)]
struct Ncr {
    transmit: Transmit,
    sack: Sack6675,
    disorder: Disorder,
    /// `Skipped`: new data whose like the next duplicate may not let out (careful only).
    skipped: Bytes,
    /// `DupThresh` as it was last set; it holds in recovery too.
    threshold: u32,
}

impl Recovery for Ncr {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if self.sack.phase() != Phase::Open {
            return self.sack.on_ack(&Ack { dupthresh: self.threshold.max(ack.dupthresh), ..*ack }, board);
        }
        let change = self.disorder.on_ack(ack, board);
        // I.3 and E.6: set by the flight as the last transmission left it, which is as this ACK found it.
        self.threshold = self.transmit.threshold(board.outstanding(), ack);
        let verdict = self.sack.on_ack(&Ack { dupthresh: self.threshold, ..*ack }, board);
        match change {
            _ if verdict == Verdict::Loss => self.disorder.end(),
            // I.2.
            Change::Begins => self.skipped = Bytes::ZERO,
            Change::Closed { flight } => return self.terminate(flight, ack, board),
            Change::None | Change::Lasts => {}
        }
        verdict
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.disorder.end();
        self.sack.on_timeout(timeout, board);
    }

    fn on_spurious(&mut self) {
        self.disorder.end();
        self.sack.on_spurious();
    }

    fn held_window(&self) -> Option<Bytes> {
        // E.2: pipe + Skipped ≤ FlightSizePrev − SMSS.
        self.disorder.flight().map(|flight| flight.saturating_sub(self.skipped))
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        self.sack.next(board, room)
    }

    fn on_retransmitted(&mut self, index: usize, board: &mut Scoreboard) {
        self.sack.on_retransmitted(index, board);
    }

    fn on_new(&mut self, len: Bytes, board: &Scoreboard) {
        self.disorder.on_new(board);
        if self.disorder.flight().is_some() && self.transmit == Transmit::Careful {
            // E.4.
            self.skipped += len;
        }
    }

    fn beyond_window(&self) -> Bytes {
        // §3.4: the reduction goes by FlightSizePrev.
        self.disorder.beyond()
    }

    fn inflation(&self) -> i64 {
        self.sack.inflation()
    }

    fn phase(&self) -> Phase {
        self.sack.phase()
    }

    fn needs_sack(&self) -> bool {
        true
    }
}

impl Ncr {
    /// §3.2: it was reordering. No burst (T.1), and slow start back to where the sender was (T.2).
    fn terminate(&mut self, flight_prev: Bytes, ack: &Ack, board: &Scoreboard) -> Verdict {
        // T.4: with another gap the same phase goes on, from I.2.
        self.skipped = Bytes::ZERO;
        let cwnd = (board.outstanding() + ack.smss).min(flight_prev);
        Verdict::Resize { cwnd, ssthresh: flight_prev, reason: "reordering" }
    }
}

impl Transmit {
    /// I.3: `max(LT_F · FlightSize / SMSS, 3)` with `LT_F` = 2/3 or 1/2, in whole duplicates. The 3 is the
    /// threshold of the profile.
    fn threshold(self, flight: Bytes, ack: &Ack) -> u32 {
        let share = match self {
            Self::Careful => flight * 2 / 3,
            Self::Aggressive => flight / 2,
        };
        u32::try_from(share.whole(ack.smss)).unwrap_or(u32::MAX).max(ack.dupthresh)
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "ncr",
    summary: "waits a round trip's duplicates for what is missing, and keeps sending meanwhile",
    source: "RFC 4653",
    parse: |value| {
        let Params { transmit, after_timeout } = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || {
            Box::new(Ncr {
                transmit,
                sack: Sack6675::new(after_timeout),
                disorder: Disorder::NONE,
                skipped: Bytes::ZERO,
                threshold: 0,
            })
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

//! RR-TCP (Zhang, Karp, Floyd and Peterson 2003), its sending side: SACK recovery with limited transmit extended
//! to a whole window, so that a high threshold of duplicate ACKs can be reached at all.
//!
//! The threshold itself is `dupthresh`'s (the histogram of reordering lengths), false fast retransmits are
//! found and undone by `spurious` (D-SACK); the profile `rr` puts the three together.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::disorder::Disorder;
use super::sack_6675::Sack6675;
use super::{Ack, Next, Phase, Recovery, Room, Style, Timeout, Verdict};
use crate::registry::{Entry, refusal};
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many windows of new data duplicate ACKs may let out beyond the window. Zhang et al. 2003: one.
    #[schemars(range(min = 0, max = 100))]
    pub extra_windows: u32,
    /// What happens after a timeout.
    pub after_timeout: Style,
}

impl Default for Params {
    fn default() -> Self {
        Self { extra_windows: 1, after_timeout: Style::default() }
    }
}

#[derive(Debug)]
struct Rr {
    extra_windows: u32,
    sack: Sack6675,
    disorder: Disorder,
    /// The most that may be outstanding while a gap lasts.
    most: Bytes,
}

impl Recovery for Rr {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if self.sack.phase() == Phase::Open {
            self.disorder.on_ack(ack, board);
            self.most = ack.cwnd * u64::from(self.extra_windows + 1);
        }
        let verdict = self.sack.on_ack(ack, board);
        if verdict == Verdict::Loss {
            self.disorder.end();
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

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let full = |new: Bytes| self.disorder.flight().is_some() && board.outstanding() + new > self.most;
        self.sack.next(board, &Room { new: room.new.filter(|new| !full(*new)), ..*room })
    }

    fn on_retransmitted(&mut self, index: usize, board: &mut Scoreboard) {
        self.sack.on_retransmitted(index, board);
    }

    fn on_new(&mut self, _len: Bytes, board: &Scoreboard) {
        self.disorder.on_new(board);
    }

    fn beyond_window(&self) -> Bytes {
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

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "rr",
    summary: "SACK recovery with limited transmit extended to a window, for high duplicate thresholds",
    source: "Zhang, Karp, Floyd and Peterson 2003 (RR-TCP)",
    parse: |value| {
        let Params { extra_windows, after_timeout } = Entry::<dyn Recovery>::read(value)?;
        if extra_windows > 100 {
            return Err(refusal(format!("extra_windows is {extra_windows}"), "from 0 to 100"));
        }
        Ok(Arc::new(move || {
            let (sack, disorder) = (Sack6675::new(after_timeout), Disorder::NONE);
            Box::new(Rr { extra_windows, sack, disorder, most: Bytes::ZERO })
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

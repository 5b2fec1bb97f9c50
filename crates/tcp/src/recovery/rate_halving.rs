//! Rate-Halving (Mathis, Semke, Mahdavi and Lahey 1999): one segment goes out for each two that are
//! acknowledged, all through the first round trip of a recovery, instead of none in its first half and a burst
//! in its second. The ACK clock never stops.
//!
//! What is lost is told as FACK tells it (`fack.rs`), lost retransmissions included (the "thorough recovery" of
//! the note). At the end the window is what is in the network then, within bounds: no more than half of what it
//! was when the loss was found, no less than a quarter.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::fack::{self, Fack};
use super::{Ack, Next, Phase, Recovery, Room, Style, Timeout, Verdict};
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
}

/// The lower bound of the window at the end: a quarter of what it was. (The bounds are quoted from memory of the
/// note's "bounding parameters", unchecked: the note itself was not at hand.)
const LEAST_PART: u64 = 4;

#[derive(Debug)]
struct RateHalving(Fack);

impl Recovery for RateHalving {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        match self.0.on_ack(ack, board) {
            Verdict::Recovered { window } => {
                let least = (self.0.before() / LEAST_PART).max(ack.smss * 2).min(window);
                Verdict::Recovered { window: (board.pipe() + ack.smss).clamp(least, window) }
            }
            verdict => verdict,
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.0.on_timeout(timeout, board);
    }

    fn on_spurious(&mut self) {
        self.0.on_spurious();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        self.0.next(board, room)
    }

    fn on_retransmitted(&mut self, index: usize, board: &mut Scoreboard) {
        self.0.on_retransmitted(index, board);
    }

    fn counted(&self, flight: Bytes, board: &Scoreboard) -> Bytes {
        self.0.counted(flight, board)
    }

    fn inflation(&self) -> i64 {
        self.0.inflation()
    }

    fn phase(&self) -> Phase {
        self.0.phase()
    }

    fn needs_sack(&self) -> bool {
        true
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "rate-halving",
    summary: "FACK that sends one segment for each two acknowledged until the window is halved",
    source: "Mathis, Semke, Mahdavi and Lahey 1999; draft-mathis-tcp-ratehalving-00",
    parse: |value| {
        let Params { after_timeout } = Entry::<dyn Recovery>::read(value)?;
        let params = fack::Params { rampdown: true, after_timeout, ..fack::Params::default() };
        Ok(Arc::new(move || Box::new(RateHalving(Fack::new(params.clone())))))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

//! Rate-Halving (Mathis, Semke, Mahdavi and Lahey 1999): one segment goes out for each two that are
//! acknowledged, all through the first round trip of a recovery, instead of none in its first half and a burst
//! in its second. The ACK clock never stops.
//!
//! What is lost is told as FACK tells it (`fack.rs`), lost retransmissions included (the "thorough recovery" of
//! the note). At the end the window is half of what it was, less what was sent again; the threshold is no lower than
//! a quarter of it. Checked against the authors' own simulator code (ns-2, `tcp-sack-rh.cc`), which names the note's
//! sections; the note itself was not at hand.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::fack::{self, Fack};
use super::{Ack, Next, Phase, Recovery, Room, Style, Timeout, Verdict};
use crate::registry::Entry;
use crate::scoreboard::{Scoreboard, Sent};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
}

/// Section 7.14, bounding parameters: the threshold at the end is a quarter of the window of before at the least.
const LEAST_PART: u64 = 4;

#[derive(Debug)]
struct RateHalving {
    fack: Fack,
    /// What was sent again in this recovery.
    again: Bytes,
}

impl Recovery for RateHalving {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        match self.fack.on_ack(ack, board) {
            Verdict::Recovered { .. } => self.end(ack),
            Verdict::Loss => {
                self.again = Bytes::ZERO;
                Verdict::Loss
            }
            verdict => verdict,
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.fack.on_timeout(timeout, board);
    }

    fn on_spurious(&mut self) {
        self.fack.on_spurious();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        self.fack.next(board, room)
    }

    fn on_retransmitted(&mut self, index: usize, board: &mut Scoreboard) {
        self.again += board.get(index).map_or(Bytes::ZERO, Sent::size);
        self.fack.on_retransmitted(index, board);
    }

    fn counted(&self, flight: Bytes, board: &Scoreboard) -> Bytes {
        self.fack.counted(flight, board)
    }

    fn inflation(&self) -> i64 {
        self.fack.inflation()
    }

    fn phase(&self) -> Phase {
        self.fack.phase()
    }

    fn needs_sack(&self) -> bool {
        true
    }
}

impl RateHalving {
    /// Sections 7.10 to 7.14. One segment for two acknowledged makes half of the window; each hole took the place of a
    /// segment that was never acknowledged.
    fn end(&self, ack: &Ack) -> Verdict {
        let before = self.fack.before();
        let cwnd = (before.saturating_sub(self.again) / 2).max(ack.smss);
        Verdict::Resize { cwnd, ssthresh: cwnd.max(before / LEAST_PART), reason: "halved" }
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
        Ok(Arc::new(move || Box::new(RateHalving { fack: Fack::new(params.clone()), again: Bytes::ZERO })))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

//! TCP-DCR, delayed congestion response (Bhandarkar and Reddy 2004): SACK recovery that starts no earlier than
//! one round trip after the first duplicate ACK.
//!
//! In that time a link layer may have repaired the loss, or the segment that was overtaken arrives. The
//! sender goes on meanwhile, one new segment for each duplicate. If the gap is still there when the time is
//! over, and enough duplicates came, it is a loss.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant};

use super::disorder::{Change, Disorder};
use super::sack_6675::Sack6675;
use super::{Ack, Next, Phase, Recovery, Repair, Room, Style, Timeout, Verdict};
use crate::registry::{Entry, refusal};
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The delay of the response, in smoothed round-trip times. Bhandarkar and Reddy 2004: 1.
    pub delay: f64,
    /// What happens after a timeout.
    pub after_timeout: Style,
}

impl Default for Params {
    fn default() -> Self {
        Self { delay: 1.0, after_timeout: Style::default() }
    }
}

#[derive(Debug)]
struct Dcr {
    /// In thousandths of the round-trip time.
    delay: u64,
    sack: Sack6675,
    disorder: Disorder,
    waiting: Option<Waiting>,
}

/// Between the first duplicate ACK and the response.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    until: Instant,
    /// Enough duplicates came for a loss.
    enough: bool,
}

impl Recovery for Dcr {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if self.sack.phase() != Phase::Open {
            return self.sack.on_ack(ack, board);
        }
        let change = self.disorder.on_ack(ack, board);
        if matches!(change, Change::Begins) {
            self.waiting = Some(Waiting { until: self.response_at(ack), enough: false });
        }
        if ack.advances {
            self.sack.on_ack(ack, board);
            self.start_anew(change, ack);
            return Verdict::Ordinary;
        }
        let found = self.sack.finds_loss(ack, board);
        let Some(waiting) = &mut self.waiting else { return Verdict::Ordinary };
        waiting.enough |= found;
        self.respond(ack, board)
    }

    fn on_deadline(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        self.respond(ack, board)
    }

    fn deadline(&self, board: &Scoreboard) -> Option<Instant> {
        // As long as duplicates are still to come, the response waits for the next of them: the
        // retransmission then takes the place of what has left the network, and not one more.
        let all_sacked = board.back().map(|last| last.range.end) == board.highest_sacked();
        self.waiting.filter(|waiting| waiting.enough && all_sacked).map(|waiting| waiting.until)
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.end_waiting();
        self.sack.on_timeout(timeout, board);
    }

    fn on_spurious(&mut self) {
        self.end_waiting();
        self.sack.on_spurious();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        self.sack.next(board, room)
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

impl Dcr {
    fn response_at(&self, ack: &Ack) -> Instant {
        // Without a sample nothing is known of the round trip, and the response cannot wait for it.
        ack.srtt.map_or(ack.now, |srtt| ack.now + srtt * self.delay / THOUSANDTHS)
    }

    /// A gap was closed; another one has a delay of its own.
    fn start_anew(&mut self, change: Change, ack: &Ack) {
        if matches!(change, Change::Closed { .. }) {
            let again = self.disorder.flight().is_some();
            self.waiting = again.then(|| Waiting { until: self.response_at(ack), enough: false });
        }
    }

    /// The congestion response, once its time has come.
    fn respond(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        if self.waiting.is_none_or(|waiting| !waiting.enough || ack.now < waiting.until) {
            return Verdict::Ordinary;
        }
        self.end_waiting();
        self.sack.enter(ack, board);
        Verdict::Loss
    }

    fn end_waiting(&mut self) {
        self.waiting = None;
        self.disorder.end();
    }
}

const THOUSANDTHS: u64 = 1000;

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "dcr",
    summary: "SACK recovery one round trip after the first duplicate ACK, in case nothing is lost",
    source: "Bhandarkar and Reddy 2004 (TCP-DCR)",
    parse: |value| {
        let Params { delay, after_timeout } = Entry::<dyn Recovery>::read(value)?;
        if !(0.0..=100.0).contains(&delay) {
            return Err(refusal(format!("delay is {delay} round trips"), "from 0 to 100"));
        }
        // A float is read once; sums in thousandths are the same on every machine.
        let delay = (delay * THOUSANDTHS as f64).round() as u64;
        Ok(Arc::new(move || {
            let (sack, disorder) = (Sack6675::new(after_timeout), Disorder::NONE);
            Box::new(Dcr { delay, sack, disorder, waiting: None })
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

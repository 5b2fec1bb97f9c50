//! The comparison of round trips (Allman and Paxson 1999): an ACK that follows a retransmission sooner
//! than any answer to it could answers the original.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant, SeqRange};

use super::{Judgement, Response, Signal, Spurious};
use crate::recovery::AckEvent;
use crate::registry::{Entry, refusal};
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The share of the smallest round trip, in percent, below which an ACK cannot answer the
    /// retransmission. 50, as in BSD's test for a bad retransmission, which takes it of SRTT and names the
    /// paper; of the smallest round trip it is the more careful.
    #[schemars(range(min = 1, max = 100))]
    pub percent: u8,
    /// What a false signal gives back.
    pub response: Response,
}

impl Default for Params {
    fn default() -> Self {
        Self { percent: 50, response: Response::default() }
    }
}

#[derive(Debug)]
struct RttComparison {
    params: Params,
    smallest: Option<Duration>,
    mode: Mode,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// No signal to judge.
    Idle,
    /// A signal came; nothing was sent again yet.
    Signalled,
    /// The first retransmission went out at that time.
    Waiting { since: Instant },
}

impl Spurious for RttComparison {
    fn on_signal(&mut self, signal: &Signal) {
        // Once there are several copies, an ACK too early for the last may answer an earlier one.
        self.mode = if signal.again { Mode::Idle } else { Mode::Signalled };
    }

    fn on_retransmitted(&mut self, now: Instant, _range: SeqRange) {
        if matches!(self.mode, Mode::Signalled) {
            self.mode = Mode::Waiting { since: now };
        }
    }

    fn on_ack(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Judgement {
        let judgement = match self.mode {
            Mode::Waiting { since } if ack.advances => self.compare(ack.now - since),
            _ => Judgement::Undecided,
        };
        if judgement != Judgement::Undecided {
            self.mode = Mode::Idle;
        }
        if let Some(rtt) = ack.rtt {
            self.smallest = Some(self.smallest.map_or(rtt, |smallest| smallest.min(rtt)));
        }
        judgement
    }

    fn response(&self) -> Response {
        self.params.response
    }
}

impl RttComparison {
    fn compare(&self, waited: Duration) -> Judgement {
        let too_soon = self.smallest.is_some_and(|rtt| waited * 100 < rtt * u64::from(self.params.percent));
        if too_soon { Judgement::Spurious } else { Judgement::Genuine }
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Spurious> = Entry {
    id: "rtt-comparison",
    summary: "an ACK too soon after a retransmission to answer it shows that the original arrived",
    source: "Allman and Paxson 1999",
    parse: |value| {
        let params: Params = Entry::<dyn Spurious>::read(value)?;
        if !(1..=100).contains(&params.percent) {
            let wrong = format!("percent is {}, and no part of a round trip", params.percent);
            return Err(refusal(wrong, "from 1 to 100"));
        }
        Ok(Arc::new(move || {
            Box::new(RttComparison { params: params.clone(), smallest: None, mode: Mode::Idle })
        }))
    },
    schema: Entry::<dyn Spurious>::describe::<Params>,
};

//! The comparison of round trips (Allman and Paxson 1999): an ACK that follows a retransmission sooner
//! than any answer to it could answers the original.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant, SeqRange};

use super::{Judgement, Response, Signal, Spurious};
use crate::recovery::AckEvent;
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The share of the smallest round trip, in percent, below which an ACK cannot answer the
    /// retransmission. 50, as in BSD's test for a bad retransmission, which takes it of SRTT and names the
    /// paper; of the smallest round trip it is the more careful.
    #[schemars(range(min = 1, max = 100))]
    pub percent: u8,
    /// State that is restored after a false signal.
    pub response: Response,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { percent: 50, response: Response::default() }
    }
}

#[derive(Debug)]
struct RttComparison {
    parameters: Parameters,
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
        self.parameters.response
    }
}

impl RttComparison {
    fn compare(&self, waited: Duration) -> Judgement {
        let too_soon =
            self.smallest.is_some_and(|rtt| waited * 100 < rtt * u64::from(self.parameters.percent));
        if too_soon { Judgement::Spurious } else { Judgement::Genuine }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if !(1..=100).contains(&self.percent) {
            let wrong = format!("percent is {}, and no part of a round trip", self.percent);
            return Err(refusal(wrong, "from 1 to 100"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Spurious> = Algorithm::checked(
    "rtt-comparison",
    "an ACK too soon after a retransmission to be its answer shows that the original arrived",
    "Allman and Paxson 1999",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(RttComparison { parameters: parameters.clone(), smallest: None, mode: Mode::Idle })
    }),
);

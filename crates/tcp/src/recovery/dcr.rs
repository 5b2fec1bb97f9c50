//! TCP-DCR, delayed congestion response (Bhandarkar and Reddy 2004): SACK recovery that starts no earlier than
//! one round trip after the first duplicate ACK.
//!
//! In that time a link layer may have repaired the loss, or the segment that was overtaken arrives. The
//! sender continues meanwhile, one new segment for each duplicate. If the gap is still there when the time is
//! over, and enough duplicates came, it is a loss.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::composed::{Composed, Detection, FastRecovery, LossDetector, Stage};
use super::delayed::Delayed;
use super::rr::WholeWindow;
use super::sack_6675::NextSeg;
use super::{AckEvent, AfterTimeout, Recovery, Style, TimeoutEvent};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The delay of the response, in smoothed round-trip times. Bhandarkar and Reddy 2004: 1.
    pub delay: f64,
    /// Retransmission after a timeout.
    pub after_timeout: Style,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { delay: 1.0, after_timeout: Style::default() }
    }
}

/// RFC 6675's detection, believed one delay after the first duplicate ACK.
#[derive(Debug)]
struct RoundTrips {
    /// In thousandths of the round-trip time.
    delay: u64,
    sack: Delayed,
}

impl LossDetector for RoundTrips {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        // Without a sample nothing is known of the round trip, and the response cannot wait for it.
        let delay = ack.srtt.map_or(Duration::ZERO, |srtt| srtt * self.delay / THOUSANDTHS);
        self.sack.on_ack(ack, stage, board, delay)
    }

    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        self.sack.begin(ack, recovery, board);
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) {
        self.sack.on_timeout(timeout, board);
    }

    fn on_spurious(&mut self) {
        self.sack.on_spurious();
    }

    fn deadline(&self, board: &Scoreboard) -> Option<Instant> {
        self.sack.deadline(board)
    }

    fn on_deadline(&mut self, ack: &AckEvent, _repairing: bool, _board: &mut Scoreboard) -> Detection {
        self.sack.respond(ack)
    }

    fn is_idle(&self) -> bool {
        self.sack.is_idle()
    }
}

const THOUSANDTHS: u64 = 1000;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Self { delay, .. } = *self;
        if !(0.0..=100.0).contains(&delay) {
            return Err(refusal(format!("delay is {delay} round trips"), "from 0 to 100"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::checked(
    "dcr",
    "SACK recovery one round trip after the first duplicate ACK, in case nothing is lost",
    "Bhandarkar and Reddy 2004 (TCP-DCR)",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { delay, after_timeout } = *parameters;
        // A float is read once; sums in thousandths are the same on every machine.
        let delay = (delay * THOUSANDTHS as f64).round() as u64;
        let detector = RoundTrips { delay, sack: Delayed::new() };
        let after_timeout = AfterTimeout::new(after_timeout);
        Box::new(Composed::new(detector, NextSeg::new(), WholeWindow, after_timeout).on_sack())
    }),
);

//! Three duplicate ACKs and a timer: the fourth way of Blanton and Allman 2002, as Landström 2008 §4.2.3 describes it.
//! The timer is an estimate of the time in which past reordering proved to be no loss, so that a lost ACK delays
//! nothing, as it does a higher threshold.
//!
//! The texts leave the estimate open. Here it is the smoothed time from the first duplicate ACK of a gap to the ACK
//! that closed it, of gaps that closed by themselves and of those whose repair was needless, and at most nine tenths of
//! the round-trip time, as the paper bounds its thresholds by nine tenths of the window. It starts at nothing, and a
//! timeout of the retransmission timer takes it back there, as it resets the thresholds. New data go out for each
//! duplicate ACK meanwhile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::composed::{Composed, Detection, FastRecovery, LossDetector, Stage};
use super::delayed::Delayed;
use super::disorder::Change;
use super::rr::WholeWindow;
use super::sack_6675::NextSeg;
use super::{AckEvent, AfterTimeout, Recovery, Style, TimeoutEvent};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Weight of each new length of reordering, in percent. Default: 25, as for `dupthresh.ewma`.
    #[schemars(range(min = 1, max = 100))]
    pub gain_percent: u8,
    /// Retransmission after a timeout.
    pub after_timeout: Style,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { gain_percent: 25, after_timeout: Style::default() }
    }
}

/// RFC 6675's detection, believed when the gap has lasted for longer than reordering usually does.
#[derive(Debug)]
struct Timed {
    gain_percent: u64,
    sack: Delayed,
    /// Smoothed length of past reordering.
    length: Duration,
    /// The gap that was taken for a loss.
    repaired: Option<Repaired>,
}

/// A gap that was taken for a loss, until it closes.
#[derive(Clone, Copy, Debug)]
struct Repaired {
    since: Instant,
    /// The last ACK before the gap closed, or the one that closed it.
    seen: Instant,
    closed: bool,
}

impl LossDetector for Timed {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        match stage {
            Stage::Open { disorder: Change::Closed { .. }, .. } => {
                self.sack.since().into_iter().for_each(|since| self.learn(ack.now - since));
            }
            Stage::Open { .. } => {}
            _ => self.follow_repair(ack),
        }
        self.sack.on_ack(ack, stage, board, self.delay(ack))
    }

    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        let since = self.sack.since();
        self.repaired = since.map(|since| Repaired { since, seen: ack.now, closed: false });
        self.sack.begin(ack, recovery, board);
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) {
        (self.repaired, self.length) = (None, Duration::ZERO);
        self.sack.on_timeout(timeout, board);
    }

    fn on_spurious(&mut self) {
        if let Some(repaired) = self.repaired.take() {
            self.learn(repaired.seen - repaired.since);
        }
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

impl Timed {
    /// Without a sample nothing is known of the round trip, and the response does not wait.
    fn delay(&self, ack: &AckEvent) -> Duration {
        let most = ack.srtt.map_or(Duration::ZERO, |srtt| srtt * 9 / 10);
        self.length.min(most)
    }

    fn follow_repair(&mut self, ack: &AckEvent) {
        if let Some(repaired) = self.repaired.as_mut().filter(|repaired| !repaired.closed) {
            repaired.seen = ack.now;
            repaired.closed = ack.advances;
        }
    }

    fn learn(&mut self, length: Duration) {
        self.length = (self.length * (100 - self.gain_percent) + length * self.gain_percent) / 100;
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Self { gain_percent, .. } = *self;
        if !(1..=100).contains(&gain_percent) {
            return Err(refusal(format!("gain_percent is {gain_percent}, and no weight"), "from 1 to 100"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::checked(
    "reordering-timer",
    "SACK recovery that waits as long as past reordering lasted, beyond the duplicate threshold",
    "Blanton and Allman 2002; Landström 2008 §4.2.3",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { gain_percent, after_timeout } = *parameters;
        let (gain_percent, sack) = (u64::from(gain_percent), Delayed::new());
        let detector = Timed { gain_percent, sack, length: Duration::ZERO, repaired: None };
        let after_timeout = AfterTimeout::new(after_timeout);
        Box::new(Composed::new(detector, NextSeg::new(), WholeWindow, after_timeout).on_sack())
    }),
);

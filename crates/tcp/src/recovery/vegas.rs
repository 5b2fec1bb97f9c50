//! Vegas' fine-grained retransmission (Brakmo and Peterson 1995, §3.1), over Reno.
//!
//! Each duplicate ACK asks a fine-grained timer whether the first segment is overdue, and a segment that is goes out
//! without waiting for the third. So do the first and the second ACK of new data after a retransmission: they find the
//! next loss of the window. A segment that was sent before the last reduction reduces nothing more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::composed::{Composed, Detection, FastRecovery, LossDetector, Stage};
use super::duplicates::{Bugfix, DuplicateThreshold, Remembers};
use super::limited_transmit::LimitedTransmit;
use super::reno::Inflate;
use super::tahoe::FastRetransmitFirst;
use super::{AckEvent, AfterTimeout, Recovery, SentEvent, Style, TimeoutEvent};
use crate::Cause;
use crate::rto::Estimate;
use crate::scoreboard::{Mark, Scoreboard};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Retransmission after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042).
    pub limited_transmit: bool,
    /// Source of the fine-grained timer and of its rules.
    pub variant: Variant,
}

/// Time after which a segment is overdue, and the events at which this is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "VegasTimeout")]
pub enum Variant {
    /// The mean round trip and four times its deviation; the first and the second ACK after any retransmission ask
    /// (Brakmo and Peterson 1995, §3.1).
    #[default]
    Paper,
    /// The mean and twice the deviation, which begins at a quarter of the first sample, and a sixteenth more; an eighth
    /// more after a fast retransmit, twice as much after another one of the same segment (`v_timeout_` of ns-2). Only
    /// the first and the second ACK after a fast retransmit ask, the second if the first has found something
    /// (`v_worried_`). Duplicates after what they found inflate the window; duplicates after a timeout ask nothing.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// The round trip as the fine-grained timer sees it.
#[derive(Clone, Copy, Debug)]
struct FineGrainedEstimate {
    smoothed: Estimate,
    /// Action that the timer allows now.
    timeout: Duration,
}

impl Variant {
    fn updated(self, earlier: Option<FineGrainedEstimate>, rtt: Duration) -> FineGrainedEstimate {
        let mut smoothed = Estimate::updated(earlier.map(|earlier| earlier.smoothed), rtt);
        let timeout = match self {
            Self::Paper => smoothed.srtt + smoothed.rttvar * 4,
            Self::Ns2 => {
                if earlier.is_none() {
                    smoothed.rttvar = rtt / 4;
                }
                (smoothed.srtt + smoothed.rttvar * 2) * 17 / 16
            }
        };
        FineGrainedEstimate { smoothed, timeout }
    }

    /// The sample of an ACK; ns-2 takes that of its last segment, whatever became of those before it.
    const fn sample(self, ack: &AckEvent) -> Option<Duration> {
        match self {
            Self::Paper => ack.rtt,
            Self::Ns2 => ack.last_rtt,
        }
    }

    fn after_fast_retransmit(self, timeout: Duration) -> Duration {
        if self == Self::Ns2 { timeout * 9 / 8 } else { timeout }
    }

    const fn threshold(self) -> DuplicateThreshold {
        match self {
            Self::Paper => DuplicateThreshold::new(Bugfix::None, Remembers::Losses),
            Self::Ns2 => DuplicateThreshold::new(Bugfix::Careful, Remembers::Timeouts),
        }
    }
}

/// A threshold of duplicate ACKs, and a fine-grained timer that may be earlier.
#[derive(Debug)]
struct FineGrained {
    threshold: DuplicateThreshold,
    variant: Variant,
    estimate: Option<FineGrainedEstimate>,
    /// ACKs of new data after a retransmission that are still to be checked.
    checks: u32,
    /// The first segment goes again because such an ACK found it overdue.
    found_by_check: bool,
}

/// ACKs of new data that are checked after a retransmission (Brakmo and Peterson 1995, §3.1).
const CHECKED: u32 = 2;

impl LossDetector for FineGrained {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        if let Some(rtt) = self.variant.sample(ack) {
            self.estimate = Some(self.variant.updated(self.estimate, rtt));
        }
        let in_recovery = matches!(stage, Stage::FastRecovery(_));
        let found = self.threshold.on_ack(ack, stage, board);
        if ack.advances {
            self.check_next(ack.now, board);
            return found;
        }
        if in_recovery {
            self.check_again(ack, board);
            return found;
        }
        match found {
            Detection::Duplicate if self.is_overdue(ack.now, board) => Detection::Loss,
            // The third duplicate finds what is on its way again already.
            Detection::Loss if self.found_by_check && !self.is_overdue(ack.now, board) => {
                Detection::Duplicate
            }
            found => found,
        }
    }

    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        self.threshold.begin(ack, recovery, board);
        if let Some(estimate) = &mut self.estimate {
            estimate.timeout = self.variant.after_fast_retransmit(estimate.timeout);
        }
        self.checks = CHECKED;
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) {
        self.checks = 0;
        self.threshold.on_timeout(timeout, board);
    }

    fn on_spurious(&mut self) {
        self.checks = 0;
        self.threshold.on_spurious();
    }

    fn on_sent(&mut self, sent: &SentEvent, _board: &Scoreboard) {
        if sent.again && self.variant == Variant::Paper {
            self.checks = CHECKED;
        }
    }

    /// Every ACK may measure a round trip.
    fn is_idle(&self) -> bool {
        false
    }
}

impl FineGrained {
    const fn new(variant: Variant) -> Self {
        Self { threshold: variant.threshold(), variant, estimate: None, checks: 0, found_by_check: false }
    }

    /// An ACK of new data: soon after a retransmission, the segment that is the first now may be overdue too.
    fn check_next(&mut self, now: Instant, board: &mut Scoreboard) {
        self.found_by_check = false;
        if self.checks == 0 {
            return;
        }
        self.checks -= 1;
        if self.is_overdue(now, board) {
            board.mark_lost(0, Cause::FastRetransmit);
            self.found_by_check = self.variant == Variant::Ns2;
        } else if self.variant == Variant::Ns2 {
            self.checks = 0;
        }
    }

    /// A duplicate ACK in fast recovery: ns-2 asks for the retransmission too.
    fn check_again(&mut self, ack: &AckEvent, board: &mut Scoreboard) {
        if self.variant == Variant::Ns2 && ack.duplicate && self.is_overdue(ack.now, board) {
            board.mark_lost(0, Cause::FastRetransmit);
            self.checks = CHECKED;
            if let Some(estimate) = &mut self.estimate {
                estimate.timeout = estimate.timeout * 2;
            }
        }
    }

    fn is_overdue(&self, now: Instant, board: &Scoreboard) -> bool {
        let Some((estimate, first)) = self.estimate.zip(board.front()) else { return false };
        first.mark == Mark::InFlight && first.last_sent + estimate.timeout < now
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "vegas",
    "Reno whose duplicate ACKs also ask a fine-grained timer",
    "Brakmo and Peterson 1995 §3.1",
    &Build(|parameters: &Parameters| {
        let limited_transmit = LimitedTransmit::new(parameters.limited_transmit);
        let mut response = Inflate::new(limited_transmit).reducing_once_per_window();
        if parameters.variant == Variant::Ns2 {
            response = response.inflating_by_duplicates();
        }
        let after_timeout = AfterTimeout::new(parameters.after_timeout);
        Box::new(Composed::new(
            FineGrained::new(parameters.variant),
            FastRetransmitFirst,
            response,
            after_timeout,
        ))
    }),
);

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    fn resent() -> SentEvent {
        SentEvent { index: 0, len: Bytes(1000), again: true, srtt: None }
    }

    // Brakmo and Peterson 1995, §3.1: the first and the second ACK after a retransmission are checked.
    #[test]
    fn two_acks_are_checked_after_any_retransmission_and_in_ns_2_after_a_fast_one() {
        let mut board = Scoreboard::EMPTY;
        let mut paper = FineGrained::new(Variant::Paper);
        paper.on_sent(&SentEvent { again: false, ..resent() }, &board);
        assert_eq!(paper.checks, 0);
        paper.on_sent(&resent(), &board);
        let left = [2, 1, 0, 0].map(|expected| {
            let checks = paper.checks;
            paper.check_next(Instant::START, &mut board);
            (checks, expected)
        });
        assert!(left.iter().all(|(checks, expected)| checks == expected), "{left:?}");
        let mut ns_2 = FineGrained::new(Variant::Ns2);
        ns_2.on_sent(&resent(), &board);
        assert_eq!(ns_2.checks, 0);
    }
}

//! Vegas' fine-grained retransmission (Brakmo and Peterson 1995, §3.1), over Reno.
//!
//! Each duplicate ACK asks a fine-grained timer whether the first segment is overdue, and a segment that is goes out
//! without waiting for the third. So do the first and the second ACK of new data after a retransmission: they find the
//! next loss of the window. A segment that was sent before the last reduction reduces nothing more.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant, Seq};

use super::composed::{Composed, Detection, FastRecovery, LossDetector, Stage};
use super::duplicates::{Bugfix, DuplicateThreshold, Remembers};
use super::limited_transmit::LimitedTransmit;
use super::reno::Inflate;
use super::tahoe::FastRetransmitFirst;
use super::{AckEvent, AfterTimeout, Recovery, SentEvent, Style};
use crate::Cause;
use crate::registry::Entry;
use crate::rto::Estimate;
use crate::scoreboard::{Mark, Scoreboard};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
    /// Whether the first duplicate ACKs let new segments out (RFC 3042).
    pub limited_transmit: bool,
}

/// A threshold of duplicate ACKs, and a fine-grained timer that may be earlier.
#[derive(Debug)]
struct FineGrained {
    threshold: DuplicateThreshold,
    estimate: Option<Estimate>,
    /// ACKs of new data after a retransmission that are still to be checked.
    checks: u32,
}

/// ACKs of new data that are checked after a retransmission (Brakmo and Peterson 1995, §3.1).
const CHECKED: u32 = 2;

impl LossDetector for FineGrained {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        if let Some(rtt) = ack.rtt {
            self.estimate = Some(Estimate::updated(self.estimate, rtt));
        }
        let in_recovery = matches!(stage, Stage::FastRecovery(_));
        let found = self.threshold.on_ack(ack, stage, board);
        if ack.advances {
            self.check_next(ack.now, board);
        } else if found == Detection::Duplicate && !in_recovery && self.is_overdue(ack.now, board) {
            return Detection::Loss;
        }
        found
    }

    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        self.threshold.begin(ack, recovery, board);
    }

    fn on_timeout(&mut self, nxt: Seq, board: &mut Scoreboard) {
        self.checks = 0;
        self.threshold.on_timeout(nxt, board);
    }

    fn on_spurious(&mut self) {
        self.checks = 0;
        self.threshold.on_spurious();
    }

    fn on_sent(&mut self, sent: &SentEvent, _board: &Scoreboard) {
        if sent.again {
            self.checks = CHECKED;
        }
    }

    /// Every ACK may measure a round trip.
    fn is_idle(&self) -> bool {
        false
    }
}

impl FineGrained {
    const fn new() -> Self {
        let threshold = DuplicateThreshold::new(Bugfix::None, Remembers::Losses);
        Self { threshold, estimate: None, checks: 0 }
    }

    /// An ACK of new data: soon after a retransmission, the segment that is the first now may be overdue too.
    fn check_next(&mut self, now: Instant, board: &mut Scoreboard) {
        if self.checks > 0 {
            self.checks -= 1;
            if self.is_overdue(now, board) {
                board.mark_lost(0, Cause::FastRetransmit);
            }
        }
    }

    fn is_overdue(&self, now: Instant, board: &Scoreboard) -> bool {
        let Some((estimate, first)) = self.estimate.zip(board.front()) else { return false };
        first.mark == Mark::InFlight && first.last_sent + fine_grained_timeout(estimate) < now
    }
}

/// The mean round trip and four times its deviation, without the ticks of the retransmission timer.
fn fine_grained_timeout(estimate: Estimate) -> Duration {
    estimate.srtt + estimate.rttvar * 4
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "vegas",
    summary: "Reno whose duplicate ACKs also ask a fine-grained timer",
    source: "Brakmo and Peterson 1995 §3.1",
    parse: |value| {
        let params: Params = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || {
            let limited_transmit = LimitedTransmit::new(params.limited_transmit);
            let response = Inflate::new(limited_transmit).reducing_once_per_window();
            let after_timeout = AfterTimeout::new(params.after_timeout);
            Box::new(Composed::new(FineGrained::new(), FastRetransmitFirst, response, after_timeout))
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};

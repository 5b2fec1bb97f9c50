//! PIE: the proportional integral controller, enhanced (RFC 8033, with the additions of its §5.1, 5.4
//! and 5.5: ECN, derandomization, the bound on the growth).
//!
//! Every `update` the drop probability moves with the queueing delay's distance from `target` and with
//! its change since. The delay is that of the packet which left last (the RFC's timestamps, §4.3),
//! and none while the queue is empty. Packets are dropped as they come. A burst after a quiet time is
//! let in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Stream};

use super::{Arrival, Decision, Departure, Entry, Policy, QueueParameters, Service};
use crate::error::ConfigError;
use crate::event::DropRule;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "pie",
    "drops arriving packets with a probability that controls the queueing delay",
    "RFC 8033",
)
.written("{ pie = { target = \"15 ms\" } }");

/// Dropped by the controller's probability.
pub const EARLY: DropRule = DropRule::named("pie");

/// The controller's settings, with the RFC's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Target of the queueing delay: QDELAY_REF, 15 ms (RFC 8033 §4.2).
    pub target: Duration,
    /// Time between two updates of the probability: T_UPDATE, 15 ms.
    pub update: Duration,
    /// Time after a quiet period in which no packet is dropped: MAX_BURST, 150 ms (§4.4).
    pub burst: Duration,
    /// Mean size of a packet: with two or fewer waiting, no packet is dropped (§4.1).
    pub mean_packet: Bytes,
    /// Whether ECN-capable packets are marked while the probability is below 10 % (§5.1).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self { target: ms(15), update: ms(15), burst: ms(150), mean_packet: Bytes(1500), ecn: false }
    }
}

impl QueueParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (key, time) in [("target", self.target), ("update", self.update)] {
            if time.is_zero() {
                return Err(ConfigError::new(key, format!("{key} is zero"), "write a time like \"15 ms\""));
            }
        }
        Ok(())
    }

    fn service(&self, stream: Stream) -> Service {
        Service::Fifo(Box::new(Pie::new(*self, stream)))
    }
}

/// The names are the RFC's.
#[derive(Debug)]
pub(super) struct Pie {
    parameters: Parameters,
    stream: Stream,
    pub(super) drop_prob: f64,
    /// Sum of the probabilities since the last drop.
    pub(super) accu_prob: f64,
    pub(super) burst_allowance: Duration,
    qdelay: Duration,
    pub(super) qdelay_old: Duration,
    next_update: Instant,
}

impl Pie {
    pub(super) fn new(parameters: Parameters, stream: Stream) -> Self {
        Self {
            parameters,
            stream,
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: parameters.burst,
            qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            next_update: Instant::START + parameters.update,
        }
    }

    /// Makes the updates that were due before now. Their inputs change only when packets leave, so that the result is
    /// the same as on time.
    pub(super) fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            self.update();
            self.next_update += self.parameters.update;
            if self.is_at_rest() {
                let missed =
                    now.saturating_since(self.next_update).as_nanos() / self.parameters.update.as_nanos();
                self.next_update += self.parameters.update * missed;
            }
        }
    }

    /// Whether no further update changes anything before a packet leaves.
    fn is_at_rest(&self) -> bool {
        self.drop_prob == 0.0
            && self.qdelay.is_zero()
            && self.qdelay_old.is_zero()
            && self.burst_allowance.is_zero()
    }

    /// RFC 8033 §4.2 and appendix A, `calculate_drop_prob`.
    fn update(&mut self) {
        let change = self.change();
        self.drop_prob = (self.drop_prob + change).clamp(0.0, 1.0);
        if self.qdelay.is_zero() && self.qdelay_old.is_zero() {
            self.drop_prob *= DECAY;
        }
        if self.drop_prob < NEGLIGIBLE {
            self.drop_prob = 0.0;
        }
        self.burst_allowance = self.burst_allowance.saturating_sub(self.parameters.update);
        self.qdelay_old = self.qdelay;
    }

    /// Whether congestion has gone away (§4.4): the next burst is let in.
    fn is_quiet(&self) -> bool {
        let half = self.parameters.target / 2;
        self.drop_prob == 0.0 && self.qdelay < half && self.qdelay_old < half
    }

    /// The controller's step: proportional to the deviation and to the trend, small if the probability is small (§4.2),
    /// and bounded if it is large (§5.5).
    fn change(&self) -> f64 {
        let seconds = |delay: Duration| delay.as_nanos() as f64 / 1e9;
        let distance = seconds(self.qdelay) - seconds(self.parameters.target);
        let trend = seconds(self.qdelay) - seconds(self.qdelay_old);
        let step = (ALPHA * distance + BETA * trend) / tuning(self.drop_prob);
        if self.drop_prob >= 0.1 { step.min(MAX_STEP) } else { step }
    }

    /// RFC 8033 §4.1 and, for the accumulated probability, §5.4.
    fn drops(&mut self, arrival: &Arrival) -> bool {
        let half = self.parameters.target / 2;
        let is_light = self.qdelay_old < half && self.drop_prob < 0.2;
        if is_light || arrival.queued_bytes <= self.parameters.mean_packet * 2 {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < LEAST_ACCUMULATED {
            return false;
        }
        let drops = self.accu_prob >= MOST_ACCUMULATED || unit(&mut self.stream) < self.drop_prob;
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }
}

impl Policy for Pie {
    fn on_arrival(&mut self, arrival: &Arrival) -> Decision {
        self.catch_up(arrival.now);
        if self.is_quiet() {
            self.burst_allowance = self.parameters.burst;
        }
        if !self.burst_allowance.is_zero() || !self.drops(arrival) {
            return Decision::Pass;
        }
        let marks = self.parameters.ecn && arrival.ecn.is_capable() && self.drop_prob < MARK_ECN_TH;
        if marks { Decision::Mark(EARLY) } else { Decision::Drop(EARLY) }
    }

    fn on_departure(&mut self, departure: &Departure) -> Decision {
        self.catch_up(departure.now);
        self.qdelay = if departure.left == 0 { Duration::ZERO } else { departure.waited };
        Decision::Pass
    }

    fn on_removal(&mut self, now: Instant, left: u32) {
        self.catch_up(now);
        if left == 0 {
            self.qdelay = Duration::ZERO;
        }
    }
}

/// RFC 8033 §4.2 and appendix A: the controller's gains per second, for an update every 15 ms.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;

/// RFC 8033 §4.2: while there is no delay the probability decays by this in each update.
const DECAY: f64 = 0.98;

/// Below this the decay never ends; Linux and FreeBSD round to zero likewise in fixed point.
const NEGLIGIBLE: f64 = 1e-9;

/// RFC 8033 §5.5: from 10 % on the probability grows by at most this in an update.
const MAX_STEP: f64 = 0.02;

/// RFC 8033 §5.1: MARK_ECNTH.
const MARK_ECN_TH: f64 = 0.1;

/// RFC 8033 §5.4: drops are kept apart, and come at last.
const LEAST_ACCUMULATED: f64 = 0.85;
const MOST_ACCUMULATED: f64 = 8.5;

/// RFC 8033 §4.2: divisor of the step at small probabilities.
fn tuning(drop_prob: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| *divisor)
}

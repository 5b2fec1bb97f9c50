//! DualPI2: a queue for L4S and one for classic traffic, with coupled AQMs (RFC 9332, appendix A).
//!
//! Packets marked ECT(1) or CE wait in the L4S queue (the L queue), all others in the classic one (the C queue). Every
//! `update` a proportional integral controller moves the base probability p' with the delay of the classic queue's
//! head. Classic packets are dropped, or marked where they are ECT(0), with p'²; L4S packets are marked with k·p', or
//! with the probability of the ramp on their own delay where that is more. A classic window is proportional to 1/√p and
//! a scalable one to 1/p, so that square and coupling leave flows of both kinds about the same rate (RFC 9332 §2.1).
//!
//! The classic queue gets a small share of the link at least: by weighted round robin, or because the L4S queue is
//! ahead by a time shift only (§4.2.2).
//!
//! Under overload, k·p' of 1 or more, marks alone do not help: L4S packets are dropped with p'² as well and ECN is off
//! for classic ones (§A.2). The controller then follows the longer of both delays.
//!
//! The updates that were due are made when a packet comes or leaves. The heads do not change in between, so that they
//! come out as if a timer had made them. Marks are not drawn but spread evenly, by the RFC's `recur()`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;
use units::{Bytes, Duration, Instant, Stream};

use super::{
    Arrival, Decision, Departure, Entry, Keys, Policy, QueueParameters, Scheduler, Service, SubQueue,
    tail_drop,
};
use crate::error::ConfigError;
use crate::event::DropRule;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "dualpi2",
    "a queue for L4S and one for classic traffic, whose marks and drops are coupled",
    "RFC 9332 appendix A",
)
.written("{ dualpi2 = { target = \"15 ms\", coupling = 2 } }");

/// Dropped or marked with the classic probability, p'².
pub const CLASSIC: DropRule = DropRule::named("dualpi2-classic");
/// Marked with the probability that the classic queue asks of L4S traffic, k·p'.
pub const COUPLED: DropRule = DropRule::named("dualpi2-coupled");
/// Marked with the probability of the L4S queue's own ramp.
pub const NATIVE: DropRule = DropRule::named("dualpi2-native");

/// The parameters of both AQMs and of the scheduler between them, with the defaults of RFC 9332 §A.1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The delay of the classic queue that is aimed at: 15 ms.
    pub target: Duration,
    /// The longest round trip for which the controller must be stable: `RTT_max`, 100 ms. Both gains follow from it.
    pub rtt_max: Duration,
    /// Time between two updates of the probability: Tupdate. Default: the smaller of `target` and a third of `rtt_max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<Duration>,
    /// The coupling factor k, 2.
    pub coupling: f64,
    /// Delay of an L4S packet from which it may be marked: minTh, 800 µs.
    pub ramp_start: Duration,
    /// Length of the ramp on which the probability rises to 1: range, 400 µs. 0 makes it a step.
    pub ramp_range: Duration,
    /// Packets in the L4S queue, the leaving one among them, up to which its own ramp marks none: `Th_len`, 1.
    pub ramp_packets: u32,
    /// The scheduler while both queues have packets.
    pub scheduler: Turns,
    /// Whether ECT(0) packets wait in the L4S queue too, as DCTCP in a data centre needs it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any_ect: bool,
}

/// The scheduler while both queues have packets (RFC 9332 §4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// Weighted round robin by bytes: the classic queue gets this share of the link.
    Wrr(Probability),
    /// Time-shifted FIFO: the packet that arrived first, where packets of the L4S queue count as earlier by this time.
    TimeShifted(Duration),
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            rtt_max: Duration::from_millis(100),
            update: None,
            coupling: 2.0,
            ramp_start: Duration::from_micros(800),
            ramp_range: Duration::from_micros(400),
            ramp_packets: 1,
            // RFC 9332 §A.1: a weight of 1/16 for the classic queue, for example.
            scheduler: Turns::Wrr(Probability::new(1.0 / 16.0).unwrap_or_default()),
            any_ect: false,
        }
    }
}

impl Parameters {
    fn t_update(&self) -> Duration {
        self.update.unwrap_or_else(|| self.target.min(self.rtt_max / 3))
    }
}

impl QueueParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (key, time) in [("target", self.target), ("rtt_max", self.rtt_max), ("update", self.t_update())] {
            if time.is_zero() {
                return Err(ConfigError::new(key, format!("{key} is zero"), "write a time like \"15 ms\""));
            }
        }
        if !(self.coupling.is_finite() && self.coupling > 0.0) {
            let message = format!("a coupling of {}", self.coupling);
            return Err(ConfigError::new("coupling", message, "write a number above 0; the RFC's is 2"));
        }
        if let Turns::Wrr(share) = self.scheduler
            && !(0.0 < share.get() && share.get() < 1.0)
        {
            let message = format!("a share of {} for the classic queue starves one of the two", share.get());
            return Err(ConfigError::new("scheduler.wrr", message, "write a number like 0.0625"));
        }
        Ok(())
    }

    fn service(&self, _: Stream) -> Service {
        Service::Classful(Box::new(DualPi2::new(*self)))
    }
}

/// The sub-queue of classic packets.
const C: usize = 0;
/// The sub-queue of L4S packets.
const L: usize = 1;

/// RFC 9332 §A.1: gains in units of 1/(`RTT_max`) and of Tupdate/`RTT_max`².
const INTEGRAL: f64 = 0.1;
const PROPORTIONAL: f64 = 0.3;

#[derive(Debug)]
struct DualPi2 {
    parameters: Parameters,
    controller: Controller,
    next_update: Instant,
    /// Sums of `recur()` for each queue.
    counts: [f64; 2],
    /// Bytes by which the classic queue is short of its share since both queues have had packets: it is served while
    /// this is above 0.
    credit: f64,
    /// Whether both queues had packets as the one to serve was chosen.
    is_contended: bool,
}

/// The base AQM (RFC 9332 §A.1, `dualpi2_update`). The names are the RFC's.
#[derive(Debug)]
struct Controller {
    /// Integral and proportional gain, per second.
    alpha: f64,
    beta: f64,
    target: f64,
    /// p', and the delay at the update before, in seconds.
    p: f64,
    prevq: f64,
}

impl Controller {
    fn new(parameters: &Parameters) -> Self {
        let rtt_max = parameters.rtt_max.as_secs_f64();
        Self {
            alpha: INTEGRAL * parameters.t_update().as_secs_f64() / (rtt_max * rtt_max),
            beta: PROPORTIONAL / rtt_max,
            target: parameters.target.as_secs_f64(),
            p: 0.0,
            prevq: 0.0,
        }
    }

    fn update(&mut self, delay: Duration) {
        let curq = delay.as_secs_f64();
        let step = self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = (self.p + step).clamp(0.0, 1.0);
        self.prevq = curq;
    }

    /// Whether a further update without delay changes nothing.
    fn is_at_rest(&self) -> bool {
        self.p == 0.0 && self.prevq == 0.0
    }
}

impl DualPi2 {
    fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            controller: Controller::new(&parameters),
            next_update: Instant::START + parameters.t_update(),
            counts: [0.0; 2],
            credit: 0.0,
            is_contended: false,
        }
    }

    /// p_C.
    fn classic_probability(&self) -> f64 {
        self.controller.p * self.controller.p
    }

    /// p_CL.
    fn coupled_probability(&self) -> f64 {
        self.parameters.coupling * self.controller.p
    }

    /// §A.2: the coupled probability has reached `p_Lmax`, which is the same as p_C reaching `p_Cmax`, 1/k².
    fn is_overloaded(&self) -> bool {
        self.coupled_probability() >= 1.0
    }

    /// Makes the updates that were due before now, while the heads of both queues had arrived at these times.
    fn catch_up(&mut self, now: Instant, heads: [Option<Instant>; 2]) {
        let t_update = self.parameters.t_update();
        while self.next_update <= now {
            let delay = |head: Option<Instant>| {
                head.map_or(Duration::ZERO, |at| self.next_update.saturating_since(at))
            };
            let longest = delay(heads[C]).max(delay(heads[L]));
            self.controller.update(longest);
            self.next_update += t_update;
            if self.controller.is_at_rest() && heads == [None, None] {
                let missed = now.saturating_since(self.next_update).as_nanos() / t_update.as_nanos();
                self.next_update += t_update * missed;
            }
        }
    }

    /// §A.1, `laqm()`: the ramp on the delay of a packet, after which `left` packets remain.
    fn ramp(&self, departure: &Departure) -> f64 {
        let Parameters { ramp_start, ramp_range, ramp_packets, .. } = self.parameters;
        if departure.left < ramp_packets || departure.waited <= ramp_start {
            return 0.0;
        }
        let above = departure.waited.saturating_sub(ramp_start);
        if above >= ramp_range { 1.0 } else { above.as_secs_f64() / ramp_range.as_secs_f64() }
    }

    /// §A.1, `recur()`: true for this share of the calls, as evenly as can be.
    fn recur(&mut self, queue: usize, likelihood: f64) -> bool {
        self.counts[queue] += likelihood;
        let is_due = self.counts[queue] > 1.0;
        if is_due {
            self.counts[queue] -= 1.0;
        }
        is_due
    }

    fn decide_l4s(&mut self, departure: &Departure) -> Decision {
        let (native, coupled) = (self.ramp(departure), self.coupled_probability());
        if self.is_overloaded() {
            let drops = self.recur(L, self.classic_probability());
            return if drops { Decision::Drop(CLASSIC) } else { Decision::Mark(COUPLED) };
        }
        let rule = if native > coupled { NATIVE } else { COUPLED };
        if self.recur(L, native.max(coupled)) { Decision::Mark(rule) } else { Decision::Pass }
    }

    fn decide_classic(&mut self, departure: &Departure) -> Decision {
        if !self.recur(C, self.classic_probability()) {
            return Decision::Pass;
        }
        let marks = departure.ecn.is_capable() && !self.is_overloaded();
        if marks { Decision::Mark(CLASSIC) } else { Decision::Drop(CLASSIC) }
    }

    /// Whether the classic queue is served, where both have packets that arrived at these times.
    fn is_turn_of_classic(&self, classic: Instant, l4s: Instant) -> bool {
        match self.parameters.scheduler {
            Turns::Wrr(_) => self.credit > 0.0,
            Turns::TimeShifted(shift) => classic + shift < l4s,
        }
    }
}

impl Scheduler for DualPi2 {
    fn classify(&mut self, keys: &Keys) -> usize {
        let is_l4s = keys.ecn.is_l4s() || (self.parameters.any_ect && keys.ecn.is_capable());
        if is_l4s { L } else { C }
    }

    fn policy(&self, _: usize) -> Box<dyn Policy> {
        tail_drop::policy()
    }

    fn on_arrival(&mut self, sub_queues: &mut [SubQueue], _: usize, arrival: &Arrival) -> Decision {
        self.catch_up(arrival.now, heads(sub_queues));
        Decision::Pass
    }

    fn on_departure(
        &mut self,
        sub_queues: &mut [SubQueue],
        sub_queue: usize,
        departure: &Departure,
    ) -> Decision {
        let mut heads = heads(sub_queues);
        heads[sub_queue] = Some(departure.now - departure.waited);
        self.catch_up(departure.now, heads);
        if sub_queue == L { self.decide_l4s(departure) } else { self.decide_classic(departure) }
    }

    fn next(&mut self, sub_queues: &[SubQueue], _: Instant) -> Option<usize> {
        match heads(sub_queues) {
            [None, None] => None,
            [Some(classic), Some(l4s)] => {
                self.is_contended = true;
                Some(if self.is_turn_of_classic(classic, l4s) { C } else { L })
            }
            [classic, _] => {
                self.is_contended = false;
                self.credit = 0.0;
                Some(if classic.is_some() { C } else { L })
            }
        }
    }

    fn on_served(&mut self, sub_queue: usize, size: Bytes) {
        let Turns::Wrr(share) = self.parameters.scheduler else { return };
        if !self.is_contended {
            return;
        }
        let size = size.0 as f64;
        self.credit += if sub_queue == L { size * share.get() } else { size * (share.get() - 1.0) };
    }
}

/// Time at which the heads of both queues arrived. A queue is made when its first packet comes.
fn heads(sub_queues: &[SubQueue]) -> [Option<Instant>; 2] {
    [C, L].map(|number| sub_queues.get(number).and_then(SubQueue::head_arrived))
}

#[cfg(test)]
#[path = "dualpi2_tests.rs"]
mod tests;

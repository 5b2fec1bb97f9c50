//! TCP-NV (Brakmo 2010, Linux `tcp_nv.c`): Vegas for data centres. The rate that the last round trips reached, times
//! the shortest round trip, is the window that the path needs; ten segments more may wait, and what is above is taken
//! off by three tenths at a time.
//!
//! Decisions wait for enough samples, as one round trip of a fast network says little. Meant for networks in which all
//! flows are NV.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration, Instant, Seq};

use super::classic::{Classic, Policy, Rules};
use super::draws::Draws;
use super::increase::Increase;
use super::proportion::Proportion;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters. The other constants are Linux's and no keys.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Maximum number of segments in queues. Linux (`nv_pad`): 10.
    pub pad: Segments,
    /// Interval after which the shortest round trip is measured again, within a quarter. Linux (`nv_reset_period`): 5
    /// s.
    pub reset_period: Duration,
    /// Fraction of the window that remains after a loss. Linux (`nv_loss_dec_factor`): 819/1024.
    pub(super) loss: Proportion,
    /// Base of the reduction after a loss.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            pad: Segments(10),
            reset_period: Duration::from_secs(5),
            loss: Proportion(819.0 / 1024.0),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Nv {
    parameters: Parameters,
    /// The average of the last round trips, in seconds.
    average_rtt: Option<f64>,
    /// The shortest of the present period and of the one to come.
    least_rtt: f64,
    next_least_rtt: f64,
    resets_at: Option<Instant>,
    /// The highest rate since the last decision, in bytes a second, and the samples since.
    highest_rate: f64,
    samples: u32,
    /// SND.NXT when the present round trip began, and round trips since the last decision.
    round_began: Option<Seq>,
    rounds: u32,
    may_grow: bool,
    /// Timeouts slow the growth: a segment each 2ⁿ round trips.
    slowness: u32,
    decisions_without_congestion: u32,
    draws: Draws,
}

/// The decision on the window at the end of a round trip.
enum Decision {
    /// The network is congested: the upper limit of the window, in segments.
    Congested(f64),
    Grows,
    /// Too few samples, or a value between the two thresholds.
    Undecided,
}

impl Nv {
    const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            average_rtt: None,
            least_rtt: f64::INFINITY,
            next_least_rtt: f64::INFINITY,
            resets_at: None,
            highest_rate: 0.0,
            samples: 0,
            round_began: None,
            rounds: 0,
            may_grow: true,
            slowness: 0,
            decisions_without_congestion: 0,
            draws: Draws::of(0),
        }
    }

    /// A sample: the rate of a flight of this size.
    fn measure(&mut self, ack: &AckSample, rtt: f64) {
        let average = self.average_rtt.map_or(rtt, |average| f64::midpoint(average, rtt));
        self.average_rtt = Some(average);
        self.highest_rate = self.highest_rate.max(ack.flight.0 as f64 / average.max(SHORTEST));
        self.samples += 1;
        self.least_rtt = self.least_rtt.min(average);
        self.next_least_rtt = self.next_least_rtt.min(average);
        let resets_at = *self.resets_at.get_or_insert(ack.now + FIRST_RESET);
        if ack.now >= resets_at {
            (self.least_rtt, self.next_least_rtt) = (self.next_least_rtt, f64::INFINITY);
            // Linux: of 3/4 to 5/4 of the period, so that flows do not reset together.
            let part = 0.75 + self.draws.next() / 2.0;
            self.resets_at = Some(ack.now + self.parameters.reset_period.mul_f64(part));
        }
    }

    /// The end of a round trip.
    fn decide(&self, window: &Window) -> Decision {
        let w = window.segments();
        let most = self.highest_rate * self.least_rtt / window.smss.0 as f64 + self.parameters.pad.0 as f64;
        let is_first = window.ssthresh == Bytes::MAX;
        let needed = if is_first { TO_END_SLOW_START } else { TO_SHRINK };
        if w > most {
            let is_known = self.rounds >= LEAST_ROUNDS && self.samples >= needed;
            if is_known { Decision::Congested(most) } else { Decision::Undecided }
        } else if w <= most - PAD_BUFFER && self.samples >= TO_GROW {
            Decision::Grows
        } else {
            Decision::Undecided
        }
    }

    fn apply(&mut self, window: &mut Window, decision: &Decision) {
        match *decision {
            Decision::Undecided => {
                // Growth on too few samples continues for ten round trips at most.
                self.may_grow &= self.rounds <= STOP_ROUNDS;
                return;
            }
            Decision::Congested(most) => {
                self.may_grow = false;
                self.decisions_without_congestion = 0;
                let (w, smss) = (window.segments(), window.smss.0 as f64);
                let excess = w - most;
                let left = if excess > 2.0 { w - (excess * DECREASE).max(2.0) } else { most };
                window.ssthresh = Bytes((most * smss) as u64).min(window.cwnd()).max(window.smss * 2);
                window.set_cwnd(Bytes((left * smss) as u64).max(window.smss * 2));
            }
            Decision::Grows => {
                self.may_grow = true;
                self.decisions_without_congestion += 1;
                if self.decisions_without_congestion > RECOVERS && self.slowness > 0 {
                    (self.slowness, self.decisions_without_congestion) = (self.slowness - 1, 0);
                }
            }
        }
        (self.samples, self.rounds, self.highest_rate) = (0, 0, 0.0);
    }

    /// Measurements from before a reduction do not apply to the window after it.
    fn restart(&mut self) {
        self.average_rtt = None;
        (self.samples, self.rounds, self.highest_rate) = (0, 0, 0.0);
        self.decisions_without_congestion = 0;
    }
}

impl Policy for Nv {
    fn alpha(&mut self, _window: &Window, _ack: &AckSample) -> Alpha {
        Alpha::new(1.0 / f64::from(1_u32 << self.slowness))
    }

    fn before_growth(&mut self, window: &mut Window, ack: &AckSample) -> bool {
        if let Some(rtt) = ack.rtt.filter(|_| !ack.flight.is_zero()) {
            self.measure(ack, rtt.as_secs_f64());
        }
        if self.round_began.is_none_or(|began| ack.number.after(began)) {
            self.rounds += u32::from(self.round_began.replace(ack.nxt).is_some());
            let decision = self.decide(window);
            self.apply(window, &decision);
        }
        self.may_grow
    }

    fn ssthresh_on_loss(&mut self, _window: &Window, event: &CongestionEvent) -> Bytes {
        self.restart();
        self.may_grow = false;
        self.parameters.reduction_of.kept(self.parameters.loss.0, event)
    }

    fn ssthresh_on_timeout(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        self.slowness = (self.slowness + 1).min(MOST_SLOWNESS);
        let kept = self.ssthresh_on_loss(window, event);
        // Slow start brings the window back.
        self.may_grow = true;
        kept
    }

    /// A flow that has just one round trip's samples decides by other rules than one with sixty of them, and the
    /// shortest round trip of a late comer has a queue in it.
    fn rules(&self) -> Rules {
        Rules {
            ssthresh_unit: self.parameters.ssthresh_unit,
            is_cwnd_limited_only: true,
            unequal_shares: true,
            ..Rules::default()
        }
    }

    fn on_restore(&mut self) {
        self.may_grow = true;
    }

    fn seed(&mut self, seed: u64) {
        self.draws = Draws::of(seed);
    }
}

/// All of Linux (`tcp_nv.c`): samples that a decision to shrink, to grow and to end slow start takes.
const TO_SHRINK: u32 = 60;
const TO_GROW: u32 = 20;
const TO_END_SLOW_START: u32 = 30;
/// Round trips before a decision to shrink, and those without one after which the window stays.
const LEAST_ROUNDS: u32 = 2;
const STOP_ROUNDS: u32 = 10;
/// Segments below the most at which the window grows no more.
const PAD_BUFFER: f64 = 2.0;
/// The part of the excess that is taken off.
const DECREASE: f64 = 0.3;
/// Decisions to grow that halve the slowness of growth, and its limit.
const RECOVERS: u32 = 8;
const MOST_SLOWNESS: u32 = 8;
/// Time at which the shortest round trip first begins anew.
const FIRST_RESET: Duration = Duration::from_secs(2);
/// A round trip of no time at all is no divisor, in seconds.
const SHORTEST: f64 = 1e-9;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.reset_period.is_zero() {
            return Err(refusal("reset_period is 0 s", "a duration like \"5 s\""));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "nv",
    "TCP-NV: ten segments more than the reached rate needs, for data centres",
    "Brakmo 2010; Linux net/ipv4/tcp_nv.c",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Classic::new(Nv::new(parameters.clone()), Increase::of_linux()))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss};
    use super::*;

    const BASE: Duration = Duration::from_millis(10);

    /// Round trips over a path that carries a segment every 100 µs: what is beyond a hundred waits.
    fn rounds(congestion: &mut dyn CongestionControl, count: u64) -> Vec<u64> {
        let (mut path, mut windows) = (Path::new(), vec![]);
        for _ in 0..count {
            let queued = congestion.cwnd().whole(SMSS).saturating_sub(100);
            path.round(congestion, BASE + Duration::from_micros(100) * queued, Duration::ZERO);
            windows.push(congestion.cwnd().whole(SMSS));
        }
        windows
    }

    #[test]
    fn the_window_settles_at_what_the_path_holds_and_ten_segments() {
        let mut nv = built(ENTRY.id, json!({}));
        let windows = rounds(nv.as_mut(), 100);
        let settled = &windows[60..];
        assert!(settled.iter().all(|window| (100..=113).contains(window)), "{windows:?}");
    }

    #[test]
    fn the_window_grows_on_enough_samples_and_not_on_one_less() {
        let grows = |samples| {
            let mut nv = Nv::new(Parameters::default());
            (nv.highest_rate, nv.least_rtt, nv.samples) = (SMSS.0 as f64 * 1_000.0, 0.1, samples);
            matches!(nv.decide(&Window::of(SMSS * 50, SMSS)), Decision::Grows)
        };
        assert!(grows(TO_GROW) && !grows(TO_GROW - 1));
    }

    // Linux: of 3/4 to 5/4 of the period.
    #[test]
    fn the_shortest_round_trip_is_measured_anew_after_about_a_period() {
        for seed in 0..20 {
            let mut nv = Nv::new(Parameters::default());
            nv.draws = Draws::of(seed);
            let ack = super::super::testing::ack_sample(SMSS, SMSS);
            nv.measure(&ack, 0.1);
            let reset = AckSample { now: ack.now + FIRST_RESET, ..ack };
            nv.measure(&reset, 0.1);
            let next = nv.resets_at.expect("set") - reset.now;
            let period = nv.parameters.reset_period;
            assert!((period * 3 / 4..=period * 5 / 4).contains(&next), "{next:?}");
        }
    }

    #[test]
    fn a_loss_leaves_four_fifths() {
        let mut nv = built(ENTRY.id, json!({ "ssthresh_unit": "segments" }));
        nv.on_restore(SMSS * 100, SMSS * 2);
        nv.on_loss(&loss(SMSS * 100));
        assert_eq!(nv.cwnd(), SMSS * 79);
    }
}

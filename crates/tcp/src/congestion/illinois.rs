//! TCP Illinois (Liu, Başar and Srikant 2006): losses say whether the window shrinks, delays by how much. The shorter
//! the queue, the larger the increase α and the smaller the decrease β.
//!
//! Once a round trip both follow from the mean queueing delay d_a over the largest so far, d_m (equations 1 to 3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration};

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::round_trips::{RoundTrips, Rounds};
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Build};

/// Parameters. Those of the curves are Liu et al. 2006 §4's, as in Linux, and no keys.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Window below which growth is that of a standard TCP. Liu et al. 2006 §4 and Linux (`win_thresh`): 15 segments.
    pub least_window: Segments,
    /// Round trips below d₁ before α is the largest once it was not (Linux `theta`): 5.
    pub theta: u32,
    /// Counting in congestion avoidance.
    #[serde(default = "Increase::of_linux")]
    pub increase: Increase,
    /// Base of the reduction after a loss.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            least_window: Segments(15),
            theta: 5,
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Illinois {
    parameters: Parameters,
    rounds: Rounds,
    /// The shortest and the longest round trip so far.
    base_rtt: Option<Duration>,
    longest_rtt: Duration,
    alpha: f64,
    beta: f64,
    /// Whether the queue was above d₁ since α was the largest, and for how many round trips it has been below again.
    was_above: bool,
    rounds_below: u32,
}

impl Illinois {
    fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            rounds: Rounds::default(),
            base_rtt: None,
            longest_rtt: Duration::ZERO,
            alpha: 1.0,
            beta: BETA_MAX,
            was_above: false,
            rounds_below: 0,
        }
    }

    /// The end of a round trip.
    fn adapt(&mut self, round: &RoundTrips) {
        let Some(base) = self.base_rtt else { return };
        let delay = round.mean().saturating_sub(base).as_secs_f64();
        let largest = self.longest_rtt.saturating_sub(base).as_secs_f64();
        self.beta = beta(delay, largest);
        if delay > largest * D1 {
            (self.was_above, self.rounds_below) = (true, 0);
        } else if self.was_above {
            // Linux: one short round trip is no empty queue.
            self.rounds_below += 1;
            if self.rounds_below < self.parameters.theta {
                return;
            }
            self.was_above = false;
        }
        self.alpha = alpha(delay, largest);
    }

    fn is_standard(&self, window: &Window) -> bool {
        window.cwnd() < window.smss * self.parameters.least_window.0
    }
}

/// Liu et al. 2006 equation 2: κ₁ / (κ₂ + d_a), from the most at d₁ to the least at d_m.
fn alpha(delay: f64, largest: f64) -> f64 {
    let d1 = largest * D1;
    if delay <= d1 {
        return ALPHA_MAX;
    }
    let (over, span) = (delay - d1, largest - d1);
    span * ALPHA_MAX / (span + over * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
}

/// Liu et al. 2006 equation 3: κ₃ + κ₄·d_a between d₂ and d₃.
fn beta(delay: f64, largest: f64) -> f64 {
    let (d2, d3) = (largest * D2, largest * D3);
    if delay <= d2 {
        BETA_MIN
    } else if delay >= d3 {
        BETA_MAX
    } else {
        BETA_MIN + (BETA_MAX - BETA_MIN) * (delay - d2) / (d3 - d2)
    }
}

impl Policy for Illinois {
    fn alpha(&mut self, window: &Window, _ack: &AckSample) -> Alpha {
        if self.is_standard(window) { Alpha::ONE } else { Alpha::new(self.alpha) }
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
            self.longest_rtt = self.longest_rtt.max(rtt);
        }
        if let Some(round) = self.rounds.on_ack(ack) {
            self.adapt(&round);
        }
    }

    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let part = if self.is_standard(window) { BETA_MAX } else { self.beta };
        self.parameters.reduction_of.kept(1.0 - part, event)
    }

    fn ssthresh_on_timeout(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let kept = self.ssthresh_on_loss(window, event);
        // Linux (`tcp_illinois_state`): standard until a round trip is measured anew.
        (self.alpha, self.beta) = (1.0, BETA_MAX);
        (self.was_above, self.rounds_below) = (false, 0);
        self.rounds = Rounds::default();
        kept
    }

    /// Around the least window those above it grow ten times as fast as those below, and lose a quarter of what these
    /// do.
    fn rules(&self) -> Rules {
        Rules {
            ssthresh_unit: self.parameters.ssthresh_unit,
            is_cwnd_limited_only: true,
            unequal_shares: true,
            ..Rules::default()
        }
    }
}

/// Liu et al. 2006 §4, as are the others: the range of the increase, in segments a round trip.
const ALPHA_MAX: f64 = 10.0;
const ALPHA_MIN: f64 = 0.3;
/// The range of the decrease.
const BETA_MIN: f64 = 0.125;
const BETA_MAX: f64 = 0.5;
/// d₁, d₂ and d₃ as parts of d_m.
const D1: f64 = 0.01;
const D2: f64 = 0.1;
const D3: f64 = 0.8;

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "illinois",
    "TCP Illinois: the longer the queue, the slower the growth and the larger the reduction",
    "Liu, Başar and Srikant 2006; Linux net/ipv4/tcp_illinois.c",
    &Build(|parameters: &Parameters| {
        Box::new(Classic::new(Illinois::new(parameters.clone()), parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss};
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    #[test]
    fn the_curves_are_those_of_the_paper() {
        // d_m = 100 ms: α falls from 10 at 1 ms to 0.3 at 100 ms, and is 10 / (1 + 32.33 · 49/99) halfway.
        for (delay, segments) in [(0.0, 10.0), (0.001, 10.0), (0.050, 0.588), (0.100, 0.3)] {
            let came = alpha(delay, 0.1);
            assert!((came - segments).abs() < 0.001, "α({delay}) is {came}");
        }
        for (delay, part) in [(0.0, 0.125), (0.010, 0.125), (0.045, 0.3125), (0.080, 0.5), (0.1, 0.5)] {
            let came = beta(delay, 0.1);
            assert!((came - part).abs() < 1e-9, "β({delay}) is {came}");
        }
    }

    /// A hundred segments over a path whose queue was once 100 ms.
    fn over_a_path_with_a_queue() -> (Box<dyn CongestionControl>, Path) {
        let mut illinois = built(ENTRY.id, json!({}));
        let mut path = Path::new();
        for rtt in [BASE, BASE * 2] {
            illinois.on_restore(SMSS * 100, SMSS * 2);
            path.round(illinois.as_mut(), rtt, Duration::ZERO);
        }
        illinois.on_restore(SMSS * 100, SMSS * 2);
        (illinois, path)
    }

    #[test]
    fn an_empty_queue_must_last_five_round_trips_before_the_window_grows_by_ten() {
        let (mut illinois, mut path) = over_a_path_with_a_queue();
        let mut grown = vec![];
        for _ in 0..9 {
            illinois.on_restore(SMSS * 100, SMSS * 2);
            path.round(illinois.as_mut(), BASE, Duration::ZERO);
            grown.push(((illinois.cwnd() - SMSS * 100).0 as f64 / 1000.0).round() as u64);
        }
        assert!(grown[..4].iter().all(|more| *more <= 1), "{grown:?}");
        assert!((9..=10).contains(&grown[8]), "{grown:?}");
    }

    #[test]
    fn a_loss_without_a_queue_takes_an_eighth_and_with_a_full_one_half() {
        for (rtt, left) in [(BASE, 87_500), (BASE * 2, 50_000)] {
            let (mut illinois, mut path) = over_a_path_with_a_queue();
            (0..3).for_each(|_| path.round(illinois.as_mut(), rtt, Duration::ZERO));
            illinois.on_restore(SMSS * 100, SMSS * 2);
            illinois.on_loss(&loss(SMSS * 100));
            assert_eq!(illinois.cwnd(), Bytes(left), "{rtt:?}");
        }
    }

    #[test]
    fn a_small_window_is_a_standard_tcps() {
        let (mut illinois, _) = over_a_path_with_a_queue();
        illinois.on_restore(SMSS * 14, SMSS * 2);
        illinois.on_loss(&loss(SMSS * 14));
        assert_eq!(illinois.cwnd(), SMSS * 7);
    }
}

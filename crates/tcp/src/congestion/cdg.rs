//! CDG (Hayes and Armitage 2011), CAIA delay-gradient: the window backs off, with a probability that grows with it,
//! when the round trips of one round are longer than those of the last. No delay is a threshold, and none need be
//! known.
//!
//! An ACK of one segment after ACKs of several may have been delayed by the receiver, and is no measure of the path.
//!
//! A shadow window, which delay does not reduce, is what a loss halves, so that CDG keeps its share alongside flows
//! that go by losses. Constants are those of Linux (`tcp_cdg.c`), which also leaves slow start by `HyStart`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

use super::classic::{Classic, Policy, Rules};
use super::draws::Draws;
use super::increase::Increase;
use super::proportion::Proportion;
use super::round_trips::{RoundTrips, Rounds};
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, is_cwnd_limited};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Fraction of the window that remains after a delay. Linux (`backoff_beta`): √½; Hayes and Armitage 2011: 0.7.
    pub(super) beta: Proportion,
    /// G: the smoothed gradient at which it backs off with a probability of 1 − 1/e. Hayes and Armitage 2011 §4: 3 ms;
    /// Linux has 1000/(42·8).
    pub g: Duration,
    /// Round trips whose gradients are averaged, `a`. Hayes and Armitage 2011 §4 and Linux (`window`): 8.
    #[schemars(range(min = 1, max = 256))]
    pub window: usize,
    /// Back-offs in a row that change nothing after which delays are ignored until they fall. Linux (`use_ineff`): 5.
    pub ineffectual: u32,
    /// Whether a loss halves the shadow window, to coexist with flows that go by losses.
    pub shadow: bool,
    /// Base that a loss halves.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            beta: Proportion(core::f64::consts::FRAC_1_SQRT_2),
            g: Duration::from_micros(1_000_000 / (42 * 8)),
            window: 8,
            ineffectual: 5,
            shadow: true,
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Cdg {
    parameters: Parameters,
    rounds: Rounds,
    ended: Option<RoundTrips>,
    /// The shortest and the longest round trip of the last round, in seconds.
    last: Option<[f64; 2]>,
    /// The latest gradients of both, in seconds.
    gradients: Vec<[f64; 2]>,
    /// Index of the next gradient.
    place: usize,
    /// Back-offs since a gradient fell.
    backoffs: u32,
    /// The window without the back-offs of delay, in bytes.
    shadow: Bytes,
    /// The round that is now measured began under a larger window.
    skips_round: bool,
    /// Number of ACKs of one segment that are taken for delayed ones, at most [`MOST_DELAYED`].
    delayed: u32,
    draws: Draws,
}

impl Cdg {
    fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            rounds: Rounds::default(),
            ended: None,
            last: None,
            gradients: vec![],
            place: 0,
            backoffs: 0,
            shadow: Bytes::ZERO,
            skips_round: false,
            delayed: 0,
            draws: Draws::of(0),
        }
    }

    /// Equations 1 and 2: the mean gradient of the shortest round trips or, where that is not positive, of the longest.
    fn gradient(&mut self, round: &RoundTrips) -> Option<f64> {
        let now = [round.least.as_secs_f64(), round.longest.as_secs_f64()];
        let last = self.last.replace(now)?;
        if std::mem::take(&mut self.skips_round) {
            return None;
        }
        self.keep([now[0] - last[0], now[1] - last[1]]);
        let count = self.gradients.len() as f64;
        let sum = |which: usize| self.gradients.iter().map(|pair| pair[which]).sum::<f64>();
        let [shortest, longest] = [sum(0), sum(1)];
        if shortest <= -EFFECTUAL || longest <= -EFFECTUAL {
            self.backoffs = 0;
        }
        Some(if shortest > 0.0 { shortest } else { longest } / count)
    }

    /// The round trip of an ACK that its receiver has not delayed. A delayed one counts only if it is the shortest
    /// (Hayes 2010, CAIA TR 100219A; Linux `tcp_cdg_acked`).
    fn undelayed(&mut self, ack: &AckSample) -> Option<Duration> {
        let rtt = ack.newest_rtt?;
        if ack.segments == 1 && self.delayed > 0 {
            self.delayed -= 1;
            return self.rounds.least().filter(|least| rtt < *least).map(|_| rtt);
        }
        if ack.segments > 1 {
            self.delayed = (self.delayed + 1).min(MOST_DELAYED);
        }
        Some(rtt)
    }

    fn keep(&mut self, gradient: [f64; 2]) {
        if self.gradients.len() < self.parameters.window {
            self.gradients.push(gradient);
        } else {
            self.gradients[self.place] = gradient;
            self.place = (self.place + 1) % self.parameters.window;
        }
    }

    /// Equation 3, P = 1 − exp(−g/G); and whether it has helped of late.
    fn backs_off(&mut self, gradient: f64) -> bool {
        let probability = 1.0 - libm::exp(-gradient / self.parameters.g.as_secs_f64());
        let draw = self.draws.next();
        if gradient <= 0.0 || draw >= probability {
            return false;
        }
        self.backoffs = self.backoffs.saturating_add(1);
        self.parameters.ineffectual == 0 || self.backoffs <= self.parameters.ineffectual
    }

    fn back_off(&mut self, window: &mut Window, ack: &AckSample) {
        self.shadow = self.shadow.max(window.cwnd());
        let in_use = window.cwnd().min(ack.flight.max(window.smss * 2));
        let kept = Bytes((in_use.0 as f64 * self.parameters.beta.0) as u64);
        window.reduce_ssthresh(kept, self.parameters.ssthresh_unit);
        window.reduce_to_ssthresh();
        self.skips_round = true;
    }
}

impl Policy for Cdg {
    fn alpha(&mut self, _window: &Window, _ack: &AckSample) -> Alpha {
        Alpha::ONE
    }

    fn observe(&mut self, ack: &AckSample) {
        let rtt = self.undelayed(ack);
        self.ended = self.rounds.on_ack(&AckSample { rtt, ..*ack }).or(self.ended);
    }

    fn before_growth(&mut self, window: &mut Window, ack: &AckSample) -> bool {
        let gradient = self.ended.take().and_then(|round| self.gradient(&round));
        if gradient.is_some_and(|gradient| self.backs_off(gradient)) {
            self.back_off(window, ack);
            return false;
        }
        if is_cwnd_limited(window.cwnd(), ack.flight, window.smss) {
            // The shadow window grows as the window does.
            let more = if window.is_below_ssthresh() {
                ack.acked.min(window.smss)
            } else {
                Bytes(window.smss.0 * ack.acked.0 / window.cwnd().0.max(1))
            };
            self.shadow = self.shadow.max(window.cwnd()) + more;
        } else {
            self.shadow = self.shadow.min(window.cwnd());
        }
        true
    }

    /// The loss halves the shadow window, which leaves no more than the window that there is.
    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let half = self.parameters.reduction_of.kept(0.5, event);
        self.shadow = (self.shadow / 2).min(window.cwnd());
        if self.parameters.shadow { half.max(self.shadow.min(event.in_use())) } else { half }
    }

    fn ssthresh_on_timeout(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let kept = self.ssthresh_on_loss(window, event);
        // A full window of the past is no measure any more: half at most.
        kept.min(self.parameters.reduction_of.kept(0.5, event))
    }

    fn rules(&self) -> Rules {
        Rules { ssthresh_unit: self.parameters.ssthresh_unit, is_cwnd_limited_only: true, ..Rules::default() }
    }

    fn seed(&mut self, seed: u64) {
        self.draws = Draws::of(seed);
    }
}

/// Linux (`tcp_cdg_acked`).
const MOST_DELAYED: u32 = 5;

/// A sum of gradients below minus this shows that a back-off helped, in seconds (Linux `tcp_cdg_grad`).
const EFFECTUAL: f64 = 32e-6;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if !(1..=256).contains(&self.window) {
            return Err(refusal(format!("window is {}", self.window), "1 to 256 round trips"));
        }
        if self.g.is_zero() {
            return Err(refusal("g is 0 s", "a duration like \"3 ms\""));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "cdg",
    "CDG: backs off by chance when round trips become longer",
    "Hayes and Armitage 2011; Linux net/ipv4/tcp_cdg.c",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Classic::new(Cdg::new(parameters.clone()), Increase::of_linux()))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, ack_sample, built, loss};
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    #[test]
    fn a_steady_round_trip_however_long_reduces_nothing() {
        let mut cdg = built(ENTRY.id, json!({}));
        cdg.on_restore(SMSS * 20, SMSS * 2);
        let mut path = Path::new();
        (0..20).for_each(|_| path.round(cdg.as_mut(), BASE * 5, Duration::ZERO));
        assert!(cdg.cwnd() > SMSS * 38, "{}", cdg.cwnd());
    }

    #[test]
    fn round_trips_that_grow_make_it_back_off_and_where_that_never_helps_it_stops() {
        let mut cdg = built(ENTRY.id, json!({}));
        cdg.on_restore(SMSS * 100, SMSS * 2);
        let mut path = Path::new();
        let mut backoffs = 0;
        for round in 0..40_u64 {
            let before = cdg.cwnd();
            path.round(cdg.as_mut(), BASE + Duration::from_millis(40) * round, Duration::ZERO);
            backoffs += u64::from(cdg.cwnd() < before);
        }
        assert_eq!(backoffs, 5);
    }

    #[test]
    fn a_delayed_ack_is_no_longer_round_trip() {
        let mut cdg = Cdg::new(Parameters::default());
        let mut ack = |segments: u64, rtt: u64| {
            let newest_rtt = Some(Duration::from_millis(rtt));
            let sample = AckSample { newest_rtt, ..ack_sample(SMSS * segments, SMSS * 4) };
            cdg.observe(&sample);
            cdg.undelayed(&sample).map(|rtt| (rtt.as_secs_f64() * 1e3).round())
        };
        assert_eq!(ack(1, 140), Some(140.0), "a receiver that acknowledges every segment delays none");
        assert_eq!(ack(2, 100), Some(100.0));
        assert_eq!(ack(1, 140), None);
    }

    /// Equations 1 and 2 of the paper.
    #[test]
    fn the_gradient_is_that_of_the_shortest_round_trips_where_they_grow_and_else_of_the_longest() {
        let gradient = |shortest: u64, longest: u64| {
            let mut cdg = Cdg::new(Parameters::default());
            let round = |least, longest| {
                let mut round = RoundTrips::of(Duration::from_millis(least));
                round.add(Duration::from_millis(longest));
                round
            };
            assert_eq!(cdg.gradient(&round(100, 150)), None);
            cdg.gradient(&round(shortest, longest)).map(|gradient| (gradient * 1e3).round())
        };
        assert_eq!(gradient(110, 190), Some(10.0));
        assert_eq!(gradient(100, 190), Some(40.0));
        assert_eq!(gradient(90, 190), Some(40.0));
    }

    #[test]
    fn the_probability_is_one_less_an_exponential_of_the_gradient() {
        let g = Duration::from_millis(3);
        for (gradient, probability) in [(0.001, 0.283), (0.003, 0.632), (0.009, 0.950)] {
            let mut cdg = Cdg::new(Parameters { g, ineffectual: 0, ..Parameters::default() });
            cdg.draws = Draws::of(7);
            let count = (0..4000).filter(|_| cdg.backs_off(gradient)).count() as f64 / 4000.0;
            assert!((count - probability).abs() < 0.02, "{count} at {gradient} s");
        }
    }

    #[test]
    fn after_a_back_off_a_loss_halves_the_shadow_window_and_not_what_is_left() {
        for (shadow, left) in [(true, 50), (false, 35)] {
            let mut cdg = Cdg::new(Parameters { shadow, ..Parameters::default() });
            cdg.shadow = SMSS * 100;
            let kept = cdg.ssthresh_on_loss(&Window::of(SMSS * 70, SMSS), &loss(SMSS * 70));
            assert_eq!(kept, SMSS * left);
        }
    }
}

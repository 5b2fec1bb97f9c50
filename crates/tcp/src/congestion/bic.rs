//! BIC (Xu, Harfoush and Rhee 2004): after a loss the window searches for its old maximum by halves, in steps of
//! limited size, and beyond it for a new one, slowly at first.
//!
//! The distance to the maximum is divided by B = 4, as in Linux, and not by 2 as in the paper's search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use units::text::Segments;

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::proportion::Proportion;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Fraction of the window that remains after a loss. Linux: 819/1024, the 0.8 of Xu et al. 2004 (whose β is what a
    /// loss takes).
    pub(super) beta: Proportion,
    /// Maximum number of segments that a round trip adds, `S_max`. Linux: 16; Xu et al. 2004 §IV: 32.
    pub max_increment: Segments,
    /// Window up to which growth is that of a standard TCP. Linux and Xu et al. 2004 §IV: 14 segments.
    pub low_window: Segments,
    /// Round trips that the last steps to the maximum, and the first beyond it, take for B segments. Linux: 20.
    #[schemars(range(min = 1, max = 1000))]
    pub smooth_part: u32,
    /// Whether a flow that loses below its last maximum makes room for others (Xu et al. 2004 §III-C).
    pub fast_convergence: bool,
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
            beta: Proportion(819.0 / 1024.0),
            max_increment: Segments(16),
            low_window: Segments(14),
            smooth_part: 20,
            fast_convergence: true,
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Bic {
    parameters: Parameters,
    /// The window at which the last loss came, less what fast convergence takes off it, in segments; 0 before the first
    /// and after a timeout.
    last_max: f64,
}

impl Bic {
    /// Segments that a round trip adds to a window of `w` (Linux `bictcp_update`).
    fn increment(&self, w: f64) -> f64 {
        if w <= self.parameters.low_window.0 as f64 {
            return 1.0;
        }
        let wanted = if w < self.last_max { self.below_maximum(w) } else { self.beyond_maximum(w) };
        // Without a maximum there is nothing to search for: a twentieth a round trip at least.
        if self.last_max == 0.0 { wanted.max(w / FIRST_SEARCH) } else { wanted }
    }

    /// Binary search increase, with additive increase far below the maximum (Xu et al. 2004 §III-A and §III-B).
    fn below_maximum(&self, w: f64) -> f64 {
        let step = (self.last_max - w) / B;
        if step <= 1.0 { self.smooth() } else { step.min(self.max_increment()) }
    }

    /// Slow start of the search for a new maximum, then additive increase (Xu et al. 2004 §III-D, as in Linux).
    fn beyond_maximum(&self, w: f64) -> f64 {
        let above = w - self.last_max;
        if above < B {
            self.smooth()
        } else if above < self.max_increment() * (B - 1.0) {
            above / (B - 1.0)
        } else {
            self.max_increment()
        }
    }

    fn smooth(&self) -> f64 {
        B / f64::from(self.parameters.smooth_part)
    }

    fn max_increment(&self) -> f64 {
        self.parameters.max_increment.0 as f64
    }
}

impl Policy for Bic {
    fn alpha(&mut self, window: &Window, _ack: &AckSample) -> Alpha {
        Alpha::new(self.increment(window.segments()))
    }

    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let (w, beta) = (window.segments(), self.parameters.beta.0);
        let falls = self.parameters.fast_convergence && w < self.last_max;
        self.last_max = if falls { w * (1.0 + beta) / 2.0 } else { w };
        let is_standard = w <= self.parameters.low_window.0 as f64;
        self.parameters.reduction_of.kept(if is_standard { 0.5 } else { beta }, event)
    }

    fn ssthresh_on_timeout(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let kept = self.ssthresh_on_loss(window, event);
        // Linux (`bictcp_state`): the former maximum is no longer valid.
        self.last_max = 0.0;
        kept
    }

    fn rules(&self) -> Rules {
        Rules { ssthresh_unit: self.parameters.ssthresh_unit, is_cwnd_limited_only: true, ..Rules::default() }
    }
}

/// The part of the distance to the maximum that a round trip of the search goes (Linux `BICTCP_B`).
const B: f64 = 4.0;
/// Round trips in which the window grows by its own size while no maximum is known (Linux `bictcp_update`).
const FIRST_SEARCH: f64 = 20.0;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.smooth_part == 0 || self.max_increment.0 == 0 {
            let Parameters { smooth_part, max_increment, .. } = *self;
            let wrong = format!("smooth_part is {smooth_part}, max_increment {max_increment}");
            return Err(refusal(wrong, "both 1 at least"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "bic",
    "BIC: the window searches for its last maximum by halves",
    "Xu, Harfoush and Rhee 2004; Linux net/ipv4/tcp_bic.c",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let bic = Bic { parameters: parameters.clone(), last_max: 0.0 };
        Box::new(Classic::new(bic, parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack, built, mean_window_at, reduced, timeout};
    use super::*;

    fn searching_for(last_max: f64) -> Bic {
        Bic { parameters: Parameters::default(), last_max }
    }

    #[test]
    fn the_increment_is_a_quarter_of_the_distance_to_the_maximum_but_sixteen_at_most() {
        let bic = searching_for(1000.0);
        for (w, more) in
            [(800.0, 16.0), (936.0, 16.0), (960.0, 10.0), (992.0, 2.0), (996.0, 0.2), (998.0, 0.2)]
        {
            assert_eq!(bic.increment(w), more, "from {w}");
        }
    }

    #[test]
    fn beyond_the_maximum_it_is_slow_at_first_and_then_sixteen_again() {
        let bic = searching_for(1000.0);
        for (w, more) in [(1000.0, 0.2), (1003.0, 0.2), (1006.0, 2.0), (1030.0, 10.0), (1048.0, 16.0)] {
            assert_eq!(bic.increment(w), more, "from {w}");
        }
    }

    #[test]
    fn without_a_maximum_a_round_trip_adds_a_twentieth_or_sixteen_segments() {
        let bic = searching_for(0.0);
        for (w, more) in [(14.0, 1.0), (100.0, 16.0), (1000.0, 50.0)] {
            assert_eq!(bic.increment(w), more, "from {w}");
        }
    }

    #[test]
    fn a_loss_leaves_four_fifths_but_of_a_small_window_half() {
        let mut bic = built(ENTRY.id, json!({ "ssthresh_unit": "segments" }));
        reduced(bic.as_mut(), 1000);
        assert_eq!((bic.cwnd(), bic.ssthresh()), (SMSS * 799, SMSS * 799));
        reduced(bic.as_mut(), 14);
        assert_eq!(bic.cwnd(), SMSS * 7);
    }

    #[test]
    fn the_window_comes_back_to_its_maximum_in_a_logarithm_of_round_trips() {
        let mut bic = built(ENTRY.id, json!({}));
        reduced(bic.as_mut(), 1000);
        // (1000 − 800 − 64) / 16 round trips of additive increase, and then the distance of 64 falls by a quarter each.
        for _ in 0..20 {
            let window = bic.cwnd().whole(SMSS);
            ack(bic.as_mut(), window);
        }
        assert!((SMSS * 995..SMSS * 1002).contains(&bic.cwnd()), "{}", bic.cwnd());
    }

    #[test]
    fn a_falling_maximum_makes_room_and_a_timeout_forgets_it() {
        let window = |segments| Window::of(SMSS * segments, SMSS);
        let mut bic = searching_for(100.0);
        bic.ssthresh_on_loss(&window(80), &timeout(SMSS * 80, false));
        assert!((bic.last_max - 80.0 * (1.0 + 819.0 / 1024.0) / 2.0).abs() < 1e-9);
        bic.ssthresh_on_timeout(&window(80), &timeout(SMSS * 80, false));
        assert_eq!(bic.last_max, 0.0);
    }

    /// The law that follows from the search (after Xu et al. 2004 §V): a loss at W leaves 0.8 W; additive increase by
    /// 16 a round trip continues to W − 64; the search takes ln(64/4)/ln(4/3) round trips to the last 4 segments, and
    /// 20 for these; then comes the next loss, after 1/p segments. Where W is large, that is an AIMD with α = 16.
    #[test]
    fn the_window_is_that_of_the_search() {
        for p in [1e-4, 1e-5, 1e-6] {
            let searching = libm::log(16.0) / libm::log(4.0 / 3.0) + 20.0;
            let cycle = |w: f64| {
                let adding = (0.2 * w - 64.0).max(0.0) / 16.0;
                // The distances of the search add up to 4 (64 − 4) and to 20 times 2 segments.
                (adding * (0.9 * w - 32.0) + searching * w - 280.0, adding + searching)
            };
            let (sent, rounds) =
                (100..).map(|w| cycle(f64::from(w))).find(|(sent, _)| *sent >= 1.0 / p).expect("W grows");
            let mut bic = built(ENTRY.id, json!({}));
            let ratio = mean_window_at(bic.as_mut(), p) / (sent / rounds);
            assert!((0.9..1.1).contains(&ratio), "{ratio} of the law at {p}");
        }
    }
}

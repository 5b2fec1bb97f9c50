//! Compound TCP (Tan, Song, Zhang and Sridharan 2006, draft-sridharan-tcpm-ctcp-02): the window is the sum of Reno's
//! and of a delay window, which grows with a power of the whole window while few segments wait, and shrinks by the
//! number of waiting segments.
//!
//! So it is fast on an empty path and no worse than Reno on a full one. w(p) is 0.26·p^(−0.8), that of α = 1/8, β = 1/2
//! and k = 3/4.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration};

use super::proportion::Proportion;
use super::round_trips::{RoundTrips, Rounds};
use super::window::{ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, is_cwnd_limited};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters; the draft's §3.3 to §3.5 have their values.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The factor of the increase: a round trip adds α·w^k segments. 1/8.
    pub(super) alpha: Proportion,
    /// Fraction of the whole window that a loss removes. 1/2.
    pub(super) beta: Proportion,
    /// The exponent of the increase. 3/4.
    pub(super) k: Proportion,
    /// γ: segments in queues on the path from which the delay window shrinks: 30 (draft-sridharan-tcpm-ctcp-02).
    pub gamma: Segments,
    /// Reduction of the delay window for each of these segments, ζ. Default: 1.
    pub zeta: f64,
    /// Below this window there is no delay window. 38 segments, as in HighSpeed TCP (draft §3.6; RFC 3649).
    pub low_window: Segments,
    /// Base of the reduction after a loss.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            alpha: Proportion(0.125),
            beta: Proportion(0.5),
            k: Proportion(0.75),
            gamma: Segments(30),
            zeta: 1.0,
            low_window: Segments(38),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Compound {
    parameters: Parameters,
    /// Reno's window, and the threshold of the sum.
    window: Window,
    /// The delay window.
    dwnd: Bytes,
    rounds: Rounds,
    ended: Option<RoundTrips>,
    base_rtt: Option<Duration>,
}

impl Compound {
    fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            window: Window::UNSET,
            dwnd: Bytes::ZERO,
            rounds: Rounds::default(),
            ended: None,
            base_rtt: None,
        }
    }

    /// Draft §3.3, once a round trip of congestion avoidance.
    fn adapt(&mut self, round: &RoundTrips) {
        let (cwnd, smss) = (self.cwnd(), self.window.smss);
        let Some(base) = self.base_rtt else { return };
        if cwnd < smss * self.parameters.low_window.0 {
            return;
        }
        let w = cwnd.0 as f64 / smss.0 as f64;
        let queued = w * (1.0 - base.as_secs_f64() / round.mean().as_secs_f64());
        let dwnd = self.dwnd.0 as f64 / smss.0 as f64;
        let next = if queued < self.parameters.gamma.0 as f64 {
            dwnd + self.increase(w)
        } else {
            (dwnd - self.parameters.zeta * queued).max(0.0)
        };
        self.dwnd = Bytes((next * smss.0 as f64) as u64);
    }

    /// Segments that a round trip adds to the delay window; the one subtracted is added by Reno's window.
    fn increase(&self, w: f64) -> f64 {
        (self.parameters.alpha.0 * libm::pow(w, self.parameters.k.0) - 1.0).max(0.0)
    }

    /// The sum is `total`: of it the delay window keeps what it has, as far as a segment is left.
    fn set_total(&mut self, total: Bytes) {
        self.dwnd = self.dwnd.min(total.saturating_sub(self.window.smss));
        self.window.set_cwnd(total - self.dwnd);
    }
}

impl CongestionControl for Compound {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        }
        self.ended = self.rounds.on_ack(ack).or(self.ended);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        let ended = self.ended.take();
        let (cwnd, smss) = (self.cwnd(), self.window.smss);
        if !is_cwnd_limited(cwnd, ack.flight, smss) {
            return;
        }
        if self.in_slow_start() {
            self.window.slow_start(ack.acked);
            return;
        }
        // Draft §3.2: Reno's window grows by a segment for each whole window.
        self.window.open_by(smss.0 as f64 * ack.acked.min(cwnd).0 as f64 / cwnd.0.max(1) as f64);
        if let Some(round) = ended {
            self.adapt(&round);
        }
    }

    /// Draft §3.3: Reno's window is halved, and the delay window becomes what is left to 1 − β of the sum.
    fn on_loss(&mut self, event: &CongestionEvent) {
        let before = self.cwnd();
        let kept = self.parameters.reduction_of.kept(1.0 - self.parameters.beta.0, event);
        self.window.reduce_ssthresh(kept, self.parameters.ssthresh_unit);
        self.dwnd = self.dwnd / 2;
        self.set_total(self.window.ssthresh.min(before));
    }

    /// Draft §3.3: the delay window is 0 after a timeout.
    fn on_timeout(&mut self, event: &CongestionEvent) {
        // RFC 5681 §3.1: the threshold is held when the same segment times out again.
        if !event.repeats_timeout() {
            let kept = self.parameters.reduction_of.kept(1.0 - self.parameters.beta.0, event);
            self.window.reduce_ssthresh(kept, self.parameters.ssthresh_unit);
        }
        self.dwnd = Bytes::ZERO;
        self.window.collapse();
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.set_total(window);
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.ssthresh = ssthresh;
        self.set_total(cwnd);
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd() + self.dwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.zeta <= 0.0 {
            return Err(refusal(format!("zeta is {}", self.zeta), "a number above 0, like 1"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "compound",
    "Compound TCP: Reno's window and one of delay, which grows while few segments wait",
    "Tan et al. 2006, draft-sridharan-tcpm-ctcp-02",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Compound::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss, mean_window_at, timeout};
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    fn compound(segments: u64) -> Compound {
        let mut compound = Compound::new(Parameters::default());
        compound.start(SMSS, SMSS * 2);
        compound.on_restore(SMSS * segments, SMSS * 2);
        compound
    }

    #[test]
    fn a_round_trip_without_a_queue_adds_an_eighth_of_a_power_and_reno_its_segment() {
        let mut compound = compound(400);
        let mut path = Path::new();
        (0..2).for_each(|_| path.round(&mut compound, BASE, Duration::ZERO));
        // 400^(3/4) / 8 is 11.18; the round trip that is complete adds it, less Reno's segment, which each one adds.
        assert!(compound.dwnd.whole(SMSS) == 10, "{}", compound.dwnd);
        let reno = compound.window.segments();
        assert!((401.9..402.0).contains(&reno), "{reno}");
    }

    #[test]
    fn a_queue_of_thirty_segments_takes_that_many_off_the_delay_window_and_none_off_renos() {
        let mut compound = compound(400);
        let mut path = Path::new();
        (0..12).for_each(|_| path.round(&mut compound, BASE, Duration::ZERO));
        let (dwnd, reno) = (compound.dwnd.whole(SMSS), compound.window.segments());
        let w = compound.cwnd().whole(SMSS);
        (0..2).for_each(|_| path.round(&mut compound, BASE * 10 / 9, Duration::ZERO));
        let taken = dwnd - compound.dwnd.whole(SMSS);
        // The round trip that has ended was a tenth queue.
        assert!(taken.abs_diff(w / 10) <= 12 && compound.window.segments() > reno, "{taken} of {dwnd}");
    }

    #[test]
    fn below_38_segments_it_is_reno() {
        let mut compound = compound(30);
        let mut path = Path::new();
        (0..6).for_each(|_| path.round(&mut compound, BASE, Duration::ZERO));
        assert_eq!(compound.dwnd, Bytes::ZERO);
    }

    #[test]
    fn a_loss_halves_both_windows_and_a_timeout_leaves_no_delay_window() {
        let mut compound = compound(400);
        let mut path = Path::new();
        (0..9).for_each(|_| path.round(&mut compound, BASE, Duration::ZERO));
        let (dwnd, total) = (compound.dwnd, compound.cwnd());
        compound.on_loss(&loss(total));
        assert_eq!((compound.cwnd(), compound.dwnd), (total / 2, dwnd / 2));
        compound.on_timeout(&timeout(compound.cwnd(), false));
        assert_eq!((compound.cwnd(), compound.dwnd), (SMSS, Bytes::ZERO));
    }

    #[test]
    fn recovery_leaves_the_window_that_it_sets_to_both_parts_together() {
        let mut compound = compound(400);
        let mut path = Path::new();
        (0..9).for_each(|_| path.round(&mut compound, BASE, Duration::ZERO));
        assert!(!compound.dwnd.is_zero());
        compound.on_recovery_exit(SMSS * 200);
        assert_eq!(compound.cwnd(), SMSS * 200);
    }

    #[test]
    fn a_delay_window_that_a_queue_does_not_shorten_is_refused() {
        assert!(Parameters { zeta: 0.0, ..Parameters::default() }.check().is_err());
        assert!(Parameters { zeta: 0.1, ..Parameters::default() }.check().is_ok());
    }

    /// Tan et al. 2006 equation 12: w = c·p^(−1/(2−k)). With dw/dt = α·w^k from W/2 to W a cycle sends
    /// (W^(2−k) − (W/2)^(2−k)) / (α(2−k)) segments in (W^(1−k) − (W/2)^(1−k)) / (α(1−k)) round trips.
    #[test]
    fn the_window_is_that_of_the_papers_response_function() {
        let (alpha, k) = (0.125, 0.75);
        for p in [1e-4, 1e-5, 1e-6] {
            let law = {
                let part = |power: f64| 1.0 - libm::pow(0.5, power);
                let w = libm::pow(alpha * (2.0 - k) / part(2.0 - k) / p, 1.0 / (2.0 - k));
                1.0 / p / (libm::pow(w, 1.0 - k) * part(1.0 - k) / (alpha * (1.0 - k)))
            };
            let mut compound = built(ENTRY.id, json!({}));
            let ratio = mean_window_at(compound.as_mut(), p) / law;
            assert!((0.9..1.1).contains(&ratio), "{ratio} of {law} at {p}");
        }
    }
}

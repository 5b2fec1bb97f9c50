//! AIMD(α, β): α segments more each round trip, a part β less on a loss.
//!
//! With α = 3β/(2 − β) it takes the share of a standard TCP under the same losses (Floyd, Handley and
//! Padhye, A comparison of equation-based and AIMD congestion control, 2000; Landström 2008 §6.4.4), so
//! that is α unless one is given. β = 1/2 gives α = 1, and then this is `reno` without its options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

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
    /// Segments that a round trip of congestion avoidance adds; without it 3β/(2 − β).
    pub alpha: Option<f64>,
    /// Fraction of the window that a loss removes.
    pub(super) beta: Proportion,
    /// Fraction that a loss removes in slow start, which may have doubled the window beyond what the path holds,
    /// and that a timeout removes. Default: β, but at least 1/2 (Landström 2008 §6.4.4 has β = 2/7 after the
    /// first slow start; ns-2, in which it ran, halves in any slow start and on any timeout).
    pub(super) slow_start_beta: Option<Proportion>,
    /// Counting in congestion avoidance.
    pub increase: Increase,
    /// Base of the reduction after a loss.
    #[serde(alias = "halves")]
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
    /// Whether a window equal to the threshold still grows as in slow start.
    pub slow_start_when_equal: bool,
    /// Whether every timeout reduces the threshold, as in BSD and ns-2, and not only the first of a segment (RFC 5681
    /// §3.1).
    pub every_timeout_reduces: bool,
    /// Counting in slow start.
    pub slow_start_counts: Counts,
}

/// Counting in slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// The acknowledged bytes, up to a segment (RFC 5681 equation 2).
    #[default]
    Bytes,
    /// A segment for each ACK of new data, however little it acknowledges (RFC 2581 §3.1): receivers that
    /// divide their acknowledgments gain by it (Savage et al. 1999).
    Acks,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            alpha: None,
            beta: Proportion(0.5),
            slow_start_beta: None,
            increase: Increase::default(),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
            slow_start_when_equal: false,
            every_timeout_reduces: false,
            slow_start_counts: Counts::default(),
        }
    }
}

impl Parameters {
    fn alpha(&self) -> f64 {
        let Proportion(beta) = self.beta;
        self.alpha.unwrap_or(3.0 * beta / (2.0 - beta))
    }

    fn slow_start_beta(&self) -> Proportion {
        self.slow_start_beta.unwrap_or(Proportion(self.beta.0.max(0.5)))
    }
}

#[derive(Debug)]
struct Aimd {
    parameters: Parameters,
    alpha: Alpha,
}

impl Policy for Aimd {
    fn alpha(&mut self, _window: &Window, _ack: &AckSample) -> Alpha {
        self.alpha
    }

    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let in_slow_start = window.is_below_ssthresh();
        let beta = if in_slow_start { self.parameters.slow_start_beta() } else { self.parameters.beta };
        self.parameters.reduction_of.kept(1.0 - beta.0, event)
    }

    fn ssthresh_on_timeout(&mut self, _window: &Window, event: &CongestionEvent) -> Bytes {
        self.parameters.reduction_of.kept(1.0 - self.parameters.slow_start_beta().0, event)
    }

    fn rules(&self) -> Rules {
        Rules {
            ssthresh_unit: self.parameters.ssthresh_unit,
            every_timeout_reduces: self.parameters.every_timeout_reduces,
            slow_start_when_equal: self.parameters.slow_start_when_equal,
            ..Rules::default()
        }
    }

    fn slow_start(&mut self, window: &mut Window, acked: Bytes) {
        match self.parameters.slow_start_counts {
            Counts::Bytes => window.slow_start(acked),
            Counts::Acks => window.open(window.smss),
        }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let alpha = self.alpha();
        if !(alpha > 0.0 && alpha <= MOST) {
            let right = format!("a number above 0, up to {MOST}");
            return Err(refusal(format!("alpha is {alpha}"), right));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "aimd",
    "any α and β; by default as friendly to TCP as β allows",
    "Floyd, Handley and Padhye 2000; Landström 2008 §6.4.4",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let alpha = Alpha::new(parameters.alpha());
        Box::new(Classic::new(Aimd { parameters: parameters.clone(), alpha }, parameters.increase))
    }),
);

/// No TCP adds more in a round trip; HighSpeed TCP's table ends at 73 (RFC 3649 appendix B).
const MOST: f64 = 100.0;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::testing::{SMSS, ack, ack_sample, built, loss, reduced, timeout};
    use super::*;

    fn step(congestion: &mut dyn CongestionControl, (kind, size, again): (u8, u64, bool)) {
        let flight = Bytes(size * 100).min(congestion.cwnd());
        match kind {
            0 => congestion.on_loss(&loss(flight)),
            1 => congestion.on_timeout(&timeout(flight, again)),
            2 => congestion.on_recovery_exit(congestion.ssthresh().min(flight.max(SMSS))),
            3 => congestion.on_restore(flight.max(SMSS), SMSS * size),
            _ => congestion.on_ack(&ack_sample(Bytes(size * 20), flight)),
        }
    }

    proptest! {
        #[test]
        fn with_the_standard_parameters_it_is_reno(
            steps in prop::collection::vec((0..20_u8, 1..100_u64, any::<bool>()), 1..300),
            increase in prop::sample::select(vec!["per-ack", "per-byte", "per-window", "count-acks"]),
            reduction_of in prop::sample::select(vec!["flight-size", "cwnd", "pipe", "smaller"]),
            unit in prop::sample::select(vec!["bytes", "segments"]),
            equal in any::<bool>(),
            every in any::<bool>(),
        ) {
            let keys = json!({
                "increase": increase,
                "reduction_of": reduction_of,
                "ssthresh_unit": unit,
                "slow_start_when_equal": equal,
                "every_timeout_reduces": every,
            });
            let (mut aimd, mut reno) = (built("aimd", keys.clone()), built("reno", keys));
            for step_ in steps {
                step(aimd.as_mut(), step_);
                step(reno.as_mut(), step_);
                prop_assert_eq!((aimd.cwnd(), aimd.ssthresh()), (reno.cwnd(), reno.ssthresh()));
            }
        }
    }

    #[test]
    fn two_sevenths_go_with_half_a_segment_a_round_trip() {
        for increase in ["per-window", "count-acks"] {
            let mut aimd =
                built("aimd", json!({ "beta": "2/7", "slow_start_beta": "2/7", "increase": increase }));
            reduced(aimd.as_mut(), 14);
            assert_eq!((aimd.cwnd(), aimd.ssthresh()), (SMSS * 10, SMSS * 10));
            ack(aimd.as_mut(), 19);
            assert_eq!(aimd.cwnd(), SMSS * 10, "{increase}");
            ack(aimd.as_mut(), 1);
            assert_eq!(aimd.cwnd(), SMSS * 11, "{increase}");
        }
        let mut aimd = built("aimd", json!({ "beta": "2/7", "slow_start_beta": "2/7" }));
        reduced(aimd.as_mut(), 14);
        ack(aimd.as_mut(), 1);
        assert_eq!(aimd.cwnd(), SMSS * 10 + Bytes(50));
    }

    #[test]
    fn a_slow_start_and_a_timeout_leave_half_of_the_window_at_most() {
        for (keys, left) in [
            (json!({ "beta": "2/7" }), 7),
            (json!({ "beta": 0.75, "ssthresh_unit": "segments" }), 3),
            (json!({ "beta": "2/7", "slow_start_beta": "2/7" }), 10),
        ] {
            let mut aimd = built("aimd", keys.clone());
            reduced(aimd.as_mut(), 14);
            assert_eq!(aimd.cwnd(), SMSS * left, "{keys}");
        }
        let mut aimd = built("aimd", json!({ "beta": "2/7" }));
        reduced(aimd.as_mut(), 14);
        reduced(aimd.as_mut(), 14);
        assert_eq!(aimd.cwnd(), SMSS * 10, "in congestion avoidance");
        aimd.on_timeout(&timeout(SMSS * 14, false));
        assert_eq!(aimd.ssthresh(), SMSS * 7, "by a timeout");
        aimd.on_ack(&ack_sample(SMSS, SMSS));
        aimd.on_loss(&loss(SMSS * 14));
        assert_eq!(aimd.ssthresh(), SMSS * 7, "in the slow start after it");
    }

    #[test]
    fn a_given_alpha_is_taken_and_one_ack_opens_no_more_than_a_round_trip() {
        let mut aimd = built("aimd", json!({ "alpha": 4, "increase": "per-window" }));
        reduced(aimd.as_mut(), 20);
        ack(aimd.as_mut(), 10);
        assert_eq!(aimd.cwnd(), SMSS * 13);
        aimd.on_ack(&ack_sample(SMSS * 100, SMSS * 100));
        assert_eq!(aimd.cwnd(), SMSS * 17);
    }

    #[test]
    fn divided_acks_open_the_window_where_slow_start_counts_acks() {
        for (counts, opened) in [("bytes", 3), ("acks", 6)] {
            let mut aimd = built("aimd", json!({ "slow_start_counts": counts }));
            for _ in 0..4 {
                aimd.on_ack(&ack_sample(SMSS / 4, SMSS * 2));
            }
            assert_eq!(aimd.cwnd(), SMSS * opened, "{counts}");
        }
    }

    #[test]
    fn parameters_that_make_no_window_are_refused() {
        let parse = |keys: Value| ENTRY.choice(keys).is_ok();
        assert!(parse(json!({ "alpha": 0.2, "beta": 0.125 })));
        for wrong in
            [json!({ "alpha": 0 }), json!({ "alpha": -1 }), json!({ "beta": 1 }), json!({ "gamma": 1 })]
        {
            assert!(!parse(wrong.clone()), "{wrong}");
        }
    }
}

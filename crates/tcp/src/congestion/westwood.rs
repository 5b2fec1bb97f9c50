//! Westwood+ (Mascolo et al. 2001; Grieco and Mascolo 2004): on a loss the threshold becomes what the path
//! carried, the estimated bandwidth times the least round trip, instead of half of the window.
//!
//! One bandwidth sample a round trip: what was acknowledged in it over its length. The first Westwood took
//! one with each ACK, and overestimated where ACKs came in bursts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::proportion::Proportion;
use super::window::{Alpha, ReductionOf, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Counting in congestion avoidance.
    pub increase: Increase,
    /// Weight of a new sample in the low-pass filter. 1/8, as in Linux (`westwood_do_filter`).
    pub(super) gain: Proportion,
    /// Number of low-pass filters in series. 1; 2 in Linux (`westwood_filter`).
    #[schemars(range(min = 1, max = 2))]
    pub filters: u32,
    /// Whether a loss discards the shortest round trip, so that the next sample sets it, as in Linux (`reset_rtt_min`).
    pub loss_resets_least_rtt: bool,
    /// Minimum time that a sample covers. 50 ms, as in Linux (`TCP_WESTWOOD_RTT_MIN`).
    pub least_sample: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            increase: Increase::default(),
            gain: Proportion(0.125),
            filters: 1,
            loss_resets_least_rtt: false,
            least_sample: Duration::from_millis(50),
        }
    }
}

#[derive(Debug)]
struct Westwood {
    gain: f64,
    filters: u32,
    loss_resets_least_rtt: bool,
    least_sample: Duration,
    /// Time at which the present sample began; its ACK is not part of it.
    began: Option<Instant>,
    acked: Bytes,
    /// The output of the first of two filters, in bytes a second.
    first_filter: Option<f64>,
    /// The estimate in bytes a second.
    bandwidth: Option<f64>,
    rtt: Option<Duration>,
    least_rtt: Option<Duration>,
}

impl Westwood {
    const fn new(parameters: &Parameters) -> Self {
        Self {
            gain: parameters.gain.0,
            filters: parameters.filters,
            loss_resets_least_rtt: parameters.loss_resets_least_rtt,
            least_sample: parameters.least_sample,
            began: None,
            acked: Bytes::ZERO,
            first_filter: None,
            bandwidth: None,
            rtt: None,
            least_rtt: None,
        }
    }

    fn filter(&mut self, sample: f64) {
        let smoothed = |old: Option<f64>, new: f64| old.map_or(new, |old| old + self.gain * (new - old));
        let mut input = sample;
        if self.filters == 2 {
            input = smoothed(self.first_filter, sample);
            self.first_filter = Some(input);
        }
        self.bandwidth = Some(smoothed(self.bandwidth, input));
    }
}

impl Policy for Westwood {
    fn alpha(&mut self, _window: &Window, _ack: &AckSample) -> Alpha {
        Alpha::ONE
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.rtt = Some(rtt);
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let Some(began) = self.began else {
            self.began = Some(ack.now);
            return;
        };
        self.acked += ack.acked;
        let (length, least) = (ack.now - began, self.rtt.unwrap_or_default().max(self.least_sample));
        if length >= least && !length.is_zero() {
            self.filter(self.acked.0 as f64 / length.as_secs_f64());
            self.began = Some(ack.now);
            self.acked = Bytes::ZERO;
        }
    }

    /// The estimate, even where it lies above the window; without one half of what was in use, as a standard TCP.
    fn ssthresh_on_loss(&mut self, _window: &Window, event: &CongestionEvent) -> Bytes {
        let kept = match (self.bandwidth, self.least_rtt) {
            (Some(bandwidth), Some(rtt)) => Bytes((bandwidth * rtt.as_secs_f64()) as u64),
            _ => ReductionOf::Smaller.kept(0.5, event),
        };
        if self.loss_resets_least_rtt {
            self.least_rtt = None;
        }
        kept
    }

    /// Most recoveries end at ssthresh, which may be an estimate above the window: slow start continues up to there.
    fn rules(&self) -> Rules {
        Rules { keeps_window_at_exit: true, ..Rules::default() }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if !(1..=2).contains(&self.filters) {
            return Err(refusal(format!("filters is {}", self.filters), "1 or 2"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "westwood-plus",
    "a loss leaves the estimated bandwidth times the least round trip",
    "Mascolo et al. 2001; Grieco and Mascolo 2004",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Classic::new(Westwood::new(parameters), parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss, timeout};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const SPACING: Duration = Duration::from_millis(10);

    /// 100 segments a second over 100 ms: ten segments are the path's.
    fn full_path() -> Box<dyn CongestionControl> {
        let mut westwood = built(ENTRY.id, json!({}));
        westwood.on_restore(SMSS * 20, SMSS * 10);
        let mut path = Path::new();
        for _ in 0..40 {
            path.round(westwood.as_mut(), RTT, SPACING);
            westwood.on_restore(SMSS * 20, SMSS * 10);
        }
        westwood
    }

    #[test]
    fn a_loss_leaves_what_the_path_carries_and_not_half() {
        let mut westwood = full_path();
        westwood.on_loss(&loss(SMSS * 20));
        let left = westwood.cwnd().whole(SMSS);
        assert_eq!(westwood.ssthresh(), westwood.cwnd());
        assert!((6..=10).contains(&left), "{left}");
        let mut westwood = full_path();
        westwood.on_timeout(&timeout(SMSS * 20, false));
        assert_eq!((westwood.cwnd(), westwood.ssthresh().whole(SMSS)), (SMSS, left));
    }

    #[test]
    fn a_loss_never_opens_the_window() {
        let mut westwood = full_path();
        westwood.on_restore(SMSS * 3, SMSS * 3);
        westwood.on_loss(&loss(SMSS * 3));
        assert_eq!(westwood.cwnd(), SMSS * 3);
        assert!(westwood.ssthresh() > SMSS * 5);
        westwood.on_recovery_exit(westwood.ssthresh());
        assert_eq!(westwood.cwnd(), SMSS * 3);
    }

    #[test]
    fn there_is_one_sample_a_round_trip_and_the_filter_takes_an_eighth_of_it() {
        let parameters = Parameters::default();
        let mut westwood = Westwood::new(&parameters);
        let at = |millis: u64| AckSample {
            now: Instant::START + Duration::from_millis(millis),
            rtt: Some(RTT),
            ..super::super::testing::ack_sample(SMSS, SMSS)
        };
        for millis in [0, 20, 40, 60, 80] {
            westwood.observe(&at(millis));
        }
        assert_eq!(westwood.bandwidth, None);
        westwood.observe(&at(100));
        assert_eq!(westwood.bandwidth, Some(50_000.0));
        westwood.observe(&at(200));
        assert_eq!(westwood.bandwidth, Some(50_000.0 - 40_000.0 / 8.0));
    }

    #[test]
    fn a_second_filter_follows_the_first_and_a_loss_may_forget_the_least_round_trip() {
        let mut westwood =
            Westwood::new(&Parameters { filters: 2, loss_resets_least_rtt: true, ..Parameters::default() });
        [8000.0, 16_000.0].into_iter().for_each(|sample| westwood.filter(sample));
        // The first goes an eighth of the way to the new sample, the second an eighth of that.
        assert_eq!((westwood.first_filter, westwood.bandwidth), (Some(9000.0), Some(8125.0)));
        westwood.least_rtt = Some(RTT);
        assert_eq!(westwood.ssthresh_on_loss(&Window::UNSET, &loss(SMSS * 20)), Bytes(812));
        assert_eq!(westwood.least_rtt, None);
    }

    #[test]
    fn without_a_sample_it_halves() {
        let mut westwood = built(ENTRY.id, json!({}));
        westwood.on_restore(SMSS * 12, Bytes::MAX);
        westwood.on_loss(&loss(SMSS * 12));
        assert_eq!(westwood.cwnd(), SMSS * 6);
    }
}

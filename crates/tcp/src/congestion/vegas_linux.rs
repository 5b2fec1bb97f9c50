//! Vegas as in Linux (`tcp_vegas.c`, after Cardwell and Bak 1998): one decision each round trip by its shortest
//! sample, slow start in every round trip, and Reno's answers to losses.
//!
//! Compared with `vegas`: α, β and γ are 2, 4 and 1; the end of slow start leaves what the path holds and one segment
//! more; a segment comes or goes at once at the end of a round trip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::round_trips::{RoundTrips, Rounds};
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Queued segments below which the window grows. Linux: 2.
    pub alpha: f64,
    /// Queued segments above which the window shrinks. Linux: 4.
    pub beta: f64,
    /// Queued segments above which slow start ends. Linux: 1.
    pub gamma: f64,
    /// Base that a loss halves.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct VegasLinux {
    parameters: Parameters,
    rounds: Rounds,
    ended: Option<RoundTrips>,
    base_rtt: Option<Duration>,
}

impl VegasLinux {
    /// The decision at the end of a round trip.
    fn decide(&self, window: &mut Window, rtt: Duration, base: Duration) {
        let (ratio, w) = (rtt.as_secs_f64() / base.as_secs_f64(), window.segments());
        // Whole segments, as in Linux: more than one of them is two.
        let queued = (w * (ratio - 1.0)).floor();
        if window.is_below_ssthresh() {
            if queued > self.parameters.gamma {
                let held = window.smss * ((w / ratio) as u64 + 1);
                window.set_cwnd(held.min(window.cwnd()).max(window.smss * 2));
                window.ssthresh = window.ssthresh.min(window.cwnd());
            }
        } else if queued > self.parameters.beta {
            window.set_cwnd(window.cwnd().saturating_sub(window.smss).max(window.smss * 2));
            window.ssthresh = window.ssthresh.min(window.cwnd());
        } else if queued < self.parameters.alpha {
            window.open(window.smss);
        }
        // Linux (`tcp_current_ssthresh`): the threshold follows a window that has grown.
        window.ssthresh = window.ssthresh.max(window.cwnd() / 4 * 3);
    }
}

impl Policy for VegasLinux {
    fn alpha(&mut self, _window: &Window, _ack: &AckSample) -> Alpha {
        Alpha::ONE
    }

    fn observe(&mut self, ack: &AckSample) {
        // `ca_rtt_us`: without the wait of a delayed ACK.
        let rtt = ack.newest_rtt.or(ack.rtt);
        if let Some(rtt) = rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        }
        self.ended = self.rounds.on_sample(ack, rtt).or(self.ended);
    }

    /// In congestion avoidance the window changes here and not ACK by ACK, unless the round trip had two samples or
    /// less, one of which may be a delayed ACK's (Linux): then this ACK counts as Reno's.
    fn before_growth(&mut self, window: &mut Window, ack: &AckSample) -> bool {
        let was_below = window.is_below_ssthresh();
        match (self.ended.take(), self.base_rtt) {
            (Some(round), _) if round.samples <= FEW => return true,
            (Some(round), Some(base)) if super::is_cwnd_limited(window.cwnd(), ack.flight, window.smss) => {
                self.decide(window, round.least, base);
            }
            _ => {}
        }
        was_below && window.is_below_ssthresh()
    }

    fn ssthresh_on_loss(&mut self, _window: &Window, event: &CongestionEvent) -> Bytes {
        // Linux (`tcp_vegas_state`): measured anew when recovery is over.
        (self.rounds, self.ended) = (Rounds::default(), None);
        self.parameters.reduction_of.kept(0.5, event)
    }

    /// The shortest round trip that a late comer measures has the queue of the others in it, so that it takes more than
    /// they do (Mo, La, Anantharam and Walrand 1999, §III).
    fn rules(&self) -> Rules {
        Rules {
            ssthresh_unit: self.parameters.ssthresh_unit,
            is_cwnd_limited_only: true,
            unequal_shares: true,
            ..Rules::default()
        }
    }
}

/// Linux (`tcp_vegas_cong_avoid`, `cntRTT`).
const FEW: u64 = 2;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if !(0.0 < self.alpha && self.alpha <= self.beta && self.gamma > 0.0) {
            let Parameters { alpha, beta, gamma, .. } = *self;
            let wrong = format!("alpha is {alpha}, beta {beta}, gamma {gamma}, which no window could keep");
            return Err(refusal(wrong, "0 < alpha <= beta, and gamma > 0"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "vegas-linux",
    "Vegas as in Linux: between 2 and 4 segments in queues, by the shortest sample of a round trip",
    "Linux net/ipv4/tcp_vegas.c, after Brakmo and Peterson 1995",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let vegas = VegasLinux {
            parameters: parameters.clone(),
            rounds: Rounds::default(),
            ended: None,
            base_rtt: None,
        };
        Box::new(Classic::new(vegas, Increase::of_linux()))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss};
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    /// Round trips over a path that carries a segment every 10 ms: what is beyond ten waits.
    fn rounds(congestion: &mut dyn CongestionControl, path: &mut Path, count: u64) -> Vec<u64> {
        let mut windows = vec![];
        for _ in 0..count {
            let queued = congestion.cwnd().whole(SMSS).saturating_sub(10);
            path.round(congestion, BASE + Duration::from_millis(10) * queued, Duration::ZERO);
            windows.push(congestion.cwnd().whole(SMSS));
        }
        windows
    }

    #[test]
    fn slow_start_doubles_in_every_round_trip_and_ends_at_what_the_path_holds() {
        let mut vegas = built(ENTRY.id, json!({}));
        let windows = rounds(vegas.as_mut(), &mut Path::new(), 25);
        assert_eq!(windows[..3], [4, 8, 16]);
        assert!(!vegas.in_slow_start());
        assert!(windows[15..].iter().all(|window| (12..=14).contains(window)), "{windows:?}");
    }

    #[test]
    fn a_loss_halves() {
        let mut vegas = built(ENTRY.id, json!({}));
        vegas.on_restore(SMSS * 16, Bytes::MAX);
        vegas.on_loss(&loss(SMSS * 16));
        assert_eq!((vegas.cwnd(), vegas.ssthresh()), (SMSS * 8, SMSS * 8));
    }
}

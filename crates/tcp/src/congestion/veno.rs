//! TCP Veno (Fu and Liew 2003): Vegas' estimate of the segments in queues separates losses of the air from losses of
//! congestion. Where fewer than β wait, a loss takes a fifth and not a half; where more do, the window grows half as
//! fast.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

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
    /// Queued segments from which the path counts as congested. Fu and Liew 2003 §III-A and Linux: 3.
    pub beta: f64,
    /// Fraction of the window that a loss removes where the path is not congested. Fu and Liew 2003 §III-B and Linux:
    /// 1/5.
    pub(super) random_loss: Proportion,
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
            beta: 3.0,
            random_loss: Proportion(0.2),
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Veno {
    parameters: Parameters,
    /// The shortest round trip so far, and the last.
    rtts: Option<(Duration, Duration)>,
}

impl Veno {
    /// Fu and Liew 2003 equation 1: N, the segments of a window that wait in a queue.
    fn is_congested(&self, window: &Window) -> bool {
        let waiting = self.rtts.map_or(0.0, |(base, last)| {
            window.segments() * (1.0 - base.as_secs_f64() / last.as_secs_f64().max(LEAST))
        });
        waiting >= self.parameters.beta
    }
}

impl Policy for Veno {
    fn alpha(&mut self, window: &Window, _ack: &AckSample) -> Alpha {
        // §III-A: in every other round trip.
        if self.is_congested(window) { Alpha::new(0.5) } else { Alpha::ONE }
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.rtts = Some((self.rtts.map_or(rtt, |(base, _)| base.min(rtt)), rtt));
        }
    }

    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let part = if self.is_congested(window) { 0.5 } else { self.parameters.random_loss.0 };
        self.parameters.reduction_of.kept(1.0 - part, event)
    }

    /// §III-B: what a timeout does is left as it is in Reno.
    fn ssthresh_on_timeout(&mut self, _window: &Window, event: &CongestionEvent) -> Bytes {
        self.parameters.reduction_of.kept(0.5, event)
    }

    fn rules(&self) -> Rules {
        Rules { ssthresh_unit: self.parameters.ssthresh_unit, is_cwnd_limited_only: true, ..Rules::default() }
    }
}

/// A round trip of no time at all is no divisor.
const LEAST: f64 = 1e-9;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.beta <= 0.0 {
            return Err(refusal(format!("beta is {}", self.beta), "a number of segments above 0, like 3"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "veno",
    "TCP Veno: a loss without a queue takes a fifth and not a half",
    "Fu and Liew 2003; Linux net/ipv4/tcp_veno.c",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let veno = Veno { parameters: parameters.clone(), rtts: None };
        Box::new(Classic::new(veno, parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, ack_sample, built, loss, timeout};
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    /// Twenty segments, of which `waiting` wait.
    fn with_waiting(waiting: u64) -> Box<dyn CongestionControl> {
        let mut veno = built(ENTRY.id, json!({}));
        veno.on_restore(SMSS * 20, SMSS * 2);
        for rtt in [BASE, BASE * 20 / (20 - waiting)] {
            veno.observe(&AckSample { rtt: Some(rtt), ..ack_sample(SMSS, SMSS) });
        }
        veno
    }

    #[test]
    fn a_loss_takes_a_fifth_where_fewer_than_three_wait_and_half_from_there_on() {
        for (waiting, left) in [(0, 16), (2, 16), (4, 10), (10, 10)] {
            let mut veno = with_waiting(waiting);
            veno.on_loss(&loss(SMSS * 20));
            assert_eq!((veno.cwnd(), veno.ssthresh()), (SMSS * left, SMSS * left), "{waiting}");
        }
    }

    #[test]
    fn a_timeout_halves_the_threshold_in_any_case() {
        let mut veno = with_waiting(0);
        veno.on_timeout(&timeout(SMSS * 20, false));
        assert_eq!((veno.cwnd(), veno.ssthresh()), (SMSS, SMSS * 10));
    }

    #[test]
    fn where_segments_wait_the_window_grows_half_as_fast() {
        for (rtt, more) in [(BASE, 1.0), (BASE * 2, 0.5)] {
            let mut veno = with_waiting(0);
            Path::new().round(veno.as_mut(), rtt, Duration::ZERO);
            let grown = (veno.cwnd() - SMSS * 20).0 as f64 / 1000.0;
            assert!(grown > more * 0.95 && grown <= more, "{grown} at {rtt:?}");
        }
    }
}

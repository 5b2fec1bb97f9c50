//! TCP Hybla (Caini and Firrincieli 2004): a connection of a long round trip grows at the rate of one with a short
//! reference round trip, as over a satellite.
//!
//! With ρ = RTT/RTT₀ each ACK adds 2^ρ − 1 segments in slow start and ρ²/w in congestion avoidance; RTT is the least
//! smoothed round trip, as in Linux.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// RTT₀, the round trip of the connection to be equalled. Caini and Firrincieli 2004 §4 and Linux (`rtt0`): 25 ms.
    pub reference_rtt: Duration,
    /// Counting in congestion avoidance.
    #[serde(default = "Increase::of_linux")]
    pub increase: Increase,
    /// Base that a loss halves.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            reference_rtt: Duration::from_millis(25),
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Hybla {
    parameters: Parameters,
    srtt: Option<Duration>,
    /// The least smoothed round trip over the reference, 1 at least.
    rho: f64,
    /// The least smoothed round trip.
    least: Duration,
}

impl Hybla {
    const fn new(parameters: Parameters) -> Self {
        Self { parameters, srtt: None, rho: 1.0, least: Duration::MAX }
    }

    fn measure(&mut self, rtt: Duration) {
        // RFC 6298 §2.3.
        let srtt = self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8);
        self.srtt = Some(srtt);
        if srtt < self.least {
            self.least = srtt;
            self.rho = (srtt.as_secs_f64() / self.parameters.reference_rtt.as_secs_f64()).max(1.0);
        }
    }
}

impl Policy for Hybla {
    fn alpha(&mut self, _window: &Window, _ack: &AckSample) -> Alpha {
        Alpha::new(self.rho * self.rho)
    }

    fn slow_start(&mut self, window: &mut Window, acked: Bytes) {
        let segments = libm::pow(2.0, self.rho.min(LARGEST_RHO)) - 1.0;
        let part = acked.min(window.smss).0 as f64;
        let (most, cwnd) = (window.ssthresh.min(window.smss * MOST), window.cwnd());
        window.open_by((segments * part).min(most.saturating_sub(cwnd).0 as f64));
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.measure(rtt);
        }
    }

    fn ssthresh_on_loss(&mut self, _window: &Window, event: &CongestionEvent) -> Bytes {
        self.parameters.reduction_of.kept(0.5, event)
    }

    fn rules(&self) -> Rules {
        Rules { ssthresh_unit: self.parameters.ssthresh_unit, is_cwnd_limited_only: true, ..Rules::default() }
    }
}

/// The largest window of slow start, in segments (Linux: `snd_cwnd_clamp` of `hybla_init`).
const MOST: u64 = 65_535;
/// 2^16 segments are the largest window, so no ACK need add more.
const LARGEST_RHO: f64 = 16.0;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.reference_rtt.is_zero() {
            return Err(refusal("reference_rtt is 0 s", "a round trip like \"25 ms\""));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "hybla",
    "TCP Hybla: long round trips grow as fast as a short one",
    "Caini and Firrincieli 2004; Linux net/ipv4/tcp_hybla.c",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Classic::new(Hybla::new(parameters.clone()), parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, reduced};
    use super::*;

    /// The rate in segments a second after `seconds` seconds of congestion avoidance from 4000 segments a second.
    fn rate_after(seconds: u64, rtt: u64) -> f64 {
        let mut hybla = built(ENTRY.id, json!({}));
        let first = 100 * rtt / 25;
        hybla.on_restore(SMSS * first, SMSS * 2);
        let mut path = Path::new();
        (0..seconds * 1000 / rtt)
            .for_each(|_| path.round(hybla.as_mut(), Duration::from_millis(rtt), Duration::ZERO));
        hybla.cwnd().0 as f64 / SMSS.0 as f64 / (rtt as f64 / 1000.0)
    }

    #[test]
    fn the_rate_grows_alike_whatever_the_round_trip() {
        let reference = rate_after(10, 25);
        // From 4000 segments a second by one segment each 25 ms in each round trip of 25 ms.
        assert!((reference / 20_000.0 - 1.0).abs() < 0.01, "{reference}");
        for rtt in [50, 100, 250, 500] {
            let ratio = rate_after(10, rtt) / reference;
            assert!((0.97..1.03).contains(&ratio), "{ratio} at {rtt} ms");
        }
    }

    #[test]
    fn slow_start_grows_by_two_to_the_rho_a_round_trip_up_to_the_threshold() {
        let mut hybla = built(ENTRY.id, json!({}));
        hybla.on_restore(SMSS * 2, SMSS * 100);
        let mut path = Path::new();
        let rtt = Duration::from_millis(75);
        path.round(hybla.as_mut(), rtt, Duration::ZERO);
        assert_eq!(hybla.cwnd(), SMSS * 16, "ρ is 3");
        path.round(hybla.as_mut(), rtt, Duration::ZERO);
        assert!(hybla.cwnd() >= SMSS * 100 && hybla.cwnd() < SMSS * 110, "{}", hybla.cwnd());
    }

    #[test]
    fn below_the_reference_it_is_reno() {
        let (mut hybla, mut reno) =
            (built(ENTRY.id, json!({})), built("reno", json!({ "increase": "per-byte" })));
        for congestion in [&mut hybla, &mut reno] {
            let mut path = Path::new();
            (0..4).for_each(|_| path.round(congestion.as_mut(), Duration::from_millis(10), Duration::ZERO));
            reduced(congestion.as_mut(), 30);
            (0..4).for_each(|_| path.round(congestion.as_mut(), Duration::from_millis(10), Duration::ZERO));
        }
        assert_eq!((hybla.cwnd(), hybla.ssthresh()), (reno.cwnd(), reno.ssthresh()));
    }
}

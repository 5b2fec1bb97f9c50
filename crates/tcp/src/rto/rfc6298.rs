//! The timer of RFC 6298: SRTT + max(G, 4·RTTVAR), between a minimum and a maximum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::{Estimate, Rto, Sample, check_lengths, measured};
use registry::{Algorithm, Checked, ParameterError};

/// Parameters of the standard timer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Length before the first sample. RFC 6298 §2.1: 1 s.
    pub initial: Duration,
    /// Least length. RFC 6298 §2.4: 1 s; current kernels use 200 ms.
    pub min: Duration,
    /// Greatest length, backed off or not. RFC 6298 §2.5: at least 60 s.
    pub max: Duration,
    /// Tick of the clock that measures and runs out; 1 ms as in most kernels; "0 s" is a clock without ticks.
    pub granularity: Duration,
    /// Time added to SRTT + 4·RTTVAR, before the minimum and maximum apply: none in the RFC, 200 ms in FreeBSD from
    /// 2002 on (`tcp_rexmit_slop`), for ACKs that are delayed. A timer that is backed off has it once.
    pub slop: Duration,
    /// Time for which a doubled length is kept.
    pub backoff: Backoff,
    /// Round trips that are samples.
    pub samples: Samples,
}

/// Round trips that are samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Samples {
    /// All that are measured: with timestamps one for each ACK of new data (RFC 7323 §4.1).
    #[default]
    All,
    /// One for each round trip: of a segment that was sent since the sample before it was taken. The gains of 1/8
    /// and 1/4 are meant for that (RFC 6298 §3; RFC 7323 appendix G): with many samples in a round trip the
    /// variation of one is forgotten before it is over.
    PerRoundTrip,
}

/// Time for which a doubled length is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backoff {
    /// Until a segment that was sent once is acknowledged (Karn's rule; RFC 6298 §3 and §5, its last note).
    #[default]
    UntilSample,
    /// Until anything new is acknowledged, even by a copy's ACK: an aggressive timer (Gurtov 2001).
    UntilNewAck,
    /// Until something is acknowledged that was sent after the timeout for the first time: with timestamps copies are
    /// timed as well, and do not end it (ns-2).
    UntilNewData,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            slop: Duration::ZERO,
            backoff: Backoff::default(),
            samples: Samples::default(),
        }
    }
}

#[derive(Debug)]
struct Rfc6298 {
    parameters: Parameters,
    estimate: Option<Estimate>,
    /// Time at which the last sample was taken.
    sampled: Instant,
}

impl Rto for Rfc6298 {
    fn on_sample(&mut self, sample: &Sample) {
        if self.parameters.samples == Samples::PerRoundTrip && sample.sent < self.sampled {
            return;
        }
        self.sampled = sample.now;
        let rtt = measured(sample, self.parameters.granularity);
        self.estimate = Some(Estimate::updated(self.estimate, rtt));
    }

    fn inherit(&mut self, estimate: Estimate) {
        self.estimate = Some(estimate);
    }

    fn granularity(&self) -> Duration {
        self.parameters.granularity
    }

    fn restarts_after_lost_syn(&mut self) -> bool {
        // RFC 6298 §5.7.
        self.parameters.initial = self.parameters.initial.max(AFTER_LOST_SYN);
        true
    }

    fn length(&self) -> Duration {
        let Parameters { initial, min, max, granularity, slop, .. } = self.parameters;
        match self.estimate {
            None => initial,
            Some(Estimate { srtt, rttvar }) => {
                (srtt + granularity.max(rttvar * 4) + slop).rounded_up_to(granularity).clamp(min, max)
            }
        }
    }

    fn longest(&self) -> Duration {
        self.parameters.max
    }

    /// `tcp_timer_rexmt` of FreeBSD adds the slop after the doubling, to the length for a SYN too.
    fn backed_off(&self, doublings: u32) -> Duration {
        let slop = self.parameters.slop;
        if doublings == 0 {
            return self.length();
        }
        let once = if self.estimate.is_some() { self.length().saturating_sub(slop) } else { self.length() };
        (once.doubled(doublings) + slop).min(self.parameters.max)
    }

    fn backoff(&self) -> Backoff {
        self.parameters.backoff
    }

    fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }
}

impl Rfc6298 {
    const fn new(parameters: Parameters) -> Self {
        Self { parameters, estimate: None, sampled: Instant::START }
    }
}

/// RFC 6298 §5.7: the first length for data where the SYN was lost.
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        check_lengths(self.initial, self.min, self.max)?;
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Rto> = Algorithm::checked(
    "rfc6298",
    "SRTT + 4·RTTVAR, restarted by each ACK of new data",
    "RFC 6298",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Rfc6298::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rtt: Duration) -> Sample {
        Sample { sent: Instant::START, now: Instant::START + rtt, cwnd: 1, flight: 1 }
    }

    fn timer() -> Rfc6298 {
        let parameters = Parameters { min: Duration::from_millis(200), ..Parameters::default() };
        Rfc6298::new(parameters)
    }

    #[test]
    fn the_first_sample_gives_three_round_trips() {
        let mut rto = timer();
        assert_eq!(rto.length(), Duration::from_secs(1));
        rto.on_sample(&sample(Duration::from_millis(700)));
        assert_eq!(rto.length(), Duration::from_millis(2100));
    }

    #[test]
    fn slop_is_added_once_however_often_the_timer_was_doubled() {
        let slop = Duration::from_millis(200);
        let mut rto = Rfc6298::new(Parameters { slop, ..Parameters::default() });
        assert_eq!(
            [0, 1, 2].map(|doublings| rto.backed_off(doublings).as_nanos() / 1_000_000),
            [1000, 2200, 4200]
        );
        rto.on_sample(&sample(Duration::from_millis(700)));
        assert_eq!([0, 1].map(|doublings| rto.backed_off(doublings).as_nanos() / 1_000_000), [2300, 4400]);
    }

    #[test]
    fn without_variation_a_tick_is_left_above_the_round_trip() {
        let tick = Duration::from_millis(100);
        let parameters = Parameters { min: Duration::ZERO, granularity: tick, ..Parameters::default() };
        let mut rto = Rfc6298::new(parameters);
        for _ in 0..200 {
            rto.on_sample(&sample(tick * 3));
        }
        assert_eq!(rto.length(), tick * 4);
    }

    #[test]
    fn steady_samples_shrink_the_timer_to_the_minimum() {
        let mut rto = timer();
        for _ in 0..200 {
            rto.on_sample(&sample(Duration::from_millis(50)));
        }
        assert_eq!(rto.length(), Duration::from_millis(200));
    }
}

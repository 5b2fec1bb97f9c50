//! The timer of the simulator ns-2: BSD's estimator of 1988 in whole ticks, on a clock that runs out at any time.
//!
//! SRTT has three bits below the tick and the deviation two, and what is below is cut off. A deviation of less
//! than a tick so never decays: on a path whose round trips are all alike the timer stays three ticks above them,
//! where that of RFC 6298 may come down to one. A doubled length is kept until new data are acknowledged, also
//! where timestamps time what was sent again, unless `backoff` says otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::fixed_point::Smoothed;
use super::rfc6298::Samples;
use super::{Backoff, Estimate, Rto, Sample, check_lengths, measured};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters of the timer of ns-2; the defaults are those of its later versions.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Length before the first sample: 3 s (`rtxcur_init_`).
    pub initial: Duration,
    /// Least length: 200 ms (`minrto_`; 1 s before ns-2.28).
    pub min: Duration,
    /// Greatest length, backed off or not: 60 s (`maxrto_`).
    pub max: Duration,
    /// Tick of the clock by which round trips are measured: 10 ms (`tcpTick_`).
    pub tick: Duration,
    /// Round trips that are samples: all with timestamps, one for each round trip without.
    pub samples: Samples,
    /// Time for which a doubled length is kept: until data are acknowledged that were sent after the timeout for the
    /// first time. With timestamps and `ts_resetRTO_` every ACK of new data is a sample that ends it: `until-new-ack`.
    pub backoff: Backoff,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
            tick: Duration::from_millis(10),
            samples: Samples::default(),
            backoff: Backoff::UntilNewData,
        }
    }
}

#[derive(Debug)]
struct Ns2 {
    parameters: Parameters,
    /// `t_srtt_` and `t_rttvar_`, in ticks.
    smoothed: Option<Smoothed>,
    /// Time at which the last sample was taken.
    sampled: Instant,
}

impl Ns2 {
    /// A round trip in ticks: with timestamps it is rounded, without them it is the difference of the clock's readings.
    fn ticks(&self, sample: &Sample) -> u64 {
        let tick = self.parameters.tick;
        let time = match self.parameters.samples {
            Samples::All => sample.now - sample.sent + tick / 2,
            Samples::PerRoundTrip => measured(sample, tick),
        };
        (time.as_nanos() / tick.as_nanos()).max(1)
    }
}

impl Rto for Ns2 {
    fn on_sample(&mut self, sample: &Sample) {
        if self.parameters.samples == Samples::PerRoundTrip && sample.sent < self.sampled {
            return;
        }
        self.sampled = sample.now;
        let ticks = self.ticks(sample);
        self.smoothed =
            Some(self.smoothed.map_or_else(|| Smoothed::first(ticks), |earlier| earlier.updated(ticks)));
    }

    fn inherit(&mut self, estimate: Estimate) {
        self.smoothed = Some(Smoothed::of(estimate, self.parameters.tick, WHOLE));
    }

    fn granularity(&self) -> Duration {
        self.parameters.tick
    }

    fn length(&self) -> Duration {
        let Parameters { initial, min, max, tick, .. } = self.parameters;
        self.smoothed.map_or(initial, |smoothed| (tick * smoothed.with_four_deviations()).clamp(min, max))
    }

    fn backoff(&self) -> Backoff {
        self.parameters.backoff
    }

    fn longest(&self) -> Duration {
        self.parameters.max
    }

    fn estimate(&self) -> Option<Estimate> {
        self.smoothed.map(|smoothed| smoothed.estimate(self.parameters.tick, WHOLE))
    }
}

/// Units of the estimator in a tick: its unit is the tick.
const WHOLE: u64 = 1;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        check_lengths(self.initial, self.min, self.max)?;
        if self.tick.is_zero() {
            return Err(refusal("tick is 0 s, and the clock would never advance", "ns-2 has \"10 ms\""));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Rto> = Algorithm::checked(
    "ns-2",
    "BSD's estimator of 1988 in whole ticks of 10 ms: three of them at least above an even round trip",
    "ns-2 tcp.cc (rtt_update); Jacobson 1988, appendix A",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Ns2 { parameters: parameters.clone(), smoothed: None, sampled: Instant::START })
    }),
);

#[cfg(test)]
mod tests {
    use super::*;

    fn after(parameters: Parameters, round_trips: impl IntoIterator<Item = u64>) -> Ns2 {
        let mut timer = Ns2 { parameters, smoothed: None, sampled: Instant::START };
        for ms in round_trips {
            let sent = timer.sampled;
            timer.on_sample(&Sample { sent, now: sent + Duration::from_millis(ms), cwnd: 1, flight: 1 });
        }
        timer
    }

    #[test]
    fn the_first_sample_gives_three_round_trips() {
        assert_eq!(after(Parameters::default(), [500]).length(), Duration::from_millis(1500));
    }

    #[test]
    fn three_ticks_are_left_above_round_trips_that_are_alike() {
        assert_eq!(after(Parameters::default(), [300; 200]).length(), Duration::from_millis(330));
        assert_eq!(after(Parameters::default(), [50; 200]).length(), Duration::from_millis(200));
    }

    #[test]
    fn timestamps_are_rounded_and_readings_of_the_clock_are_not() {
        let samples =
            |samples| after(Parameters { samples, ..Parameters::default() }, [306, 306]).smoothed.unwrap();
        // From 0 to 306 ms and from 306 to 612: 30 ticks begun, then 31.
        assert_eq!(samples(Samples::All).srtt, 31 * 8);
        assert_eq!(samples(Samples::PerRoundTrip).srtt, 30 * 8 + 1);
    }
}

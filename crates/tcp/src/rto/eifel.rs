//! The Eifel retransmission timer (Ludwig and Sklower 2000).
//!
//! It differs from RFC 6298 in five ways:
//! - the gain of both averages is the share that a sample has in the round trip's samples, at most a third,
//!   and its reciprocal weighs the deviation, so that a large window does not forget faster than a small one;
//! - a round trip that falls leaves the deviation alone, so the timer does not leap up after it;
//! - the deviation falls by the square of the gain: up at once, down slowly;
//! - the least length is the last round trip and two ticks, instead of a constant;
//! - it counts from the transmission of the oldest segment outstanding.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::{CountsFrom, Estimate, Rto, Sample, check_lengths, measured};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters of the Eifel timer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of segments of the flight for each sample: 1 where each segment is acknowledged, 2 with
    /// delayed ACKs.
    #[schemars(range(min = 1))]
    pub segments_per_sample: u32,
    /// Length before the first sample. RFC 6298 §2.1: 1 s.
    pub initial: Duration,
    /// Least length besides that of the last round trip and two ticks: none.
    pub min: Duration,
    /// Greatest length, backed off or not: 60 s, the minimum of RFC 6298 §2.5.
    pub max: Duration,
    /// Tick of the clock: 10 ms, as in kernels of 2000 (HZ = 100).
    pub granularity: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            segments_per_sample: 1,
            initial: Duration::from_secs(1),
            min: Duration::ZERO,
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(10),
        }
    }
}

#[derive(Debug)]
struct Eifel {
    parameters: Parameters,
    estimate: Option<Estimate>,
    length: Duration,
}

impl Eifel {
    const fn new(parameters: Parameters) -> Self {
        Self { length: parameters.initial, parameters, estimate: None }
    }

    /// 1/GAIN: as many samples as a round trip has, at least three.
    fn samples_per_flight(&self, flight: u64) -> u64 {
        flight.div_ceil(u64::from(self.parameters.segments_per_sample)).max(FEWEST_SAMPLES)
    }

    fn set_length(&mut self, estimate: Estimate, weight: u64, last: Duration) {
        let Parameters { min, max, granularity, .. } = self.parameters;
        let predicted = estimate.srtt + estimate.rttvar * weight;
        let least = last + granularity * 2;
        self.length = predicted.max(least).rounded_up_to(granularity).max(min).min(max);
        self.estimate = Some(estimate);
    }
}

impl Rto for Eifel {
    fn on_sample(&mut self, sample: &Sample) {
        let rtt = measured(sample, self.parameters.granularity);
        let weight = self.samples_per_flight(sample.flight);
        let estimate =
            self.estimate.map_or(Estimate::updated(None, rtt), |earlier| after(earlier, rtt, weight));
        self.set_length(estimate, weight, rtt);
    }

    fn inherit(&mut self, estimate: Estimate) {
        self.set_length(estimate, FEWEST_SAMPLES, estimate.srtt);
    }

    fn granularity(&self) -> Duration {
        self.parameters.granularity
    }

    fn length(&self) -> Duration {
        self.length
    }

    fn longest(&self) -> Duration {
        self.parameters.max
    }

    fn counts_from(&self) -> CountsFrom {
        CountsFrom::OldestSent
    }

    fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }
}

/// The estimate after a round trip: SRTT + GAIN·DELTA, and where DELTA is not negative
/// RTTVAR + GAIN'·(DELTA − RTTVAR), with GAIN' = GAIN for a rise and its square for a fall.
fn after(Estimate { srtt, rttvar }: Estimate, rtt: Duration, weight: u64) -> Estimate {
    let delta = rtt.abs_diff(srtt);
    if rtt < srtt {
        return Estimate { srtt: srtt.saturating_sub(delta / weight), rttvar };
    }
    let step = delta.abs_diff(rttvar);
    let rttvar = if delta >= rttvar {
        rttvar + step / weight
    } else {
        rttvar.saturating_sub(step / (weight * weight))
    };
    Estimate { srtt: srtt + delta / weight, rttvar }
}

/// The gain is a third where a round trip has but one sample, which proved safe (Ludwig and Sklower 2000).
const FEWEST_SAMPLES: u64 = 3;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        check_lengths(self.initial, self.min, self.max)?;
        if self.segments_per_sample == 0 {
            return Err(refusal(
                "segments_per_sample is 0, and a sample would represent no segment",
                "1 or more",
            ));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Rto> = Algorithm::checked(
    "eifel",
    "gains by the window, no leap after a falling round trip, counted from the oldest segment",
    "Ludwig and Sklower 2000",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Eifel::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn after_sample(rto: &mut Eifel, rtt: Duration, flight: u64) -> Duration {
        rto.on_sample(&Sample { sent: Instant::START, now: Instant::START + rtt, cwnd: flight, flight });
        rto.length()
    }

    fn settled(rtt: Duration, flight: u64) -> Eifel {
        let mut rto = Eifel::new(Parameters::default());
        for _ in 0..5000 {
            after_sample(&mut rto, rtt, flight);
        }
        rto
    }

    #[test]
    fn the_first_sample_counts_half_as_deviation_and_a_third_as_gain() {
        // 800 + 3·400.
        assert_eq!(after_sample(&mut Eifel::new(Parameters::default()), ms(800), 1), ms(2000));
    }

    #[test]
    fn steady_round_trips_leave_two_ticks() {
        assert_eq!(settled(ms(300), 10).length(), ms(320));
    }

    #[test]
    fn a_falling_round_trip_lowers_the_timer_and_never_raises_it() {
        let mut rto = settled(ms(2000), 4);
        let before = rto.length();
        let after = after_sample(&mut rto, ms(200), 4);
        assert!(after < before, "{before} then {after}");
    }

    #[test]
    fn the_deviation_rises_at_once_and_falls_slowly() {
        let mut rto = settled(ms(1000), 10);
        let rise = after_sample(&mut rto, ms(2000), 10).saturating_sub(ms(1000));
        let raised = rto.estimate().unwrap().rttvar;
        after_sample(&mut rto, ms(1100), 10);
        let left = rto.estimate().unwrap().rttvar;
        assert!(rise >= ms(1000) && raised >= ms(99) && left > raised * 99 / 100, "{rise} {raised} {left}");
    }

    #[test]
    fn the_gain_follows_the_flight() {
        let srtt_after = |flight, per_sample| {
            let parameters = Parameters { segments_per_sample: per_sample, ..Parameters::default() };
            let mut rto = Eifel::new(parameters);
            after_sample(&mut rto, ms(1000), flight);
            after_sample(&mut rto, ms(2000), flight);
            rto.estimate().unwrap().srtt
        };
        assert_eq!(srtt_after(10, 1), ms(1100));
        assert_eq!(srtt_after(10, 2), ms(1200));
        assert_eq!(srtt_after(2, 1), ms(1000) + ms(1000) / 3);
    }
}

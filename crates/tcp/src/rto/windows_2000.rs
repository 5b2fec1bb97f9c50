//! A timer with an error in its arithmetic, as Gurtov 2001 found one in Windows 2000.
//!
//! Known facts: the document calls the computation of the timer there wrong, and the timer runs out early. Its formulas
//! are lost. What is *assumed* here is the simplest such error: the deviation is added once instead of four times, as
//! if its fixed-point scaling had been forgotten; and a clock of 100 ms, which that system's timers had. `deviations`
//! and `granularity` set other values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Estimate, Rto, Sample, check_lengths, measured};
use registry::{Algorithm, Checked, ParameterError};

/// Parameters of the faulty timer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Multiple of the deviation that is added to SRTT. Assumed: once, where RFC 6298 §2.3 has K = 4.
    pub deviations: u32,
    /// Length before the first sample: 3 s (RFC 1122 §4.2.3.1).
    pub initial: Duration,
    /// Least length. Assumed: 200 ms, two ticks.
    pub min: Duration,
    /// Greatest length, backed off or not: 240 s, as RFC 1122 §4.2.3.1 suggests (twice the lifetime).
    pub max: Duration,
    /// Tick of the clock. Assumed: 100 ms.
    pub granularity: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            deviations: 1,
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(240),
            granularity: Duration::from_millis(100),
        }
    }
}

#[derive(Debug)]
struct Windows2000 {
    parameters: Parameters,
    estimate: Option<Estimate>,
}

impl Rto for Windows2000 {
    fn on_sample(&mut self, sample: &Sample) {
        let rtt = measured(sample, self.parameters.granularity);
        self.estimate = Some(Estimate::updated(self.estimate, rtt));
    }

    fn inherit(&mut self, estimate: Estimate) {
        self.estimate = Some(estimate);
    }

    fn granularity(&self) -> Duration {
        self.parameters.granularity
    }

    fn length(&self) -> Duration {
        let Parameters { deviations, initial, min, max, granularity } = self.parameters;
        let of = |Estimate { srtt, rttvar }| {
            (srtt + rttvar * u64::from(deviations)).rounded_up_to(granularity).clamp(min, max)
        };
        self.estimate.map_or(initial, of)
    }

    fn longest(&self) -> Duration {
        self.parameters.max
    }

    fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        check_lengths(self.initial, self.min, self.max)?;
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Rto> = Algorithm::checked(
    "windows-2000",
    "an error in the arithmetic: the deviation added once (assumed; the document's formula is lost)",
    "Gurtov 2001",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Windows2000 { parameters: parameters.clone(), estimate: None })
    }),
);

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;

    #[test]
    fn it_is_shorter_than_the_standard_timer_of_the_same_round_trips() {
        let mut rto = Windows2000 { parameters: Parameters::default(), estimate: None };
        assert_eq!(rto.length(), Duration::from_secs(3));
        let now = Instant::START + Duration::from_secs(1);
        rto.on_sample(&Sample { sent: Instant::START, now, cwnd: 2, flight: 2 });
        // SRTT + RTTVAR, where SRTT + 4·RTTVAR would be 3 s.
        assert_eq!(rto.length(), Duration::from_millis(1500));
    }
}

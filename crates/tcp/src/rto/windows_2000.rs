//! A timer with an error in its arithmetic, as Gurtov 2001 found one in Windows 2000.
//!
//! What is known: the document calls the computation of the timer there wrong, and the timer runs out early. Its
//! formulas are lost. What is *assumed* here is the simplest such error: the deviation is added once instead of
//! four times, as if its fixed-point scaling had been forgotten; and a clock of 100 ms, which that system's
//! timers had. `deviations` and `granularity` set other values.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Estimate, Rto, Sample, check_lengths, measured};
use crate::registry::Entry;

/// Parameters of the faulty timer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How often the deviation is added to SRTT. Assumed: once, where RFC 6298 §2.3 has K = 4.
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

impl Default for Params {
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
    params: Params,
    estimate: Option<Estimate>,
}

impl Rto for Windows2000 {
    fn on_sample(&mut self, sample: &Sample) {
        let rtt = measured(sample, self.params.granularity);
        self.estimate = Some(Estimate::updated(self.estimate, rtt));
    }

    fn inherit(&mut self, estimate: Estimate) {
        self.estimate = Some(estimate);
    }

    fn granularity(&self) -> Duration {
        self.params.granularity
    }

    fn length(&self) -> Duration {
        let Params { deviations, initial, min, max, granularity } = self.params;
        let of = |Estimate { srtt, rttvar }| {
            (srtt + rttvar * u64::from(deviations)).rounded_up_to(granularity).clamp(min, max)
        };
        self.estimate.map_or(initial, of)
    }

    fn longest(&self) -> Duration {
        self.params.max
    }

    fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Rto> = Entry {
    id: "windows-2000",
    summary: "an error in the arithmetic: the deviation added once (assumed; the document's formula is lost)",
    source: "Gurtov 2001",
    parse: |value| {
        let params: Params = Entry::<dyn Rto>::read(value)?;
        check_lengths(params.initial, params.min, params.max)?;
        Ok(Arc::new(move || Box::new(Windows2000 { params: params.clone(), estimate: None })))
    },
    schema: Entry::<dyn Rto>::describe::<Params>,
};

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;

    #[test]
    fn it_is_shorter_than_the_standard_timer_of_the_same_round_trips() {
        let mut rto = Windows2000 { params: Params::default(), estimate: None };
        assert_eq!(rto.length(), Duration::from_secs(3));
        let now = Instant::START + Duration::from_secs(1);
        rto.on_sample(&Sample { sent: Instant::START, now, cwnd: 2, flight: 2 });
        // SRTT + RTTVAR, where SRTT + 4·RTTVAR would be 3 s.
        assert_eq!(rto.length(), Duration::from_millis(1500));
    }
}

//! The timer of the Linux of 2000 (kernels 2.2 to 2.3.99), as the hosts of Sarolahti 2000 ran it.
//!
//! It differs from RFC 6298 in three ways:
//! - it counts from the last transmission of the oldest segment outstanding, not from the last ACK,
//!   so that a queue that grows cannot push the timer ahead of itself;
//! - its length is 5/4 of SRTT + 4·MDEV, and while the window is small that much again, divided by
//!   2^(cwnd−1), a guard against delayed ACKs; it is computed when a sample comes and kept until the next;
//! - its minimum is 200 ms, its clock ticks every 10 ms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::{CountsFrom, Estimate, Rto, Sample, check_lengths, measured};
use registry::{Algorithm, Checked, ParameterError};

/// Parameters of the Linux timer; the defaults are that kernel's constants.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Length before the first sample: 3 s (RFC 1122 §4.2.3.1).
    pub initial: Duration,
    /// Least length: 200 ms.
    pub min: Duration,
    /// Greatest length, backed off or not: 120 s.
    pub max: Duration,
    /// Tick of the clock: 10 ms (HZ = 100).
    pub granularity: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            granularity: Duration::from_millis(10),
        }
    }
}

#[derive(Debug)]
struct Linux2000 {
    parameters: Parameters,
    estimate: Option<Estimate>,
    length: Duration,
}

impl Linux2000 {
    const fn new(parameters: Parameters) -> Self {
        Self { length: parameters.initial, parameters, estimate: None }
    }
}

impl Rto for Linux2000 {
    fn on_sample(&mut self, sample: &Sample) {
        let Parameters { min, max, granularity, .. } = self.parameters;
        let estimate = Estimate::updated(self.estimate, measured(sample, granularity));
        self.estimate = Some(estimate);
        let plain = estimate.srtt + estimate.rttvar * 4;
        // Beyond 63 halvings nothing is left to add.
        let small_window = Duration::from_nanos(plain.as_nanos() >> sample.cwnd.saturating_sub(1).min(63));
        self.length = (plain + plain / 4 + small_window).rounded_up_to(granularity).clamp(min, max);
    }

    fn inherit(&mut self, estimate: Estimate) {
        let Parameters { min, max, granularity, .. } = self.parameters;
        let plain = estimate.srtt + estimate.rttvar * 4;
        self.estimate = Some(estimate);
        self.length = (plain + plain / 4).rounded_up_to(granularity).clamp(min, max);
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

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        check_lengths(self.initial, self.min, self.max)?;
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Rto> = Algorithm::checked(
    "linux-2000",
    "5/4 of SRTT + 4·MDEV and more for small windows, counted from the oldest segment's transmission",
    "Linux 2.2/2.3 tcp_set_rto, as measured through Sarolahti 2000, Table 14",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Linux2000::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;

    #[test]
    fn a_small_window_lengthens_the_timer() {
        let length_for = |cwnd| {
            let mut rto = Linux2000::new(Parameters::default());
            let now = Instant::START + Duration::from_millis(800);
            rto.on_sample(&Sample { sent: Instant::START, now, cwnd, flight: cwnd });
            rto.length()
        };
        // SRTT + 4·MDEV = 800 + 4·400 = 2400 ms.
        assert_eq!(length_for(1), Duration::from_millis(3000 + 2400));
        assert_eq!(length_for(2), Duration::from_millis(3000 + 1200));
        assert_eq!(length_for(70), Duration::from_millis(3000));
    }
}

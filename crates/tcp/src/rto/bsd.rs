//! The timer of BSD: its clock ticks every half second, and its timers run out on a tick.
//!
//! A timer of n ticks runs out at the n-th tick from now, and so up to a tick early: the least timer of two
//! ticks after 0.5 to 1 s (Bruyeron, Hemon and Zhang, Figure 11: 0.82 s). The estimator is Jacobson's in
//! fixed point, with the two bits more that Brakmo and Peterson 1995 gave it: without them the variance
//! sticks at three quarters of a tick on a fast path, and no timer is shorter than three ticks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::fixed_point::Smoothed;
use super::{Estimate, Rto, Sample, check_lengths};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters of the BSD timer; the defaults are that kernel's constants.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Length before the first sample: 3 s (`TCPTV_RTOBASE`; RFC 1122 §4.2.3.1).
    pub initial: Duration,
    /// Least length: 1 s, two ticks (`TCPTV_MIN`).
    pub min: Duration,
    /// Greatest length, backed off or not: 64 s (`TCPTV_REXMTMAX`).
    pub max: Duration,
    /// Tick of the clock: 500 ms (`PR_SLOWHZ` = 2).
    pub tick: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(3),
            min: Duration::from_secs(1),
            max: Duration::from_secs(64),
            tick: Duration::from_millis(500),
        }
    }
}

#[derive(Debug)]
struct Bsd {
    parameters: Parameters,
    /// `t_srtt` and `t_rttvar`, in quarters of a tick.
    smoothed: Option<Smoothed>,
}

/// SRTT and four deviations, in whole ticks (`TCP_REXMTVAL`), and no less than SRTT: the kernel rounds down
/// and so can fall below it.
fn ticks(smoothed: Smoothed) -> u64 {
    (smoothed.with_four_deviations() / QUARTERS).max(smoothed.srtt.div_ceil(8 * QUARTERS))
}

/// Units of the estimator in a tick: the two bits more of Brakmo and Peterson 1995.
const QUARTERS: u64 = 4;

impl Bsd {
    fn reading(&self, at: Instant) -> u64 {
        at.as_nanos() / self.parameters.tick.as_nanos()
    }
}

impl Rto for Bsd {
    fn on_sample(&mut self, sample: &Sample) {
        let ticks = self.reading(sample.now) - self.reading(sample.sent);
        // The kernel's first sample counts the ticks begun, a later one those between.
        self.smoothed = Some(self.smoothed.map_or_else(
            || Smoothed::first((ticks + 1) * QUARTERS),
            |earlier| earlier.updated(ticks * QUARTERS),
        ));
    }

    fn inherit(&mut self, estimate: Estimate) {
        self.smoothed = Some(Smoothed::of(estimate, self.parameters.tick, QUARTERS));
    }

    fn granularity(&self) -> Duration {
        self.parameters.tick
    }

    fn length(&self) -> Duration {
        let Parameters { initial, min, max, tick } = self.parameters;
        self.smoothed.map_or(initial, |smoothed| (tick * ticks(smoothed)).clamp(min, max))
    }

    fn longest(&self) -> Duration {
        self.parameters.max
    }

    fn runs_out_at(&self, start: Instant, length: Duration) -> Instant {
        let tick = self.parameters.tick;
        let last_tick = Instant::START + tick * self.reading(start);
        last_tick + length.rounded_up_to(tick)
    }

    fn estimate(&self) -> Option<Estimate> {
        self.smoothed.map(|smoothed| smoothed.estimate(self.parameters.tick, QUARTERS))
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        check_lengths(self.initial, self.min, self.max)?;
        if self.tick.is_zero() {
            return Err(refusal("tick is 0 s, and the clock would never advance", "BSD has \"500 ms\""));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Rto> = Algorithm::checked(
    "bsd",
    "whole ticks of half a second, at least two, the first one already under way",
    "4.4BSD and FreeBSD tcp_timer.c and tcp_xmit_timer; Brakmo and Peterson 1995",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Bsd { parameters: parameters.clone(), smoothed: None })
    }),
);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn timer() -> Bsd {
        Bsd { parameters: Parameters::default(), smoothed: None }
    }

    fn sample(timer: &mut Bsd, sent: u64, now: u64) {
        timer.on_sample(&Sample { sent: at(sent), now: at(now), cwnd: 1, flight: 1 });
    }

    #[test]
    fn two_ticks_run_out_after_half_a_second_to_a_second() {
        let two = Duration::from_secs(1);
        assert_eq!(timer().runs_out_at(at(1000), two), at(2000));
        assert_eq!(timer().runs_out_at(at(1001), two), at(2000));
        assert_eq!(timer().runs_out_at(at(1499), two), at(2000));
    }

    #[test]
    fn short_round_trips_bring_the_timer_down_to_two_ticks() {
        let mut timer = timer();
        assert_eq!(timer.length(), Duration::from_secs(3));
        // One tick begun: SRTT 1, deviation 1/2 tick.
        sample(&mut timer, 10, 90);
        assert_eq!(timer.length(), Duration::from_millis(1500));
        (0..40).for_each(|i| sample(&mut timer, 510 + i, 580 + i));
        assert_eq!(timer.length(), Duration::from_secs(1));
    }

    #[test]
    fn a_tick_between_sending_and_the_ack_counts_whole() {
        let mut timer = timer();
        sample(&mut timer, 499, 501);
        // Two ticks begun: SRTT 2, deviation 1.
        assert_eq!(timer.length(), Duration::from_secs(3));
    }
}

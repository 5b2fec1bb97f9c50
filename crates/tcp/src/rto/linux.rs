//! The timer of today's Linux (`tcp_rtt_estimator`, `tcp_set_rto`): SRTT and a variance that is the largest mean
//! deviation of a round trip, at least 200 ms.
//!
//! It differs from RFC 6298 in three ways:
//! - the least value bounds the variance and not the sum, so that the timer is always 200 ms above the round trip;
//! - the variance rises at once and falls by a quarter of the difference once in a round trip, so that many samples in
//!   a round trip do not wear it out;
//! - a round trip that falls below the average widens the mean deviation by an eighth only of what it would.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::{Estimate, Rto, Sample, check_lengths};
use registry::{Algorithm, Checked, ParameterError};

/// Parameters of the Linux timer; the defaults are the kernel's constants.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Length before the first sample: 1 s (`TCP_TIMEOUT_INIT`).
    pub initial: Duration,
    /// Least distance from the round trip: 200 ms (`TCP_RTO_MIN`).
    pub min: Duration,
    /// Greatest length, backed off or not: 120 s (`TCP_RTO_MAX`).
    pub max: Duration,
    /// Tick of the clock that runs out: 1 ms (HZ = 1000). Round trips are measured in microseconds.
    pub granularity: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            granularity: Duration::from_millis(1),
        }
    }
}

/// The estimator, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct State {
    srtt: u64,
    /// Four times the smoothed mean deviation (`mdev_us`).
    deviation: u64,
    /// The largest of the present round trip (`mdev_max_us`).
    largest: u64,
    /// Time that the timer adds to the round trip (`rttvar_us`).
    variance: u64,
    /// Time at which the present round trip began (`rtt_seq` as a time).
    began: Instant,
}

impl State {
    /// The state after the first sample.
    fn first(rtt: u64, min: u64, now: Instant) -> Self {
        let variance = (rtt * 2).max(min);
        Self { srtt: rtt, deviation: rtt * 2, largest: variance, variance, began: now }
    }

    fn update(&mut self, rtt: u64, min: u64, sample: &Sample) {
        let error = rtt.cast_signed() - self.srtt.cast_signed();
        self.srtt = (self.srtt.cast_signed() + error / 8).cast_unsigned();
        let mut change = error.abs() - (self.deviation / 4).cast_signed();
        if error < 0 && change > 0 {
            change /= 8;
        }
        self.deviation = (self.deviation.cast_signed() + change).max(0).cast_unsigned();
        self.largest = self.largest.max(self.deviation);
        self.variance = self.variance.max(self.largest);
        if sample.sent > self.began {
            self.variance -= (self.variance - self.largest) / 4;
            (self.began, self.largest) = (sample.now, min);
        }
    }
}

#[derive(Debug)]
struct Linux {
    parameters: Parameters,
    state: Option<State>,
}

impl Rto for Linux {
    fn on_sample(&mut self, sample: &Sample) {
        let (rtt, min) = ((sample.now - sample.sent).as_nanos(), self.parameters.min.as_nanos());
        match &mut self.state {
            None => self.state = Some(State::first(rtt, min, sample.now)),
            Some(state) => state.update(rtt, min, sample),
        }
    }

    fn inherit(&mut self, estimate: Estimate) {
        let (srtt, deviation) = (estimate.srtt.as_nanos(), estimate.rttvar.as_nanos() * 4);
        let variance = deviation.max(self.parameters.min.as_nanos());
        self.state = Some(State { srtt, deviation, largest: variance, variance, began: Instant::START });
    }

    fn granularity(&self) -> Duration {
        self.parameters.granularity
    }

    fn restarts_after_lost_syn(&mut self) -> bool {
        // RFC 6298 §5.7 (`TCP_TIMEOUT_FALLBACK`).
        self.parameters.initial = self.parameters.initial.max(AFTER_LOST_SYN);
        true
    }

    fn length(&self) -> Duration {
        let Parameters { initial, max, granularity, .. } = self.parameters;
        let length = |state: State| Duration::from_nanos(state.srtt + state.variance);
        self.state.map_or(initial, |state| length(state).rounded_up_to(granularity).min(max))
    }

    fn longest(&self) -> Duration {
        self.parameters.max
    }

    fn estimate(&self) -> Option<Estimate> {
        let state = self.state?;
        let (srtt, rttvar) = (Duration::from_nanos(state.srtt), Duration::from_nanos(state.variance / 4));
        Some(Estimate { srtt, rttvar })
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
    "linux",
    "SRTT and the largest mean deviation of a round trip, at least 200 ms",
    "Linux net/ipv4/tcp_input.c (tcp_rtt_estimator, tcp_set_rto)",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Linux { parameters: parameters.clone(), state: None })
    }),
);

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[u64]) -> Duration {
        let mut timer = Linux { parameters: Parameters::default(), state: None };
        let mut now = Instant::START;
        for millis in samples {
            let sent = now + Duration::from_millis(1);
            now = sent + Duration::from_millis(*millis);
            timer.on_sample(&Sample { sent, now, cwnd: 10, flight: 10 });
        }
        timer.length()
    }

    #[test]
    fn it_stays_200_ms_above_a_steady_round_trip() {
        assert_eq!(after(&[50; 100]), Duration::from_millis(250));
        // Of the last nanoseconds a quarter never goes, and the clock rounds up.
        assert_eq!(after(&[500; 100]), Duration::from_millis(701));
    }

    #[test]
    fn the_first_sample_gives_three_round_trips() {
        assert_eq!(after(&[300]), Duration::from_millis(900));
    }

    #[test]
    fn a_round_trip_that_falls_widens_it_little() {
        let (rises, falls) =
            (after(&[&[500; 100][..], &[900]].concat()), after(&[&[500; 100][..], &[100]].concat()));
        // 400 ms more: SRTT 550 ms, and 400 ms of variance. 400 ms less: SRTT 450 ms, and 50 ms, below the 200 ms.
        assert_eq!((rises, falls), (Duration::from_millis(951), Duration::from_millis(651)));
    }
}

//! The offset of another machine's clock, from pings: half the difference of the two directions, as in NTP (RFC 5905
//! §8). Of many pings the one with the shortest round trip counts, since it was delayed least.

use units::{Duration, Instant};

/// One ping and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockSample {
    /// The arrival of the answer, by our clock.
    pub(crate) at: Instant,
    /// The offset: the other clock less ours, in nanoseconds.
    pub(crate) ahead: i64,
    /// The round-trip time.
    pub(crate) round_trip: Duration,
}

impl ClockSample {
    /// Computes a sample from four times: `sent` and `back` by our clock, `arrived` and `left` by the other.
    pub(crate) fn of(sent: Instant, arrived: Instant, left: Instant, back: Instant) -> Self {
        let there = signed(arrived) - signed(sent);
        let here = signed(left) - signed(back);
        let staying = left.saturating_since(arrived);
        let round_trip = back.saturating_since(sent).saturating_sub(staying);
        let ahead = i64::try_from((there + here) / 2).unwrap_or(0);
        Self { at: back, ahead, round_trip }
    }

    /// Returns the sample with the shortest round trip.
    pub(crate) fn best(samples: &[Self]) -> Option<Self> {
        samples.iter().min_by_key(|sample| sample.round_trip).copied()
    }
}

/// The drift of a machine's clock against the emulator's: `gained` over `over`, at an even rate. It converts times that
/// the machine noted by its clock as it was set at the beginning of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drift {
    /// The gain of the machine's clock, in nanoseconds.
    pub(crate) gained: i64,
    /// The time of the emulator's clock in which it gained them, in nanoseconds.
    pub(crate) over: u64,
}

impl Drift {
    /// Returns the drift between two samples.
    pub(crate) fn between(first: &ClockSample, last: &ClockSample) -> Self {
        Self { gained: last.ahead - first.ahead, over: last.at.saturating_since(first.at).as_nanos() }
    }

    /// Returns the emulator's time for a time of the machine.
    pub(crate) fn correct(self, noted: Instant) -> Instant {
        if self.over == 0 {
            return noted;
        }
        let too_much = i128::from(self.gained) * signed(noted) / i128::from(self.over);
        Instant::from_nanos(u64::try_from(signed(noted) - too_much).unwrap_or(0))
    }

    /// Returns the drift in millionths.
    pub(crate) fn parts_per_million(self) -> f64 {
        if self.over == 0 { 0.0 } else { self.gained as f64 / self.over as f64 * 1e6 }
    }
}

/// Returns the time `ahead` nanoseconds later.
pub(crate) fn shifted(time: Instant, ahead: i64) -> Instant {
    Instant::from_nanos(u64::try_from(signed(time) + i128::from(ahead)).unwrap_or(0))
}

fn signed(time: Instant) -> i128 {
    i128::from(time.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn equal_ways_give_the_exact_offset() {
        // Their clock is 1000 ahead, each way takes 50, they need 7 to answer.
        let sample = ClockSample::of(at(100), at(1150), at(1157), at(207));
        assert_eq!((sample.ahead, sample.round_trip.as_nanos()), (1000, 100));
        let behind = ClockSample::of(at(5000), at(1050), at(1050), at(5100));
        assert_eq!(behind.ahead, -4000);
        assert_eq!(ClockSample::best(&[sample, behind]), Some(sample));
    }

    #[test]
    fn a_clock_that_runs_fast_is_corrected_evenly() {
        let drift = Drift { gained: 1_000, over: 1_000_000 };
        assert_eq!(drift.correct(at(500_500)), at(500_000));
        assert!((drift.parts_per_million() - 1000.0).abs() < 1e-6);
        assert_eq!(Drift::default().correct(at(7)), at(7));
    }

    #[test]
    fn no_time_is_before_the_beginning() {
        assert_eq!(shifted(at(5), -9), at(0));
        assert_eq!(shifted(at(5), 9), at(14));
    }
}

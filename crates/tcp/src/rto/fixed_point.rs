//! The estimator of 1988 in whole numbers (Jacobson 1988, appendix A): SRTT keeps three bits below its unit of time
//! and the mean deviation two, and what is below is cut off. What the unit is, a timer says: ns-2's is a tick, BSD's
//! later on a quarter of one.

use units::Duration;

use super::Estimate;

/// The estimator's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Smoothed {
    /// SRTT in 1/8 of a unit.
    pub(super) srtt: u64,
    /// The mean deviation in 1/4 of a unit.
    pub(super) rttvar: u64,
}

impl Smoothed {
    /// The first sample is SRTT, and half of it the deviation.
    pub(super) const fn first(units: u64) -> Self {
        Self { srtt: units * 8, rttvar: units * 2 }
    }

    /// A later sample: SRTT takes an eighth of the error and the deviation a quarter.
    pub(super) fn updated(self, units: u64) -> Self {
        let error = units.cast_signed() - (self.srtt / 8).cast_signed();
        let more = error.abs() - (self.rttvar / 4).cast_signed();
        Self {
            srtt: self.srtt.saturating_add_signed(error).max(1),
            rttvar: self.rttvar.saturating_add_signed(more).max(1),
        }
    }

    /// An estimate measured elsewhere, where a tick has `units` units. Rounded up, so that the [`Smoothed::estimate`]
    /// of a state leads back to it.
    pub(super) fn of(estimate: Estimate, tick: Duration, units: u64) -> Self {
        let parts = |time: Duration, of_unit: u64| {
            time.as_nanos().saturating_mul(of_unit * units).div_ceil(tick.as_nanos()).max(1)
        };
        Self { srtt: parts(estimate.srtt, 8), rttvar: parts(estimate.rttvar, 4) }
    }

    /// The state as times, where a tick has `units` units.
    pub(super) fn estimate(self, tick: Duration, units: u64) -> Estimate {
        Estimate { srtt: tick * self.srtt / (8 * units), rttvar: tick * self.rttvar / (4 * units) }
    }

    /// SRTT and four deviations in whole units, rounded down.
    pub(super) const fn with_four_deviations(self) -> u64 {
        self.rttvar + self.srtt / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_that_it_states_lead_back_to_the_state() {
        for tick in [Duration::from_millis(10), Duration::from_millis(500), Duration::from_nanos(333_333)] {
            for (srtt, rttvar, units) in [(1, 1, 1), (73, 5, 1), (73, 5, 4), (4001, 1999, 4)] {
                let state = Smoothed { srtt, rttvar };
                assert_eq!(Smoothed::of(state.estimate(tick, units), tick, units), state, "{tick}");
            }
        }
    }
}

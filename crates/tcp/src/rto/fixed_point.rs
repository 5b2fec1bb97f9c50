//! The estimator of 1988 in whole numbers (Jacobson 1988, appendix A): SRTT keeps three bits below its unit of time
//! and the mean deviation two, and what is below is cut off. What the unit is, a timer says: ns-2's is a tick, BSD's
//! later on a quarter of one.

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

    /// SRTT and four deviations in whole units, rounded down.
    pub(super) const fn with_four_deviations(self) -> u64 {
        self.rttvar + self.srtt / 8
    }
}

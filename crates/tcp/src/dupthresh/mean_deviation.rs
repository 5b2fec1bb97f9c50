//! A threshold from the mean and the mean deviation of the lengths of reordering: Leung's extension of the thresholds
//! of Blanton and Allman, as Landström 2008 §4.2.2 describes it.
//!
//! The thesis names three changes: a timeout lowers the threshold exponentially and does not reset it; the mean
//! deviation of the lengths counts; and the upper bound lets the acknowledgment of the retransmission come before the
//! retransmission timer runs out. The paper's own constants were not at hand. Here estimate and deviations are those of
//! RFC 6298 with a gain of their own; a timeout halves both. The timer starts over with the ACK before the first
//! duplicate, duplicates come at the rate of a window in a round trip, and the repair takes a round trip: the bound is
//! cwnd · (RTO − SRTT) / SRTT.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The weight of each new length, and of each new deviation, in percent. Default: 25, as for `ewma`.
    #[schemars(range(min = 1, max = 100))]
    pub gain_percent: u8,
    /// Number of mean deviations above the mean. Default: 4, as in RFC 6298.
    pub deviations: u8,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { gain_percent: 25, deviations: 4 }
    }
}

/// Both estimates in 1/[`SCALE`] of a segment.
#[derive(Debug)]
struct MeanDeviation {
    gain_percent: u64,
    deviations: u64,
    mean: u64,
    deviation: u64,
}

impl DupThresh for MeanDeviation {
    fn segments(&self, view: &View) -> u32 {
        let wanted = (self.mean + self.deviations * self.deviation).div_ceil(SCALE);
        match bound(view) {
            Some(most) => u32::try_from(wanted.clamp(STANDARD, most)).unwrap_or(u32::MAX),
            None => view.bounded(wanted),
        }
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        let length = u64::from(reordering.extent) * SCALE;
        self.deviation = self.weighed(self.deviation, self.mean.abs_diff(length));
        self.mean = self.weighed(self.mean, length);
    }

    fn on_timeout(&mut self) {
        (self.mean, self.deviation) = (self.mean / 2, self.deviation / 2);
    }
}

impl MeanDeviation {
    fn weighed(&self, old: u64, new: u64) -> u64 {
        (old * (100 - self.gain_percent) + new * self.gain_percent) / 100
    }
}

/// The most duplicates after which a repair is answered before the timer runs out, once the round trip is known.
fn bound(view: &View) -> Option<u64> {
    let srtt = view.srtt.filter(|srtt| !srtt.is_zero())?.as_nanos();
    let spare = view.rto.as_nanos().saturating_sub(srtt);
    let most = u128::from(view.cwnd.whole(view.smss)) * u128::from(spare) / u128::from(srtt);
    Some(u64::try_from(most).unwrap_or(u64::MAX).max(STANDARD))
}

/// Fixed point, as in `ewma.rs`.
const SCALE: u64 = 1 << 16;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { gain_percent, .. } = *self;
        if !(1..=100).contains(&gain_percent) {
            return Err(refusal(format!("gain_percent is {gain_percent}, and no weight"), "from 1 to 100"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::checked(
    "mean-deviation",
    "the mean length of reordering and deviations, as far as the timer allows",
    "Leung et al. after Blanton and Allman; Landström 2008 §4.2.2",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { gain_percent, deviations } = *parameters;
        let (gain_percent, deviations) = (u64::from(gain_percent), u64::from(deviations));
        Box::new(MeanDeviation { gain_percent, deviations, mean: STANDARD * SCALE, deviation: 0 })
    }),
);

//! The configuration of motion and handovers.

use link::ConfigError;
use link::config::HeldPackets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use crate::check::{at_least, refuse};
use crate::quantity::{Decibels, Metres};

/// Motion and handover of users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MobilityConfig {
    /// Motion of users, at their speed. Default: `straight`.
    pub motion: Motion,
    /// Distance after which half of the shadowing's correlation is left. Default: 20 m (UMTS 30.03 §B.1.4.1.4,
    /// vehicular).
    pub decorrelation_distance: Metres,
    /// Time between two measurements of the sectors, and between two computations of positions. Default: 200 ms (3GPP
    /// TS 36.133 §8.1.2.2).
    pub period: Duration,
    /// Coefficient k of the filter of measurements: each has the weight 1/2^(k/4), the previous average the rest (3GPP
    /// TS 36.331 §5.5.3.2). Default: 4, that of the standard; 0 for no filter, at most 19.
    pub filter: u32,
    /// Hysteresis: the minimum lead of another sector. Default: 3 dB, that of ns-3's
    /// `A3RsrpHandoverAlgorithm`.
    pub hysteresis: Decibels,
    /// Time to trigger: the time for which it must be stronger. Default: 256 ms, that of ns-3's
    /// `A3RsrpHandoverAlgorithm`.
    pub time_to_trigger: Duration,
    /// Time in which a user is not served at a handover. Default: 50 ms (3GPP TR 36.881 §5.2.4 has 49.5 ms for LTE).
    pub suspension: Duration,
    /// Treatment of packets that wait for a user at a handover.
    pub held: HeldPackets,
}

/// Courses of users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// Straight in one direction; a user that leaves the plan enters it again on the other side.
    #[default]
    Straight,
    /// Straight to a random place in the plan, then to the next (Johnson and Maltz 1996, without pauses).
    RandomWaypoint,
}

impl Default for MobilityConfig {
    fn default() -> Self {
        Self {
            motion: Motion::Straight,
            decorrelation_distance: Metres(20.0),
            period: Duration::from_millis(200),
            filter: 4,
            hysteresis: Decibels(3.0),
            time_to_trigger: Duration::from_millis(256),
            suspension: Duration::from_millis(50),
            held: HeldPackets::Delivered,
        }
    }
}

impl MobilityConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        at_least("decorrelation_distance", self.decorrelation_distance.0, 0.1, "m")?;
        at_least("hysteresis", self.hysteresis.0, 0.0, "dB")?;
        if self.period < Duration::from_millis(1) {
            return refuse("period", "users would be measured all the time", "write 1 ms or more");
        }
        if self.filter > LARGEST_FILTER {
            let message = format!("{} is no coefficient of the filter of measurements", self.filter);
            return refuse("filter", &message, &format!("write a number from 0 to {LARGEST_FILTER}"));
        }
        Ok(())
    }

    /// Correlation of the shadowing after `way` metres: 2^(−way / distance).
    pub(crate) fn correlation(&self, way: f64) -> f64 {
        libm::exp2(-way / self.decorrelation_distance.0)
    }
}

/// The largest coefficient of 3GPP TS 36.331 (`FilterCoefficient`, fc19).
const LARGEST_FILTER: u32 = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_decorrelation_distance_half_is_left() {
        let config = MobilityConfig::default();
        assert!(
            (config.correlation(20.0) - 0.5).abs() < 1e-12 && (config.correlation(40.0) - 0.25).abs() < 1e-12
        );
        assert!(config.correlation(0.0) == 1.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let said = |config: MobilityConfig| config.check().expect_err("it is refused").to_string();
        let config = MobilityConfig::default();
        assert_eq!(config.check(), Ok(()));
        let filter = said(MobilityConfig { filter: 20, ..config });
        assert_eq!(
            filter,
            "filter: 20 is no coefficient of the filter of measurements; write a number from 0 to 19"
        );
        assert!(said(MobilityConfig { period: Duration::ZERO, ..config }).starts_with("period: "));
        assert!(said(MobilityConfig { hysteresis: Decibels(-1.0), ..config }).starts_with("hysteresis: "));
    }
}

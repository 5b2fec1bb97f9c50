//! How users move, and when they are handed over to another sector.
//!
//! Every measurement period each user goes on along its course, its path loss is that of the new place, and its shadowing
//! drifts with the way (Gudmundson 1991, "Correlation model for shadow fading in mobile radio systems"). It measures the
//! sectors, averages what it measures, and is handed over when another sector has been stronger by the hysteresis for the time
//! to trigger (event A3 of 3GPP TS 36.331 §5.5.4.4, 1D of TS 25.331 §14.1.2.4).

mod course;
mod trigger;

use link::ConfigError;
use link::config::HeldPackets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use crate::config::{at_least, refuse};
use crate::quantity::{Decibels, Metres};

pub(crate) use course::Course;
pub(crate) use trigger::Trigger;

/// How users move and are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MobilityConfig {
    /// The way that users take, at their speed.
    pub motion: Motion,
    /// Way after which half of the shadowing's correlation is left. 20 m (UMTS 30.03 §B.1.4.1.4, vehicular).
    pub decorrelation_distance: Metres,
    /// Time between two measurements of the sectors; places are worked out as often. 200 ms (3GPP TS 36.133 §8.1.2.2).
    pub period: Duration,
    /// Coefficient k of the filter of measurements: each counts by 1/2^(k/4), the average before by the rest (3GPP TS 36.331
    /// §5.5.3.2). 4, its default; 0 for no filter, 19 at most.
    pub filter: u32,
    /// By how much another sector must be stronger. 3 dB, the default of ns-3's `A3RsrpHandoverAlgorithm`.
    pub hysteresis: Decibels,
    /// For how long it must be. 256 ms, the default of ns-3's `A3RsrpHandoverAlgorithm`.
    pub time_to_trigger: Duration,
    /// How long a user is not sent to as it is handed over. 50 ms (3GPP TR 36.881 §5.2.4 has 49.5 ms for LTE).
    pub suspension: Duration,
    /// What becomes of packets that wait for a user as it is handed over.
    pub held: HeldPackets,
}

/// The ways that users take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// Straight on in one direction, over the edge of the plan in again on the other side.
    #[default]
    Straight,
    /// Straight to a place at random in the plan, and on to the next (Johnson and Maltz 1996, without pauses).
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

    /// What is left of the shadowing's correlation after `way` metres: 2^(−way / distance).
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

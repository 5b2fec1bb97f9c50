//! The configuration of the radio.

use link::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;

use super::antenna::Antenna;
use super::fading::{FLAT, Profile, TYPICAL_URBAN};
use super::path_loss::PathLoss;
use super::shadowing::Shadowing;
use super::{Budget, thermal_noise};
use crate::adaptation::Blocks;
use crate::check::{at_least, refuse};
use crate::quantity::{Decibels, Degrees, Hertz, Speed, Watts};

/// Powers, losses, fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RadioConfig {
    /// Carrier frequency. Not given in the document; 2 GHz (3GPP TR 25.942 §4.1.1.2).
    pub carrier: Hertz,
    /// Bandwidth over which noise is received: the chip rate, 3.84 MHz (3GPP TS 25.201).
    pub bandwidth: Hertz,
    /// Total power of a sector. Not given in the document; 43 dBm (3GPP TR 25.942 table 5.1).
    pub power: Watts,
    /// Share of the power for pilots and other channels, always sent. Not given in the document; 0.3, as 3GPP TR 25.848
    /// annex A leaves 70 % to the shared channel.
    pub overhead: Probability,
    /// Gain of a sector's antenna, less cable loss. Not given in the document; 14 dBi (3GPP TR 25.896 annex A.3).
    pub antenna_gain: Decibels,
    /// Angle between the directions of half power. Not given in the document; 70° (3GPP TR 25.896 annex A.3).
    pub beamwidth: Degrees,
    /// Front-to-back ratio of the antenna. Not given in the document; 20 dB (3GPP TR 25.896 annex A.3).
    pub front_to_back: Decibels,
    /// Path loss at 1 km. Not given in the document; 128.1 dB (3GPP TR 25.942 §4.1.1.2, antenna 15 m above roofs).
    pub path_loss_at_1_km: Decibels,
    /// Path loss exponent. 3.5 in Landström 2008 §7.5.1.
    pub path_loss_exponent: f64,
    /// Minimum coupling loss between antennas. Not given in the document; 70 dB (3GPP TR 25.942 §4.1.1.2).
    pub minimum_coupling_loss: Decibels,
    /// Standard deviation of the shadowing. 8.9 dB in Landström 2008 §7.5.1.
    pub shadowing: Decibels,
    /// Correlation of the shadowing between sites. Not given in the document; 0.5 (3GPP TR 25.942 §4.1.1.3).
    pub shadowing_correlation: Probability,
    /// The multipath profile. Typical Urban in Landström 2008 §7.5.1.
    pub multipath: Multipath,
    /// Speed of the users: for their fading, and with `mobility` for their motion. 3 km/h in Landström 2008 §7.5.1.
    pub speed: Speed,
    /// Share of the own sector's power that interferes after multipath. Not given in the document; 0.4 (3GPP TR 25.942
    /// §5.1.4: an orthogonality factor of 0.4 in macro cells).
    pub non_orthogonality: Probability,
    /// Noise figure of a receiver. Not given in the document; 9 dB (3GPP TR 25.942 table 5.1).
    pub noise_figure: Decibels,
    /// Sector that serves a user. Not given in the document; the strongest, as in a network.
    #[serde(skip_serializing_if = "Serving::is_default")]
    pub serving: Serving,
}

/// Sector that serves a user, unless handovers decide it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Serving {
    /// The one with the strongest signal, shadowing counted.
    #[default]
    Strongest,
    /// The sector in whose area it is: that of the nearest site whose antenna points closest to it.
    Nearest,
}

impl Serving {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Multipath profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Multipath {
    /// Six taps (3GPP TS 45.005 annex C.3.3).
    TypicalUrban,
    /// One Rayleigh tap.
    Flat,
}

impl Default for RadioConfig {
    fn default() -> Self {
        let share = |share| Probability::new(share).unwrap_or(Probability::ZERO);
        Self {
            carrier: Hertz(2e9),
            bandwidth: Hertz(3.84e6),
            power: Watts(20.0),
            overhead: share(0.3),
            antenna_gain: Decibels(14.0),
            beamwidth: Degrees(70.0),
            front_to_back: Decibels(20.0),
            path_loss_at_1_km: Decibels(128.1),
            path_loss_exponent: 3.5,
            minimum_coupling_loss: Decibels(70.0),
            shadowing: Decibels(8.9),
            shadowing_correlation: share(0.5),
            multipath: Multipath::TypicalUrban,
            speed: Speed(3.0 / 3.6),
            non_orthogonality: share(0.4),
            noise_figure: Decibels(9.0),
            serving: Serving::Strongest,
        }
    }
}

impl RadioConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        at_least("carrier", self.carrier.0, 1e6, "Hz")?;
        at_least("bandwidth", self.bandwidth.0, 1e3, "Hz")?;
        at_least("power", self.power.0, 1e-6, "W")?;
        at_least("beamwidth", self.beamwidth.0, 1.0, "deg")?;
        at_least("front_to_back", self.front_to_back.0, 0.0, "dB")?;
        at_least("path_loss_exponent", self.path_loss_exponent, 0.1, "")?;
        at_least("shadowing", self.shadowing.0, 0.0, "dB")?;
        at_least("speed", self.speed.0, 0.0, "m/s")?;
        if self.overhead == Probability::ONE {
            return refuse(
                "overhead",
                "all power is overhead, none is left for data",
                "write a number below 1",
            );
        }
        Ok(())
    }

    pub(crate) fn antenna(&self) -> Antenna {
        Antenna {
            peak: self.antenna_gain.0,
            beamwidth: self.beamwidth.0.to_radians(),
            front_to_back: self.front_to_back.0,
        }
    }

    pub(crate) const fn path_loss(&self) -> PathLoss {
        PathLoss {
            at_1_km: self.path_loss_at_1_km.0,
            exponent: self.path_loss_exponent,
            minimum_coupling: self.minimum_coupling_loss.0,
        }
    }

    pub(crate) const fn shadowing(&self) -> Shadowing {
        Shadowing { deviation: self.shadowing.0, correlation: self.shadowing_correlation.get() }
    }

    pub(crate) const fn profile(&self) -> Profile {
        match self.multipath {
            Multipath::TypicalUrban => TYPICAL_URBAN,
            Multipath::Flat => FLAT,
        }
    }

    pub(crate) fn budget(&self, blocks: &Blocks) -> Budget {
        Budget {
            total: self.power.0,
            overhead: self.power.0 * self.overhead.get(),
            non_orthogonality: self.non_orthogonality.get(),
            spreading: if *blocks == Blocks::Lte { 1.0 } else { SPREADING_FACTOR },
            noise: thermal_noise(self.bandwidth.0, self.noise_figure.0),
        }
    }
}

/// Spreading factor of the codes of HS-PDSCH (3GPP TS 25.211 §5.3.3.13).
const SPREADING_FACTOR: f64 = 16.0;

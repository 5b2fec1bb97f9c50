//! The pattern of a sector's antenna (3GPP TR 25.896 annex A.3: A(θ) = −min(12 (θ / θ₃dB)², A_m)).

use crate::decibel::ratio;

/// A sector's antenna.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Antenna {
    /// Gain in the direction in which it points, in dBi, cable loss taken off.
    pub peak: f64,
    /// Angle θ₃dB between the directions in which half the power goes out, in radians.
    pub beamwidth: f64,
    /// Largest attenuation A_m in decibels, to the rear of the antenna.
    pub front_to_back: f64,
}

impl Antenna {
    /// The gain, as a ratio, at `angle` radians from the direction of the antenna.
    #[must_use]
    pub fn gain(&self, angle: f64) -> f64 {
        let turn = angle / self.beamwidth;
        ratio(self.peak - (12.0 * turn * turn).min(self.front_to_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decibel::decibels;

    const ANTENNA: Antenna =
        Antenna { peak: 14.0, beamwidth: 70.0 / 180.0 * std::f64::consts::PI, front_to_back: 20.0 };

    #[test]
    fn half_the_beamwidth_aside_half_the_power_is_left() {
        assert!((decibels(ANTENNA.gain(0.0)) - 14.0).abs() < 1e-9);
        assert!((decibels(ANTENNA.gain(ANTENNA.beamwidth / 2.0)) - 11.0).abs() < 1e-9);
    }

    #[test]
    fn behind_it_the_attenuation_is_bounded() {
        assert!((decibels(ANTENNA.gain(std::f64::consts::PI)) + 6.0).abs() < 1e-9);
    }
}

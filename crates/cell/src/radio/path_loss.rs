//! Path loss by distance: L = L(1 km) + 10 n log₁₀(d / 1 km), and never less than the minimum coupling loss.

use crate::decibel::ratio;

/// The law of path loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLoss {
    /// Loss at a kilometre in decibels.
    pub at_1_km: f64,
    /// The exponent n.
    pub exponent: f64,
    /// Minimum coupling loss in decibels, antenna gains counted (3GPP TR 25.942 §4.1.1.2: 70 dB in macro cells).
    pub minimum_coupling: f64,
}

impl PathLoss {
    /// The gain, as a ratio, over `distance` metres with antennas of gain `antenna`.
    #[must_use]
    pub fn gain(&self, distance: f64, antenna: f64) -> f64 {
        let loss = self.at_1_km + 10.0 * self.exponent * libm::log10(distance.max(1.0) / 1_000.0);
        (antenna * ratio(-loss)).min(ratio(-self.minimum_coupling))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decibel::decibels;

    const LAW: PathLoss = PathLoss { at_1_km: 128.1, exponent: 3.5, minimum_coupling: 70.0 };

    #[test]
    fn ten_times_the_distance_costs_ten_times_the_exponent() {
        assert!((decibels(LAW.gain(1_000.0, 1.0)) + 128.1).abs() < 1e-9);
        assert!((decibels(LAW.gain(10_000.0, 1.0)) + 163.1).abs() < 1e-9);
    }

    #[test]
    fn at_the_mast_the_coupling_loss_is_left() {
        assert!((decibels(LAW.gain(0.0, 25.0)) + 70.0).abs() < 1e-9);
    }
}

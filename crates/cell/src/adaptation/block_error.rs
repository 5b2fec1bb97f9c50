//! Whether a transport block is received.

use super::indicator::{per_chip_db, real_indicator};
use crate::decibel::{decibels, ratio};

/// The conditions under which a block is received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reception {
    /// Signal-to-interference ratio after despreading, on reception, as a ratio; with chase combining, the sum over
    /// attempts.
    pub quality: f64,
    /// The ratio that its format needs.
    pub needs: f64,
    /// The ratio that the smallest format needs.
    pub smallest_needs: f64,
}

/// The law of block errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlockErrors {
    /// Fixed probabilities.
    Fixed(FixedErrors),
    /// By quality: BLER = (1 + 10^(2 (SNR − 1.03 CQI + 17.3) / (√3 − log₁₀ CQI)))^(−1/0.7) with the SNR per chip,
    /// before despreading, and the format's channel-quality indicator (Brouwer et al. 2004).
    Curve,
}

/// Fixed probabilities of an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedErrors {
    /// If the quality suffices for the smallest format.
    pub usual: f64,
    /// Below that.
    pub below_smallest: f64,
}

impl BlockErrors {
    /// The probability that a block is received in error.
    #[must_use]
    pub fn probability(&self, reception: &Reception) -> f64 {
        match self {
            Self::Fixed(fixed) if reception.quality < reception.smallest_needs => fixed.below_smallest,
            Self::Fixed(fixed) => fixed.usual,
            Self::Curve => curve(decibels(reception.quality), indicator_of(reception.needs)),
        }
    }
}

/// The indicator, as a real number, of a format that needs this ratio.
fn indicator_of(needs: f64) -> f64 {
    real_indicator(decibels(needs)).clamp(1.0, 30.0)
}

fn curve(sir_db: f64, cqi: f64) -> f64 {
    let snr_db = per_chip_db(sir_db);
    let steepness = 2.0 / (libm::sqrt(3.0) - libm::log10(cqi));
    // The exponent in decades, as a ratio of ten times the number of decibels.
    let odds = ratio(10.0 * steepness * (snr_db - 1.03 * cqi + 17.3));
    libm::pow(1.0 + odds, -1.0 / 0.7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(quality_db: f64, needs_db: f64) -> Reception {
        Reception { quality: ratio(quality_db), needs: ratio(needs_db), smallest_needs: ratio(-3.89) }
    }

    #[test]
    fn fixed_errors_know_only_whether_the_smallest_block_is_carried() {
        let fixed = BlockErrors::Fixed(FixedErrors { usual: 0.2, below_smallest: 0.5 });
        assert_eq!(fixed.probability(&met(3.0, 10.0)), 0.2);
        assert_eq!(fixed.probability(&met(-4.5, -3.89)), 0.5);
    }

    #[test]
    fn at_its_threshold_a_block_fails_about_once_in_ten_and_less_with_more_signal() {
        for cqi in [1, 5, 10, 16, 22, 30] {
            let needs = super::super::indicator::threshold_db(cqi);
            let at = BlockErrors::Curve.probability(&met(needs, needs));
            // The indicator is made for at most 10 % (TS 25.214 §6A.2); the fit is that within a factor of about two.
            assert!((0.04..0.25).contains(&at), "{cqi}: {at}");
            assert!(BlockErrors::Curve.probability(&met(needs + 2.0, needs)) < at / 3.0);
            assert!(BlockErrors::Curve.probability(&met(needs - 3.0, needs)) > 0.7);
        }
    }
}

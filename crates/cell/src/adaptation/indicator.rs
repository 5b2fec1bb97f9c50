//! The channel-quality indicator.
//!
//! Brouwer et al. 2004 ("Usage of link-level performance indicators for HSDPA network-level simulations in E-UMTS") fit
//! the indicator to the ratio of signal to interference *per chip*, before despreading. Everywhere else in this crate
//! the ratio is that after despreading, which is higher by the processing gain of 16.

/// The channel-quality indicator of a signal-to-interference ratio after despreading, in decibels: ⌊SIR / 1.02 + 4.8⌋,
/// 0 below 1 and 30 from 25.7 dB. Per chip it is ⌊SNR / 1.02 + 16.62⌋ (Brouwer et al. 2004).
#[must_use]
pub fn indicator(sir_db: f64) -> u32 {
    libm::floor(real_indicator(sir_db)).clamp(0.0, 30.0) as u32
}

/// The smallest signal-to-interference ratio after despreading with the indicator `indicator`, in decibels.
#[must_use]
pub fn threshold_db(indicator: u32) -> f64 {
    (f64::from(indicator) - OFFSET) * DB_PER_STEP + PROCESSING_GAIN_DB
}

/// The indicator of a ratio after despreading, in decibels, before it is cut to an integer.
pub(super) fn real_indicator(sir_db: f64) -> f64 {
    per_chip_db(sir_db) / DB_PER_STEP + OFFSET
}

/// The ratio per chip, before despreading, of a ratio after it; both in decibels.
pub(super) const fn per_chip_db(sir_db: f64) -> f64 {
    sir_db - PROCESSING_GAIN_DB
}

/// Decibels between two indicators (Brouwer et al. 2004).
const DB_PER_STEP: f64 = 1.02;

/// The indicator of 0 dB per chip, before it is cut to an integer (Brouwer et al. 2004).
const OFFSET: f64 = 16.62;

/// 10 log₁₀ 16: the spreading factor of HS-PDSCH is 16 (3GPP TS 25.211 §5.3.3.13).
const PROCESSING_GAIN_DB: f64 = 12.041_2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_indicator_begins_at_its_threshold() {
        for cqi in 1..=30 {
            assert_eq!(indicator(threshold_db(cqi) + 1e-9), cqi);
            assert_eq!(indicator(threshold_db(cqi) - 1e-6), cqi - 1);
        }
    }

    #[test]
    fn after_despreading_the_scale_reaches_from_minus_4_to_26_decibels() {
        let of = |cqi| (threshold_db(cqi) * 10.0).round() / 10.0;
        assert_eq!([of(1), of(15), of(22), of(30)], [-3.9, 10.4, 17.5, 25.7]);
    }

    #[test]
    fn beyond_the_ends_of_the_scale_it_is_0_and_30() {
        assert_eq!((indicator(-28.0), indicator(26.0), indicator(52.0)), (0, 30, 30));
    }
}

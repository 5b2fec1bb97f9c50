//! The channel-quality indicator.

/// The channel-quality indicator of a signal-to-interference ratio in decibels: ⌊SIR / 1.02 + 16.62⌋, 0 below −16 dB
/// and 30 from 14 dB (Brouwer et al. 2004, "Usage of link-level performance indicators for HSDPA network-level
/// simulations in E-UMTS").
#[must_use]
pub fn indicator(sir_db: f64) -> u32 {
    if sir_db < -16.0 {
        return 0;
    }
    libm::floor(sir_db / DB_PER_STEP + OFFSET).clamp(0.0, 30.0) as u32
}

/// The smallest signal-to-interference ratio with the indicator `indicator`, in decibels.
#[must_use]
pub fn threshold_db(indicator: u32) -> f64 {
    (f64::from(indicator) - OFFSET) * DB_PER_STEP
}

/// Decibels between two indicators (Brouwer et al. 2004).
pub(super) const DB_PER_STEP: f64 = 1.02;

/// The indicator of 0 dB, before it is cut to an integer (Brouwer et al. 2004).
pub(super) const OFFSET: f64 = 16.62;

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
    fn beyond_the_ends_of_the_scale_it_is_0_and_30() {
        assert_eq!((indicator(-40.0), indicator(14.0), indicator(40.0)), (0, 30, 30));
    }
}

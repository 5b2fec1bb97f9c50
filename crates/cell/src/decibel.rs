//! Decibels and ratios.

/// The ratio of powers that `decibels` stand for.
#[must_use]
pub fn ratio(decibels: f64) -> f64 {
    libm::pow(10.0, decibels / 10.0)
}

/// A ratio of powers in decibels; −∞ for zero.
#[must_use]
pub fn decibels(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_decibels_are_nearly_twice_and_come_back() {
        assert!((ratio(3.0) - 1.995).abs() < 0.001);
        assert!((decibels(ratio(-17.3)) + 17.3).abs() < 1e-12);
    }
}

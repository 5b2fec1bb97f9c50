//! Log-normal shadowing: obstacles near the user shadow all sites equally, those along the path each site separately.
//!
//! The shadowing between a user and site j in decibels is σ (√ρ Z₀ + √(1 − ρ) Z_j) with independent standard normal Z:
//! its deviation is σ, and between two sites it is correlated by ρ (3GPP TR 25.942 §4.1.1.3: ρ = 0.5). The sectors of
//! one site have the same shadowing.

use units::Stream;

use crate::random::normal;

/// The law of shadowing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadowing {
    /// Standard deviation σ in decibels.
    pub deviation: f64,
    /// Correlation ρ between two sites, from 0 to 1.
    pub correlation: f64,
}

impl Shadowing {
    /// The shadowing of one user to each of `sites` sites, in decibels.
    pub fn draw(&self, sites: usize, stream: &mut Stream) -> Vec<f64> {
        let common = libm::sqrt(self.correlation) * normal(stream);
        let own = libm::sqrt(1.0 - self.correlation);
        (0..sites).map(|_| self.deviation * (common + own * normal(stream))).collect()
    }

    /// The shadowing of a user after a motion, from `shadowing` before it with weight `correlation`: r s + √(1 − r²) s′
    /// with a new draw s′, which keeps the deviation and the correlation between sites.
    pub(crate) fn drift(&self, shadowing: &mut [f64], correlation: f64, stream: &mut Stream) {
        let fresh = libm::sqrt(1.0 - correlation * correlation);
        let drawn = self.draw(shadowing.len(), stream);
        for (shadow, drawn) in shadowing.iter_mut().zip(drawn) {
            *shadow = correlation * *shadow + fresh * drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    const LAW: Shadowing = Shadowing { deviation: 8.9, correlation: 0.5 };
    const USERS: usize = 40_000;

    fn drawn() -> Vec<Vec<f64>> {
        let mut stream = Streams::new(3).stream("shadowing");
        (0..USERS).map(|_| LAW.draw(2, &mut stream)).collect()
    }

    /// The kurtosis-free check of a normal law: the share beyond 1, 2 and 3 deviations, within the 99 % interval.
    #[test]
    fn the_distribution_is_normal_in_decibels_within_the_99_percent_interval() {
        let drawn = drawn();
        for (deviations, expected) in [(0.0, 0.5), (1.0, 0.158_655), (2.0, 0.022_750), (3.0, 0.001_350)] {
            let beyond = drawn.iter().filter(|user| user[0] > deviations * LAW.deviation).count() as f64;
            let error = 2.576 * (expected * (1.0 - expected) / USERS as f64).sqrt();
            assert!((beyond / USERS as f64 - expected).abs() < error, "{deviations} deviations");
        }
    }

    #[test]
    fn who_moves_keeps_the_deviation_and_the_correlation_between_sites_and_over_the_way() {
        let mut stream = Streams::new(5).stream("drift");
        let drifted: Vec<(f64, Vec<f64>)> = drawn()
            .into_iter()
            .map(|mut shadowing| {
                let before = shadowing[0];
                LAW.drift(&mut shadowing, 0.7, &mut stream);
                (before, shadowing)
            })
            .collect();
        let mean = |of: fn(&(f64, Vec<f64>)) -> f64| drifted.iter().map(of).sum::<f64>() / USERS as f64;
        let variance = mean(|(_, after)| after[0] * after[0]);
        // Standard errors of these are about 0.5 % of the variance each.
        assert!((variance / (LAW.deviation * LAW.deviation) - 1.0).abs() < 0.02, "{variance}");
        assert!((mean(|(_, after)| after[0] * after[1]) / variance - LAW.correlation).abs() < 0.015);
        assert!((mean(|(before, after)| before * after[0]) / variance - 0.7).abs() < 0.015);
    }

    #[test]
    fn two_sites_are_correlated_by_half() {
        let drawn = drawn();
        let products: f64 = drawn.iter().map(|user| user[0] * user[1]).sum();
        let squares: f64 = drawn.iter().map(|user| user[0] * user[0]).sum();
        assert!((products / squares - LAW.correlation).abs() < 2.576 * 0.005, "{}", products / squares);
    }
}

//! Random numbers from a named stream, by fixed algorithms.

use std::f64::consts::TAU;

use rand::Rng;
use units::Stream;

/// A number from 0 up to, and without, 1: the top 53 bits as the exact fraction.
pub(crate) fn unit(stream: &mut Stream) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (stream.next_u64() >> 11) as f64 * STEP
}

/// An angle, uniform from 0 to 2π.
pub(crate) fn angle(stream: &mut Stream) -> f64 {
    TAU * unit(stream)
}

/// A standard normal number (Box and Muller 1958). Two numbers are drawn.
pub(crate) fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit(stream)));
    radius * libm::cos(angle(stream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let mut stream = Streams::new(5).stream("normal");
        let draws: Vec<f64> = (0..100_000).map(|_| normal(&mut stream)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| draw * draw).sum::<f64>() / draws.len() as f64;
        // Four standard errors: 4/√n and 4·√(2/n).
        assert!(mean.abs() < 0.0127, "{mean}");
        assert!((variance - 1.0).abs() < 0.0179, "{variance}");
    }
}

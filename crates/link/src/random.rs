//! Uniform numbers from a stream, in a way that is pinned: the top 53 bits, as the exact fraction.

use rand::Rng;
use units::Stream;

/// A number from 0 up to, and without, 1.
pub(crate) fn unit(stream: &mut Stream) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (stream.next_u64() >> 11) as f64 * STEP
}

/// A number above 0, up to 1: safe under a logarithm.
pub(crate) fn positive_unit(stream: &mut Stream) -> f64 {
    1.0 - unit(stream)
}

/// Whether something of this probability happens. One number is drawn, whatever the probability.
pub(crate) fn happens(stream: &mut Stream, probability: f64) -> bool {
    unit(stream) < probability
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    #[test]
    fn units_fill_the_interval_without_its_end() {
        let mut stream = Streams::new(1).stream("unit");
        let draws: Vec<f64> = (0..10_000).map(|_| unit(&mut stream)).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        assert!(draws.iter().any(|draw| *draw < 0.001) && draws.iter().any(|draw| *draw > 0.999));
    }

    #[test]
    fn certain_and_impossible_are_exactly_that() {
        let mut stream = Streams::new(1).stream("happens");
        assert!((0..10_000).all(|_| happens(&mut stream, 1.0) && !happens(&mut stream, 0.0)));
    }
}

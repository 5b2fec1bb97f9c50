//! Numbers that look random, for algorithms whose rule has a probability (CDG) or a random period (NV).
//!
//! An endpoint has no source of randomness: the sequence follows from the connection's seed
//! ([`seed`](super::CongestionControl::seed)). Connections draw differently, and a run is repeatable.

/// The generator `SplitMix64` (Steele, Lea and Flood 2014).
#[derive(Clone, Debug, Default)]
pub(super) struct Draws(u64);

impl Draws {
    pub const fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, from 0 up to 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_spread_evenly_and_differ_between_connections() {
        let mut draws = Draws::of(1);
        let drawn: Vec<f64> = (0..1000).map(|_| draws.next()).collect();
        let mean = drawn.iter().sum::<f64>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.03 && drawn.iter().all(|draw| (0.0..1.0).contains(draw)), "{mean}");
        assert_ne!(Draws::of(2).next(), drawn[0]);
    }
}

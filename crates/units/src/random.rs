//! Named random streams.
//!
//! Each random process of a run draws from its own stream, seeded by the master seed and the process's path
//! ("link.lasthop.down.error"). Adding a component therefore changes no other component's draws, and two TCPs compared
//! under one seed meet the same delays and losses.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The source of random numbers of one process. Its values depend on seed and path alone, on any
/// machine: the generator (xoshiro256++, Blackman and Vigna 2019) is pinned by its algorithm.
pub type Stream = Xoshiro256PlusPlus;

/// A place in the tree of streams: the master seed and the path so far.
#[derive(Clone, Debug)]
pub struct Streams {
    master: u64,
    path: String,
}

impl Streams {
    /// The root of the tree for a run's master seed.
    #[must_use]
    pub const fn new(master: u64) -> Self {
        Self { master, path: String::new() }
    }

    /// The place `name` below this one.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { master: self.master, path }
    }

    /// The stream of the process `name` below this place.
    #[must_use]
    pub fn stream(&self, name: &str) -> Stream {
        Stream::seed_from_u64(self.master ^ stable_hash(&self.below(name).path))
    }

    /// One number that belongs to `name` below this place: an initial sequence number, a port.
    #[must_use]
    pub fn number(&self, name: &str) -> u64 {
        self.stream(name).next_u64()
    }
}

/// FNV-1a, 64 bits: short, and the same on every machine and toolchain, which the standard hasher
/// is not. Constants of Fowler, Noll and Vo (RFC 9923 §5). The seeding of the generator mixes it
/// further, so that near paths give unrelated streams.
fn stable_hash(path: &str) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    path.bytes().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_path_gives_the_same_draws() {
        let draws = |seed| Streams::new(seed).below("link").stream("error").next_u64();
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }

    #[test]
    fn near_paths_are_unrelated() {
        let root = Streams::new(1);
        let differing = (root.number("flow.1") ^ root.number("flow.2")).count_ones();
        assert!((16..=48).contains(&differing), "{differing} of 64 bits differ");
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // The test vector of the authors for "foobar".
        assert_eq!(stable_hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn draws_are_pinned_for_ever() {
        // A change here changes every published run.
        assert_eq!(Streams::new(1).number("link.lasthop.down.error"), PINNED);
    }

    const PINNED: u64 = 18_068_524_803_573_947_322;
}

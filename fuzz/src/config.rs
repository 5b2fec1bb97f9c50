//! The configurations of endpoints that inputs choose from.

use std::sync::{Arc, LazyLock};

use tcp::Config;
use testkit::integrity::Ends;
use testkit::profile::{config, named, names};
use units::Streams;

/// A configuration with its place on the ring of [`chosen`].
struct Candidate {
    place: u16,
    name: String,
    config: Arc<Config>,
}

/// Every profile that ships, as an endpoint against a hostile peer has it.
static PROFILES: LazyLock<Vec<Candidate>> = LazyLock::new(|| {
    let read = |name: String| {
        let config = named(&name).map(|profile| config(&profile).expect("a profile that ships is valid"));
        let config = config.expect("a profile that ships can be read");
        (name, config)
    };
    ring(names().into_iter().map(read))
});

/// Profiles and combinations of algorithms whose retries outlast any pipe.
static PERSISTENT: LazyLock<Vec<Candidate>> = LazyLock::new(|| ring(Ends::new().into_all()));

/// The profile for `key`.
pub(crate) fn profile(key: [u8; 2]) -> (&'static str, &'static Arc<Config>) {
    chosen(&PROFILES, key)
}

/// The profile or combination for `key`.
pub(crate) fn persistent(key: [u8; 2]) -> (&'static str, &'static Arc<Config>) {
    chosen(&PERSISTENT, key)
}

/// The candidates in the order of their places, which are hashes of their names.
fn ring(candidates: impl IntoIterator<Item = (String, Arc<Config>)>) -> Vec<Candidate> {
    let place = |name: &str| Streams::new(0).number(name) as u16;
    let placed = |(name, config): (String, _)| Candidate { place: place(&name), name, config };
    let mut ring: Vec<_> = candidates.into_iter().map(placed).collect();
    ring.sort_by(|a, b| (a.place, &a.name).cmp(&(b.place, &b.name)));
    ring
}

/// The candidate whose position is next to the key. A new profile takes over a part of one neighbour's keys, so that
/// nearly all inputs keep their meaning.
fn chosen(ring: &'static [Candidate], key: [u8; 2]) -> (&'static str, &'static Arc<Config>) {
    let key = u16::from_be_bytes(key);
    let next = ring.partition_point(|candidate| candidate.place < key);
    let candidate = &ring[next % ring.len()];
    (&candidate.name, &candidate.config)
}

/// A key that chooses the profile `name`.
#[must_use]
pub fn key_of(name: &str) -> Option<[u8; 2]> {
    PROFILES.iter().find(|candidate| candidate.name == name).map(|candidate| candidate.place.to_be_bytes())
}

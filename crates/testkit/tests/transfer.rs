//! Whole transfers between two endpoints.

use std::sync::Arc;

use serde_json::json;
use tcp::{Config, Event};
use testkit::fate::{Trouble, drawn};
use testkit::pair::{Pair, Side, User};
use units::Duration;
use wire::Payload;

const SIZE: u64 = 1_000_000;

fn profile() -> Arc<Config> {
    Arc::new(Config::from_profile(&json!({})).unwrap())
}

fn expected() -> Vec<u8> {
    (0..SIZE).map(Payload::pattern_byte).collect()
}

#[test]
fn a_megabyte_arrives_over_a_clean_pipe() {
    let profile = profile();
    let mut pair = Pair::new(&profile, &profile).users(User::sends_pattern(SIZE), User::listens());
    assert!(pair.run(Duration::from_secs(600)));
    assert!(pair.host(Side::Server).received == expected());
    for side in [Side::Client, Side::Server] {
        assert!(pair.host(side).saw(Event::Closed), "{side:?}: {:?}", pair.host(side).events);
        assert_eq!(pair.host(side).endpoint.timeouts(), 0);
    }
}

#[test]
fn a_megabyte_arrives_over_a_lossy_pipe() {
    let profile = profile();
    let trouble = Trouble { lost: 30, duplicated: 10, delayed: 20, longest: Duration::from_millis(300) };
    for seed in 0..5 {
        let mut pair = Pair::new(&profile, &profile)
            .users(User::sends_pattern(SIZE), User::listens())
            .fates(drawn(seed, "pipe", trouble));
        assert!(pair.run(Duration::from_secs(6000)), "seed {seed}");
        assert!(pair.host(Side::Server).received == expected(), "seed {seed}");
        for side in [Side::Client, Side::Server] {
            assert!(pair.host(side).saw(Event::Closed), "{side:?}: {:?}", pair.host(side).events);
        }
    }
}

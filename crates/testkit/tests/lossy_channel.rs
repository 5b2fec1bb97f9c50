//! ATCP (Liu and Singh 2001) over a channel that loses segments without congestion, and over a channel that marks them.

use rand::RngExt;
use serde_json::json;
use testkit::fate::{Fate, Fates};
use testkit::pair::{Pair, Reads, Side, User};
use testkit::profile::{config, named, overridden};
use units::{Duration, Streams};

/// Of a thousand segments this many have the fate; all others arrive.
fn some(fate: Fate, of_a_thousand: u32, seed: u64) -> Fates {
    let mut draws = Streams::new(seed).stream("channel");
    Box::new(move |packet| {
        let is_data = packet.from == Side::Client && !packet.segment.payload.is_empty();
        if is_data && draws.random_range(0..1000) < of_a_thousand { fate } else { Fate::Deliver }
    })
}

/// Bytes that arrive in a minute at a round trip of 100 ms, with a window of 64 segments at most.
fn arrived(name: &str, fates: Fates) -> u64 {
    let keys = json!({ "mss": "1000 bytes", "window": { "fixed": { "size": "64000 bytes" } }, "ecn": true });
    let profile = config(&overridden(&named(name).unwrap(), &keys)).unwrap();
    let listens = User { reads: Reads::Discards, ..User::listens() };
    let one_way = Duration::from_millis(50);
    let mut pair = Pair::new(&profile, &profile)
        .users(User::sends_pattern(1_000_000_000), listens)
        .delays(one_way, one_way)
        .fates(fates);
    pair.run(Duration::from_secs(60));
    pair.host(Side::Server).endpoint.received().0
}

#[test]
fn losses_without_a_mark_cost_atcp_less_than_half_of_what_they_cost_reno() {
    let clean = arrived("atcp", some(Fate::Deliver, 0, 1));
    assert_eq!(clean, arrived("reno", some(Fate::Deliver, 0, 1)));
    for seed in 1..=3 {
        for name in ["reno", "newreno"] {
            let [atcp, other] = ["atcp", name].map(|name| arrived(name, some(Fate::Drop, 10, seed)));
            assert!(atcp > 2 * other, "{name}: {atcp} and {other} of {clean}");
        }
    }
}

#[test]
fn marks_are_congestion_for_atcp_as_for_the_tcp_above_it() {
    for seed in 1..=3 {
        let [atcp, newreno] = ["atcp", "newreno"].map(|name| arrived(name, some(Fate::Mark, 10, seed)));
        assert_eq!(atcp, newreno);
        assert!(atcp < arrived("atcp", some(Fate::Drop, 10, seed)), "{atcp}");
    }
}

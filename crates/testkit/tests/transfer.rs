//! Whole transfers between two endpoints.

use std::sync::Arc;

use serde_json::json;
use tcp::{Config, Event};
use testkit::fate::{Fate, Trouble, drawn};
use testkit::pair::{Pair, Reads, Side, User};
use testkit::profile::config;
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

/// Points that a sender remembers (send_high, recover) lose their meaning once the numbers have gone half
/// round the circle: by then they must be forgotten.
#[test]
fn a_loss_three_gigabytes_after_another_is_repaired_as_fast() {
    const SIZE: u64 = 3_200_000_000;
    let mut lost = vec![];
    for axis in tcp::axes().into_iter().filter(|axis| axis.name == "recovery") {
        for entry in axis.entries.iter().filter(|entry| entry.id != "timeout-only") {
            let profile = json!({
                "mss": "60000 bytes", "recovery": { "algorithm": entry.id }, "nagle": false, "timestamps": true,
            });
            let profile = config(&profile).unwrap();
            let mut packets = 0_u64;
            let listens = User { reads: Reads::Discards, ..User::listens() };
            let mut pair = Pair::new(&profile, &profile).users(User::sends_pattern(SIZE), listens).fates(
                Box::new(move |packet| {
                    if packet.from == Side::Server || packet.segment.payload.is_empty() {
                        return Fate::Deliver;
                    }
                    packets += 1;
                    // The second loss comes after the 2^31 numbers in which the first was remembered.
                    let doomed = packets == 100 || packets == (5 << 29) / 60_000;
                    if doomed { Fate::Drop } else { Fate::Deliver }
                }),
            );
            assert!(pair.run(Duration::from_secs(100_000)), "{}", entry.id);
            let client = &pair.host(Side::Client).endpoint;
            if (client.fast_retransmits(), client.timeouts()) != (2, 0) {
                lost.push((entry.id, client.fast_retransmits(), client.timeouts()));
            }
            assert_eq!(pair.host(Side::Server).endpoint.received().0, SIZE);
        }
    }
    assert_eq!(lost, []);
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

/// The same packets at the same times, whatever else has run before.
#[test]
fn the_same_pair_twice_sends_the_same() {
    let profile = profile();
    let trouble = Trouble { lost: 30, duplicated: 10, delayed: 50, longest: Duration::from_millis(300) };
    let run = || {
        let mut pair = Pair::new(&profile, &profile)
            .users(User::sends_pattern(SIZE), User::listens())
            .fates(drawn(7, "pipe", trouble))
            .keep_sent();
        pair.run(Duration::from_secs(6000));
        let sent = &pair.host(Side::Client).sent;
        sent.iter().map(|(at, sent)| (*at, sent.segment.clone())).collect::<Vec<_>>()
    };
    let (once, twice) = (run(), run());
    assert!(once.len() > 700 && once == twice);
}

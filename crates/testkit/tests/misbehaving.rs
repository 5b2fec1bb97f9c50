//! The gain of misbehaving receivers (Savage et al. 1999), with and without defences.

use serde_json::{Value, json};
use testkit::fate::{Fates, all_arrive, drop_numbers};
use testkit::pair::{Pair, Side, User};
use testkit::profile::{config, overridden};
use units::{Duration, Instant};

const SIZE: u64 = 300_000;

/// A sender that counts ACKs, as the stacks of 1999 did.
fn of_1999() -> Value {
    json!({
        "mss": "1000 bytes", "initial_window": "1 segments", "sack": false, "rto": { "rfc6298": { "min": "1 s" } },
        "congestion": { "aimd": { "slow_start_counts": "acks" } },
        "recovery": "reno",
    })
}

fn transfer(sender: &Value, ack: &Value, fates: Fates) -> Pair {
    let sender = config(sender).unwrap();
    let keys = json!({ "sack": true, "window": { "fixed": { "size": "1 MiB" } }, "ack": ack });
    let receiver = config(&overridden(&of_1999(), &keys)).unwrap();
    let mut pair = Pair::new(&sender, &receiver)
        .users(User::sends_pattern(SIZE), User::listens())
        .keep_sent()
        .fates(fates);
    pair.run(Duration::from_secs(600));
    pair
}

/// How long until the last data were sent for the first time, in round trips of 100 ms.
fn round_trips(sender: &Value, ack: &Value) -> u64 {
    let pair = transfer(sender, ack, all_arrive());
    let sent = pair.host(Side::Client).sent.iter();
    let last = sent.rev().find(|(_, transmit)| !transmit.segment.payload.is_empty()).unwrap().0;
    (last - Instant::START).as_nanos() / 100_000_000
}

fn honest() -> Value {
    json!("every-segment")
}

#[test]
fn divided_acks_speed_up_a_sender_that_counts_acks_and_not_one_that_counts_bytes() {
    let divided = json!({ "ack-division": { "parts": 5 } });
    let weak = of_1999();
    let (usual, gained) = (round_trips(&weak, &honest()), round_trips(&weak, &divided));
    assert!(gained + 3 <= usual, "{gained} round trips instead of {usual}");
    let counts = json!({ "congestion": "byte-counting" });
    let defended = overridden(&weak, &counts);
    let (usual, gained) = (round_trips(&defended, &honest()), round_trips(&defended, &divided));
    assert!(gained >= usual, "{gained} round trips instead of {usual}");
}

#[test]
fn spoofed_duplicates_gain_nothing_where_inflation_is_limited_or_with_sack() {
    let spoofed = json!({ "dupack-spoofing": { "copies": 20 } });
    let weak = of_1999();
    let limited = overridden(&weak, &json!({ "recovery": { "reno": { "limits_inflation": true } } }));
    let (usual, gained) = (round_trips(&weak, &honest()), round_trips(&weak, &spoofed));
    let held = round_trips(&limited, &spoofed);
    assert!(
        gained < usual && usual <= held,
        "{held} round trips; {gained} without the limit, {usual} honestly"
    );
    let sack = overridden(&weak, &json!({ "sack": true, "recovery": "sack-6675" }));
    assert!(round_trips(&sack, &spoofed) >= round_trips(&sack, &honest()));
}

#[test]
fn optimistic_acks_are_faster_and_cost_the_stream() {
    let optimistic = json!({ "optimistic": { "ahead": "1 segments" } });
    // With one segment its first ACK would cover data that were never sent.
    let weak = overridden(&of_1999(), &json!({ "initial_window": "4 segments" }));
    assert!(round_trips(&weak, &optimistic) <= round_trips(&weak, &honest()));
    let received = |ack: &Value| {
        let pair = transfer(&weak, ack, drop_numbers(Side::Client, &[20, 30]));
        pair.host(Side::Server).received.len() as u64
    };
    assert_eq!(received(&honest()), SIZE);
    assert!(received(&optimistic) < SIZE, "what is lost is not sent again");
}

//! The error stage and the output dropper: their rates, their packets, and their effects.

use link::{DelayCause, ErrorCause, Event};
use serde_json::{Value, json};
use units::{Duration, Instant};

use crate::support::{Driver, config, ms};

/// Of 100 runs with different seeds, the number of hits must lie in its 99 % interval in all but a
/// few: more than 5 outside would come by chance once in 1900 times.
fn assert_rate(errors: Value, size: u64, probability: f64) {
    const PACKETS: u64 = 5_000;
    let config = config(json!({ "errors": errors }));
    let mean = probability * PACKETS as f64;
    let interval = 2.576 * (mean * (1.0 - probability)).sqrt();
    let is_outside = |seed: &u64| {
        let mut driver = Driver::new(&config, *seed);
        driver.send_many(Instant::START, size, PACKETS);
        (driver.link.counters().error_drops as f64 - mean).abs() > interval
    };
    let outside = (0..100).filter(is_outside).count();
    assert!(outside <= 5, "{outside} of 100 runs are outside {mean} ± {interval}");
}

#[test]
fn errors_per_packet_hit_the_given_share() {
    assert_rate(json!({ "probability": 0.01, "effect": "drop" }), 1500, 0.01);
    assert_rate(json!({ "probability": 0.3, "effect": "drop" }), 40, 0.3);
}

#[test]
fn errors_per_bit_hit_long_packets_more_often() {
    for size in [100, 303, 1500] {
        let theory = 1.0 - (1.0 - 1e-5_f64).powi(8 * size as i32);
        assert_rate(json!({ "per": "bit", "probability": 1e-5, "effect": "drop" }), size, theory);
    }
}

#[test]
fn framing_counts_in_errors_per_bit() {
    let mut table = json!({ "errors": { "per": "bit", "probability": 0.01, "effect": "drop" } });
    table["framing"] = json!("1000 bytes");
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 1, 1_000);
    driver.run();
    assert_eq!(driver.out.len(), 0, "of 8008 bits one is always hit");
}

#[test]
fn certain_and_impossible_errors_are_exactly_that() {
    for (probability, delivered) in [(0.0, 100), (1.0, 0)] {
        let errors = json!({ "errors": { "probability": probability, "effect": "drop" } });
        let mut driver = Driver::new(&config(errors), 1);
        driver.send_many(Instant::START, 100, 100);
        assert_eq!(driver.out.len(), delivered);
    }
}

#[test]
fn a_damaged_packet_is_delivered_and_marked() {
    let errors = json!({ "errors": { "probability": 0.5, "effect": "corrupt" } });
    let mut driver = Driver::new(&config(errors), 1);
    driver.send_many(Instant::START, 100, 100);
    let damaged: Vec<u64> =
        driver.out.iter().filter(|(_, packet)| packet.damaged).map(|(_, packet)| packet.id).collect();
    assert_eq!(driver.out.len(), 100);
    assert_eq!(damaged, driver.who("corrupted"));
    assert_eq!(damaged.len() as u64, driver.link.counters().corrupted);
    assert!((30..70).contains(&damaged.len()));
}

#[test]
fn the_same_packets_are_hit_whatever_the_delay_and_the_script() {
    let hit = |delay: Value, events: Value| {
        let table = json!({
            "errors": { "probability": 0.05, "effect": "delay", "delay": delay },
            "events": events,
            "receive_buffer": { "order": "out-of-order" },
        });
        let mut driver = Driver::new(&config(table), 3);
        driver.send_many(Instant::START, 100, 1_000);
        let random = |event: &Event| {
            matches!(event, Event::Delayed { cause: DelayCause::Error(ErrorCause::Random), .. })
        };
        let journal = driver.journal.0.iter().filter(|entry| random(&entry.2));
        journal.map(|entry| entry.1).collect::<Vec<u64>>()
    };
    let plain = hit(json!("6 s"), json!([]));
    assert!(plain.len() > 20);
    assert_eq!(plain, hit(json!({ "uniform": ["0.5 s", "6 s"] }), json!([])));
    assert_eq!(plain, hit(json!("6 s"), json!([{ "packet": 7, "delay": "1 s" }])));
}

#[test]
fn a_scripted_delay_adds_to_a_random_one() {
    let table = json!({
        "errors": { "probability": 1, "effect": "delay", "delay": "1 s" },
        "events": [{ "packet": 1, "delay": "6 s" }],
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send(Instant::START, 100);
    driver.run();
    assert_eq!(driver.delivered_at(1), Some(ms(7_000)));
    assert_eq!(driver.link.counters().delayed, 1, "one packet, though for two causes");
}

#[test]
fn a_scripted_drop_takes_exactly_that_packet() {
    let events =
        json!({ "events": [{ "packet": 3, "effect": "drop" }, { "packet": 5, "effect": "corrupt" }] });
    let mut driver = Driver::new(&config(events), 1);
    driver.send_many(Instant::START, 100, 6);
    assert_eq!(driver.who("error_drop"), [3]);
    assert_eq!(driver.who("corrupted"), [5]);
    assert_eq!(driver.deliveries().iter().map(|entry| entry.0).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
}

#[test]
fn a_script_counts_arrivals_or_transmissions() {
    // One in transmission, one waiting: the third is dropped by the queue.
    let dropped = |counted_at: &str| {
        let table = json!({
            "rate": "8 kbit/s",
            "queue": { "limit": "1 packet" },
            "events": [{ "packet": 3, "effect": "drop", "counted_at": counted_at }],
        });
        let mut driver = Driver::new(&config(table), 1);
        driver.send_many(Instant::START, 10, 3);
        driver.run();
        driver.send_many(ms(100), 10, 2);
        driver.run();
        assert_eq!(driver.who("queue_drop"), [3]);
        driver.who("error_drop")
    };
    assert_eq!(dropped("arrival"), [0; 0], "the third to arrive never came to the error stage");
    assert_eq!(dropped("transmission"), [4]);
}

#[test]
fn a_lost_packet_frees_its_place_where_it_is_lost() {
    let table = json!({
        "rate": "8 kbit/s",
        "propagation": "50 ms",
        "send_buffer": { "limit": "100 bytes", "held_until": "delivery" },
        "receive_buffer": { "limit": "100 bytes" },
        "events": [{ "packet": 1, "effect": "drop" }],
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 100, 2);
    driver.run();
    assert_eq!(driver.deliveries(), [(2, ms(300))]);
}

#[test]
fn the_dropper_takes_the_given_share_as_packets_leave() {
    let mut driver = Driver::new(&config(json!({ "dropper": { "probability": 0.1 } })), 1);
    driver.send_many(Instant::START, 100, 100_000);
    let dropped = driver.link.counters().dropper_drops as f64;
    assert!((dropped - 10_000.0).abs() < 2.576 * 9_000_f64.sqrt(), "{dropped} of 100000");
    assert_eq!(driver.who("dropper_drop").len() as f64, dropped);
}

#[test]
fn a_random_propagation_keeps_order_unless_configured_otherwise() {
    let order = |order: &str| {
        let table = json!({
            "propagation": { "uniform": ["10 ms", "100 ms"] },
            "receive_buffer": { "order": order },
        });
        let mut driver = Driver::new(&config(table), 1);
        for packet in 0..200 {
            driver.send(ms(packet), 100);
        }
        driver.run();
        assert_eq!(driver.out.len(), 200);
        assert!(driver.out.is_sorted_by_key(|(at, _)| *at));
        driver.out.iter().map(|(_, packet)| packet.id).collect::<Vec<u64>>()
    };
    assert!(order("in-order").is_sorted());
    assert!(!order("out-of-order").is_sorted());
}

#[test]
fn a_delayed_packet_is_reported_with_its_delay_when_it_meets_the_error() {
    let table =
        json!({ "rate": "8 kbit/s", "propagation": "50 ms", "events": [{ "packet": 1, "delay": "6 s" }] });
    let mut driver = Driver::new(&config(table), 1);
    driver.send(Instant::START, 100);
    driver.run();
    let cause = DelayCause::Error(ErrorCause::Scripted);
    let delayed = driver.journal.0.iter().find(|entry| entry.2.id() == "delayed").expect("it is reported");
    assert_eq!((delayed.0, delayed.2), (ms(150), Event::Delayed { by: Duration::from_secs(6), cause }));
}

//! When packets leave, to the nanosecond.

use serde_json::json;
use units::Instant;

use crate::support::{Driver, config, ms, us};

#[test]
fn a_full_packet_at_9600_bits_takes_transmission_plus_propagation() {
    // Sarolahti 2000, section 4.4: 296 + 7 bytes at 9600 bit/s = 252.5 ms, then 200 ms.
    let config = config(json!({ "rate": "9600 bit/s", "propagation": "200 ms", "framing": "7 bytes" }));
    let mut driver = Driver::new(&config, 1);
    driver.send(Instant::START, 296);
    assert_eq!(driver.link.poll_timeout(), Some(us(452_500)));
    driver.run();
    assert_eq!(driver.deliveries(), [(1, us(452_500))]);
}

#[test]
fn the_next_transmission_starts_as_the_one_before_begins_to_propagate() {
    let config = config(json!({ "rate": "9600 bit/s", "propagation": "200 ms" }));
    let mut driver = Driver::new(&config, 1);
    driver.send_many(Instant::START, 303, 3);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, us(452_500)), (2, us(705_000)), (3, us(957_500))]);
}

#[test]
fn times_are_rounded_up_to_a_nanosecond_for_each_packet() {
    let config = config(json!({ "rate": "3 bit/s" }));
    let mut driver = Driver::new(&config, 1);
    driver.send_many(Instant::START, 1, 2);
    driver.run();
    let nanos: Vec<u64> = driver.out.iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(nanos, [2_666_666_667, 5_333_333_334]);
}

#[test]
fn an_empty_configuration_delivers_at_once() {
    let mut driver = Driver::new(&config(json!({})), 1);
    driver.send(ms(5), 1500);
    assert_eq!(driver.deliveries(), [(1, ms(5))]);
    assert_eq!(driver.link.poll_timeout(), None);
}

#[test]
fn a_link_without_a_rate_only_propagates() {
    let mut driver = Driver::new(&config(json!({ "propagation": "50 ms" })), 1);
    driver.send_many(ms(1), 1500, 2);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(51)), (2, ms(51))]);
}

#[test]
fn a_place_that_is_freed_at_the_same_instant_is_free() {
    let config = config(json!({ "rate": "8 kbit/s", "queue": { "limit": "1 packet" } }));
    let mut driver = Driver::new(&config, 1);
    driver.send_many(Instant::START, 1, 2);
    driver.send(ms(1), 1);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(1)), (2, ms(2)), (3, ms(3))]);
}

#[test]
fn a_plain_link_needs_one_wake_up_for_a_packet() {
    let config =
        config(json!({ "rate": "1 Mbit/s", "propagation": "50 ms", "queue": { "limit": "20 packets" } }));
    let mut driver = Driver::new(&config, 1);
    for packet in 0..100 {
        driver.send(ms(packet * 13), 1500);
    }
    driver.run();
    assert_eq!(driver.out.len(), 100);
    assert_eq!(driver.wake_ups, 100);
}

#[test]
fn a_late_driver_still_sees_when_things_happened() {
    let config = config(json!({ "rate": "8 kbit/s" }));
    let mut driver = Driver::new(&config, 1);
    driver.send_many(Instant::START, 10, 2);
    driver.link.handle_timeout(ms(500), &mut driver.journal);
    let delivered = driver.journal.0.iter().filter(|entry| entry.2.id() == "delivered");
    assert_eq!(delivered.map(|entry| entry.0).collect::<Vec<_>>(), [ms(10), ms(20)]);
}

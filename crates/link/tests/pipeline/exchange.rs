//! A link whose parameters change during the run: `Link::exchange`.

use serde_json::{Value, json};
use units::Streams;

use crate::support::{Driver, config, ms};

/// A link of one byte per millisecond to which five packets of 100 bytes come at once, and which has other parameters
/// from 150 ms on, when the second is being transmitted.
fn exchanged(table: Value) -> Driver {
    let mut driver = Driver::new(&config(json!({ "rate": "8 kbit/s", "propagation": "20 ms" })), 1);
    driver.send_many(ms(0), 100, 5);
    driver.run_until(ms(150));
    driver.link.exchange(ms(150), (&config(table), &Streams::new(1)), &mut driver.journal);
    driver
}

fn deliveries(driver: &Driver) -> Vec<(u64, u64)> {
    driver.deliveries().into_iter().map(|(id, at)| (id, at.as_nanos() / 1_000_000)).collect()
}

#[test]
fn what_is_being_transmitted_arrives_as_before_and_what_waits_passes_to_the_new_rate() {
    let mut driver = exchanged(json!({ "rate": "80 kbit/s", "propagation": "20 ms" }));
    driver.run();
    assert_eq!(deliveries(&driver), [(1, 120), (3, 180), (4, 190), (5, 200), (2, 220)]);
}

#[test]
fn what_comes_later_enters_the_new_link() {
    let mut driver = exchanged(json!({ "rate": "80 kbit/s", "propagation": "5 ms" }));
    driver.send(ms(300), 100);
    driver.run();
    assert_eq!(deliveries(&driver).last(), Some(&(6, 315)));
}

#[test]
fn a_shorter_queue_drops_what_it_has_no_room_for() {
    let mut driver =
        exchanged(json!({ "rate": "8 kbit/s", "propagation": "20 ms", "queue": { "limit": "1 packets" } }));
    driver.run();
    assert_eq!(deliveries(&driver), [(1, 120), (2, 220), (3, 270), (4, 370)]);
    assert_eq!(driver.who("queue_drop"), [5]);
}

#[test]
fn each_packet_counts_once_in_the_totals_of_all_links() {
    let mut driver = exchanged(json!({ "rate": "80 kbit/s", "propagation": "20 ms" }));
    driver.link.exchange(ms(155), (&config(json!({ "rate": "8 kbit/s" })), &Streams::new(1)), &mut ());
    driver.send(ms(300), 100);
    driver.run();
    let counters = driver.link.counters();
    assert_eq!((counters.packets_in, counters.bytes_in.0), (6, 600));
    assert_eq!((counters.packets_out, driver.link.packets_inside()), (6, 0));
}

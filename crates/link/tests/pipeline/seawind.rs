//! Seawind's semantics (Sarolahti 2000, chapter 4): buffers of whole packets, and an error delay that holds all later
//! packets.

use serde_json::{Value, json};
use units::{Duration, Instant};

use crate::support::{Driver, config, ms, us};

/// The baseline link of the document, one direction, with 303-byte packets: four fit its buffers.
fn baseline(queue: u64, more: Value) -> link::Config {
    let mut table = json!({
        "rate": "9600 bit/s",
        "propagation": "200 ms",
        "framing": "7 bytes",
        "queue": { "limit": format!("{queue} packets") },
        "send_buffer": { "limit": "1220 bytes", "held_until": "delivery" },
        "receive_buffer": { "limit": "1220 bytes", "order": "in-order" },
    });
    let extra = more.as_object().expect("a table").clone();
    table.as_object_mut().expect("a table").extend(extra);
    config(table)
}

#[test]
fn the_send_buffer_takes_four_packets_and_the_queue_its_limit() {
    let mut driver = Driver::new(&baseline(7, json!({})), 1);
    driver.send_many(Instant::START, 296, 13);
    driver.run();
    assert_eq!(driver.who("queue_drop"), [12, 13]);
    assert_eq!(driver.link.counters().queue_max, 7);
}

#[test]
fn a_packet_holds_its_place_until_it_is_delivered() {
    let mut driver = Driver::new(&baseline(7, json!({})), 1);
    driver.send_many(Instant::START, 296, 5);
    driver.run_until(us(452_499));
    assert_eq!(driver.link.queue_len().0, 1, "the first is propagating and holds its place");
    driver.run_until(us(452_500));
    assert_eq!(driver.link.queue_len().0, 0);
}

#[test]
fn held_until_transmission_the_place_is_free_as_propagation_begins() {
    let buffer = json!({ "send_buffer": { "limit": "1220 bytes", "held_until": "transmission" } });
    let mut driver = Driver::new(&baseline(7, buffer), 1);
    driver.send_many(Instant::START, 296, 5);
    let left = |driver: &Driver| {
        driver
            .journal
            .0
            .iter()
            .find(|entry| entry.1 == 5 && entry.2.id() == "left_queue")
            .map(|entry| entry.0)
    };
    driver.run();
    assert_eq!(left(&driver), Some(us(252_500)));
}

#[test]
fn a_packet_in_error_delay_holds_its_followers_and_all_leave_together() {
    let events = json!({ "events": [{ "packet": 2, "delay": "6 s" }] });
    let mut driver = Driver::new(&baseline(7, events), 1);
    driver.send_many(Instant::START, 296, 5);
    driver.run();
    let together = us(705_000 + 6_000_000);
    let first_four = [(1, us(452_500)), (2, together), (3, together), (4, together)];
    assert_eq!(driver.deliveries()[..4], first_four);
    // The fifth found its place in the send buffer when the first left, and was transmitted.
    assert_eq!(driver.deliveries()[4], (5, together));
}

#[test]
fn during_an_error_delay_the_full_buffer_stops_transmission() {
    let events = json!({ "events": [{ "packet": 1, "delay": "6 s" }] });
    let mut driver = Driver::new(&baseline(7, events), 1);
    driver.send_many(Instant::START, 296, 6);
    driver.run();
    let released = us(452_500 + 6_000_000);
    let started: Vec<_> =
        driver.journal.0.iter().filter(|entry| entry.2.id() == "transmission_started").collect();
    assert_eq!(started[4].0, released, "the fifth had to wait for the four before it to leave");
    assert_eq!(driver.delivered_at(5), Some(released + Duration::from_micros(452_500)));
}

#[test]
fn out_of_order_nobody_waits_for_the_delayed_packet() {
    let more = json!({
        "receive_buffer": { "order": "out-of-order" },
        "events": [{ "packet": 2, "delay": "6 s" }],
    });
    let mut driver = Driver::new(&baseline(7, more), 1);
    driver.send_many(Instant::START, 296, 4);
    driver.run();
    let order: Vec<u64> = driver.out.iter().map(|(_, packet)| packet.id).collect();
    assert_eq!(order, [1, 3, 4, 2]);
    assert_eq!(driver.delivered_at(3), Some(us(957_500)));
}

#[test]
fn a_packet_larger_than_the_send_buffer_passes_alone() {
    let config = config(json!({
        "rate": "8 kbit/s",
        "send_buffer": { "limit": "100 bytes", "held_until": "delivery" },
        "receive_buffer": { "limit": "100 bytes" },
    }));
    let mut driver = Driver::new(&config, 1);
    driver.send_many(Instant::START, 200, 2);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(200)), (2, ms(400))]);
}

/// Keeps `window` packets of 296 bytes outstanding, each delivery answered by an ACK of 40 bytes
/// that crosses the other direction and takes `hosts` more, each ACK by the next packet. The window
/// opens by one packet a second. Returns the number of packets dropped in 100 s.
fn drops_with_window(window: u64, held_until: &str, hosts: Duration) -> u64 {
    let buffer = json!({ "send_buffer": { "limit": "1220 bytes", "held_until": held_until } });
    let mut data = Driver::new(&baseline(3, buffer), 1);
    let mut acks = Driver::new(&baseline(100, json!({})), 1);
    let (mut acknowledged, mut answered, mut opened) = (0, 0, 0);
    for tick in 0..200_000 {
        let now = us(tick * 500);
        data.run_until(now);
        for (at, _) in &data.out[acknowledged..] {
            acks.send(*at + hosts, 40);
        }
        acknowledged = data.out.len();
        acks.run_until(now);
        data.send_many(now, 296, (acks.out.len() - answered) as u64);
        answered = acks.out.len();
        if opened < window && tick % 2_000 == 0 {
            data.send(now, 296);
            opened += 1;
        }
    }
    data.link.counters().queue_drops
}

// Sarolahti 2000, section 5.1: the pipe holds the router queue + 5, "4 in the link send buffer, 1
// elsewhere". Transmission takes 252.5 ms, an ACK's way back 239.2 ms. With places held until the
// transmission ends, one packet is always beyond the send buffer and unacknowledged: 3 + 4 + 1.
#[test]
fn held_until_transmission_the_pipe_holds_the_queue_and_five() {
    assert_eq!(drops_with_window(8, "transmission", Duration::ZERO), 0);
    assert_eq!(drops_with_window(9, "transmission", Duration::ZERO), 1);
}

// With places held until delivery the fifth packet is the one whose ACK is in flight; it is counted when a packet
// arrives only if the way back takes as long as a transmission: 13.3 ms more than the link alone, which the emulator's
// hosts and timers added.
#[test]
fn held_until_delivery_the_fifth_packet_of_the_pipe_is_the_one_being_acknowledged() {
    let hosts = Duration::from_millis(14);
    assert_eq!(drops_with_window(8, "delivery", hosts), 0);
    assert_eq!(drops_with_window(9, "delivery", hosts), 1);
    assert_eq!(drops_with_window(7, "delivery", Duration::ZERO), 0);
    assert_eq!(drops_with_window(8, "delivery", Duration::ZERO), 1);
}

//! The input queue's limits and what happens at them.

use link::{DropRule, Event};
use serde_json::{Value, json};
use units::{Bytes, Duration, Instant};

use crate::support::{Driver, config, ms};

/// A link of one byte per millisecond with this queue.
fn driver(queue: Value) -> Driver {
    Driver::new(&config(json!({ "rate": "8 kbit/s", "queue": queue })), 1)
}

#[test]
fn a_limit_in_packets_counts_those_that_wait() {
    let mut driver = driver(json!({ "limit": "3 packets" }));
    driver.send_many(Instant::START, 100, 6);
    assert_eq!(driver.link.queue_len(), (3, Bytes(300)));
    assert_eq!(driver.who("queue_drop"), [5, 6]);
    assert_eq!((driver.link.counters().queue_max, driver.link.counters().queue_drops), (3, 2));
}

#[test]
fn a_limit_may_count_the_packet_in_transmission() {
    let mut driver = driver(json!({ "limit": "3 packets", "counts_transmission": true }));
    driver.send_many(Instant::START, 100, 6);
    assert_eq!(driver.link.queue_len(), (2, Bytes(200)));
    assert_eq!(driver.who("queue_drop"), [4, 5, 6]);
    driver.run_until(ms(1000));
    driver.send(ms(1000), 100);
    assert_eq!(driver.who("queue_drop"), [4, 5, 6], "an idle link takes any packet");
}

#[test]
fn a_limit_in_bytes_takes_whole_packets_only() {
    let mut driver = driver(json!({ "limit": "250 bytes" }));
    driver.send_many(Instant::START, 100, 4);
    driver.send(Instant::START, 50);
    assert_eq!(driver.who("queue_drop"), [4]);
    assert_eq!(driver.link.queue_len(), (3, Bytes(250)));
}

#[test]
fn both_limits_hold_at_once() {
    let mut driver = driver(json!({ "limit": "2 packets", "limit_bytes": "250 bytes" }));
    driver.send(Instant::START, 100);
    driver.send(Instant::START, 200);
    driver.send(Instant::START, 100);
    driver.send_many(Instant::START, 10, 2);
    assert_eq!(driver.who("queue_drop"), [3, 5]);
}

#[test]
fn a_packet_that_need_not_wait_passes_a_limit_that_is_too_small_for_it() {
    let mut driver = driver(json!({ "limit": "50 bytes" }));
    driver.send(Instant::START, 100);
    driver.send(Instant::START, 100);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(100))]);
}

#[test]
fn a_queue_without_limit_takes_everything() {
    let mut driver = driver(json!({}));
    driver.send_many(Instant::START, 1, 10_000);
    driver.run();
    assert_eq!(driver.out.len(), 10_000);
    assert_eq!(driver.link.counters().queue_max, 9_999);
}

#[test]
fn overflow_stops_the_run_where_the_configuration_says_so() {
    let mut driver = driver(json!({ "limit": "1 packet", "overflow": "stop" }));
    driver.send_many(Instant::START, 100, 2);
    assert_eq!(driver.link.stopped(), None);
    driver.send(ms(5), 100);
    let reason = driver.link.stopped().expect("stopped");
    assert_eq!((reason.at, reason.packet.0, reason.waiting), (ms(5), 3, 1));
    driver.send(ms(6), 100);
    assert_eq!(driver.link.stopped().map(|reason| reason.at), Some(ms(5)), "the first reason stays");
}

#[test]
fn flow_control_holds_upstream_back_and_wakes_it_when_there_is_room() {
    let mut driver = driver(json!({ "limit": "2 packets", "overflow": "flow-control" }));
    let mut sent = 0;
    let mut now = Instant::START;
    while sent < 50 {
        while driver.link.can_accept() && sent < 50 {
            driver.send(now, 10);
            sent += 1;
        }
        now = driver.link.poll_timeout().expect("a link with a queue wants to be woken");
        driver.run_until(now);
    }
    driver.run();
    assert_eq!(driver.link.counters().queue_drops, 0);
    assert_eq!(driver.deliveries().last(), Some(&(50, ms(500))), "the link was never idle");
}

#[test]
fn under_flow_control_room_comes_with_the_end_of_a_transmission_however_long_the_propagation() {
    let table = json!({
        "rate": "8 kbit/s",
        "propagation": "10 s",
        "queue": { "limit": "1 packet", "overflow": "flow-control" },
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 100, 2);
    assert!(!driver.link.can_accept());
    assert_eq!(driver.link.poll_timeout(), Some(ms(100)));
    driver.run_until(ms(100));
    assert!(driver.link.can_accept());
}

#[test]
fn what_comes_against_flow_control_is_an_overflow() {
    let mut driver = driver(json!({ "limit": "1 packet", "overflow": "flow-control" }));
    driver.send_many(Instant::START, 100, 3);
    assert_eq!(driver.who("queue_drop"), [3]);
}

#[test]
fn events_report_what_a_packet_met() {
    let mut driver = driver(json!({ "limit": "2 packets" }));
    driver.send_many(Instant::START, 100, 4);
    let events: Vec<Event> = driver.journal.0.iter().map(|entry| entry.2).collect();
    let queued = |behind, bytes| Event::Queued { behind, behind_bytes: Bytes(bytes), average: None };
    assert_eq!(
        events,
        [
            queued(0, 0),
            Event::LeftQueue { waited: Duration::ZERO, left: 0, left_bytes: Bytes(0) },
            Event::TransmissionStarted,
            queued(0, 0),
            queued(1, 100),
            Event::QueueDropped {
                rule: DropRule::OVERFLOW,
                behind: 2,
                behind_bytes: Bytes(200),
                average: None
            },
        ]
    );
}

#[test]
fn red_drops_before_the_queue_is_full_and_reports_its_average() {
    let red =
        json!({ "red": { "min": "2 packets", "max": "7 packets", "weight": 0.15, "max_probability": 0.3 } });
    let mut driver = driver(json!({ "limit": "20 packets", "discipline": red }));
    // Twelve packets for ten that leave: the queue grows slowly.
    for packet in 0..1_000 {
        driver.send(ms(packet * 10), 12);
    }
    let rules: Vec<&str> = driver
        .journal
        .0
        .iter()
        .filter_map(|entry| match entry.2 {
            Event::QueueDropped { rule, average, .. } => average.map(|_| rule.id()),
            _ => None,
        })
        .collect();
    assert!(rules.len() > 100, "{} drops", rules.len());
    assert!(rules.iter().all(|rule| *rule == "red_early" || *rule == "red_forced"));
    assert!(driver.link.counters().queue_max < 12);
}

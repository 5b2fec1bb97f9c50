//! Outages, the link layer's retransmission, reordering, duplicates, lifetime.

use link::{DelayCause, ErrorCause, Event};
use serde_json::{Value, json};
use units::{Duration, Instant};

use crate::support::{Driver, TestPacket, config, ms, us};

fn ids(driver: &Driver) -> Vec<u64> {
    driver.out.iter().map(|(_, packet)| packet.id).collect()
}

/// The delays that packets got, by cause.
fn delays(driver: &Driver, wanted: DelayCause) -> Vec<(u64, Duration)> {
    let delay = |entry: &(Instant, u64, Event)| match entry.2 {
        Event::Delayed { by, cause } if cause == wanted => Some((entry.1, by)),
        _ => None,
    };
    driver.journal.0.iter().filter_map(delay).collect()
}

fn losses(driver: &Driver, wanted: ErrorCause) -> Vec<(Instant, u64)> {
    let is_wanted = |event: &Event| *event == Event::ErrorDropped { cause: wanted };
    driver.journal.0.iter().filter(|entry| is_wanted(&entry.2)).map(|entry| (entry.0, entry.1)).collect()
}

#[test]
fn an_outage_loses_all_that_arrives_in_it_and_nothing_else() {
    let table = json!({
        "propagation": "50 ms",
        "outages": { "every": "4 s", "length": "1 s", "phase": "2 s" },
    });
    let mut driver = Driver::new(&config(table), 1);
    for tenth in 0..120 {
        driver.send(ms(100 * tenth), 100);
    }
    driver.run();
    // Arrivals at 2.05 to 2.95 s are sent from 1.95 s on: those sent at 2.0 to 2.9 s.
    let lost: Vec<u64> = losses(&driver, ErrorCause::Outage).into_iter().map(|(_, id)| id - 1).collect();
    let expected: Vec<u64> = (0..3).flat_map(|n| 20 + 40 * n..30 + 40 * n).collect();
    assert_eq!(lost, expected);
}

#[test]
fn an_outage_begins_with_its_first_instant_and_is_over_at_its_end() {
    let table = json!({ "outages": { "every": "4 s", "length": "1 s", "phase": "500 ms" } });
    let mut driver = Driver::new(&config(table), 1);
    for at in [499, 500, 1_499, 1_500, 4_500, 5_500] {
        driver.send(ms(at), 100);
    }
    assert_eq!(ids(&driver), [1, 4, 6]);
}

#[test]
fn a_fixed_number_of_retransmissions_costs_each_its_round_trip() {
    let table = json!({
        "arq": { "probability": 0.1, "round_trip": "40 ms", "retransmissions": 3 },
        "receive_buffer": { "order": "out-of-order" },
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 1000, 10_000);
    driver.run();
    let delays = delays(&driver, DelayCause::Arq);
    assert!(delays.iter().all(|(_, by)| *by == Duration::from_millis(120)));
    let failed = delays.len() as f64;
    assert!((failed - 1_000.0).abs() < 2.576 * 900_f64.sqrt(), "{failed} of 10000 failed at first");
}

// The number of retransmissions is geometric: P(k) = pᵏ·(1 − p), each share within its 99 % interval in
// all but a few of 100 seeds.
#[test]
fn equal_error_probability_for_each_attempt_gives_an_exactly_geometric_delay() {
    const PACKETS: u64 = 4_000;
    let p = 0.3_f64;
    let table = json!({
        "arq": { "probability": p, "round_trip": "40 ms" },
        "receive_buffer": { "order": "out-of-order" },
    });
    let config = config(table);
    let mut outside = [0; 5];
    for seed in 0..100 {
        let mut driver = Driver::new(&config, seed);
        driver.send_many(Instant::START, 1000, PACKETS);
        driver.run();
        for (k, outside) in outside.iter_mut().enumerate() {
            let at = ms(40 * k as u64);
            let count = driver.out.iter().filter(|(time, _)| *time == at).count() as f64;
            let theory = p.powi(k as i32) * (1.0 - p);
            let mean = theory * PACKETS as f64;
            *outside += u32::from((count - mean).abs() > 2.576 * (mean * (1.0 - theory)).sqrt());
        }
    }
    assert!(outside.iter().all(|outside| *outside <= 5), "outside the 99 % interval: {outside:?} of 100");
}

#[test]
fn at_its_limit_the_link_layer_discards_the_packet_after_its_last_attempt() {
    let table = json!({ "arq": { "probability": 1, "round_trip": "40 ms", "limit": 2 } });
    let mut driver = Driver::new(&config(table), 1);
    driver.send(ms(10), 1000);
    driver.run();
    assert_eq!(losses(&driver, ErrorCause::ArqLimit), [(ms(90), 1)]);
    assert_eq!((driver.out.len(), driver.link.counters().error_drops), (0, 1));
}

#[test]
fn with_a_limit_the_share_of_discards_is_the_power_of_the_probability() {
    let table = json!({ "arq": { "probability": 0.4, "round_trip": "40 ms", "limit": 2 } });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 1000, 50_000);
    driver.run();
    let (theory, count) = (0.4_f64.powi(3), driver.link.counters().error_drops as f64);
    let interval = 2.576 * (50_000.0 * theory * (1.0 - theory)).sqrt();
    assert!((count - 50_000.0 * theory).abs() < interval, "{count} discards");
}

#[test]
fn in_order_those_behind_wait_for_a_retransmission_and_out_of_order_they_do_not() {
    let run = |order: &str| {
        let table = json!({
            "arq": { "probability": 0.3, "round_trip": "40 ms" },
            "receive_buffer": { "order": order },
        });
        let mut driver = Driver::new(&config(table), 1);
        for packet in 0..200 {
            driver.send(ms(packet), 1000);
        }
        driver.run();
        driver
    };
    let (in_order, out_of_order) = (run("in-order"), run("out-of-order"));
    assert!(ids(&in_order).is_sorted() && !ids(&out_of_order).is_sorted());
    let on_time = |driver: &Driver| driver.out.iter().filter(|(at, packet)| *at == ms(packet.id - 1)).count();
    assert_eq!(on_time(&out_of_order), 200 - delays(&out_of_order, DelayCause::Arq).len());
    assert!(on_time(&in_order) < on_time(&out_of_order));
}

#[test]
fn in_order_per_flow_a_retransmission_holds_its_own_flow_only() {
    let table = json!({
        "events": [{ "packet": 1, "delay": "40 ms" }, { "packet": 5, "delay": "40 ms" }],
        "receive_buffer": { "order": "in-order-per-flow" },
    });
    let mut driver = Driver::new(&config(table), 1);
    for (at, who) in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 2), (5, 2), (6, 1)] {
        driver.hand(ms(at), TestPacket { who, ..TestPacket::new(0, 1000) });
    }
    driver.run();
    let mut deliveries = driver.deliveries();
    deliveries.sort_unstable();
    let expected = [(1, 40), (2, 40), (3, 2), (4, 40), (5, 44), (6, 44), (7, 40)];
    assert_eq!(deliveries, expected.map(|(id, at)| (id, ms(at))));
}

#[test]
fn a_discarded_packet_holds_those_behind_until_it_is_given_up() {
    let table = json!({
        "arq": { "model": { "four-state-markov": { "p13": 1, "p31": 1 } }, "round_trip": "40 ms", "limit": 1 },
    });
    // The chain goes 3, 1, 3, 1: each packet fails once and then gets through.
    let mut driver = Driver::new(&config(table), 1);
    driver.send(ms(0), 1000);
    driver.send(ms(1), 1000);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(40)), (2, ms(41))]);
    let table = json!({
        "arq": { "probability": 1, "round_trip": "40 ms", "limit": 3 },
        "reordering": { "probability": 0, "delay": "1 s" },
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send(ms(0), 1000);
    driver.run();
    assert_eq!(losses(&driver, ErrorCause::ArqLimit), [(ms(120), 1)]);
}

#[test]
fn chosen_packets_are_overtaken_though_the_link_keeps_order() {
    let table = json!({
        "propagation": "10 ms",
        "reordering": { "probability": 0.05, "delay": "30 ms" },
    });
    let mut driver = Driver::new(&config(table), 1);
    for packet in 0..400 {
        driver.send(ms(packet), 1000);
    }
    driver.run();
    let late: Vec<u64> = delays(&driver, DelayCause::Reordering).iter().map(|delay| delay.0).collect();
    assert!((8..40).contains(&late.len()));
    for (at, packet) in &driver.out {
        let extra = if late.contains(&packet.id) { 30 } else { 0 };
        assert_eq!(*at, ms(packet.id - 1 + 10 + extra), "packet {}", packet.id);
    }
}

#[test]
fn those_that_are_not_chosen_keep_their_order_behind_an_error_delay() {
    let table = json!({
        "reordering": { "gap": 3, "delay": "1 ms" },
        "events": [{ "packet": 1, "delay": "1 s" }],
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 1000, 6);
    driver.run();
    assert_eq!(driver.deliveries()[..2], [(3, ms(1)), (6, ms(1))]);
    assert_eq!(driver.deliveries()[2..], [1, 2, 4, 5].map(|id| (id, ms(1_000))));
}

// netem: "reorder 100% gap 4" with a delay of 10 ms sends every fourth packet at once.
#[test]
fn every_nth_packet_goes_ahead_of_all_the_others() {
    let table = json!({ "reordering": { "gap": 4, "delay": "10 ms", "chosen": "go-ahead" } });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 1000, 8);
    driver.run();
    assert_eq!(ids(&driver), [4, 8, 1, 2, 3, 5, 6, 7]);
    assert_eq!(driver.out[2].0, ms(10));
}

#[test]
fn with_gap_and_probability_a_turn_that_is_missed_passes_to_the_next() {
    let table = json!({ "reordering": { "gap": 5, "probability": 0.5, "delay": "1 s" } });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 1000, 6_000);
    driver.run();
    // A turn comes after 4 packets and then waits for a success: 4 + 1/0.5 packets in the mean.
    let chosen = delays(&driver, DelayCause::Reordering).len() as f64;
    assert!((chosen - 1_000.0).abs() < 50.0, "{chosen} chosen");
}

#[test]
fn a_duplicate_leaves_right_behind_its_original_and_takes_no_place() {
    let table = json!({
        "rate": "8 kbit/s",
        "send_buffer": { "limit": "100 bytes", "held_until": "delivery" },
        "receive_buffer": { "limit": "100 bytes" },
        "duplicates": { "probability": 1 },
        "queue": { "limit": "10 packets" },
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 100, 3);
    driver.run();
    assert_eq!(ids(&driver), [1, 1, 2, 2, 3, 3]);
    assert_eq!(driver.out[5].0, ms(300));
    let counters = *driver.link.counters();
    assert_eq!((counters.packets_in, counters.duplicates, counters.packets_out), (3, 3, 6));
    assert_eq!(driver.link.packets_inside(), 0);
}

#[test]
fn the_given_share_is_duplicated() {
    let mut driver = Driver::new(&config(json!({ "duplicates": { "probability": 0.2 } })), 1);
    driver.send_many(Instant::START, 100, 20_000);
    let copies = driver.link.counters().duplicates as f64;
    assert!((copies - 4_000.0).abs() < 2.576 * 3_200_f64.sqrt(), "{copies}");
}

// 100 bytes take 100 ms: the packets start at 0, 100, 200 … ms.
#[test]
fn a_packet_that_is_too_old_is_discarded_where_it_waits_and_makes_room_at_that_instant() {
    let table = json!({
        "rate": "8 kbit/s",
        "queue": { "limit": "4 packets" },
        "lifetime": "250 ms",
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 100, 5);
    // 1 to 3 are sent; 4 and 5 are 250 ms old when they still wait.
    driver.send(ms(249), 100);
    driver.send_many(ms(250), 100, 2);
    driver.run();
    assert_eq!(driver.who("queue_drop"), [4, 5]);
    // 8 is 250 ms old at the very instant at which the transmitter takes it.
    assert_eq!(driver.deliveries()[3..], [(6, ms(400)), (7, ms(500)), (8, ms(600))]);
    let expired = driver.journal.0.iter().filter(|entry| entry.2.id() == "queue_drop");
    assert!(expired.clone().all(|entry| entry.0 == ms(250)));
    assert_eq!(driver.link.counters().queue_drops, 2);
}

#[test]
fn packets_expire_in_the_send_buffer_and_while_there_is_no_rate() {
    let table = json!({
        "rate": "8 kbit/s",
        "available_rate": ["0 bit/s", "8 kbit/s"],
        "rate_change_interval": "1 s",
        "send_buffer": { "limit": "1 kB" },
        "lifetime": "300 ms",
    });
    let mut driver = Driver::new(&config(table), 1);
    // The rate is gone from 1 s to 2 s.
    driver.send_many(ms(1_100), 100, 3);
    driver.send(ms(1_900), 100);
    driver.run();
    let at = ms(1_400);
    assert_eq!(losses(&driver, ErrorCause::Expired), [(at, 1), (at, 2), (at, 3)]);
    assert_eq!(driver.deliveries(), [(4, ms(2_100))]);
    assert_eq!(driver.link.packets_inside(), 0);
}

#[test]
fn packets_expire_in_the_receive_buffer_and_release_those_behind() {
    let table = json!({
        "propagation": "50 ms",
        "events": [{ "packet": 1, "delay": "6 s" }],
        "lifetime": "1 s",
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send(ms(0), 100);
    driver.send(ms(500), 100);
    driver.run();
    assert_eq!(losses(&driver, ErrorCause::Expired), [(ms(1_000), 1)]);
    assert_eq!(driver.deliveries(), [(2, ms(1_000))]);
}

#[test]
fn a_packet_that_need_not_wait_is_delivered_however_old() {
    let mut driver = Driver::new(&config(json!({ "propagation": "2 s", "lifetime": "1 s" })), 1);
    driver.send(ms(0), 100);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(2_000))]);
}

#[test]
fn under_flow_control_an_expiry_reports_upstream_that_there_is_room() {
    let table = json!({
        "rate": "8 bit/s",
        "queue": { "limit": "1 packet", "overflow": "flow-control" },
        "lifetime": "3 s",
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 100, 2);
    assert!(!driver.link.can_accept());
    driver.run_until(ms(3_000));
    assert!(driver.link.can_accept());
}

/// The packets hit by errors, with and without other stages.
fn hit_by_errors(more: Value) -> Vec<(Instant, u64)> {
    let mut table = json!({ "errors": { "probability": 0.05, "burst": 2, "effect": "drop" } });
    table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
    let mut driver = Driver::new(&config(table), 9);
    for packet in 0..2_000 {
        driver.send(us(500 * packet), 1000);
    }
    driver.run();
    losses(&driver, ErrorCause::Random)
}

#[test]
fn no_stage_moves_the_draws_of_another() {
    let alone = hit_by_errors(json!({}));
    assert!(alone.len() > 100);
    let all = json!({
        "arq": { "probability": 0.2, "round_trip": { "exponential": { "mean": "10 ms" } }, "limit": 2 },
        "reordering": { "probability": 0.1, "delay": { "uniform": ["1 ms", "9 ms"] } },
        "duplicates": { "probability": 0.1 },
        "lifetime": "1 s",
        "dropper": { "probability": 0.1 },
    });
    assert_eq!(alone, hit_by_errors(all));
    let mut table = json!({ "arq": { "probability": 0.2, "round_trip": "10 ms" } });
    let late = |table: &Value| {
        let mut driver = Driver::new(&config(table.clone()), 9);
        driver.send_many(Instant::START, 1000, 2_000);
        driver.run();
        delays(&driver, DelayCause::Arq)
    };
    let alone = late(&table);
    table["errors"] = json!({ "probability": 0.3, "effect": "corrupt" });
    table["duplicates"] = json!({ "probability": 0.5 });
    assert_eq!(alone, late(&table));
}

#[test]
fn the_same_packets_are_doubled_and_dropped_with_and_without_errors() {
    let fates = |more: Value| {
        let mut table = json!({ "duplicates": { "probability": 0.2 }, "dropper": { "probability": 0.2 } });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        let mut driver = Driver::new(&config(table), 9);
        for packet in 0..2_000 {
            driver.send(us(500 * packet), 1000);
        }
        driver.run();
        ["duplicated", "dropper_drop", "error_drop"].map(|event| driver.who(event))
    };
    let [doubled, dropped, _] = fates(json!({}));
    assert!(doubled.len() > 300 && dropped.len() > 300);
    let delays = json!({ "probability": 0.3, "effect": "delay", "delay": { "uniform": ["1 ms", "9 ms"] } });
    for errors in [
        json!({ "errors": { "probability": 0.3, "effect": "drop" } }),
        json!({ "errors": delays, "receive_buffer": { "order": "out-of-order" } }),
        json!({ "arq": { "probability": 0.5, "round_trip": "1 ms", "limit": 1 } }),
    ] {
        let [doubled_now, mut dropped_now, lost] = fates(errors);
        let lives = |packets: &[u64]| -> Vec<u64> {
            packets.iter().copied().filter(|packet| !lost.contains(packet)).collect()
        };
        dropped_now.sort_unstable();
        assert_eq!((doubled_now, dropped_now), (lives(&doubled), lives(&dropped)));
    }
}

//! Laws that hold for any configuration and any traffic.

use link::{Counters, DelayCause, ErrorCause, Event};
use proptest::prelude::*;
use serde_json::{Value, json};
use units::{Bytes, Duration, Instant, Rate};

use crate::support::{Driver, EventLog, config};

type Stage = Option<Value>;

/// Any queue.
fn any_queue() -> impl Strategy<Value = Value> {
    (1_u64..12, any::<bool>(), 0_usize..3).prop_map(|(limit, red, overflow)| {
        let discipline = if red {
            json!({ "red": { "min": "1 packet", "max": "6 packets", "weight": 0.3, "max_probability": 0.4 } })
        } else {
            json!("tail-drop")
        };
        let overflow = ["drop", "stop", "flow-control"][overflow];
        json!({ "limit": format!("{limit} packets"), "discipline": discipline, "overflow": overflow })
    })
}

/// Any send buffer, receive buffer and errors.
fn any_core() -> impl Strategy<Value = Vec<(&'static str, Stage)>> {
    let send_buffer = optional((100_u64..3_000, any::<bool>()).prop_map(|(limit, delivery)| {
        json!({ "limit": format!("{limit} bytes"), "held_until": if delivery { "delivery" } else { "transmission" } })
    }));
    let receive_buffer = optional((100_u64..3_000, any::<bool>()).prop_map(|(limit, in_order)| {
        json!({ "limit": format!("{limit} bytes"), "order": if in_order { "in-order" } else { "out-of-order" } })
    }));
    let errors = optional((0.0_f64..0.5, 0_usize..3).prop_map(|(probability, effect)| match effect {
        0 => json!({ "probability": probability, "effect": "drop" }),
        1 => json!({ "probability": probability, "effect": "corrupt" }),
        _ => json!({ "probability": probability, "effect": "delay", "delay": { "uniform": ["0 s", "1 s"] } }),
    }));
    let allocation = prop_oneof![Just(json!("20 ms")), Just(json!({ "exponential": { "mean": "20 ms" } }))];
    let rest = (
        optional(Just(json!({ "normal": { "mean": "8 kbit/s", "deviation": "8 kbit/s" } }))),
        optional(allocation),
        optional(Just(json!({ "probability": 0.1 }))),
    );
    (send_buffer, receive_buffer, errors, rest).prop_map(|(send, receive, errors, rest)| {
        let (available, allocation, dropper) = rest;
        let interval = available.as_ref().map(|_| json!("300 ms"));
        vec![
            ("send_buffer", send),
            ("receive_buffer", receive),
            ("errors", errors),
            ("available_rate", available),
            ("rate_change_interval", interval),
            ("allocation_delay", allocation),
            ("dropper", dropper),
        ]
    })
}

/// Any of what else may happen to packets.
fn any_impairments() -> impl Strategy<Value = Vec<(&'static str, Stage)>> {
    let impairments = (
        optional(Just(json!({ "every": "1 s", "length": "200 ms", "phase": "100 ms" }))),
        optional(prop_oneof![
            Just(json!({ "probability": 0.3, "round_trip": "40 ms" })),
            Just(json!({ "probability": 0.3, "round_trip": "40 ms", "limit": 2 })),
            Just(json!({ "probability": 0.3, "round_trip": "40 ms", "limit": 2, "at_limit": "reset" })),
        ]),
        optional(Just(json!({ "probability": 0.2, "delay": { "uniform": ["0 s", "300 ms"] } }))),
        optional(Just(json!({ "probability": 0.2 }))),
        optional((50_u64..2_000).prop_map(|millis| json!(format!("{millis} ms")))),
    );
    let radio = (
        optional(Just(json!({ "interval": { "exponential": { "mean": "500 ms" } }, "length": "90 ms" }))),
        optional(any::<bool>().prop_map(|lost| {
            let held = if lost { "lost" } else { "delivered" };
            json!({ "interval": "700 ms", "suspension": "50 ms", "held": held, "cells": [{ "propagation": "10 ms" }] })
        })),
        optional(any::<bool>().prop_map(|queue| json!({ "interval": "900 ms", "queue": queue }))),
    );
    (impairments, radio).prop_map(|((outages, arq, reordering, duplicates, lifetime), radio)| {
        let (spikes, handovers, resets) = radio;
        vec![
            ("outages", outages),
            ("arq", arq),
            ("reordering", reordering),
            ("duplicates", duplicates),
            ("lifetime", lifetime),
            ("spikes", spikes),
            ("handovers", handovers),
            ("resets", resets),
        ]
    })
}

/// Any configuration: every stage there or not.
fn any_config() -> impl Strategy<Value = link::Config> {
    let propagation = prop_oneof![
        Just(json!("0 s")),
        Just(json!("70 ms")),
        Just(json!({ "exponential": { "mean": "100 ms" } })),
    ];
    (any_queue(), propagation, any_core(), any_impairments()).prop_map(|(queue, propagation, core, more)| {
        let mut table = json!({
            "rate": "16 kbit/s",
            "framing": "7 bytes",
            "queue": queue,
            "propagation": propagation,
            "events": [{ "packet": 3, "delay": "2 s" }, { "packet": 5, "effect": "drop" }],
        });
        for (key, stage) in core.into_iter().chain(more) {
            if let Some(stage) = stage {
                table[key] = stage;
            }
        }
        config(table)
    })
}

fn optional(stage: impl Strategy<Value = Value>) -> impl Strategy<Value = Stage> {
    proptest::option::of(stage)
}

/// Any traffic: gaps in milliseconds and sizes in bytes.
fn any_traffic() -> impl Strategy<Value = Vec<(u64, u64)>> {
    proptest::collection::vec((0_u64..200, 1_u64..1_500), 1..80)
}

/// The link after all the traffic, checked at each step.
fn run(config: &link::Config, traffic: &[(u64, u64)], seed: u64) -> Driver {
    let mut driver = Driver::new(config, seed);
    let mut now = Instant::START;
    for (gap, size) in traffic {
        now += Duration::from_millis(*gap);
        driver.send(now, *size);
        assert_eq!(driver.link.counters().inside(), driver.link.packets_inside() as u64);
    }
    driver.run();
    driver
}

/// The counters as the journal would have them.
fn counted(driver: &Driver, traffic: &[(u64, u64)]) -> Counters {
    let count = |event: &str| driver.who(event).len() as u64;
    let mut delayed: Vec<u64> = error_delays(&driver.journal).iter().map(|entry| entry.0).collect();
    delayed.dedup();
    Counters {
        packets_in: traffic.len() as u64,
        bytes_in: traffic.iter().map(|(_, size)| Bytes(*size)).sum(),
        packets_out: count("delivered"),
        bytes_out: driver.out.iter().map(|(_, packet)| Bytes(packet.size)).sum(),
        queue_drops: count("queue_drop"),
        error_drops: count("error_drop"),
        dropper_drops: count("dropper_drop"),
        corrupted: count("corrupted"),
        delayed: delayed.len() as u64,
        queue_max: driver.link.counters().queue_max,
        marked: count("marked"),
        duplicates: count("duplicated"),
        wire: driver.link.counters().wire,
    }
}

/// The packets delayed beyond the propagation, with their delays, without delays of zero and packets that the error
/// stage then dropped at once.
fn error_delays(journal: &EventLog) -> Vec<(u64, Duration)> {
    let here = [ErrorCause::Random, ErrorCause::Scripted, ErrorCause::Outage];
    let at_once = |event: &Event| matches!(event, Event::ErrorDropped { cause } if here.contains(cause));
    let dropped = |id| journal.0.iter().any(|entry| entry.1 == id && at_once(&entry.2));
    let delay = |entry: &(Instant, u64, Event)| match entry.2 {
        Event::Delayed { by, cause } if is_beyond(cause) && !by.is_zero() => Some((entry.1, by)),
        _ => None,
    };
    journal.0.iter().filter_map(delay).filter(|(id, _)| !dropped(*id)).collect()
}

/// Whether a delay is one beyond the propagation.
fn is_beyond(cause: DelayCause) -> bool {
    matches!(cause, DelayCause::Error(_) | DelayCause::Arq | DelayCause::Reordering)
}

proptest! {
    #[test]
    fn packets_are_conserved(config in any_config(), traffic in any_traffic()) {
        let driver = run(&config, &traffic, 1);
        let counters = driver.link.counters();
        prop_assert_eq!(counters.packets_in + counters.duplicates, counters.packets_out + counters.drops());
        prop_assert_eq!(counters.packets_out, driver.out.len() as u64);
        prop_assert_eq!(driver.link.packets_inside(), 0);
        prop_assert_eq!(driver.link.queue_len(), (0, Bytes::ZERO));
        prop_assert_eq!(driver.link.poll_timeout(), None);
    }

    #[test]
    fn no_packet_is_delivered_twice_unless_copied_and_in_order_means_in_order(
        config in any_config(),
        traffic in any_traffic(),
    ) {
        let driver = run(&config, &traffic, 1);
        let mut ids: Vec<u64> = driver.out.iter().map(|(_, packet)| packet.id).collect();
        if config.order() == link::config::DeliveryOrder::InOrder && config.reordering.is_none() {
            prop_assert!(ids.is_sorted());
        }
        ids.sort_unstable();
        let copied = driver.who("duplicated");
        prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1] || copied.contains(&pair[0])));
    }

    #[test]
    fn events_come_in_order_of_time_and_deliveries_when_they_are_due(config in any_config(), traffic in any_traffic()) {
        let driver = run(&config, &traffic, 1);
        prop_assert!(driver.journal.0.is_sorted_by_key(|entry| entry.0));
        let reported: Vec<(u64, Instant)> = driver
            .journal
            .0
            .iter()
            .filter(|entry| entry.2.id() == "delivered")
            .map(|entry| (entry.1, entry.0))
            .collect();
        prop_assert_eq!(reported, driver.deliveries());
    }

    #[test]
    fn the_transmitter_sends_one_packet_at_a_time_and_never_faster_than_its_rate(
        mut config in any_config(),
        traffic in any_traffic(),
    ) {
        (config.available_rate, config.rate_change_interval) = (None, None);
        // Nor is a transmission stretched or broken off.
        (config.spikes, config.handovers, config.resets, config.arq) = (None, None, None, None);
        let driver = run(&config, &traffic, 1);
        let mut started = None;
        for (at, id, event) in &driver.journal.0 {
            match event {
                Event::TransmissionStarted => prop_assert_eq!(started.replace((*id, *at)), None),
                Event::TransmissionEnded => {
                    let (who, since) = started.take().expect("it started");
                    let size = Bytes(traffic[*id as usize - 1].1 + 7);
                    prop_assert_eq!(who, *id);
                    prop_assert_eq!(*at - since, Rate::from_bits_per_sec(16_000).time_for(size));
                }
                _ => {}
            }
        }
    }

    #[test]
    fn the_journal_adds_up_to_the_counters(config in any_config(), traffic in any_traffic()) {
        let driver = run(&config, &traffic, 1);
        prop_assert_eq!(counted(&driver, &traffic), *driver.link.counters());
    }

    #[test]
    fn the_same_seed_gives_the_same_events(config in any_config(), traffic in any_traffic(), seed: u64) {
        let (one, two) = (run(&config, &traffic, seed), run(&config, &traffic, seed));
        prop_assert_eq!(one.journal, two.journal);
        prop_assert_eq!(one.out, two.out);
    }

    #[test]
    fn waking_a_link_too_often_changes_nothing(config in any_config(), traffic in any_traffic(), pause in 1_u64..50) {
        let seldom = run(&config, &traffic, 1);
        let mut often = Driver::new(&config, 1);
        let mut now = Instant::START;
        for (gap, size) in &traffic {
            let next = now + Duration::from_millis(*gap);
            while now + Duration::from_millis(pause) < next {
                now += Duration::from_millis(pause);
                often.run_until(now);
                often.link.handle_timeout(now, &mut often.journal);
            }
            now = next;
            often.send(now, *size);
        }
        often.run();
        prop_assert_eq!(seldom.journal, often.journal);
        prop_assert_eq!(seldom.out, often.out);
    }

    #[test]
    fn the_queue_never_exceeds_its_limit(config in any_config(), traffic in any_traffic()) {
        let driver = run(&config, &traffic, 1);
        let Some(units::text::QueueLimit::Packets(limit)) = config.queue.limit else { unreachable!() };
        prop_assert!(driver.link.counters().queue_max <= limit.0);
        for (_, _, event) in &driver.journal.0 {
            if let Event::Queued { behind, .. } = event {
                prop_assert!(u64::from(*behind) < limit.0.max(1));
            }
        }
    }
}

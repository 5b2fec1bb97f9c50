//! Laws that every registered queue discipline keeps, whatever arrives: a new one is tested by its line in the
//! registry.

use std::collections::BTreeMap;

use link::queue::ENTRIES;
use link::{Config, Ecn, Event};
use proptest::prelude::*;
use units::text::{Packets, QueueLimit};
use units::{Bytes, Duration, Instant};

use crate::support::{Driver, TestPacket, config};

/// A link of one byte per millisecond with the example of a discipline as its queue.
fn link_with(example: &str, limit: Option<u64>) -> Config {
    #[derive(serde::Deserialize)]
    struct File {
        discipline: link::queue::Discipline,
    }
    let file: File = toml::from_str(&format!("discipline = {example}")).expect("a readable example");
    let mut config = config(serde_json::json!({ "rate": "8 kbit/s", "propagation": "30 ms" }));
    config.queue.discipline = file.discipline;
    config.queue.limit = limit.map(|limit| QueueLimit::Packets(Packets(limit)));
    config
}

/// A discipline and a limit, if it takes one.
fn any_link() -> impl Strategy<Value = (&'static str, Config)> {
    (0..ENTRIES.len(), proptest::option::of(1_u64..12)).prop_map(|(number, limit)| {
        let entry = &ENTRIES[number];
        let limited = link_with(&entry.example(), limit);
        let config = if limited.validate().is_ok() { limited } else { link_with(&entry.example(), None) };
        config.validate().expect("a valid example");
        (entry.id, config)
    })
}

/// Packets of several flows and classes, in bursts and with gaps, in milliseconds.
fn any_traffic() -> impl Strategy<Value = Vec<(u64, TestPacket)>> {
    let gap = prop_oneof![Just(0), 0_u64..60, 100_u64..400];
    let packet = (1_u64..200, 0_u64..4, any::<bool>()).prop_map(|(size, flow, is_capable)| TestPacket {
        who: flow,
        // A flow keeps to its class.
        class: (flow % 3) as u8,
        ecn: if is_capable { Ecn::Capable } else { Ecn::NotCapable },
        ..TestPacket::new(0, size)
    });
    proptest::collection::vec((gap, packet), 1..150)
}

fn run(config: &Config, traffic: &[(u64, TestPacket)]) -> Driver {
    let mut driver = Driver::new(config, 1);
    let mut now = Instant::START;
    for (gap, packet) in traffic {
        now += Duration::from_millis(*gap);
        driver.hand(now, packet.clone());
    }
    driver
}

/// How often an event of this name happened to each packet.
fn counts(driver: &Driver, event: &str) -> BTreeMap<u64, u32> {
    driver.who(event).into_iter().fold(BTreeMap::new(), |mut counts, id| {
        *counts.entry(id).or_default() += 1;
        counts
    })
}

proptest! {
    #[test]
    fn each_packet_is_delivered_or_dropped_with_a_cause_or_still_inside(
        (id, config) in any_link(),
        traffic in any_traffic(),
    ) {
        let mut driver = run(&config, &traffic);
        let inside = |driver: &Driver| {
            let counters = driver.link.counters();
            (counters.packets_in - counters.packets_out - counters.drops(), counters.packets_in)
        };
        prop_assert_eq!(inside(&driver), (driver.link.packets_inside() as u64, traffic.len() as u64), "{}", id);
        driver.run();
        prop_assert_eq!(inside(&driver), (0, traffic.len() as u64), "{}", id);
        prop_assert_eq!(driver.link.queue_len(), (0, Bytes::ZERO), "{}", id);
        let (delivered, dropped) = (counts(&driver, "delivered"), counts(&driver, "queue_drop"));
        for packet in 1..=traffic.len() as u64 {
            let fates = delivered.get(&packet).unwrap_or(&0) + dropped.get(&packet).unwrap_or(&0);
            prop_assert_eq!(fates, 1, "packet {} of {}", packet, id);
        }
    }

    #[test]
    fn the_link_is_never_idle_while_a_packet_waits((id, config) in any_link(), traffic in any_traffic()) {
        let mut driver = run(&config, &traffic);
        driver.run();
        let mut met_nobody_at = BTreeMap::new();
        let mut last_end = None;
        for (at, packet, event) in &driver.journal.0 {
            match event {
                Event::Queued { behind: 0, .. } => {
                    met_nobody_at.insert(*packet, *at);
                }
                Event::TransmissionEnded => last_end = Some(*at),
                Event::TransmissionStarted => {
                    let at_once = met_nobody_at.get(packet) == Some(at);
                    prop_assert!(at_once || last_end == Some(*at), "packet {} of {} at {}", packet, id, at);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn packets_of_one_flow_leave_in_the_order_of_their_arrival((id, config) in any_link(), traffic in any_traffic()) {
        let mut driver = run(&config, &traffic);
        driver.run();
        let mut last = BTreeMap::new();
        for (_, packet) in &driver.out {
            let before = last.insert(packet.who, packet.id);
            prop_assert!(before.is_none_or(|before| before < packet.id), "flow {} of {}", packet.who, id);
        }
    }

    #[test]
    fn a_limit_in_packets_is_never_exceeded((id, config) in any_link(), traffic in any_traffic()) {
        let mut driver = run(&config, &traffic);
        driver.run();
        if let Some(QueueLimit::Packets(limit)) = config.queue.limit {
            prop_assert!(driver.link.counters().queue_max <= limit.0, "{}", id);
        }
    }
}

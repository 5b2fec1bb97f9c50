//! Delay spikes, pre-emption, handovers, resets, radio frames.

use link::{DelayCause, ErrorCause, Event};
use serde_json::{Value, json};
use units::{Duration, Instant};

use crate::support::{Driver, config, ms};

/// A link of one byte per millisecond.
fn driver(more: Value) -> Driver {
    let mut table = json!({ "rate": "8 kbit/s" });
    table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
    Driver::new(&config(table), 1)
}

fn lost(driver: &Driver, wanted: ErrorCause) -> Vec<(Instant, u64)> {
    let is_wanted = |event: &Event| *event == Event::ErrorDropped { cause: wanted };
    driver.journal.0.iter().filter(|entry| is_wanted(&entry.2)).map(|entry| (entry.0, entry.1)).collect()
}

fn delayed(driver: &Driver, wanted: DelayCause) -> Vec<(Instant, u64, Duration)> {
    let delay = |entry: &(Instant, u64, Event)| match entry.2 {
        Event::Delayed { by, cause } if cause == wanted => Some((entry.0, entry.1, by)),
        _ => None,
    };
    driver.journal.0.iter().filter_map(delay).collect()
}

#[test]
fn during_a_spike_a_transmission_stands_still_and_then_goes_on() {
    // Spikes from 1 s to 1.5 s, from 2.5 s to 3 s …
    let mut driver = driver(json!({ "spikes": { "interval": "1 s", "length": "500 ms" } }));
    driver.send(ms(900), 200);
    driver.send(ms(2_400), 1_200);
    driver.run();
    // 100 ms before and 100 ms after the spike; 100 ms, the second spike, 1 s, the third, 100 ms.
    assert_eq!(driver.deliveries(), [(1, ms(1_600)), (2, ms(4_600))]);
    let spikes = delayed(&driver, DelayCause::Spike);
    assert_eq!(spikes, [(ms(900), 1, Duration::from_millis(500)), (ms(2_400), 2, Duration::from_secs(1))]);
}

#[test]
fn during_a_spike_no_transmission_starts() {
    let mut driver = driver(json!({ "spikes": { "interval": "1 s", "length": "500 ms" } }));
    driver.send(ms(1_200), 100);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(1_600))]);
    assert_eq!(delayed(&driver, DelayCause::Spike), [(ms(1_200), 1, Duration::from_millis(300))]);
    let started = driver.journal.0.iter().find(|entry| entry.2 == Event::TransmissionStarted);
    assert_eq!(started.map(|entry| entry.0), Some(ms(1_500)));
}

#[test]
fn spikes_and_preemption_hold_for_as_long_as_either_lasts() {
    let mut driver = driver(json!({
        "spikes": { "interval": "1 s", "length": "500 ms" },
        "preemption": { "interval": "1200 ms", "length": "500 ms" },
    }));
    driver.send(ms(900), 200);
    driver.run();
    // The spike from 1 s to 1.5 s, the other traffic from 1.2 s to 1.7 s.
    assert_eq!(driver.deliveries(), [(1, ms(1_800))]);
}

#[test]
fn a_packet_that_ends_as_a_spike_begins_is_out() {
    let mut driver = driver(json!({ "spikes": { "interval": "1 s", "length": "500 ms" } }));
    driver.send(ms(900), 100);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(1_000))]);
    assert_eq!(delayed(&driver, DelayCause::Spike), []);
}

#[test]
fn two_links_under_one_seed_meet_the_same_spikes_whatever_their_traffic() {
    let spikes = json!({ "spikes": {
        "interval": { "normal": { "mean": "10 s", "deviation": "2.5 s" } },
        "length": { "normal": { "mean": "3 s", "deviation": "750 ms" } },
    } });
    let ends = |gap: u64| {
        let mut driver = driver(spikes.clone());
        for packet in 0..200_000 / gap {
            driver.send(ms(packet * gap), 1);
        }
        driver.run();
        let ends = delayed(&driver, DelayCause::Spike).into_iter().map(|(at, _, by)| at + by);
        let mut ends: Vec<Instant> = ends.collect();
        ends.dedup_by(|one, two| one.saturating_since(*two) < Duration::from_millis(2));
        ends
    };
    let often = ends(10);
    assert!((10..25).contains(&often.len()), "{} spikes in 200 s", often.len());
    for (one, two) in often.iter().zip(ends(20)) {
        assert!(one.saturating_since(two).max(two.saturating_since(*one)) < Duration::from_millis(2));
    }
}

#[test]
fn packets_expire_while_a_spike_holds_them() {
    let mut driver = driver(json!({ "spikes": { "interval": "1 s", "length": "5 s" }, "lifetime": "1 s" }));
    driver.send_many(ms(1_500), 10, 3);
    driver.run();
    assert_eq!((driver.out.len(), driver.link.packets_inside()), (0, 0));
    assert_eq!(lost(&driver, ErrorCause::Expired), [1, 2, 3].map(|id| (ms(2_500), id)));
}

#[test]
fn a_handover_suspends_and_then_delivers_what_was_held_at_the_new_rate_and_delay() {
    let mut driver = driver(json!({
        "propagation": "100 ms",
        "handovers": {
            "interval": ["1 s", "1000 s"],
            "suspension": "2 s",
            "cells": [{ "rate": "16 kbit/s", "propagation": "20 ms" }],
        },
    }));
    driver.send_many(ms(850), 100, 3);
    driver.run();
    // 1 is out at 950; 2 has 50 ms before the handover and 50 after it, at the rate it began with.
    assert_eq!(driver.deliveries(), [(1, ms(1_050)), (2, ms(3_070)), (3, ms(3_120))]);
    assert_eq!(delayed(&driver, DelayCause::Handover), [(ms(950), 2, Duration::from_secs(2))]);
}

#[test]
fn a_handover_may_lose_what_was_held_in_queue_and_on_the_way() {
    let mut driver = driver(json!({
        "propagation": "100 ms",
        "send_buffer": { "limit": "150 bytes", "held_until": "delivery" },
        "handovers": { "interval": ["1 s", "1000 s"], "suspension": "2 s", "held": "lost" },
    }));
    driver.send_many(ms(950), 20, 9);
    driver.send(ms(1_500), 20);
    driver.run();
    let at = ms(1_000);
    let mut gone: Vec<u64> = lost(&driver, ErrorCause::Handover).iter().map(|entry| entry.1).collect();
    gone.sort_unstable();
    assert_eq!(gone, [1, 2, 3, 4, 5, 6, 7]);
    assert!(driver.journal.0.iter().filter(|entry| entry.2.id() == "queue_drop").all(|entry| entry.0 == at));
    assert_eq!(driver.who("queue_drop"), [8, 9]);
    assert_eq!(driver.deliveries(), [(10, ms(3_120))]);
}

#[test]
fn cells_come_one_after_the_other_and_again() {
    let mut driver = driver(json!({
        "handovers": {
            "interval": "10 s",
            "suspension": "0 s",
            "cells": [{ "propagation": "50 ms" }, { "propagation": "30 ms" }],
        },
    }));
    for at in [5_000, 15_000, 25_000, 35_000, 45_000] {
        driver.send(ms(at), 10);
    }
    driver.run();
    let delays: Vec<u64> = driver.out.iter().map(|(at, _)| at.as_nanos() / 1_000_000 % 5_000).collect();
    assert_eq!(delays, [10, 60, 40, 60, 40]);
}

#[test]
fn a_reset_loses_the_link_layers_buffers_and_leaves_the_queue() {
    let table = |queue: bool| {
        json!({
            "propagation": "1 s",
            "send_buffer": { "limit": "40 bytes" },
            "resets": { "interval": ["100 ms", "1000 s"], "queue": queue },
        })
    };
    let mut driver = driver(table(false));
    driver.send_many(ms(50), 20, 5);
    driver.run();
    // At 100 ms two are out, the third is being sent with the fourth after it, the fifth is queued.
    let mut gone: Vec<u64> = lost(&driver, ErrorCause::Reset).iter().map(|entry| entry.1).collect();
    gone.sort_unstable();
    assert_eq!(gone, [1, 2, 3, 4]);
    assert_eq!(driver.who("transmission_aborted"), [3]);
    assert_eq!(driver.deliveries(), [(5, ms(1_120))]);
    let mut driver = self::driver(table(true));
    driver.send_many(ms(50), 20, 5);
    driver.run();
    assert_eq!((driver.out.len(), driver.who("queue_drop")), (0, vec![5]));
}

#[test]
fn a_link_layer_that_gives_a_packet_up_may_start_anew() {
    let mut driver = driver(json!({
        "arq": { "probability": 1, "round_trip": "100 ms", "limit": 1, "at_limit": "reset" },
    }));
    driver.send_many(ms(0), 20, 4);
    driver.run();
    assert_eq!(lost(&driver, ErrorCause::ArqLimit), [(ms(120), 1)]);
    assert_eq!(lost(&driver, ErrorCause::Reset), [(ms(120), 2), (ms(120), 3), (ms(120), 4)]);
}

#[test]
fn frames_are_filled_up_and_cost_their_whole_size() {
    // 30-byte frames with 25 bytes of the packet, as 240-bit frames with 200 bits.
    let mut driver = driver(json!({
        "frames": { "size": "30 bytes", "payload": "25 bytes", "probability": 0 },
    }));
    driver.send(ms(0), 100);
    driver.send(ms(1_000), 101);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(120)), (2, ms(1_150))]);
}

#[test]
fn repeated_frames_take_the_channel_and_a_round_trip_for_each_round() {
    // The chain hits every second attempt: of three frames the first and the third fail.
    let chain = json!({ "four-state-markov": { "p13": 1, "p31": 1 } });
    let mut driver = driver(json!({
        "frames": { "size": "10 bytes", "payload": "10 bytes", "model": chain, "round_trip": "40 ms" },
    }));
    driver.send(ms(0), 30);
    driver.run();
    // 3 frames, then 2 of which the second fails, then 1 that fails not: 6 frames, 2 rounds more.
    assert_eq!(driver.deliveries(), [(1, ms(60 + 80))]);
    assert_eq!(delayed(&driver, DelayCause::Arq), [(ms(60), 1, Duration::from_millis(80))]);
}

#[test]
fn the_frames_that_a_packet_takes_are_as_many_as_theory_says() {
    let (p, n, packets) = (0.2_f64, 10.0, 20_000_u64);
    let mut driver = driver(json!({
        "rate": "8 Mbit/s",
        "frames": { "size": "30 bytes", "payload": "30 bytes", "probability": p },
    }));
    driver.send_many(ms(0), 300, packets);
    driver.run();
    let frames = driver.out.last().expect("delivered").0.as_secs_f64() * 1e6 / 30.0;
    let mean = frames / packets as f64;
    // n geometric numbers: mean n / (1 − p), variance n·p / (1 − p)².
    let error = (n * p / (1.0 - p).powi(2) / packets as f64).sqrt();
    assert!((mean - n / (1.0 - p)).abs() < 2.576 * error, "{mean} frames for a packet");
}

#[test]
fn the_rounds_of_a_packet_are_the_largest_of_its_frames_geometric_numbers() {
    let (p, n, packets) = (0.3_f64, 5, 20_000_u64);
    let mut driver = driver(json!({
        "frames": { "size": "1 byte", "payload": "1 byte", "probability": p, "round_trip": "1 s" },
        "receive_buffer": { "order": "out-of-order" },
    }));
    driver.send_many(ms(0), n, packets);
    driver.run();
    let delays = delayed(&driver, DelayCause::Arq);
    for rounds in 1..5_u64 {
        let by = Duration::from_secs(rounds);
        let count =
            delays.iter().filter(|entry| entry.2 <= by).count() as u64 + packets - delays.len() as u64;
        let theory = (1.0 - p.powi(rounds as i32 + 1)).powi(n as i32);
        let interval = 2.576 * (theory * (1.0 - theory) / packets as f64).sqrt();
        let share = count as f64 / packets as f64;
        assert!((share - theory).abs() < interval, "{rounds} rounds: {share}, theory {theory}");
    }
}

#[test]
fn a_packet_whose_frames_fail_too_often_is_given_up() {
    let mut driver = driver(json!({
        "frames": { "size": "10 bytes", "payload": "10 bytes", "probability": 1, "round_trip": "40 ms", "limit": 2 },
    }));
    driver.send(ms(0), 20);
    driver.run();
    assert_eq!(lost(&driver, ErrorCause::ArqLimit), [(ms(60 + 80), 1)]);
}

#[test]
fn impossible_radio_settings_are_refused_at_their_key() {
    let path = |table: Value| config(table).validate().expect_err("no").path;
    assert_eq!(path(json!({ "spikes": { "interval": "0 s", "length": "1 s" } })), "spikes.interval");
    assert_eq!(path(json!({ "preemption": { "interval": "1 s", "length": "0 s" } })), "preemption.length");
    assert_eq!(path(json!({ "resets": { "interval": "0 s" } })), "resets.interval");
    let frames =
        |payload: &str| json!({ "frames": { "size": "30 bytes", "payload": payload, "probability": 0.1 } });
    assert_eq!(path(frames("31 bytes")), "frames.payload");
    assert_eq!(path(frames("0 bytes")), "frames.payload");
    let cell =
        json!({ "handovers": { "interval": "1 s", "suspension": "1 s", "cells": [{ "rate": "1 bit/s" }] } });
    assert_eq!(path(cell), "handovers.cells[0].rate");
    let both = json!({
        "frames": { "size": "30 bytes", "payload": "30 bytes", "probability": 0.1 },
        "arq": { "probability": 0.1, "round_trip": "1 s" },
    });
    assert_eq!(path(both), "arq");
    assert_eq!(
        path(json!({ "arq": { "probability": 0.1, "round_trip": "1 s", "at_limit": "reset" } })),
        "arq.at_limit"
    );
}

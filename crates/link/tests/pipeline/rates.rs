//! Allocation of the channel, and rates that change.

use serde_json::{Value, json};
use units::Instant;

use crate::support::{Driver, config, ms};

/// One packet of 100 bytes at each of these times on a link of one byte per millisecond.
fn deliveries(more: Value, sent: &[u64]) -> Vec<u64> {
    let mut table = json!({ "rate": "8 kbit/s" });
    table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
    let mut driver = Driver::new(&config(table), 1);
    for at in sent {
        driver.send(ms(*at), 100);
    }
    driver.run();
    driver.out.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect()
}

#[test]
fn each_packet_waits_for_the_channel() {
    assert_eq!(deliveries(json!({ "allocation_delay": "30 ms" }), &[0, 0, 500]), [130, 260, 630]);
}

#[test]
fn after_idle_only_the_first_of_a_row_waits_for_the_channel() {
    let more = json!({ "allocation_delay": "30 ms", "allocation": "after-idle" });
    assert_eq!(deliveries(more, &[0, 0, 10, 500]), [130, 230, 330, 630]);
}

#[test]
fn the_base_rate_holds_until_the_first_change() {
    let more = json!({ "available_rate": ["16 kbit/s", "4 kbit/s"], "rate_change_interval": "1 s" });
    assert_eq!(deliveries(more, &[0, 1_000, 2_000, 3_000]), [100, 1_050, 2_200, 3_050]);
}

#[test]
fn a_transmission_keeps_the_rate_that_it_started_with() {
    let more = json!({ "available_rate": ["16 kbit/s"], "rate_change_interval": "1 s" });
    assert_eq!(deliveries(more, &[950, 950]), [1_050, 1_100]);
}

#[test]
fn the_rate_changes_on_its_own_whether_or_not_there_is_traffic() {
    let more = json!({ "available_rate": ["16 kbit/s", "4 kbit/s"], "rate_change_interval": "1 s" });
    assert_eq!(deliveries(more, &[60_000]), [60_200], "the sixtieth change");
}

#[test]
fn a_rate_of_zero_is_an_outage_until_the_next_change() {
    let more = json!({ "available_rate": ["0 bit/s", "8 kbit/s"], "rate_change_interval": "1 s" });
    assert_eq!(deliveries(more, &[1_200, 1_300]), [2_100, 2_200]);
}

#[test]
fn without_an_interval_each_packet_draws_its_rate() {
    let more = json!({ "available_rate": ["16 kbit/s", "4 kbit/s"] });
    assert_eq!(deliveries(more, &[0, 0, 0]), [50, 250, 300]);
}

#[test]
fn an_outage_asks_to_be_woken_at_its_end() {
    let table = json!({
        "rate": "8 kbit/s",
        "available_rate": ["0 bit/s", "8 kbit/s"],
        "rate_change_interval": "1 s",
        "propagation": "1 s",
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send(ms(1_500), 100);
    assert_eq!(driver.link.poll_timeout(), Some(ms(2_000)));
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(3_100))]);
}

#[test]
fn a_receive_buffer_holds_transmission_back_and_loses_nothing() {
    let table = json!({
        "rate": "8 kbit/s",
        "propagation": "1 s",
        "receive_buffer": { "limit": "200 bytes" },
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 100, 4);
    driver.run();
    let at: Vec<u64> = driver.out.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(at, [1_100, 1_200, 2_200, 2_300]);
}

#[test]
fn a_capacity_takes_the_place_of_the_rate() {
    let table = json!({
        "propagation": "10 ms",
        "capacity": { "schedule": { "steps": [
            { "at": "0 s", "rate": "8 kbit/s" },
            { "at": "50 ms", "rate": "0 bit/s" },
            { "at": "1 s", "rate": "16 kbit/s" },
        ] } },
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 100, 2);
    driver.send(ms(1_200), 100);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(1_035)), (2, ms(1_085)), (3, ms(1_260))]);
}

#[test]
fn a_transmission_waits_for_its_tokens_and_may_grow_too_old_meanwhile() {
    let table = json!({
        "capacity": { "token-bucket": { "rate": "8 kbit/s", "burst": "100 bytes" } },
        "lifetime": "150 ms",
    });
    let mut driver = Driver::new(&config(table), 1);
    driver.send_many(Instant::START, 100, 3);
    driver.run();
    assert_eq!(driver.deliveries(), [(1, ms(0)), (2, ms(100))]);
    assert_eq!(driver.who("error_drop"), [3]);
}

#[test]
fn a_capacity_and_an_available_rate_are_refused_together() {
    let table = json!({
        "rate": "1 Mbit/s",
        "available_rate": "1 Mbit/s",
        "capacity": { "token-bucket": { "rate": "8 kbit/s", "burst": "100 bytes" } },
    });
    assert_eq!(config(table).validate().expect_err("no").path, "available_rate");
}

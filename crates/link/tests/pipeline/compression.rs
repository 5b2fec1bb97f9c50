//! Compressed headers and stuffed octets in the pipeline: sizes, times, and what a loss costs.

use link::{ErrorCause, Event};
use serde_json::{Value, json};
use units::{Bytes, Duration, Instant, PacketId};

use crate::support::{Driver, TestPacket, config, ms};

/// The number of a packet of a transfer in one direction, from 0: 256 bytes of data over TCP and IPv4.
fn data(number: u32) -> TestPacket {
    let mut headers = vec![0; 40];
    (headers[0], headers[8], headers[9], headers[32], headers[33]) = (0x45, 64, 6, 0x50, 0x10);
    headers[2..4].copy_from_slice(&296_u16.to_be_bytes());
    headers[4..6].copy_from_slice(&(number as u16).to_be_bytes());
    headers[24..28].copy_from_slice(&(256 * number).to_be_bytes());
    let sum: u32 = headers[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    headers[10..12].copy_from_slice(&sum.to_be_bytes());
    TestPacket { headers, ..TestPacket::new(0, 296) }
}

/// 8 bytes a millisecond.
fn link(more: Value) -> Driver {
    let mut table = json!({ "rate": "64 kbit/s", "framing": "8 bytes", "propagation": "10 ms" });
    more.as_object().expect("a table").iter().for_each(|(key, value)| table[key] = value.clone());
    Driver::new(&config(table), 1)
}

fn send(driver: &mut Driver, numbers: impl Iterator<Item = u32>) {
    send_at(driver, Instant::START, numbers);
}

fn send_at(driver: &mut Driver, now: Instant, numbers: impl Iterator<Item = u32>) {
    numbers.for_each(|number| {
        driver.hand(now, data(number));
    });
    driver.run_until(now + Duration::from_secs(60));
}

/// Sizes on the wire.
fn sizes(driver: &Driver) -> Vec<u64> {
    let encoded = driver.journal.0.iter().filter_map(|(_, _, event)| match event {
        Event::Encoded { bytes, .. } => Some(bytes.0),
        _ => None,
    });
    encoded.collect()
}

#[test]
fn compressed_packets_take_less_time_and_leave_with_their_own_size() {
    let mut plain = link(json!({}));
    let mut compressed = link(json!({ "compression": { "vj": {} } }));
    [&mut plain, &mut compressed].into_iter().for_each(|driver| send(driver, 0..10));
    assert_eq!(plain.deliveries().last(), Some(&(10, ms(10 * 38 + 10))));
    assert_eq!(sizes(&compressed), [[304; 1].as_slice(), &[267; 9]].concat());
    let last = compressed.out.last().expect("all arrive").0;
    assert_eq!((last - Instant::START).as_nanos(), (304 + 9 * 267) * 125_000 + 10_000_000);
    let counters = compressed.link.counters();
    assert_eq!((counters.bytes_in, counters.bytes_out), (Bytes(2960), Bytes(2960)));
    assert_eq!((counters.wire.refreshes, counters.wire.compressed, counters.wire.plain), (1, 9, 0));
    assert_eq!((counters.wire.bytes, counters.wire.headers), (Bytes(304 + 9 * 267), Bytes(40 + 9 * 3)));
}

#[test]
fn the_queue_counts_whole_headers_and_its_drops_harm_nothing() {
    let mut driver = link(json!({ "compression": { "vj": {} }, "queue": { "limit_bytes": "1000 bytes" } }));
    send(&mut driver, 0..10);
    assert_eq!(driver.who("queue_drop"), [5, 6, 7, 8, 9, 10], "three of 304 bytes wait");
    send_at(&mut driver, ms(100_000), 10..13);
    assert_eq!(driver.who("delivered"), [1, 2, 3, 4, 11, 12, 13]);
}

#[test]
fn after_a_loss_the_next_packets_are_discarded_by_the_decompressor() {
    let lost = json!([{ "packet": 3, "effect": "drop" }]);
    let mut driver = link(json!({ "compression": { "vj": {} }, "events": lost }));
    send(&mut driver, (0..8).chain([2, 3, 4]));
    assert_eq!(driver.who("delivered"), [1, 2, 9, 10, 11]);
    let causes = driver.journal.0.iter().filter_map(|(_, id, event)| match event {
        Event::ErrorDropped { cause } => Some((*id, *cause)),
        _ => None,
    });
    let mut expected = vec![(3, ErrorCause::Scripted)];
    expected.extend((4..9).map(|id| (id, ErrorCause::Decompressor { since: PacketId(3) })));
    assert_eq!(causes.collect::<Vec<_>>(), expected);
    let counters = driver.link.counters();
    assert_eq!((counters.error_drops, counters.wire.decompressor_drops, counters.inside()), (6, 5, 0));
}

#[test]
fn a_damaged_packet_arrives_damaged_and_its_headers_are_not_read() {
    let damaged = json!([{ "packet": 3, "effect": "corrupt" }]);
    let mut driver = link(json!({ "compression": { "vj": {} }, "events": damaged }));
    send(&mut driver, 0..5);
    assert_eq!(driver.who("delivered"), [1, 2, 3]);
    assert!(driver.out[2].1.damaged);
}

/// RFC 1144 §4.1 assumes a line that keeps order and doubles nothing.
#[test]
fn a_packet_that_arrives_twice_puts_the_decompressor_out_of_step() {
    let mut driver = link(json!({ "compression": { "vj": {} }, "duplicates": { "probability": 1.0 } }));
    send(&mut driver, 0..3);
    assert_eq!(driver.who("delivered"), [1, 1, 2], "the difference is added twice");
    let mut robust = link(json!({ "compression": { "rohc": {} }, "duplicates": { "probability": 1.0 } }));
    send(&mut robust, 0..8);
    assert_eq!(robust.who("delivered").len(), 16);
}

#[test]
fn octets_of_headers_and_payload_are_stuffed() {
    let with = |content: &str, accm: &str, compression: Value| {
        let mut table = json!({ "stuffing": { "content": content, "accm": accm } });
        if compression.is_object() {
            table["compression"] = compression;
        }
        let mut driver = link(table);
        send(&mut driver, 0..6);
        sizes(&driver)[5]
    };
    // 40 bytes of headers with 28 zeros and control characters; two octets of the check sequence may be escaped too.
    let zeros = |octets: &[u8]| octets.iter().filter(|octet| **octet < 32).count() as u64;
    let all = 304 + 256 + zeros(&data(5).headers);
    assert!((all..=all + 2).contains(&with("zeros", "0xffffffff", Value::Null)));
    assert!((304..=306).contains(&with("zeros", "0x00000000", Value::Null)));
    assert!((304 + 256..=306 + 256).contains(&with("worst-case", "0x00000000", Value::Null)));
    // The mask of data in one direction is 0x0f, and the checksum is two zeros.
    let compressed = with("zeros", "0xffffffff", json!({ "vj": {} }));
    assert!((267 + 256 + 3..=267 + 256 + 5).contains(&compressed), "{compressed}");
}

#[test]
fn the_same_seed_stuffs_the_same_octets() {
    let sizes = |seed: u64| {
        let table = json!({ "rate": "64 kbit/s", "framing": "8 bytes", "stuffing": {} });
        let mut driver = Driver::new(&config(table), seed);
        send(&mut driver, (0..20).chain(0..20));
        sizes(&driver)
    };
    assert_eq!(sizes(1), sizes(1));
    assert_ne!(sizes(1), sizes(2));
    let all = sizes(1);
    let differ = (0..20).filter(|place| all[*place].abs_diff(all[20 + place]) > 2).count();
    assert_eq!(differ, 0, "a retransmission has its original's payload");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |table: Value| {
        let error = config(table).validate().expect_err("it is refused");
        (error.path, error.help)
    };
    for (table, path, help) in [
        (json!({ "stuffing": {} }), "stuffing", "add framing = \"8 bytes\""),
        (json!({ "compression": { "vj": { "slots": 0 } } }), "compression.vj.slots", "write 1 to 256"),
        (
            json!({ "compression": { "rohc": { "contexts": 17 } } }),
            "compression.rohc.contexts",
            "write 1 to 16",
        ),
        (json!({ "compression": { "rohc": { "refresh": 9 } } }), "compression.rohc.refresh", "leave it out"),
        (
            json!({ "compression": { "rohc": { "robustness": 16 } } }),
            "compression.rohc.robustness",
            "write 0 to 15",
        ),
        (
            json!({ "compression": { "rohc": { "mode": "unidirectional", "feedback_delay": "1 ms" } } }),
            "compression.rohc.feedback_delay",
            "leave it out",
        ),
    ] {
        let (found, remedy) = refused(table);
        assert_eq!(found, path);
        assert!(remedy.starts_with(help), "{remedy}");
    }
}

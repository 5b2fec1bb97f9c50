use super::*;
use proptest::prelude::*;

fn said<T: std::fmt::Debug>(result: Result<T, UnitError>) -> String {
    result.expect_err("must be refused").to_string()
}

#[test]
fn what_people_write_is_read_exactly() {
    assert_eq!(parse_duration("200 ms"), Ok(Duration::from_millis(200)));
    assert_eq!(parse_duration("0.1s"), Ok(Duration::from_millis(100)));
    assert_eq!(parse_duration(" 2 min "), Ok(Duration::from_secs(120)));
    assert_eq!(parse_rate("9.6 kbit/s"), Ok(Rate::from_bits_per_sec(9600)));
    assert_eq!(parse_bytes("32 KiB"), Ok(Bytes(32_768)));
    assert_eq!(parse_bytes("1 MB"), Ok(Bytes(1_000_000)));
    assert_eq!(parse_bytes("1220 bytes"), Ok(Bytes(1220)));
    assert_eq!(parse_packets("7 packets"), Ok(7));
    assert_eq!(parse_segments("1 segment"), Ok(1));
}

#[test]
fn a_bare_number_is_refused_with_its_own_number_in_the_advice() {
    assert_eq!(said(parse_duration("5")), "5 has no unit; write a duration like \"5 ms\"");
    assert_eq!(said(parse_rate("9600")), "9600 has no unit; write a rate like \"9600 bit/s\"");
}

#[test]
fn kb_is_neither_a_thousand_nor_1024() {
    assert_eq!(
        said(parse_bytes("4 KB")),
        "\"KB\" is not a unit of size; write kB for 1000 bytes, or KiB for 1024"
    );
}

#[test]
fn an_unknown_unit_is_met_with_the_units_there_are() {
    assert_eq!(
        said(parse_duration("3 days")),
        "\"days\" is not a unit of duration; write one of ns, us, ms, s, min, h"
    );
    assert_eq!(said(parse_rate("1 Mbps")), "\"Mbps\" is not a unit of rate; write Mbit/s");
}

#[test]
fn a_number_with_an_exponent_or_a_comma_is_answered_with_what_numbers_look_like() {
    for text in ["1e30 bit/s", "1,5 bit/s", "1_000 bit/s"] {
        let right = "write digits, with a point if need be, and a unit, like \"9600 bit/s\"";
        assert_eq!(said(parse_rate(text)), format!("\"{text}\" has no plain number; {right}"));
    }
}

#[test]
fn negative_too_fine_too_large_and_wordy_values_are_refused() {
    assert_eq!(
        said(parse_rate("-1 bit/s")),
        "\"-1 bit/s\" is negative; a rate is zero or more, like \"9600 bit/s\""
    );
    assert_eq!(
        said(parse_packets("1.5 packets")),
        "\"1.5 packets\" is finer than packets; write a whole number of packets"
    );
    assert!(said(parse_bytes("99999999999999 GB")).contains("too large"));
    assert_eq!(
        said(parse_duration("fast")),
        "\"fast\" is not a duration; write a number and a unit, like \"200 ms\""
    );
    assert!(parse_duration("1.2.3 s").is_err() && parse_duration(".5 s").is_err());
}

#[test]
fn a_limit_reads_packets_or_bytes_and_nothing_else() {
    assert_eq!(PacketsOrBytes::parse("7 packets"), Ok(PacketsOrBytes::Packets(Packets(7))));
    assert_eq!(PacketsOrBytes::parse("8 KiB"), Ok(PacketsOrBytes::Bytes(Bytes(8192))));
    assert_eq!(
        said(PacketsOrBytes::parse("7")),
        "7 has no unit; write a number of packets like \"7 packets\""
    );
    assert_eq!(SegmentsOrBytes::parse("2 segments").unwrap().bytes(Bytes(256)), Bytes(512));
}

#[test]
fn a_limit_of_a_queue_reads_packets_bytes_or_a_time() {
    assert_eq!(QueueLimit::parse("7 packets"), Ok(QueueLimit::Packets(Packets(7))));
    assert_eq!(QueueLimit::parse("8 KiB"), Ok(QueueLimit::Bytes(Bytes(8192))));
    assert_eq!(QueueLimit::parse("500 ms"), Ok(QueueLimit::Time(Duration::from_millis(500))));
    assert_eq!(QueueLimit::parse("1.5 s").unwrap().to_string(), "1500 ms");
    assert_eq!(
        said(QueueLimit::parse("5 m")),
        "\"m\" is not a unit of duration; write min for minutes, or ms for milliseconds"
    );
    assert_eq!(said(QueueLimit::parse("7")), "7 has no unit; write a number of packets like \"7 packets\"");
    assert!(said(QueueLimit::parse("-5 ms")).contains("negative"));
}

#[test]
fn texts_are_short_and_canonical() {
    assert_eq!(write_duration(Duration::from_millis(1500)), "1500 ms");
    assert_eq!(write_duration(Duration::from_secs(300)), "300 s");
    assert_eq!(write_duration(Duration::ZERO), "0 s");
    assert_eq!(write_bytes(Bytes(1220)), "1220 bytes");
    assert_eq!(write_bytes(Bytes(32_768)), "32 KiB");
    assert_eq!(write_bytes(Bytes(0)), "0 bytes");
    assert_eq!(write_rate(Rate::from_bits_per_sec(9600)), "9600 bit/s");
    assert_eq!(write_rate(Rate::from_bits_per_sec(2_000_000)), "2 Mbit/s");
}

#[test]
fn serde_refuses_a_bare_number_and_names_the_remedy() {
    let error = serde_json::from_str::<Duration>("6").unwrap_err().to_string();
    assert!(error.starts_with("6 has no unit; write a duration like \"6 ms\""), "{error}");
    let error = serde_json::from_str::<Probability>("1.5").unwrap_err().to_string();
    assert!(error.starts_with("1.5 is not a probability; write a number from 0 to 1"), "{error}");
    let error = serde_json::from_str::<Rate>("true").unwrap_err().to_string();
    assert!(error.contains("expected a rate like \"9600 bit/s\""), "{error}");
}

#[test]
fn the_schema_accepts_the_canonical_text() {
    let schema = serde_json::to_value(schemars::schema_for!(Duration)).unwrap();
    assert_eq!(schema["type"], "string");
    assert_eq!(schema["pattern"], r"^[0-9]+(\.[0-9]+)? ?(ns|us|µs|ms|s|min|h)$");
}

proptest! {
    #[test]
    fn every_value_reads_back_from_its_text(value: u64) {
        prop_assert_eq!(parse_duration(&write_duration(Duration::from_nanos(value))), Ok(Duration::from_nanos(value)));
        prop_assert_eq!(parse_bytes(&write_bytes(Bytes(value))), Ok(Bytes(value)));
        let rate = Rate::from_bits_per_sec(value);
        prop_assert_eq!(parse_rate(&write_rate(rate)), Ok(rate));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text: String) {
        let _ = (parse_duration(&text), PacketsOrBytes::parse(&text), SegmentsOrBytes::parse(&text));
    }
}

//! Rate sources: their times, their long-term rates, their bad input.

use super::*;
use crate::config::Config;
use serde_json::json;
use units::{Bytes, Duration, Instant, Rate, Streams};

const MBIT: Rate = Rate::from_bits_per_sec(1_000_000);

fn capacity(text: &str) -> Capacity {
    #[derive(serde::Deserialize)]
    struct File {
        capacity: Capacity,
    }
    let mut capacity = toml::from_str::<File>(&format!("capacity = {text}")).expect("readable").capacity;
    capacity.load_files(&mut |_| Ok("0\n3\n3\n10\n".into())).expect("a trace");
    capacity.check(Some(MBIT)).expect("good parameters");
    capacity
}

fn source(text: &str) -> Box<dyn RateSource> {
    capacity(text).source(Some(MBIT), &Streams::new(1).below("test"))
}

fn us(micros: u64) -> Instant {
    Instant::START + Duration::from_micros(micros)
}

/// Time at which packets of these sizes leave that are transmitted one after the other from `start` on.
fn ends(source: &mut dyn RateSource, start: Instant, sizes: &[u64]) -> Vec<u64> {
    let mut now = start;
    let mut end = |size: &u64| {
        loop {
            match source.transmit(now, Bytes(*size)) {
                TransmissionEnd::NotBefore(then) => now = then,
                TransmissionEnd::At(end) => {
                    now = end;
                    return end.as_nanos() / 1_000;
                }
            }
        }
    };
    sizes.iter().map(&mut end).collect()
}

#[test]
fn every_example_reads_checks_and_writes_back_as_itself() {
    for entry in ENTRIES {
        let capacity = capacity(&entry.example());
        assert_eq!(capacity.id(), entry.id);
        let json = serde_json::to_value(&capacity).expect("it can be written");
        assert_eq!(serde_json::from_value::<Capacity>(json).expect("and read"), capacity);
    }
}

/// In the long run a source has its nominal rate.
#[test]
fn every_source_keeps_its_nominal_rate() {
    const PACKETS: usize = 2_000_000;
    for entry in ENTRIES {
        let capacity = capacity(&entry.example());
        let nominal = capacity.nominal(Some(MBIT)).expect("a rate").bits_per_sec() as f64;
        let mut source = capacity.source(Some(MBIT), &Streams::new(1).below("test"));
        let seconds = ends(&mut *source, Instant::START, &vec![1500; PACKETS]).last().map_or(0, |end| *end)
            as f64
            / 1e6;
        let rate = PACKETS as f64 * 12_000.0 / seconds;
        assert!((rate / nominal - 1.0).abs() < 0.05, "{}: {rate} against {nominal}", entry.id);
    }
}

#[test]
fn a_transmission_goes_on_across_a_change_of_rate() {
    let wave = "{ square-wave = { high = \"8 Mbit/s\", low = \"4 Mbit/s\", period = \"2 ms\" } }";
    let mut source = source(wave);
    // A byte takes 1 µs for 1 ms, then 2 µs for 1 ms, and so on.
    assert_eq!(ends(&mut *source, Instant::START, &[900, 200, 1_450]), [900, 1_200, 3_100]);
}

#[test]
fn a_wave_has_a_share_and_a_phase() {
    let wave = "{ square-wave = { high = \"8 Mbit/s\", low = \"0 bit/s\", period = \"4 ms\", share = 0.25, phase = \"1 ms\" } }";
    let mut source = source(wave);
    // There is a rate from 1 to 2 ms, from 5 to 6 ms.
    assert_eq!(source.transmit(us(0), Bytes(1)), TransmissionEnd::NotBefore(us(1_000)));
    assert_eq!(ends(&mut *source, us(0), &[500, 600]), [1_500, 5_100]);
}

#[test]
fn a_schedule_holds_its_last_rate_or_starts_anew() {
    let steps = "steps = [{ at = \"0 s\", rate = \"8 Mbit/s\" }, { at = \"1 ms\", rate = \"800 kbit/s\" }]";
    let mut once = source(&format!("{{ schedule = {{ {steps} }} }}"));
    assert_eq!(ends(&mut *once, us(0), &[1_000, 1_000]), [1_000, 11_000]);
    let mut again = source(&format!("{{ schedule = {{ {steps}, repeat = \"2 ms\" }} }}"));
    // 1000 bytes in the first part of each 2 ms, 100 in the second.
    assert_eq!(ends(&mut *again, us(0), &[1_000, 1_100, 1_100]), [1_000, 3_000, 5_000]);
}

#[test]
fn a_schedule_has_in_the_mean_the_rate_that_it_ends_with_or_that_of_its_period() {
    let steps = "steps = [{ at = \"0 s\", rate = \"0 bit/s\" }, { at = \"10 s\", rate = \"1 Mbit/s\" }]";
    let nominal = |rest: &str| capacity(&format!("{{ schedule = {{ {steps}{rest} }} }}")).nominal(None);
    assert_eq!(nominal(""), Some(MBIT));
    assert_eq!(nominal(", repeat = \"40 s\""), Some(Rate::from_bits_per_sec(750_000)));
}

#[test]
fn multiples_are_equally_likely_and_change_at_their_intervals() {
    let text = "{ random-multiples = { multiples = [1.0, 2.0, 4.0], interval = \"1 s\" } }";
    let mut source = source(text);
    let mut counts = [0_u32; 3];
    for second in 1..3_000 {
        let now = us(second * 1_000_000);
        let TransmissionEnd::At(end) = source.transmit(now, Bytes(1_000)) else { panic!("there is a rate") };
        match (end - now).as_nanos() {
            8_000_000 => counts[0] += 1,
            4_000_000 => counts[1] += 1,
            2_000_000 => counts[2] += 1,
            other => panic!("{other} ns"),
        }
    }
    assert!(counts.iter().all(|count| (count.abs_diff(1_000)) < 80), "{counts:?}");
}

#[test]
fn a_bucket_lets_a_burst_through_at_the_links_rate_and_then_its_own() {
    let mut source = source("{ token-bucket = { rate = \"80 kbit/s\", burst = \"3 kB\" } }");
    // Two at 1 Mbit/s, 12 ms each; 240 tokens arrived in that time, and the third waits for 1260 more, 126 ms.
    assert_eq!(
        ends(&mut *source, us(0), &[1_500, 1_500, 1_500]),
        [12_000, 24_000, 24_000 + 126_000 + 12_000]
    );
    // After a long time the bucket is full again, and no fuller.
    assert_eq!(ends(&mut *source, us(10_000_000), &[3_000])[0], 10_024_000);
    assert!(ends(&mut *source, us(10_024_000), &[1_500])[0] > 10_100_000);
}

#[test]
fn a_packet_larger_than_the_bucket_leaves_when_it_is_full_and_the_debt_is_paid() {
    let mut source = source("{ token-bucket = { rate = \"80 kbit/s\", burst = \"1 kB\" } }");
    // 500 bytes of debt after the first, less the 120 tokens that come in 12 ms.
    let ends = ends(&mut *source, us(0), &[1_500, 100]);
    assert_eq!(ends, [12_000, 12_000 + (380 + 100) * 100 + 800]);
}

#[test]
fn a_trace_gives_1500_bytes_at_each_of_its_times_and_starts_anew() {
    let trace = || source("{ trace = { path = \"x\" } }");
    // 0, 3, 3, 10, and from then on 10 ms later again: 10, 13, 13, 20 …
    assert_eq!(
        ends(&mut *trace(), us(0), &[1_500; 8]),
        [0, 3_000, 3_000, 10_000, 10_000, 13_000, 13_000, 20_000]
    );
    // Small packets share an opportunity; a large one takes two.
    assert_eq!(ends(&mut *trace(), us(0), &[700, 700, 700, 2_000]), [0, 0, 3_000, 3_000]);
    // A missed opportunity is lost, with its remaining bytes.
    let mut late = trace();
    assert_eq!(ends(&mut *late, us(0), &[100]), [0]);
    assert_eq!(ends(&mut *late, us(3_500), &[100]), [10_000]);
    assert_eq!(ends(&mut *late, us(1_000_500), &[100]), [1_003_000]);
    // The last time of a round and the first of the next are one time with two opportunities.
    assert_eq!(ends(&mut *trace(), us(1_000_000), &[1_500; 3]), [1_000_000, 1_000_000, 1_003_000]);
}

#[test]
fn a_trace_that_is_written_reads_as_it_was() {
    let opportunities = [0, 2_500, 2_600, 9_999].map(us);
    let text = trace::write(opportunities);
    assert_eq!(text, "0\n2\n2\n9\n");
    let mut read = trace::Parameters { path: "x".into(), millis: Vec::new() };
    read.load(&text).expect("a trace");
    assert_eq!(read.millis, [0, 2, 2, 9]);
}

#[test]
fn a_link_that_is_recorded_and_replayed_transmits_at_the_same_times() {
    let wave = "{ square-wave = { high = \"12 Mbit/s\", low = \"4 Mbit/s\", period = \"20 ms\" } }";
    let config = Config { capacity: Some(capacity(wave)), ..Config::default() };
    let text = trace::record(&config, &Streams::new(1), Duration::from_millis(100));
    // 12 Mbit/s is a packet a millisecond, 4 Mbit/s one in three.
    let first: Vec<&str> = text.lines().take(14).collect();
    assert_eq!(first, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "13", "16", "19", "20"]);
    let mut read = trace::Parameters { path: "x".into(), millis: Vec::new() };
    read.load(&text).expect("a trace");
    let replayed = Config { capacity: Some(Capacity::Trace(read)), ..Config::default() };
    // It repeats after its last time, which is a little before the end of the recording.
    assert!(trace::record(&replayed, &Streams::new(1), Duration::from_millis(100)).starts_with(&text));
}

#[test]
fn a_record_has_the_handovers_of_the_link() {
    let record = |held: &str| {
        let config = json!({
            "rate": "12 Mbit/s",
            "handovers": {
                "interval": "4 ms",
                "suspension": "10500 us",
                "held": held,
                "cells": [{ "rate": "6 Mbit/s", "propagation": "50 ms" }, { "rate": "12 Mbit/s" }],
            },
        });
        let config: Config = serde_json::from_value(config).expect("readable");
        trace::record(&config, &Streams::new(1), Duration::from_millis(30))
    };
    // One each millisecond; the fifth continues at 14.5 ms at its rate, the next take 2 ms each; the packet in
    // transmission at 18.5 ms continues at 29 ms, or is lost.
    assert_eq!(record("delivered"), "1\n2\n3\n4\n15\n17\n30\n");
    assert_eq!(record("lost"), "1\n2\n3\n4\n15\n17\n");
}

#[test]
fn a_bad_line_of_a_trace_is_named() {
    let said = |text: &str| {
        let mut trace = trace::Parameters { path: "lte.trace".into(), millis: Vec::new() };
        trace.load(text).expect_err("must be refused").message
    };
    assert_eq!(said("0\n5\n4\n"), "lte.trace, line 3: 4 is before 5");
    assert_eq!(said("0\n5 ms\n"), "lte.trace, line 2: 5 ms is not a time");
    assert_eq!(said("0\n-1\n"), "lte.trace, line 2: -1 is not a time");
    assert_eq!(said("0\n288230376151711744\n"), "lte.trace, line 2: 288230376151711744 ms is over a year");
    assert_eq!(said("# nothing\n\n"), "lte.trace gave no times");
    assert_eq!(said("0\n0\n"), "lte.trace ends at 0 ms, so it lasts no time");
    let mut unread = capacity("{ trace = { path = \"x\" } }");
    let error = unread.load_files(&mut |_| Ok(String::new()));
    assert_eq!(error, Ok(()), "what was read is not read again");
}

#[test]
fn parameters_that_make_no_sense_are_refused_at_their_key() {
    let path =
        |json| serde_json::from_value::<Capacity>(json).expect("readable").check(None).expect_err("no").path;
    let wave = |low: &str, share: f64| json!({ "square-wave": { "high": low, "low": "1 bit/s", "period": "1 s", "share": share } });
    assert_eq!(path(wave("0 bit/s", 0.5)), "square-wave.high");
    assert_eq!(path(wave("5 bit/s", 1.0)), "square-wave.share");
    let period =
        |period: &str| json!({ "square-wave": { "high": "2 bit/s", "low": "1 bit/s", "period": period } });
    assert_eq!(path(period("1999 ns")), "square-wave.period");
    let shortest = serde_json::from_value::<Capacity>(period("2 us")).expect("readable");
    assert_eq!(shortest.check(None), Ok(()));
    let steps = |steps| json!({ "schedule": { "steps": steps } });
    assert_eq!(path(steps(json!([]))), "schedule.steps");
    assert_eq!(path(steps(json!([{ "at": "1 s", "rate": "1 bit/s" }]))), "schedule.steps[0].at");
    let back = json!([{ "at": "0 s", "rate": "1 bit/s" }, { "at": "0 s", "rate": "2 bit/s" }]);
    assert_eq!(path(steps(back)), "schedule.steps[1].at");
    assert_eq!(path(steps(json!([{ "at": "0 s", "rate": "0 bit/s" }]))), "schedule.steps");
    let multiples = |list| json!({ "random-multiples": { "multiples": list, "interval": "1 s" } });
    assert_eq!(path(multiples(json!([1.0]))), "random-multiples.multiples");
    assert_eq!(path(json!({ "token-bucket": { "rate": "0 bit/s", "burst": "1 kB" } })), "token-bucket.rate");
    assert_eq!(path(json!({ "trace": { "path": "x" } })), "trace.path");
    assert_eq!(path(json!({ "trace": { "path": "x", "millis": [1, u64::MAX] } })), "trace.millis");
}

//! Whole transfers between two endpoints of ours over a bad path, seen at the sender's end: the analysis of the capture
//! compared with the sender's own records, and with the counts of tshark and tcptrace.

mod path;
mod tools;

use std::collections::BTreeMap;

use lasthop_trace as trace;
use serde_json::json;
use trace::flow::{Cause, Counters, SegmentKind, Side};
use units::{Bytes, Duration};

use path::{Fate, Path, Transfer, transfer};

/// Profiles whose recoveries differ.
fn profiles() -> Vec<(&'static str, serde_json::Value)> {
    let plain = |recovery: &str| json!({ "sack": false, "recovery": { "algorithm": recovery } });
    vec![
        ("sack", json!({ "sack": true, "timestamps": true })),
        ("newreno", plain("new-reno")),
        ("reno", plain("reno")),
        ("tahoe", plain("tahoe")),
        ("timeouts only", plain("timeout-only")),
    ]
}

/// 1 Mbit/s, 100 ms round trip, 20 packets of queue.
fn path() -> Path {
    Path { nanos_per_byte: 8000, propagation: Duration::from_millis(50), queue: 20, fate: |_| Fate::Passes }
}

const SIZE: Bytes = Bytes(300_000);

/// Paths with different troubles, by packet number of the forward direction.
fn troubles() -> Vec<(&'static str, Path)> {
    vec![
        ("no trouble", Path { queue: 1000, ..path() }),
        ("a queue that overflows", path()),
        (
            "one loss",
            Path { queue: 1000, fate: |n| if n == 50 { Fate::Lost } else { Fate::Passes }, ..path() },
        ),
        (
            "a burst of losses",
            Path {
                queue: 1000,
                fate: |n| if (50..70).contains(&n) { Fate::Lost } else { Fate::Passes },
                ..path()
            },
        ),
        (
            "a long delay",
            Path {
                queue: 1000,
                fate: |n| if n == 60 { Fate::Held(Duration::from_secs(3)) } else { Fate::Passes },
                ..path()
            },
        ),
        (
            "losses now and then, the SYN among them",
            Path { queue: 1000, fate: |n| if n % 37 == 1 { Fate::Lost } else { Fate::Passes }, ..path() },
        ),
    ]
}

fn for_each_case(check: impl Fn(&str, &Transfer)) {
    for (profile_name, profile) in profiles() {
        for (trouble, path) in troubles() {
            check(&format!("{profile_name}, {trouble}"), &transfer(&profile, &path, SIZE));
        }
    }
}

fn counters(transfer: &Transfer) -> Counters {
    assert_eq!(transfer.capture.flows().len(), 1);
    *transfer.capture.flows()[0].half(Side::Opener).counters()
}

#[test]
fn every_retransmission_is_found_and_nothing_else() {
    for_each_case(|case, transfer| {
        let said: Vec<bool> = transfer.sent.iter().map(|sent| sent.said.is_some()).collect();
        let seen: Vec<bool> =
            transfer.sent.iter().map(|sent| matches!(sent.seen, SegmentKind::Retransmission(_))).collect();
        assert_eq!(seen, said, "{case}");
        assert_eq!(counters(transfer).unique_bytes, SIZE.0, "{case}");
    });
}

#[test]
fn timeouts_and_fast_retransmits_are_those_of_the_sender() {
    for_each_case(|case, transfer| {
        let counters = counters(transfer);
        let timeouts: BTreeMap<_, _> = [("said", transfer.timeouts), ("seen", counters.timeouts)].into();
        assert_eq!(timeouts["seen"], timeouts["said"], "timeouts: {case}\n{}", transfer.story());
        assert_eq!(
            counters.fast_retransmits,
            transfer.fast_retransmits,
            "fast retransmits: {case}\n{}",
            transfer.story()
        );
    });
}

#[test]
fn elapsed_time_and_bytes_are_those_of_the_transfer() {
    for_each_case(|case, transfer| {
        let flow = &transfer.capture.flows()[0];
        assert!(flow.completed(Side::Opener), "{case}");
        assert_eq!(flow.half(Side::Opener).acked(), SIZE, "{case}");
        assert_eq!(flow.elapsed(Side::Opener), Some(transfer.elapsed), "{case}");
    });
}

#[test]
fn the_verdicts_agree_with_what_was_lost() {
    for_each_case(|case, transfer| {
        let diagnosis = transfer.capture.flows()[0].half(Side::Opener).diagnosis();
        let needless: Vec<u64> = diagnosis
            .retransmissions
            .iter()
            .filter(|verdict| !verdict.necessary)
            .map(|verdict| verdict.packet.0)
            .collect();
        assert_eq!(needless, transfer.needless(), "{case}");
    });
}

#[test]
fn the_causes_are_those_of_the_sender_but_for_a_few() {
    let (mut all, mut wrong) = (0, BTreeMap::<_, u32>::new());
    for (profile_name, profile) in profiles() {
        for (trouble, path) in troubles() {
            for sent in &transfer(&profile, &path, SIZE).sent {
                if let (Some(said), SegmentKind::Retransmission(seen)) = (sent.said, sent.seen) {
                    all += 1;
                    // The sender with SACK takes every retransmission from its scoreboard, including the first one of a
                    // recovery.
                    if said != seen.id() && (said, seen) != ("scoreboard", Cause::FastRetransmit) {
                        *wrong.entry((profile_name, trouble, said, seen.id())).or_default() += 1;
                    }
                }
            }
        }
    }
    let count: u32 = wrong.values().sum();
    assert!(count * 50 <= all, "{count} of {all} causes are wrong: {wrong:#?}");
}

#[test]
fn tshark_and_tcptrace_count_as_we_do() {
    for_each_case(|case, transfer| tools::compare(case, transfer, &counters(transfer)));
}

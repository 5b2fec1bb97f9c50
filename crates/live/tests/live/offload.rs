//! Work that kernels leave to devices: the links see every packet, and the programs every byte.

use lasthop_live::LiveOutcome;
use libtest_mimic::Trial;
use serde_json::json;
use wire::{Flags, Parsed, Segment, Transport};

use crate::support::{config, download, live, reno};

/// The tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    live![
        a_link_without_a_rate_sees_every_packet_of_what_kernels_pass_on_as_one,
        what_is_lost_or_damaged_within_a_burst_is_repaired_to_the_byte,
        marks_reach_the_other_kernel_and_are_answered,
    ]
}

/// The packets at a point of capture, by their headers.
fn captured(outcome: &LiveOutcome, point: &str) -> Vec<(u32, Parsed)> {
    let (_, file) = outcome.captures.iter().find(|(name, _)| name == point).expect("it was captured");
    let frames = wire::capture::open(&file[..]).unwrap().map(|frame| frame.unwrap());
    frames.map(|frame| (frame.original_len, wire::parse(&frame.data).unwrap())).collect()
}

fn segment(parsed: &Parsed) -> &Segment {
    match &parsed.transport {
        Transport::Tcp(segment) => segment,
        other => panic!("{other:?}"),
    }
}

fn a_link_without_a_rate_sees_every_packet_of_what_kernels_pass_on_as_one() {
    let outcome =
        live(&download(config(json!({ "queue": { "limit": "5000 packets" } })), 20_000_000), reno());
    let summary = &outcome.summary.run;
    // The receiver compares every byte.
    assert!(summary.flows[0].completed, "{:?}", summary.flows[0]);
    assert_eq!(outcome.summary.kernel.flows[0].received, 20_000_000);
    assert!(summary.links[0].packets_out >= 20_000_000 / 1448, "{:?}", summary.links[0].packets_out);
    let released: u64 = summary.links.iter().map(|link| link.packets_out).sum();
    assert_eq!(outcome.summary.lateness.releases, released);
    let packets = captured(&outcome, "right");
    assert_eq!(packets.len() as u64, summary.links[0].packets_in + summary.links[1].packets_in);
    assert!(packets.iter().all(|(len, _)| *len <= 1500));
    let last = packets.iter().filter(|(_, parsed)| segment(parsed).flags.contains(Flags::FIN)).count();
    assert!(last >= 2, "a FIN each way: {last}");
}

fn what_is_lost_or_damaged_within_a_burst_is_repaired_to_the_byte() {
    let events: Vec<_> = (20..400)
        .step_by(17)
        .map(|packet| json!({ "packet": packet, "effect": if packet % 2 == 0 { "drop" } else { "corrupt" } }))
        .collect();
    let queue = json!({ "limit": "2000 packets" });
    let down = json!({ "rate": "200 Mbit/s", "propagation": "2 ms", "queue": queue, "events": events });
    let outcome = live(&download(config(down), 2_000_000), reno());
    let flow = &outcome.summary.run.flows[0];
    assert!(flow.completed, "{flow:?}");
    assert!(flow.retransmissions >= events.len() as u64, "{flow:?}");
    assert_eq!(outcome.summary.kernel.flows[0].received, 2_000_000);
}

fn marks_reach_the_other_kernel_and_are_answered() {
    let queue = json!({ "discipline": { "codel": { "ecn": true } }, "limit": "1000 packets" });
    let down = json!({ "rate": "20 Mbit/s", "propagation": "10 ms", "queue": queue });
    let mut options = reno();
    options.sysctls.insert("net.ipv4.tcp_ecn".to_owned(), "1".to_owned());
    let outcome = live(&download(config(down), 5_000_000), options);
    let summary = &outcome.summary.run;
    assert!(summary.flows[0].completed, "{:?}", summary.flows[0]);
    // What can be marked is not dropped; a FIN without data cannot be (RFC 3168 §6.1).
    assert!(summary.links[0].queue_drops <= 1, "{:?}", summary.links[0]);
    let sent = captured(&outcome, "left");
    let reduced =
        sent.iter().filter(|(len, parsed)| *len > 1000 && segment(parsed).flags.contains(Flags::CWR));
    assert!(reduced.count() > 0, "the sender has heard of no mark");
}

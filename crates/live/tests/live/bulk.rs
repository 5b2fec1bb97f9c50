//! Bulk transfers between kernels, and their results.

use libtest_mimic::Trial;
use serde_json::json;
use sim::{Amount, LinkSpec, NodeKind, NodeSpec};
use units::{Bytes, Duration, NodeId};

use crate::support::{config, download, flow, live, pair, quick, reno};

/// The tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    live![
        a_transfer_arrives_whole_and_is_reported_as_in_virtual_time,
        every_release_is_counted_and_its_lateness_reported,
        tables_and_captures_know_the_flow_by_its_name,
        our_counts_are_the_kernels_own,
        a_delay_makes_the_kernel_time_out_for_nothing_and_we_say_so,
        flows_in_both_directions_and_with_a_later_start_share_the_link,
        a_flow_until_a_time_ends_there_in_order,
        the_stop_time_ends_a_transfer_that_is_under_way,
        an_overflow_that_stops_the_run_stops_the_kernels_too,
        flow_control_leaves_packets_in_the_host_and_loses_none,
        three_hosts_reach_each_other_over_a_router,
        the_segment_size_of_the_profile_is_the_kernels,
    ]
}

fn a_transfer_arrives_whole_and_is_reported_as_in_virtual_time() {
    let mut spec = download(quick(), 500_000);
    spec.flows[0].milestones = vec![Bytes(100_000)];
    let outcome = live(&spec, reno());
    let summary = &outcome.summary.run;
    let flow = &summary.flows[0];
    assert_eq!((flow.flow.as_str(), flow.from.as_str(), flow.to.as_str()), ("download", "left", "right"));
    assert_eq!((flow.bytes, flow.completed), (500_000, true));
    assert!(flow.milestones[0].elapsed_s.unwrap() < flow.elapsed_s.unwrap());
    assert_eq!(summary.stopped_by, "every flow closed");
    let link = &summary.links[0];
    assert_eq!((link.packets_in, link.packets_inside), (link.packets_out + link.queue_drops, 0));
    let json = serde_json::to_value(&outcome.summary).unwrap();
    assert_eq!(json["clock"], "real");
    assert_eq!(
        json["outside"],
        json!({ "device_drops": 0, "socket_drops": 0, "unroutable": 0, "bound": 1, "tainted": false })
    );
    assert_eq!(json["kernel"]["congestion"], "reno");
    assert_eq!(json["kernel"]["sysctls"]["net.ipv4.tcp_frto"], "0");
    assert_eq!(json["kernel"]["flows"][0]["received"], 500_000);
}

fn every_release_is_counted_and_its_lateness_reported() {
    let outcome = live(&download(quick(), 200_000), reno());
    let lateness = outcome.summary.lateness;
    let delivered: u64 = outcome.summary.run.links.iter().map(|link| link.packets_out).sum();
    assert_eq!(lateness.releases, delivered);
    assert!(lateness.p50_ms <= lateness.p99_ms && lateness.p99_ms <= lateness.max_ms, "{lateness:?}");
    assert!(lateness.max_ms > 0.0);
    assert_eq!(lateness.tainted, lateness.max_ms > 10.0);
}

fn tables_and_captures_know_the_flow_by_its_name() {
    // A packet to which nothing happens has no comment in a capture.
    let down = json!({
        "rate": "10 Mbit/s", "propagation": "10 ms", "queue": { "limit": "100 packets" },
        "events": [{ "packet": 10, "delay": "20 ms" }],
    });
    let outcome = live(&download(config(down), 50_000), reno());
    let names: Vec<_> = outcome.tables.iter().map(|(name, table)| (*name, table.num_rows() > 0)).collect();
    assert_eq!(names, [("packets", true), ("segments", true), ("flows", true)]);
    let points: Vec<_> = outcome.captures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(points, ["left", "lasthop", "right"]);
    for (point, capture) in &outcome.captures {
        assert!(String::from_utf8_lossy(capture).contains("data of download"), "{point}");
    }
}

fn our_counts_are_the_kernels_own() {
    // A queue of 10 overflows in slow start; a scripted loss hits later.
    let down = json!({
        "rate": "10 Mbit/s", "propagation": "10 ms", "queue": { "limit": "10 packets" },
        "events": [{ "packet": 300, "effect": "drop" }],
    });
    let outcome = live(&download(config(down), 1_000_000), reno());
    let (flow, kernel) = (&outcome.summary.run.flows[0], &outcome.summary.kernel.flows[0]);
    assert!(flow.retransmissions > 0);
    assert_eq!(flow.retransmissions, u64::from(kernel.counts.retransmissions));
    assert_eq!(flow.segments_sent, u64::from(kernel.counts.data_segments));
    assert_eq!(kernel.counts.timeouts.map(u64::from).unwrap_or(flow.timeouts), flow.timeouts);
    assert!(flow.completed);
}

fn a_delay_makes_the_kernel_time_out_for_nothing_and_we_say_so() {
    let down = json!({
        "rate": "2 Mbit/s", "propagation": "10 ms",
        "events": [{ "packet": 100, "delay": "3 s" }],
    });
    let outcome = live(&download(config(down), 300_000), reno());
    let flow = &outcome.summary.run.flows[0];
    assert!(flow.timeouts >= 1 && flow.spurious_timeouts >= 1, "{flow:?}");
    assert_eq!(flow.unnecessary_retransmissions, flow.retransmissions, "{flow:?}");
    assert!(flow.causes.contains_key("spurious_timeout"), "{flow:?}");
}

fn flows_in_both_directions_and_with_a_later_start_share_the_link() {
    let mut second = flow("upload", 1, 0, Amount::Bytes(Bytes(100_000)));
    second.start = Duration::from_millis(100);
    let third = flow("download-2", 0, 1, Amount::Bytes(Bytes(100_000)));
    let first = flow("download-1", 0, 1, Amount::Bytes(Bytes(100_000)));
    let outcome = live(&pair(quick(), vec![first, second, third]), reno());
    let flows = &outcome.summary.run.flows;
    assert!(flows.iter().all(|flow| flow.completed && flow.bytes == 100_000), "{flows:?}");
    assert_eq!(flows[1].from, "right");
}

fn a_flow_until_a_time_ends_there_in_order() {
    let until = Amount::Until(Duration::from_millis(500));
    let outcome = live(&pair(quick(), vec![flow("download", 0, 1, until)]), reno());
    let flow = &outcome.summary.run.flows[0];
    assert!(flow.completed && flow.bytes > 0, "{flow:?}");
}

fn the_stop_time_ends_a_transfer_that_is_under_way() {
    let mut spec = download(quick(), 1 << 40);
    spec.stop = Some(Duration::from_millis(300));
    let outcome = live(&spec, reno());
    assert_eq!(outcome.summary.run.stopped_by, "stop time");
    assert!(!outcome.summary.run.flows[0].completed);
    assert!(outcome.summary.kernel.flows[0].broken.is_some());
}

fn an_overflow_that_stops_the_run_stops_the_kernels_too() {
    let down = json!({
        "rate": "1 Mbit/s", "propagation": "10 ms", "queue": { "limit": "3 packets", "overflow": "stop" },
    });
    let outcome = live(&download(config(down), 1_000_000), reno());
    assert!(outcome.summary.run.stopped_by.contains("queue full"), "{}", outcome.summary.run.stopped_by);
    assert!(!outcome.summary.run.flows[0].completed);
}

fn flow_control_leaves_packets_in_the_host_and_loses_none() {
    let down = json!({
        "rate": "2 Mbit/s", "propagation": "10 ms", "queue": { "limit": "3 packets", "overflow": "flow-control" },
    });
    let outcome = live(&download(config(down), 300_000), reno());
    let flow = &outcome.summary.run.flows[0];
    assert!(flow.completed && flow.retransmissions == 0, "{flow:?}");
    assert!(outcome.summary.run.links[0].queue_max <= 3);
}

fn three_hosts_reach_each_other_over_a_router() {
    let mut spec = pair(quick(), vec![]);
    let address = std::net::Ipv4Addr::new(10, 77, 0, 3);
    spec.nodes.push(NodeSpec { name: "third".to_owned(), kind: NodeKind::Host { address } });
    spec.nodes.push(NodeSpec { name: "middle".to_owned(), kind: NodeKind::Router });
    let link = spec.links.remove(0);
    let spoke = |host: usize| LinkSpec {
        name: format!("spoke-{host}"),
        ends: [host, 3].map(NodeId::new),
        ..link.clone()
    };
    spec.links = (0..3).map(spoke).collect();
    spec.record.captures.clear();
    let amount = Amount::Bytes(Bytes(50_000));
    spec.flows = vec![flow("one", 0, 1, amount), flow("two", 1, 2, amount), flow("three", 2, 0, amount)];
    let outcome = live(&spec, reno());
    let flows = &outcome.summary.run.flows;
    assert!(flows.iter().all(|flow| flow.completed && flow.bytes == 50_000), "{flows:?}");
    assert_eq!(outcome.summary.run.links.len(), 6);
}

fn the_segment_size_of_the_profile_is_the_kernels() {
    let mut spec = download(quick(), 10_000);
    let small = tcp::Config::from_profile(&json!({ "mss": "536 bytes" })).unwrap();
    spec.flows[0].sender = std::sync::Arc::new(small);
    let outcome = live(&spec, reno());
    // Timestamps take 12 of them (RFC 7323 §3.2).
    assert_eq!(outcome.summary.kernel.flows[0].counts.mss, 524);
}

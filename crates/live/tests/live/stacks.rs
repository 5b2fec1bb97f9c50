//! Hosts with stacks in this process, among themselves and with kernels, in real time: every byte is checked.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use lasthop_live::{LiveError, LiveOutcome, Options};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use sim::{Spec, Workload};
use stacks::{Assignment, Migration, Refusal, Run, StackId};
use units::{Duration, Instant, NodeId};
use workload::workloads::ENTRIES;

use crate::support::{config, download, live, quick, reno};

/// The tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = anywhere![
        stacks_of_this_process_need_no_right_of_the_machine,
        pages_come_over_stacks_of_this_process,
        every_workload_runs_over_stacks_of_this_process,
        pages_and_objects_come_by_http3,
        a_host_does_not_migrate_in_real_time,
        datagrams_are_as_many_as_in_virtual_time_and_none_is_forgotten,
        quic_to_a_kernel_is_refused,
    ];
    trials.extend(live![
        our_tcp_and_smoltcp_speak_with_the_kernel_both_ways,
        pages_come_between_a_kernel_and_a_stack_of_this_process,
        every_workload_runs_between_a_kernel_and_a_stack_of_this_process,
        a_kernels_datagrams_are_as_many_as_in_virtual_time_and_none_is_forgotten,
    ]);
    trials
}

/// The settings of Reno, with these stacks for the first and the second host.
fn with(names: [&str; 2]) -> Options<'static> {
    let mut stacks = Assignment::default();
    for (node, name) in names.into_iter().enumerate() {
        stacks.set(NodeId::new(node), StackId::named(name).expect("a stack that the test means to be there"));
    }
    Options { stacks, ..reno() }
}

fn transfer(names: [&str; 2]) -> LiveOutcome {
    let outcome = live(&download(quick(), 300_000), with(names));
    let flow = &outcome.summary.run.flows[0];
    assert_eq!((flow.bytes, flow.received, flow.completed), (300_000, 300_000, true), "{names:?}: {flow:?}");
    assert!(flow.segments_sent > 200, "{names:?}: {flow:?}");
    assert_eq!(outcome.summary.run.stopped_by, "every flow closed", "{names:?}");
    outcome
}

fn our_tcp_and_smoltcp_speak_with_the_kernel_both_ways() {
    for names in [["lasthop", "kernel"], ["kernel", "lasthop"], ["smoltcp", "kernel"], ["kernel", "smoltcp"]]
    {
        let outcome = transfer(names);
        let tables: Vec<_> =
            outcome.tables.iter().map(|(name, table)| (*name, table.num_rows() > 0)).collect();
        assert_eq!(tables, [("packets", true), ("segments", true), ("flows", true)], "{names:?}");
    }
}

fn stacks_of_this_process_need_no_right_of_the_machine() {
    for names in [["quinn", "quinn"], ["lasthop", "lasthop"], ["smoltcp", "lasthop"]] {
        let outcome = transfer(names);
        let json = serde_json::to_value(&outcome.summary).unwrap();
        assert_eq!(json["right"], "not_needed", "{names:?}");
        assert_eq!(json["kernel"]["flows"], serde_json::json!([]), "{names:?}");
        let lateness = outcome.summary.lateness;
        let delivered: u64 = outcome.summary.run.links.iter().map(|link| link.packets_out).sum();
        assert_eq!(lateness.releases, delivered, "{names:?}");
    }
}

/// A workload from left to right for a number of seconds, over these stacks.
fn program(workload: Value, names: [&str; 2]) -> LiveOutcome {
    let outcome = live(&programmed(workload), with(names));
    let flow = &outcome.summary.run.flows[0];
    assert!(flow.completed && flow.received > 0, "{names:?}: {flow:?}");
    assert_eq!(outcome.summary.run.stopped_by, "every flow closed", "{names:?}");
    outcome
}

fn programmed(workload: Value) -> Spec {
    let application = serde_json::from_value(workload).expect("a workload that the test means to be right");
    let until = Some(Duration::from_secs(2));
    let mut spec = download(quick(), 0);
    spec.flows[0].workload = Workload::Application { application, until };
    spec.record.transfers = true;
    spec
}

/// Pages of even sizes after even pauses: how many there are is the network's matter, what is asked for is not.
fn web() -> Value {
    json!({ "web": { "connection": "new", "think": "50 ms", "size": "30 kB" } })
}

fn pages_come_over_stacks_of_this_process() {
    for names in [["quinn", "quinn"], ["lasthop", "lasthop"], ["smoltcp", "lasthop"]] {
        let outcome = program(web(), names);
        let flow = &outcome.summary.run.flows[0];
        assert!(flow.measures.transfers > 3, "{names:?}: {flow:?}");
        assert_eq!(flow.received, 30_000 * flow.measures.transfers, "{names:?}");
        assert_eq!(flow.connections, flow.measures.transfers, "{names:?}");
        assert_eq!(outcome.summary.programs.len(), 1, "{names:?}");
        assert_eq!(outcome.summary.programs[0].broken, None, "{names:?}");
    }
}

/// Every workload in the registry, with parameters that end soon.
fn every_workload() -> BTreeMap<&'static str, Value> {
    let line = json!({ "rate": "10 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" });
    let workloads = BTreeMap::from([
        ("web", json!({ "connection": "persistent", "think": "50 ms", "size": "30 kB" })),
        ("interactive", json!({ "gap": "50 ms" })),
        ("arrivals", json!({ "size": "10 kB", "gap": "100 ms" })),
        (
            "streaming",
            json!({ "rates": ["400 kbit/s"], "chunk": "200 ms", "startup": "200 ms", "buffer": "1 s" }),
        ),
        ("push-to-talk", json!({ "talk": "400 ms", "pause": "100 ms" })),
        ("parallel", json!({ "count": 3, "size": "20 kB" })),
        ("both-ways", json!({ "there": "100 kB", "back": "50 kB" })),
        (
            "background",
            json!({
                "share": 0.3, "reverse": 0.2, "of": "lasthop.down", "lines": [line, line],
                "short": "8 kB", "medium": "30 kB",
            }),
        ),
        ("on-off", json!({ "rate": "100 kbit/s", "on": "200 ms", "off": "100 ms" })),
        ("voip", json!({})),
        ("constant-rate", json!({ "rate": "100 kbit/s" })),
        ("poisson", json!({ "rate": "100 kbit/s" })),
        ("tfrc", json!({})),
    ]);
    let listed = ENTRIES.iter().map(|entry| entry.id);
    let missing: Vec<_> = listed.filter(|id| !workloads.contains_key(id)).collect();
    assert!(
        missing.is_empty(),
        "give {missing:?} parameters that end soon in `every_workload()` of this file"
    );
    workloads
}

fn every_workload_runs_over_stacks_of_this_process() {
    for (id, parameters) in every_workload() {
        program(json!({ id: parameters }), ["smoltcp", "smoltcp"]);
        program(json!({ id: parameters }), ["quinn", "quinn"]);
    }
}

fn pages_and_objects_come_by_http3() {
    for workload in [
        json!({ "web": { "connection": "http3", "think": "50 ms", "size": "30 kB", "objects": 3 } }),
        json!({ "parallel": { "count": 4, "size": "20 kB", "over": "http3" } }),
    ] {
        let flow = program(workload, ["quinn", "quinn"]).summary.run.flows[0].clone();
        assert!(flow.connections == 1 && flow.measures.transfers >= 4, "{flow:?}");
    }
}

fn a_host_does_not_migrate_in_real_time() {
    let migration = Migration { at: Instant::START, address: Ipv4Addr::new(10, 7, 7, 7), link: None };
    let mut options = with(["quinn", "quinn"]);
    let quinn = StackId::named("quinn").expect("it is there");
    options.stacks.set(NodeId::new(0), quinn.with_migration(Some(migration)));
    let refused = lasthop_live::run(&download(quick(), 10_000), options);
    assert!(matches!(refused, Err(LiveError::Refused(Refusal::MigratesLive { .. }))), "{refused:?}");
}

/// A packet every 10 ms for 2 s, of which the link loses some.
fn datagrams_over_a_lossy_link() -> Spec {
    let mut spec = programmed(json!({ "constant-rate": { "rate": "160 kbit/s", "packet": "200 bytes" } }));
    spec.links[0].down = config(json!({
        "rate": "1 Mbit/s", "propagation": "10 ms", "errors": { "probability": 0.2, "effect": "drop" },
    }));
    spec
}

/// Datagrams that were sent, and that were lost: the link draws the same numbers for the same packets in either clock.
fn in_virtual_time(spec: &Spec) -> (u64, u64) {
    let mut run = Run::new(spec.clone(), &with(["smoltcp", "smoltcp"]).stacks).expect("it can be run");
    run.run().expect("it runs");
    let flow = run.finish().summary.flows.remove(0);
    assert!(flow.segments_sent == 200 && flow.measures.packets_lost > 10, "{flow:?}");
    (flow.segments_sent, flow.measures.packets_lost)
}

fn datagrams_are_as_many_as_in_virtual_time_and_none_is_forgotten() {
    let spec = datagrams_over_a_lossy_link();
    let expected = in_virtual_time(&spec);
    for names in [["smoltcp", "quinn"], ["lasthop", "lasthop"]] {
        let outcome = live(&spec, with(names));
        let flow = &outcome.summary.run.flows[0];
        assert_eq!((flow.segments_sent, flow.measures.packets_lost), expected, "{names:?}: {flow:?}");
        assert!(flow.completed, "{names:?}: {flow:?}");
    }
}

fn pages_come_between_a_kernel_and_a_stack_of_this_process() {
    for names in [["lasthop", "kernel"], ["kernel", "lasthop"], ["smoltcp", "kernel"], ["kernel", "smoltcp"]]
    {
        let outcome = program(web(), names);
        let flow = &outcome.summary.run.flows[0];
        assert!(flow.measures.transfers > 3, "{names:?}: {flow:?}");
        assert_eq!(
            (flow.received, flow.bytes),
            (30_000 * flow.measures.transfers, flow.received),
            "{names:?}"
        );
        assert_eq!(flow.connections, flow.measures.transfers, "{names:?}");
        assert_eq!(outcome.summary.programs[0].broken, None, "{names:?}");
        // A kernel that sends has its counts, as between two kernels.
        let kernels: Vec<_> = outcome.summary.kernel.flows.iter().map(|flow| flow.received).collect();
        let of_sender = (names[0] == "kernel").then_some(flow.received);
        assert_eq!(kernels, of_sender.into_iter().collect::<Vec<_>>(), "{names:?}");
    }
}

fn every_workload_runs_between_a_kernel_and_a_stack_of_this_process() {
    for (id, parameters) in every_workload() {
        program(json!({ id: parameters }), ["lasthop", "kernel"]);
        program(json!({ id: parameters }), ["kernel", "smoltcp"]);
    }
}

fn a_kernels_datagrams_are_as_many_as_in_virtual_time_and_none_is_forgotten() {
    let spec = datagrams_over_a_lossy_link();
    let expected = in_virtual_time(&spec);
    // UDP is the same whatever else the host speaks.
    for names in [["lasthop", "kernel"], ["kernel", "lasthop"], ["quinn", "kernel"]] {
        let outcome = live(&spec, with(names));
        let flow = &outcome.summary.run.flows[0];
        assert_eq!((flow.segments_sent, flow.measures.packets_lost), expected, "{names:?}: {flow:?}");
        assert!(flow.completed, "{names:?}: {flow:?}");
    }
}

fn quic_to_a_kernel_is_refused() {
    let error = lasthop_live::run(&download(quick(), 1), with(["quinn", "kernel"])).unwrap_err();
    assert!(matches!(error, LiveError::Refused(_)), "{error}");
    assert!(error.to_string().contains("left (quinn) speaks QUIC and right (kernel) speaks TCP"), "{error}");
}

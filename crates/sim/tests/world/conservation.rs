//! No packet comes from nothing or goes into nothing.

use lasthop_sim::{FlowSpec, Outcome, Spec, Workload, World};
use serde_json::json;
use workload::Application;

use crate::support::*;

fn assert_conserved(outcome: &Outcome) {
    for link in &outcome.summary.links {
        let dropped = link.queue_drops + link.error_drops + link.dropper_drops + link.oversize_drops;
        assert_eq!(link.packets_in, link.packets_out + dropped + link.packets_inside, "{link:?}");
    }
}

/// Every way to lose a packet, on two links with a router between them.
fn hostile(seed: u64) -> Spec {
    let rough = config(json!({
        "rate": "3 Mbit/s", "propagation": "10 ms", "queue": { "limit": "5 packets" },
        "errors": { "probability": 0.03, "effect": "drop" }, "dropper": { "probability": 0.03 },
    }));
    let damaging = config(json!({
        "rate": "2 Mbit/s", "propagation": "30 ms", "queue": { "limit": "20 packets" },
        "errors": { "probability": 0.03, "effect": "corrupt" },
    }));
    Spec {
        seed,
        nodes: vec![host(1), router("router"), host(2)],
        links: vec![link("rough", [0, 1], rough), link("damaging", [1, 2], damaging)],
        flows: vec![flow("there", 0, 2, 150_000), flow("back", 2, 0, 150_000)],
        ..empty("hostile")
    }
}

#[test]
fn packets_in_are_packets_out_dropped_or_inside_at_every_moment() {
    for seed in 0..10 {
        let mut world = World::new(Spec { stop: Some(SECOND * (seed + 1)), ..hostile(seed) }).unwrap();
        world.run().unwrap();
        let under_way = world.packets_under_way() as u64;
        let outcome = world.finish();
        assert_conserved(&outcome);
        let inside: u64 = outcome.summary.links.iter().map(|link| link.packets_inside).sum();
        assert_eq!(inside, under_way);
    }
}

#[test]
fn the_stream_arrives_whole_whatever_is_lost_or_damaged() {
    for seed in 0..10 {
        let outcome = run(hostile(seed));
        for flow in &outcome.summary.flows {
            assert!(flow.completed && flow.bytes == 150_000 && flow.retransmissions > 0, "{flow:?}");
        }
        let drops: u64 = outcome.summary.links.iter().map(|link| link.error_drops + link.dropper_drops).sum();
        assert!(drops > 0);
    }
}

#[test]
fn what_leaves_one_link_comes_to_the_next() {
    let outcome = run(hostile(3));
    let [rough_down, rough_up, damaging_down, damaging_up] = &outcome.summary.links[..] else { panic!() };
    assert_eq!(rough_down.packets_out, damaging_down.packets_in);
    assert_eq!(damaging_up.packets_out, rough_up.packets_in);
}

#[test]
fn flow_control_loses_nothing_and_holds_hosts_and_routers_back() {
    let held = config(json!({
        "rate": "1 Mbit/s", "propagation": "20 ms",
        "queue": { "limit": "3 packets", "overflow": "flow-control" },
    }));
    let fast = config(json!({ "rate": "10 Mbit/s", "propagation": "1 ms" }));
    let spec = Spec {
        nodes: vec![host(1), router("router"), host(2)],
        links: vec![link("lan", [0, 1], fast), link("held", [1, 2], held.clone())],
        flows: vec![flow("over-a-router", 0, 2, 200_000), flow("from-the-host", 2, 0, 200_000)],
        ..empty("flow-control")
    };
    let outcome = run(spec);
    assert_conserved(&outcome);
    for flow in &outcome.summary.flows {
        assert!(flow.completed && flow.retransmissions == 0, "{flow:?}");
    }
    for link in &outcome.summary.links[2..] {
        assert!(link.queue_drops == 0 && link.queue_max <= 3, "{link:?}");
    }
}

#[test]
fn a_host_that_flow_control_held_back_sends_each_time_that_there_is_room() {
    let elapsed = |queue| {
        let link = config(json!({ "rate": "120 kbit/s", "propagation": "1 s", "queue": queue }));
        run(pair(link, 30_000)).summary.flows[0].elapsed_s
    };
    let held = elapsed(json!({ "limit": "2 packets", "overflow": "flow-control" }));
    assert_eq!(
        held,
        elapsed(json!({ "discipline": "infinite" })),
        "the transmitter is never short of packets"
    );
}

#[test]
fn a_queue_that_stops_the_run_stops_it() {
    let strict = config(json!({
        "rate": "1 Mbit/s", "propagation": "20 ms", "queue": { "limit": "3 packets", "overflow": "stop" },
    }));
    let outcome = run(pair(strict, 1_000_000));
    assert!(
        outcome.summary.stopped_by.starts_with("link lasthop: packet "),
        "{}",
        outcome.summary.stopped_by
    );
    // What the sender had in one burst is all that came to it.
    assert!((1..10).contains(&outcome.summary.links[0].queue_drops));
    assert!(outcome.summary.stopped_s < 1.0);
}

#[test]
fn a_queue_without_a_limit_that_fills_for_ever_is_an_error_and_not_the_end_of_the_memory() {
    let slow = config(json!({ "rate": "1 kbit/s", "queue": { "discipline": "infinite" } }));
    let application: Application =
        serde_json::from_value(json!({ "constant-rate": { "rate": "8 Mbit/s", "packet": "100 bytes" } }))
            .expect("a workload");
    let flood = Workload::Application { application, until: None };
    let mut world = World::new(Spec {
        nodes: vec![host(1), host(2)],
        links: vec![link("slow", [0, 1], slow)],
        flows: vec![FlowSpec { workload: flood, ..flow("flood", 0, 1, 0) }],
        stop: Some(SECOND * 1000),
        ..empty("overload")
    })
    .unwrap();
    world.limit_packets(5000);
    let error = world.run().unwrap_err().to_string();
    assert!(error.contains("link slow.down: 5001 packets wait"), "{error}");
}

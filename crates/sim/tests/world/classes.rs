//! Queues that distinguish packets: users by their hosts, flows, traffic classes.

use lasthop_sim::{Amount, FlowSpec, Outcome, Spec, Workload, World};
use serde_json::{Value, json};
use units::{Duration, Instant, LinkId, NodeId};
use workload::Application;

use crate::support::*;

/// Two servers, two users, and between their routers a line of 2 Mbit/s with this queue each way.
fn shared_line(queue: &Value) -> Spec {
    let line = config(json!({ "rate": "2 Mbit/s", "propagation": "20 ms", "queue": queue }));
    let lan = config(json!({ "rate": "100 Mbit/s", "propagation": "1 ms" }));
    Spec {
        nodes: vec![host(1), host(2), host(3), host(4), router("core"), router("station")],
        links: vec![
            link("lan-1", [0, 4], lan.clone()),
            link("lan-2", [1, 4], lan.clone()),
            link("lasthop", [4, 5], line),
            link("air-1", [5, 2], lan.clone()),
            link("air-2", [5, 3], lan),
        ],
        stop: Some(SECOND * 60),
        ..empty("shared line")
    }
}

/// A download as fast as it goes, whose window of 64 KiB is six times what is under way without a queue.
fn download(name: &str, from: usize, to: usize) -> FlowSpec {
    let receiver = tcp(json!({ "window": { "fixed": { "size": "64 KiB" } } }));
    FlowSpec { workload: Workload::Bulk(Amount::Until(SECOND * 60)), receiver, ..flow(name, from, to, 0) }
}

/// Datagrams at a rate that does not depend on their delivery.
fn flood(name: &str, from: usize, to: usize, rate: &str) -> FlowSpec {
    let application: Application =
        serde_json::from_value(json!({ "constant-rate": { "rate": rate } })).expect("a workload");
    let workload = Workload::Application { application, until: Some(SECOND * 60) };
    FlowSpec { workload, ..flow(name, from, to, 0) }
}

fn of_class(class: u8, flow: FlowSpec) -> FlowSpec {
    FlowSpec { class, ..flow }
}

/// What each flow received, as a share of what the line carries.
fn shares(queue: &Value, flows: Vec<FlowSpec>) -> Vec<f64> {
    let capacity = 2e6 / 8.0 * 60.0;
    let outcome: Outcome = run(Spec { flows, ..shared_line(queue) });
    outcome.summary.flows.iter().map(|flow| flow.received as f64 / capacity).collect()
}

fn separate(by: &str) -> Value {
    json!({ "discipline": { "separate": { "by": by, "limit": "30 packets" } } })
}

#[test]
fn in_one_queue_for_all_a_flood_to_one_user_takes_what_the_other_has() {
    let flows = vec![flood("flood", 0, 2, "4 Mbit/s"), download("download", 1, 3)];
    let shares = shares(&json!({ "limit": "30 packets" }), flows);
    assert!(shares[1] < 0.05, "{shares:?}");
}

#[test]
fn a_queue_for_each_destination_protects_a_user_from_another_ones_flood() {
    let flows = vec![flood("flood", 0, 2, "4 Mbit/s"), download("download", 0, 3)];
    let shares = shares(&separate("destination"), flows);
    assert!((0.44..=0.5).contains(&shares[1]), "half of the line, less headers: {shares:?}");
}

#[test]
fn a_queue_for_each_source_protects_a_sender_from_another_ones_flood() {
    let flows = vec![flood("flood", 2, 0, "4 Mbit/s"), download("upload", 3, 0)];
    let shares = shares(&separate("source"), flows);
    assert!((0.44..=0.5).contains(&shares[1]), "{shares:?}");
}

#[test]
fn users_share_alike_however_many_connections_one_of_them_has() {
    let many = (0..9).map(|n| download(&format!("many-{n}"), 0, 2));
    let flows: Vec<FlowSpec> = many.chain([download("one", 1, 3)]).collect();
    let by_user = shares(&separate("destination"), flows.clone());
    assert!((0.42..=0.55).contains(&by_user[9]), "{by_user:?}");
    let by_flow = shares(&separate("flow"), flows);
    assert!((0.07..=0.13).contains(&by_flow[9]), "a tenth: {by_flow:?}");
}

#[test]
fn fq_codel_gives_a_download_its_half_beside_a_flood_of_the_same_hosts() {
    let flows = vec![flood("flood", 0, 2, "4 Mbit/s"), download("download", 0, 2)];
    let shares = shares(&json!({ "limit": "10240 packets", "discipline": "fq-codel" }), flows);
    assert!((0.42..=0.5).contains(&shares[1]), "{shares:?}");
}

#[test]
fn the_lower_class_starves_where_the_higher_fills_the_line() {
    let queue = json!({ "limit": "100 packets", "discipline": "priority" });
    let flows = vec![of_class(5, flood("urgent", 0, 2, "3 Mbit/s")), of_class(1, download("patient", 1, 3))];
    let starved = shares(&queue, flows);
    assert!(starved[0] > 0.97 && starved[1] < 0.01, "{starved:?}");
}

#[test]
fn the_lower_class_has_what_the_higher_leaves_and_makes_it_wait_for_no_more_than_a_packet() {
    let queue = json!({ "limit": "20 packets", "discipline": "priority" });
    let flows =
        vec![of_class(5, flood("urgent", 0, 2, "500 kbit/s")), of_class(0, download("patient", 1, 3))];
    let outcome = run(Spec { flows, ..shared_line(&queue) });
    let [urgent, patient] = &outcome.summary.flows[..] else { panic!() };
    assert_eq!(urgent.measures.packets_lost, 0);
    // 22 ms on the links without queues; its own transmissions of 6 ms and 0.24 ms; 6 ms behind a packet in
    // transmission.
    assert!(urgent.measures.delay_p99_s.unwrap() < 0.0350, "{:?}", urgent.measures);
    let share = patient.received as f64 / (2e6 / 8.0 * 60.0);
    assert!((0.68..=0.75).contains(&share), "three quarters, less headers: {share}");
}

#[test]
fn weighted_round_robin_shares_as_its_weights_say() {
    let weights = |weights: Value| json!({ "limit": "1000 packets", "discipline": { "weighted-round-robin": { "weights": weights } } });
    let two = || vec![download("light", 0, 2), of_class(1, download("heavy", 1, 3))];
    for (list, expected) in [(json!([1, 4]), 4.0), (json!([2, 3]), 1.5)] {
        let shares = shares(&weights(list), two());
        let ratio = shares[1] / shares[0];
        assert!((ratio / expected - 1.0).abs() < 0.05, "{shares:?} for {expected}");
        assert!(shares[0] + shares[1] > 0.93, "{shares:?}");
    }
    // Floods share alike: neither keeps the other out of a queue that is always full.
    let floods = vec![flood("light", 0, 2, "4 Mbit/s"), of_class(1, flood("heavy", 1, 3, "3 Mbit/s"))];
    let shares_of_floods = shares(&weights(json!([1, 4])), floods);
    assert!((shares_of_floods[1] / shares_of_floods[0] / 4.0 - 1.0).abs() < 0.05, "{shares_of_floods:?}");
    let alone = shares(&weights(json!([1, 4])), vec![download("light", 0, 2)]);
    assert!(alone[0] > 0.93, "what the other class does not use is there for it: {alone:?}");
}

#[test]
fn the_class_of_a_flow_stands_in_the_packets_of_its_captures() {
    let mut spec = pair(slow(), 30_000);
    spec.flows[0].class = 5;
    spec.record.captures = vec![lasthop_sim::CapturePoint::Link(LinkId::new(0))];
    let outcome = run(spec);
    let frames = wire::capture::open(&outcome.captures[0].1[..]).unwrap().map(Result::unwrap);
    let classes: Vec<u8> = frames.map(|frame| frame.data[1] >> 5).collect();
    assert!(classes.len() > 30 && classes.iter().all(|class| *class == 5), "{classes:?}");
}

#[test]
fn a_kernels_packet_of_a_higher_precedence_overtakes_those_that_wait() {
    let line =
        config(json!({ "rate": "1 Mbit/s", "queue": { "limit": "9 packets", "discipline": "priority" } }));
    let nodes = vec![external(1), external(2)];
    let mut world =
        World::new(Spec { nodes, links: vec![link("lasthop", [0, 1], line)], ..empty("kernels") }).unwrap();
    for (port, traffic_class) in [(1, 0), (2, 0), (3, 0), (4, 0xa0)] {
        let datagram = wire::udp::Datagram {
            source_port: port,
            destination_port: 9,
            payload: wire::Payload::Pattern { offset: 0, len: 1000 },
        };
        let address = |number| std::net::Ipv4Addr::new(10, 0, 1, number);
        let header = wire::ip::v4::Header::new(address(1), address(2), wire::ip::Protocol::UDP, port);
        let header = wire::ip::v4::Header { traffic_class, ..header };
        world.inject(Instant::START, NodeId::new(0), wire::emit_udp_ipv4_behind(header, &datagram)).unwrap();
    }
    world.run_until(Instant::START + Duration::from_secs(1)).unwrap();
    let arrived = std::iter::from_fn(|| world.poll_external());
    let ports: Vec<u8> = arrived.map(|(_, packet)| packet.bytes.to_bytes()[21]).collect();
    assert_eq!(ports, [1, 4, 2, 3]);
}

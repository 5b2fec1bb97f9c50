//! Several streams in one connection of QUIC, and connections that continue from another port.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_stacks::{Assignment, QuinnSettings, Refusal, Run, StackId};
use serde_json::json;
use sim::{FlowSpec, LinkSpec, NodeKind, NodeSpec, Outcome, RecordSpec, Spec, Workload};
use units::{Bytes, Duration, NodeId};

/// A user at "phone" asks "server" over 4 Mbit/s and 30 ms each way; the way there has these keys besides.
fn spec(parallel: serde_json::Value, down: &serde_json::Value) -> Spec {
    let direction =
        json!({ "rate": "4 Mbit/s", "propagation": "30 ms", "queue": { "limit": "300 packets" } });
    let mut there = direction.clone();
    there.as_object_mut().unwrap().extend(down.as_object().unwrap().clone());
    let tcp = Arc::new(tcp::Config::from_profile(&json!({})).unwrap());
    let node = |name: &str, number| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address: Ipv4Addr::new(10, 88, 0, number) },
    };
    Spec {
        cells: Vec::new(),
        name: "streams".to_owned(),
        seed: 7,
        stop: Some(Duration::from_secs(60)),
        nodes: vec![node("server", 1), node("phone", 2)],
        links: vec![LinkSpec {
            name: "lasthop".to_owned(),
            ends: [0, 1].map(NodeId::new),
            down: serde_json::from_value(there).unwrap(),
            up: serde_json::from_value(direction).unwrap(),
            mtu: Bytes(1500),
        }],
        flows: vec![FlowSpec {
            name: "page".to_owned(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            start: Duration::ZERO,
            start_jitter: None,
            class: 0,
            workload: Workload::Application {
                application: serde_json::from_value(json!({ "parallel": parallel })).unwrap(),
                until: None,
            },
            sender: Arc::clone(&tcp),
            receiver: tcp,
            milestones: Vec::new(),
        }],
        record: RecordSpec { tcp: true, packets: true, transfers: true, ..RecordSpec::default() },
    }
}

fn quinn(settings: QuinnSettings) -> Assignment {
    let stack = StackId::named("quinn").unwrap().with_quinn(settings);
    let mut stacks = Assignment::default();
    (0..2).for_each(|node| stacks.set(NodeId::new(node), stack));
    stacks
}

fn outcome(spec: Spec, settings: QuinnSettings) -> Outcome {
    let mut run = Run::new(spec, &quinn(settings)).unwrap();
    run.run().unwrap();
    run.finish()
}

/// The ends of the transfers, in ms, sorted.
fn ends(outcome: &Outcome) -> Vec<u64> {
    let (_, transfers) = outcome.tables.iter().find(|(name, _)| *name == "transfers").unwrap();
    let column = transfers.column_by_name("end_ns").unwrap();
    let values = arrow_array::cast::as_primitive_array::<arrow_array::types::Int64Type>(column);
    let mut ends: Vec<u64> = values.values().iter().map(|end| *end as u64 / 1_000_000).collect();
    ends.sort_unstable();
    ends
}

fn nothing() -> serde_json::Value {
    json!({})
}

#[test]
fn streams_share_one_connection_and_objects_with_connections_have_one_each() {
    for (over, connections) in [("streams", 1), ("connections", 5)] {
        let spec = spec(json!({ "count": 5, "size": "100 kB", "over": over }), &nothing());
        let outcome = outcome(spec, QuinnSettings::DEFAULT);
        let flow = &outcome.summary.flows[0];
        assert_eq!((flow.connections, flow.received, flow.completed), (connections, 500_000, true), "{over}");
        assert_eq!(outcome.summary.stopped_by, "every flow closed");
        assert_eq!(ends(&outcome).len(), 5, "{over}");
    }
}

#[test]
fn a_lost_packet_can_hold_up_one_object_and_no_other() {
    let run = |down: &serde_json::Value| {
        let parallel = json!({ "count": 4, "size": "60 kB", "over": "streams" });
        ends(&outcome(spec(parallel, down), QuinnSettings::DEFAULT))
    };
    let clean = run(&nothing());
    let late_by_a_loss = |packet: u64| {
        let held = run(&json!({ "events": [{ "packet": packet, "effect": "drop" }] }));
        held.iter().zip(&clean).filter(|(held, clean)| **held >= **clean + 30).count()
    };
    let late: Vec<usize> = (100..180).step_by(4).map(late_by_a_loss).collect();
    assert!(late.contains(&1), "objects that are late by the loss of one packet: {late:?}, {clean:?}");
}

#[test]
fn a_connection_outlives_new_ports_of_its_client_and_its_packets_stay_the_flows() {
    let parallel = json!({ "count": 2, "size": "1 MB", "over": "streams" });
    let settings = |rebind_every| QuinnSettings { rebind_every, ..QuinnSettings::DEFAULT };
    let steady = outcome(spec(parallel.clone(), &nothing()), settings(None));
    let moved = outcome(spec(parallel, &nothing()), settings(Some(Duration::from_millis(700))));
    for outcome in [&steady, &moved] {
        let flow = &outcome.summary.flows[0];
        assert_eq!((flow.connections, flow.received, flow.completed), (1, 2_000_000, true), "{flow:?}");
        assert_eq!(flow.unnecessary_retransmissions, 0, "{flow:?}");
    }
    assert!(moved.summary != steady.summary, "the new port has no effect");
}

#[test]
fn streams_need_quic_at_both_hosts() {
    let spec = spec(json!({ "over": "streams" }), &nothing());
    let mut half = quinn(QuinnSettings::DEFAULT);
    half.set(NodeId::new(1), StackId::LASTHOP);
    for stacks in [half, Assignment::default()] {
        let refused = stacks.check_all(&spec);
        assert!(matches!(refused, Err(Refusal::Streams { .. })), "{refused:?}");
        assert!(Run::new(spec.clone(), &stacks).is_err());
    }
}

//! Reports of the world on packets between external nodes, and reports to the world on their flows.

use std::net::{Ipv4Addr, SocketAddr};

use arrow_array::{Array, Int64Array};
use lasthop_sim::{
    CapturePoint, ExternalFate, FlowSummary, LinkSpec, NodeKind, NodeSpec, ObservedConnection, ObservedFlow,
    RecordSpec, Spec, World,
};
use serde_json::json;
use units::{Bytes, Instant, NodeId, Seq};
use wire::{Flags, Options, Payload, Segment};

const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Two external nodes and a link whose way down does `events`.
fn spec(events: serde_json::Value) -> Spec {
    let node = |name: &str, address| NodeSpec { name: name.to_owned(), kind: NodeKind::External { address } };
    let config = |value| serde_json::from_value(value).expect("a link that the test means to be right");
    let down = config(json!({ "rate": "1 Mbit/s", "propagation": "10 ms", "events": events }));
    let up = config(json!({ "rate": "1 Mbit/s", "propagation": "10 ms" }));
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "observed".to_owned(),
        seed: 1,
        stop: None,
        nodes: vec![node("left", LEFT), node("right", RIGHT)],
        links: vec![LinkSpec {
            name: "lasthop".to_owned(),
            ends: [0, 1].map(NodeId::new),
            down,
            up,
            mtu: Bytes(1500),
            mtu_known: true,
        }],
        flows: Vec::new(),
        record: RecordSpec {
            packets: true,
            captures: vec![CapturePoint::Node(NodeId::new(0))],
            ..RecordSpec::default()
        },
    }
}

fn data() -> Vec<u8> {
    let segment = Segment {
        source_port: 7,
        destination_port: 9,
        seq: Seq(100),
        ack: Seq(1),
        flags: Flags::ACK,
        window: 1000,
        options: Options::default(),
        ecn: wire::Ecn::NotCapable,
        payload: Payload::Pattern { offset: 0, len: 50 },
    };
    wire::emit_ipv4(LEFT, RIGHT, 1, &segment)
}

#[test]
fn the_loss_of_an_external_packet_is_reported_with_its_rule() {
    let mut world = World::new(spec(json!([{ "packet": 1, "effect": "drop" }]))).unwrap();
    let id = world
        .inject(Instant::START, NodeId::new(0), data())
        .unwrap()
        .expect("the packet leads to the other node");
    world.run_until(Instant::from_nanos(1_000_000_000)).unwrap();
    assert!(world.poll_external().is_none());
    let event = world.poll_external_event().expect("the loss is reported");
    assert_eq!((event.id, event.bytes), (id, data()));
    assert!(matches!(event.fate, ExternalFate::Lost { rule } if !rule.is_empty()));
    assert!(world.poll_external_event().is_none());
}

#[test]
fn a_damaged_external_packet_arrives_and_counts_as_lost() {
    let mut world = World::new(spec(json!([{ "packet": 1, "effect": "corrupt" }]))).unwrap();
    world.inject(Instant::START, NodeId::new(0), data()).unwrap();
    world.run_until(Instant::from_nanos(1_000_000_000)).unwrap();
    let (node, arrived) = world.poll_external().expect("it arrives");
    assert_eq!(node, NodeId::new(1));
    assert_ne!(arrived.bytes, data());
    let event = world.poll_external_event().expect("the loss is reported");
    assert_eq!(event.fate, ExternalFate::Lost { rule: "corrupted" });
}

#[test]
fn a_delayed_external_packet_is_reported_and_arrives() {
    let mut world = World::new(spec(json!([{ "packet": 1, "delay": "2 s" }]))).unwrap();
    world.inject(Instant::START, NodeId::new(0), data()).unwrap();
    world.run_until(Instant::from_nanos(3_000_000_000)).unwrap();
    let event = world.poll_external_event().expect("the delay is reported");
    assert!(matches!(event.fate, ExternalFate::Delayed { by, .. } if by.as_secs_f64() == 2.0));
    let (_, arrived) = world.poll_external().expect("it arrives");
    assert_eq!(arrived.bytes, data());
}

#[test]
fn an_observed_flow_stands_in_the_summary_and_names_its_packets() {
    let mut world = World::new(spec(json!([{ "packet": 1, "delay": "100 ms" }]))).unwrap();
    world.inject(Instant::START, NodeId::new(0), data()).unwrap();
    world.run_until(Instant::from_nanos(1_000_000_000)).unwrap();
    let summary = FlowSummary { flow: "download".to_owned(), bytes: 50, ..FlowSummary::default() };
    let ends = [SocketAddr::from((LEFT, 7)), SocketAddr::from((RIGHT, 9))];
    let of = |ends| ObservedConnection { ends, diagnosis: Default::default(), records: Default::default() };
    let silent = of([SocketAddr::from((LEFT, 8)), SocketAddr::from((RIGHT, 9))]);
    let outcome = world.finish_observed(vec![ObservedFlow {
        summary: summary.clone(),
        connections: vec![silent, of(ends)],
        transfers: Vec::new(),
        samples: Vec::new(),
    }]);
    assert_eq!(outcome.summary.flows, [summary]);
    let (_, flows) = outcome.tables.iter().find(|(name, _)| *name == "flows").unwrap();
    assert_eq!(flows.num_rows(), 1);
    let (_, packets) = outcome.tables.iter().find(|(name, _)| *name == "packets").unwrap();
    let numbers: &Int64Array = packets["connection"].as_any().downcast_ref().unwrap();
    assert_eq!(numbers.value(0), 2, "the second connection of the flow");
    let capture = String::from_utf8_lossy(&outcome.captures[0].1).into_owned();
    assert!(capture.contains("data of download"), "{capture}");
}

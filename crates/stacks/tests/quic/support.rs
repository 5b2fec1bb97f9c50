//! A user who asks for objects over QUIC, for tests.

use std::net::Ipv4Addr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::types::Int64Type;
use lasthop_stacks::{Assignment, QuinnSettings, Run, StackId};
use serde_json::{Value, json};
use sim::{FlowSpec, LinkSpec, NodeKind, NodeSpec, Outcome, RecordSpec, Spec, Workload};
use units::{Bytes, Duration, NodeId};

/// A user at "phone" asks "server" by a workload, over 4 Mbit/s and 30 ms each way; the way there has these keys
/// besides.
pub fn spec(workload: Value, down: &Value) -> Spec {
    let tcp = Arc::new(tcp::Config::from_profile(&json!({})).unwrap());
    let node = |name: &str, number| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address: Ipv4Addr::new(10, 88, 0, number) },
    };
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "quic".to_owned(),
        seed: 7,
        stop: Some(Duration::from_secs(60)),
        nodes: vec![node("server", 1), node("phone", 2)],
        links: vec![link("lasthop", down)],
        flows: vec![FlowSpec {
            name: "page".to_owned(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            start: Duration::ZERO,
            start_jitter: None,
            class: 0,
            workload: Workload::Application {
                application: serde_json::from_value(workload).unwrap(),
                until: Some(Duration::from_secs(20)),
            },
            sender: Arc::clone(&tcp),
            receiver: tcp,
            milestones: Vec::new(),
        }],
        record: RecordSpec { tcp: true, packets: true, transfers: true, ..RecordSpec::default() },
    }
}

/// A link between the two hosts, with these keys of its way down besides.
pub fn link(name: &str, down: &Value) -> LinkSpec {
    let direction =
        json!({ "rate": "4 Mbit/s", "propagation": "30 ms", "queue": { "limit": "300 packets" } });
    let mut there = direction.clone();
    there.as_object_mut().unwrap().extend(down.as_object().unwrap().clone());
    LinkSpec {
        name: name.to_owned(),
        ends: [0, 1].map(NodeId::new),
        down: serde_json::from_value(there).unwrap(),
        up: serde_json::from_value(direction).unwrap(),
        mtu: Bytes(1500),
    }
}

pub fn quinn(settings: QuinnSettings) -> Assignment {
    let stack = StackId::named("quinn").unwrap().with_quinn(settings);
    let mut stacks = Assignment::default();
    (0..2).for_each(|node| stacks.set(NodeId::new(node), stack));
    stacks
}

pub fn outcome(spec: Spec, stacks: &Assignment) -> Outcome {
    let mut run = Run::new(spec, stacks).unwrap();
    run.run().unwrap();
    run.finish()
}

/// The ends of the transfers, in ms, sorted.
pub fn ends(outcome: &Outcome) -> Vec<u64> {
    let mut ends: Vec<u64> = numbers(outcome, "transfers", "end_ns");
    ends.iter_mut().for_each(|end| *end /= 1_000_000);
    ends.sort_unstable();
    ends
}

/// A column of numbers of a table.
pub fn numbers(outcome: &Outcome, table: &str, name: &str) -> Vec<u64> {
    let column = column(outcome, table, name);
    let values = arrow_array::cast::as_primitive_array::<Int64Type>(column);
    values.values().iter().map(|value| *value as u64).collect()
}

/// A column of texts of a table.
pub fn texts<'a>(outcome: &'a Outcome, table: &str, name: &str) -> Vec<&'a str> {
    arrow_array::cast::as_string_array(column(outcome, table, name)).iter().map(Option::unwrap).collect()
}

fn column<'a>(outcome: &'a Outcome, table: &str, name: &str) -> &'a ArrayRef {
    let (_, table) = outcome.tables.iter().find(|(known, _)| *known == table).unwrap();
    table.column_by_name(name).unwrap()
}

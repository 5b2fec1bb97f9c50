//! Two hosts, a link and a flow, to test with.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_stacks::{Assignment, ENTRIES, Entry, Run, StackId, Transport};
use link::Config;
use serde_json::{Value, json};
use sim::{Amount, FlowSpec, FlowSummary, LinkSpec, NodeKind, NodeSpec, Outcome, RecordSpec, Spec, Workload};
use units::{Bytes, Duration, NodeId};

/// One direction of a link, as a scenario file would say it.
pub(crate) fn config(value: Value) -> Config {
    serde_json::from_value(value).expect("a link that the test means to be right")
}

/// 2 Mbit/s, 30 ms, room for 30 packets, and errors.
pub(crate) fn lossy(probability: f64) -> Config {
    config(json!({
        "rate": "2 Mbit/s", "propagation": "30 ms", "queue": { "limit": "30 packets" },
        "errors": { "per": "packet", "probability": probability, "effect": "drop" },
    }))
}

pub(crate) fn tcp(profile: &Value) -> Arc<tcp::Config> {
    Arc::new(tcp::Config::from_profile(profile).expect("a profile that the test means to be right"))
}

pub(crate) fn bulk(bytes: u64) -> Workload {
    Workload::Bulk(Amount::Bytes(Bytes(bytes)))
}

/// A workload as a scenario file would say it, for this long.
pub(crate) fn program(workload: Value, seconds: u64) -> Workload {
    let application = serde_json::from_value(workload).expect("a workload that the test means to be right");
    Workload::Application { application, until: Some(Duration::from_secs(seconds)) }
}

/// A flow from the first host to the second.
pub(crate) fn flow(name: &str, workload: Workload) -> FlowSpec {
    FlowSpec {
        name: name.to_owned(),
        from: NodeId::new(0),
        to: NodeId::new(1),
        start: Duration::ZERO,
        start_jitter: None,
        class: 0,
        workload,
        sender: tcp(&json!({})),
        receiver: tcp(&json!({})),
        milestones: Vec::new(),
    }
}

pub(crate) fn host(name: &str, number: u8) -> NodeSpec {
    let address = Ipv4Addr::new(10, 88, 0, number);
    NodeSpec { name: name.to_owned(), kind: NodeKind::Host { address } }
}

pub(crate) fn link(name: &str, ends: [usize; 2], [down, up]: [Config; 2]) -> LinkSpec {
    LinkSpec {
        name: name.to_owned(),
        ends: ends.map(NodeId::new),
        down,
        up,
        mtu: Bytes(1500),
        mtu_known: true,
    }
}

/// Two hosts with these names, the link "lasthop" between them, and a flow.
pub(crate) fn pair([from, to]: [&str; 2], directions: [Config; 2], flow: FlowSpec) -> Spec {
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "pair".to_owned(),
        seed: 7,
        stop: Some(Duration::from_secs(600)),
        nodes: vec![host(from, 1), host(to, 2)],
        links: vec![link("lasthop", [0, 1], directions)],
        flows: vec![flow],
        record: RecordSpec::default(),
    }
}

/// One stack for each host, in the order of the hosts.
pub(crate) fn assigned(stacks: impl IntoIterator<Item = StackId>) -> Assignment {
    let mut assignment = Assignment::default();
    stacks.into_iter().enumerate().for_each(|(node, stack)| assignment.set(NodeId::new(node), stack));
    assignment
}

pub(crate) fn named(name: &str) -> StackId {
    StackId::named(name).expect("a stack that the test means to be there")
}

/// The stacks with these names, in the order of the hosts.
pub(crate) fn stacks(names: &[&str]) -> Assignment {
    assigned(names.iter().map(|name| named(name)))
}

pub(crate) fn outcome(spec: &Spec, stacks: &Assignment) -> Outcome {
    let mut run = Run::new(spec.clone(), stacks).unwrap_or_else(|error| panic!("{stacks:?}: {error}"));
    run.run().unwrap_or_else(|error| panic!("{stacks:?}: {error}"));
    run.finish()
}

pub(crate) fn only_flow(outcome: &Outcome) -> &FlowSummary {
    &outcome.summary.flows[0]
}

/// Every two stacks of this process that speak the same. Our own TCP with itself is the World alone; DCCP delivers no
/// given number of bytes, and has tests of its own.
pub(crate) fn pairs() -> Vec<[&'static str; 2]> {
    let is_paired =
        |entry: &&Entry| named(entry.id).is_in_process() && entry.member.transport != Transport::Dccp;
    let stacks: Vec<&Entry> = ENTRIES.iter().filter(is_paired).collect();
    let both = stacks.iter().flat_map(|one| stacks.iter().map(move |other| [*one, *other]));
    let speak = both.filter(|[one, other]| one.member.transport == other.member.transport);
    speak.map(|pair| pair.map(|entry| entry.id)).filter(|names| *names != ["lasthop", "lasthop"]).collect()
}

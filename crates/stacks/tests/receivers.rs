//! Receivers of QUIC that misbehave, before quinn.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_stacks::{Assignment, Run, StackId};
use serde_json::{Value, json};
use sim::{Amount, FlowSpec, FlowSummary, LinkSpec, NodeKind, NodeSpec, Outcome, RecordSpec, Spec, Workload};
use units::{Bytes, Duration, NodeId};

const TRANSFER: u64 = 400_000;

/// A link of 4 Mbit/s and 30 ms.
fn link(probability: f64) -> link::Config {
    let errors = json!({ "per": "packet", "probability": probability, "effect": "drop" });
    let value = json!({ "rate": "4 Mbit/s", "propagation": "30 ms", "errors": errors });
    serde_json::from_value(value).expect("a link that the test means to be right")
}

/// A transfer by quinn to a host whose profile has this ACK policy.
fn transfer(ack: &Value, probability: f64, seed: u64) -> Outcome {
    let node = |name: &str, number| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address: Ipv4Addr::new(10, 88, 0, number) },
    };
    let profile = |value: &Value| Arc::new(tcp::Config::from_profile(value).expect("a right profile"));
    let flow = FlowSpec {
        name: "download".to_owned(),
        from: NodeId::new(0),
        to: NodeId::new(1),
        start: Duration::ZERO,
        start_jitter: None,
        class: 0,
        workload: Workload::Bulk(Amount::Bytes(Bytes(TRANSFER))),
        sender: profile(&json!({})),
        receiver: profile(&json!({ "ack": ack })),
        milestones: Vec::new(),
    };
    let (down, up) = (link(probability), link(0.0));
    let spec = Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "receivers".to_owned(),
        seed,
        stop: Some(Duration::from_secs(600)),
        nodes: vec![node("server", 1), node("mobile", 2)],
        links: vec![LinkSpec {
            name: "path".to_owned(),
            ends: [0, 1].map(NodeId::new),
            down,
            up,
            mtu: Bytes(1500),
        }],
        flows: vec![flow],
        record: RecordSpec::default(),
    };
    let mut stacks = Assignment::default();
    let quinn = StackId::named("quinn").expect("a stack");
    (0..2).for_each(|node| stacks.set(NodeId::new(node), quinn));
    let mut run = Run::new(spec, &stacks).expect("a right specification");
    run.run().expect("a stream that arrives as it was sent");
    run.finish()
}

fn only_flow(outcome: &Outcome) -> &FlowSummary {
    &outcome.summary.flows[0]
}

/// Packets up for each packet down.
fn answers(outcome: &Outcome) -> f64 {
    let [down, up] = [0, 1].map(|direction| outcome.summary.links[direction].packets_in as f64);
    up / down
}

#[test]
fn an_honest_receiver_answers_every_second_packet() {
    let outcome = transfer(&json!("delayed"), 0.0, 7);
    assert!(only_flow(&outcome).completed);
    assert!((0.4..0.7).contains(&answers(&outcome)), "{}", answers(&outcome));
}

#[test]
fn one_that_divides_answers_every_packet_once() {
    let outcome = transfer(&json!("ack-division"), 0.0, 7);
    let flow = only_flow(&outcome);
    assert!(flow.completed && flow.retransmissions == 0, "{flow:?}");
    assert!((0.9..1.1).contains(&answers(&outcome)), "{}", answers(&outcome));
}

#[test]
fn one_that_repeats_answers_with_copies() {
    let outcome = transfer(&json!({ "dupack-spoofing": { "copies": 3 } }), 0.0, 7);
    let flow = only_flow(&outcome);
    assert!(flow.completed && flow.retransmissions == 0, "{flow:?}");
    assert!((3.7..4.2).contains(&answers(&outcome)), "{}", answers(&outcome));
}

#[test]
fn every_byte_reaches_receivers_that_divide_or_repeat_over_a_link_that_loses() {
    for policy in ["ack-division", "dupack-spoofing"] {
        let outcome = transfer(&json!(policy), 0.02, 7);
        let flow = only_flow(&outcome);
        assert_eq!((flow.received, flow.completed), (TRANSFER, true), "{policy}: {flow:?}");
        assert!(flow.retransmissions > 0, "{policy}");
    }
}

/// quinn skips a packet number now and then, and takes an ACK of it for a breach of the protocol (RFC 9000 §21.4). It
/// remembers the last one only: where the next was skipped before the ACK came, or the transfer ends before, nothing is
/// noticed.
#[test]
fn one_that_is_ahead_is_found_out_under_nearly_every_seed() {
    let found_out = |seed: &u64| {
        let outcome = transfer(&json!({ "optimistic": { "ahead": "4 segments" } }), 0.0, *seed);
        let flow = only_flow(&outcome);
        assert!(outcome.summary.stopped_s < 5.0, "seed {seed}: it continues after {flow:?}");
        !flow.completed && flow.received < TRANSFER
    };
    let seeds: Vec<u64> = (1..=20).filter(found_out).collect();
    assert!(seeds.len() >= 15, "only under {seeds:?}");
}

#[test]
fn a_run_repeats_to_the_bit() {
    for policy in ["ack-division", "dupack-spoofing", "optimistic"] {
        let [first, second] = [(); 2].map(|()| transfer(&json!(policy), 0.02, 7));
        assert_eq!(first.summary, second.summary, "{policy}");
    }
}

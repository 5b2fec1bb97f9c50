//! Receivers of QUIC that misbehave, before quinn.

use serde_json::{Value, json};
use sim::{FlowSpec, Outcome, Spec};

use crate::support::{bulk, config, flow, only_flow, outcome, pair, stacks, tcp};

const TRANSFER: u64 = 400_000;

/// A link of 4 Mbit/s and 30 ms.
fn link(probability: f64) -> link::Config {
    let errors = json!({ "per": "packet", "probability": probability, "effect": "drop" });
    config(json!({ "rate": "4 Mbit/s", "propagation": "30 ms", "errors": errors }))
}

/// A transfer by quinn to a host whose profile has this ACK policy.
fn transfer(ack: &Value, probability: f64, seed: u64) -> Outcome {
    let flow = FlowSpec { receiver: tcp(&json!({ "ack": ack })), ..flow("download", bulk(TRANSFER)) };
    let spec = pair(["server", "mobile"], [link(probability), link(0.0)], flow);
    outcome(&Spec { seed, ..spec }, &stacks(&["quinn", "quinn"]))
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

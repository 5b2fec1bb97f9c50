//! Several streams in one connection of QUIC, and connections that continue from another port.

use lasthop_stacks::{Assignment, QuinnSettings, Refusal, Run, StackId};
use serde_json::{Value, json};
use sim::Spec;
use units::{Duration, NodeId};

use crate::quic_user::{ends, quinn, spec};
use crate::support::outcome;

/// A user who asks for objects at once.
fn parallel(parameters: Value, down: &Value) -> Spec {
    spec(json!({ "parallel": parameters }), down)
}

#[test]
fn streams_share_one_connection_and_objects_with_connections_have_one_each() {
    for (over, connections) in [("streams", 1), ("connections", 5)] {
        let spec = parallel(json!({ "count": 5, "size": "100 kB", "over": over }), &json!({}));
        let outcome = outcome(&spec, &quinn(QuinnSettings::DEFAULT));
        let flow = &outcome.summary.flows[0];
        assert_eq!((flow.connections, flow.received, flow.completed), (connections, 500_000, true), "{over}");
        assert_eq!(outcome.summary.stopped_by, "every flow closed");
        assert_eq!(ends(&outcome).len(), 5, "{over}");
    }
}

#[test]
fn a_lost_packet_can_hold_up_one_object_and_no_other() {
    let run = |down: &serde_json::Value| {
        let spec = parallel(json!({ "count": 4, "size": "60 kB", "over": "streams" }), down);
        ends(&outcome(&spec, &quinn(QuinnSettings::DEFAULT)))
    };
    let clean = run(&json!({}));
    let late_by_a_loss = |packet: u64| {
        let held = run(&json!({ "events": [{ "packet": packet, "effect": "drop" }] }));
        held.iter().zip(&clean).filter(|(held, clean)| **held >= **clean + 30).count()
    };
    let late: Vec<usize> = (100..180).step_by(4).map(late_by_a_loss).collect();
    assert!(late.contains(&1), "objects that are late by the loss of one packet: {late:?}, {clean:?}");
}

#[test]
fn a_connection_outlives_new_ports_of_its_client_and_its_packets_stay_the_flows() {
    let spec = parallel(json!({ "count": 2, "size": "1 MB", "over": "streams" }), &json!({}));
    let settings = |rebind_every| QuinnSettings { rebind_every, ..QuinnSettings::DEFAULT };
    let steady = outcome(&spec, &quinn(settings(None)));
    let moved = outcome(&spec, &quinn(settings(Some(Duration::from_millis(700)))));
    for outcome in [&steady, &moved] {
        let flow = &outcome.summary.flows[0];
        assert_eq!((flow.connections, flow.received, flow.completed), (1, 2_000_000, true), "{flow:?}");
        assert_eq!(flow.unnecessary_retransmissions, 0, "{flow:?}");
    }
    assert!(moved.summary != steady.summary, "the new port has no effect");
}

#[test]
fn streams_need_quic_at_both_hosts() {
    for over in ["streams", "http3"] {
        let spec = parallel(json!({ "over": over }), &json!({}));
        let mut half = quinn(QuinnSettings::DEFAULT);
        half.set(NodeId::new(1), StackId::LASTHOP);
        for stacks in [half, Assignment::default()] {
            let refused = stacks.check_all(&spec);
            assert!(matches!(refused, Err(Refusal::Streams { .. })), "{refused:?}");
            assert!(Run::new(spec.clone(), &stacks).is_err());
        }
    }
}

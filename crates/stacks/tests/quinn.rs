//! Settings of quinn: its congestion controls, its first window, 0-RTT.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_stacks::{Assignment, QuinnCongestion, QuinnSettings, Refusal, Run, StackId};
use serde_json::json;
use sim::{Amount, FlowSpec, FlowSummary, LinkSpec, NodeKind, NodeSpec, Outcome, RecordSpec, Spec, Workload};
use units::{Bytes, Duration, NodeId};

/// A download over 4 Mbit/s and 30 ms each way, with room for 30 packets.
fn download(bytes: u64) -> Spec {
    let direction = json!({ "rate": "4 Mbit/s", "propagation": "30 ms", "queue": { "limit": "30 packets" } });
    let direction: link::Config = serde_json::from_value(direction).unwrap();
    let tcp = Arc::new(tcp::Config::from_profile(&json!({})).unwrap());
    let node = |name: &str, number| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address: Ipv4Addr::new(10, 88, 0, number) },
    };
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "quinn".to_owned(),
        seed: 7,
        stop: Some(Duration::from_secs(60)),
        nodes: vec![node("server", 1), node("phone", 2)],
        links: vec![LinkSpec {
            name: "lasthop".to_owned(),
            ends: [0, 1].map(NodeId::new),
            down: direction.clone(),
            up: direction,
            mtu: Bytes(1500),
        }],
        flows: vec![FlowSpec {
            name: "download".to_owned(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            start: Duration::ZERO,
            start_jitter: None,
            class: 0,
            workload: Workload::Bulk(Amount::Bytes(Bytes(bytes))),
            sender: Arc::clone(&tcp),
            receiver: tcp,
            milestones: Vec::new(),
        }],
        record: RecordSpec { tcp: true, ..RecordSpec::default() },
    }
}

fn assigned(server: QuinnSettings, phone: QuinnSettings) -> Assignment {
    let quinn = StackId::named("quinn").unwrap();
    let mut stacks = Assignment::default();
    stacks.set(NodeId::new(0), quinn.with_quinn(server));
    stacks.set(NodeId::new(1), quinn.with_quinn(phone));
    stacks
}

fn outcome(bytes: u64, settings: QuinnSettings) -> Outcome {
    let mut run = Run::new(download(bytes), &assigned(settings, settings)).unwrap();
    run.run().unwrap();
    run.finish()
}

fn flow(outcome: &Outcome) -> &FlowSummary {
    let flow = &outcome.summary.flows[0];
    assert!(flow.completed && flow.received == flow.bytes, "{flow:?}");
    flow
}

fn controlled_by(congestion: QuinnCongestion) -> QuinnSettings {
    QuinnSettings { congestion, ..QuinnSettings::DEFAULT }
}

#[test]
fn each_congestion_control_gives_a_run_of_its_own_that_repeats_to_the_bit() {
    let controls = [QuinnCongestion::Cubic, QuinnCongestion::NewReno, QuinnCongestion::Bbr];
    let runs = controls.map(|control| {
        let [first, second] = [(); 2].map(|()| outcome(2_000_000, controlled_by(control)));
        assert_eq!(first.summary, second.summary, "{control:?}");
        assert!(first.tables.iter().zip(&second.tables).all(|(one, other)| one == other), "{control:?}");
        flow(&first).clone()
    });
    let [cubic, new_reno, bbr] = &runs;
    assert_ne!((cubic.elapsed_s, cubic.segments_sent), (new_reno.elapsed_s, new_reno.segments_sent));
    assert_ne!((cubic.elapsed_s, cubic.segments_sent), (bbr.elapsed_s, bbr.segments_sent));
}

#[test]
fn a_first_window_of_one_packet_takes_longer_than_quinns_own() {
    let small = QuinnSettings { initial_window: Some(Bytes(2400)), ..QuinnSettings::DEFAULT };
    assert!(
        flow(&outcome(30_000, small)).elapsed_s > flow(&outcome(30_000, QuinnSettings::DEFAULT)).elapsed_s
    );
}

#[test]
fn with_zero_rtt_a_short_transfer_takes_a_round_trip_less() {
    let early = QuinnSettings { zero_rtt: true, ..QuinnSettings::DEFAULT };
    let [with, without] = [early, QuinnSettings::DEFAULT].map(|settings| {
        let outcome = outcome(2_000, settings);
        flow(&outcome).elapsed_s.unwrap()
    });
    let saved = without - with;
    assert!((0.055..0.1).contains(&saved), "{with} s with, {without} s without");
}

#[test]
fn zero_rtt_at_one_host_is_refused() {
    let early = QuinnSettings { zero_rtt: true, ..QuinnSettings::DEFAULT };
    let spec = download(1_000);
    for stacks in [assigned(early, QuinnSettings::DEFAULT), assigned(QuinnSettings::DEFAULT, early)] {
        let refused = stacks.check(&spec, &spec.flows, StackId::LASTHOP);
        assert!(matches!(refused, Err(Refusal::ZeroRtt { .. })), "{refused:?}");
    }
}

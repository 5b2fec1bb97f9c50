//! Every two stacks that speak the same, over links that lose and delay, in virtual time.

use lasthop_stacks::{Refusal, Run, SetupError};
use link::Config;
use serde_json::json;
use sim::{
    CapturePoint, Clock, FlowSpec, FlowSummary, LinkSpec, NodeKind, NodeSpec, Outcome, RecordSpec, Spec,
    World,
};
use units::{Bytes, Duration, NodeId};

use crate::support::{bulk, config, flow, host, link, lossy, only_flow, pairs, stacks};

/// A transfer from the first host to the second.
fn pair(down: Config, bytes: u64) -> Spec {
    let flow = FlowSpec { milestones: vec![Bytes(bytes / 2)], ..flow("download", bulk(bytes)) };
    crate::support::pair(["left", "right"], [down, lossy(0.0)], flow)
}

fn outcome(spec: &Spec, names: &[&str]) -> Outcome {
    crate::support::outcome(spec, &stacks(names))
}

/// A flow between other hosts.
fn between([from, to]: [usize; 2], flow: FlowSpec) -> FlowSpec {
    FlowSpec { from: NodeId::new(from), to: NodeId::new(to), ..flow }
}

#[test]
fn every_byte_arrives_over_a_link_that_loses_some_packets() {
    for names in pairs() {
        let outcome = outcome(&pair(lossy(0.02), 500_000), &names);
        let flow = only_flow(&outcome);
        assert_eq!(
            (flow.bytes, flow.received, flow.completed),
            (500_000, 500_000, true),
            "{names:?}: {flow:?}"
        );
        assert!(flow.retransmissions > 0 && flow.elapsed_s.unwrap() > 2.0, "{names:?}: {flow:?}");
        assert_eq!(outcome.summary.stopped_by, "every flow closed", "{names:?}");
        assert_eq!(outcome.summary.clock, Clock::Virtual);
        let link = &outcome.summary.links[0];
        assert!(link.error_drops > 0, "{names:?}");
    }
}

#[test]
fn a_run_repeats_to_the_bit() {
    for names in pairs() {
        let mut spec = pair(lossy(0.02), 200_000);
        spec.record = RecordSpec {
            packets: true,
            tcp: true,
            segments: true,
            captures: vec![CapturePoint::Node(NodeId::new(0)), CapturePoint::Node(NodeId::new(1))],
            payload: true,
            ..RecordSpec::default()
        };
        let [first, second] = [(); 2].map(|()| outcome(&spec, &names));
        assert_eq!(first.summary, second.summary, "{names:?}");
        assert_eq!(first.captures, second.captures, "{names:?}");
        assert!(first.tables.iter().zip(&second.tables).all(|(one, other)| one == other), "{names:?}");
        let seeded = outcome(&Spec { seed: 8, ..spec }, &names);
        assert_ne!(seeded.captures, first.captures, "{names:?}");
    }
}

#[test]
fn a_run_in_slices_is_the_run_at_once() {
    for names in pairs() {
        let spec = pair(lossy(0.02), 200_000);
        let mut run = Run::new(spec.clone(), &stacks(&names)).unwrap();
        while let Some(next) = run.next_event() {
            run.run_until(next + Duration::from_millis(100)).unwrap();
        }
        run.run().unwrap();
        assert_eq!(run.finish().summary, outcome(&spec, &names).summary, "{names:?}");
    }
}

#[test]
fn our_own_tcp_in_bytes_does_what_it_does_in_the_world() {
    same_in_bytes_as_in_the_world(pair(lossy(0.02), 300_000));
    // Packets that come at one instant are answered one by one in both.
    let late =
        json!({ "rate": "1 Mbit/s", "propagation": "50 ms", "events": [{ "packet": 100, "delay": "3 s" }] });
    same_in_bytes_as_in_the_world(pair(config(late), 300_000));
}

/// The same endpoints, links and losses: only the bytes are new. A third host forces them into being.
fn same_in_bytes_as_in_the_world(spec: Spec) {
    let mut world = World::new(spec.clone()).unwrap();
    world.run().unwrap();
    let in_world = world.finish().summary.flows.remove(0);
    let mut with_third = spec;
    with_third.nodes.push(host("third", 3));
    let free = config(json!({ "rate": "100 Mbit/s" }));
    with_third.links.push(link("spur", [1, 2], [free.clone(), free]));
    let last = FlowSpec { start: Duration::from_secs(300), ..flow("last", bulk(10)) };
    with_third.flows.push(between([1, 2], last));
    let in_bytes = outcome(&with_third, &["lasthop", "lasthop", "smoltcp"]);
    let in_bytes = only_flow(&in_bytes);
    let numbers = |flow: &FlowSummary| {
        (
            flow.bytes,
            flow.elapsed_s,
            flow.segments_sent,
            flow.retransmissions,
            flow.timeouts,
            flow.fast_retransmits,
        )
    };
    assert_eq!(numbers(in_bytes), numbers(&in_world));
    assert!(in_world.retransmissions > 0);
}

#[test]
fn a_delay_makes_quinn_probe_and_declare_lost_what_was_only_late() {
    let mut down = json!({ "rate": "1 Mbit/s", "propagation": "30 ms" });
    down["events"] = json!([{ "packet": 60, "delay": "2 s" }]);
    let mut spec = pair(config(down), 300_000);
    spec.record = RecordSpec { tcp: true, segments: true, ..RecordSpec::default() };
    let outcome = outcome(&spec, &["quinn", "quinn"]);
    let flow = only_flow(&outcome);
    assert!(flow.completed, "{flow:?}");
    assert!(flow.timeouts > 0, "{flow:?}");
    let (_, table) = outcome.tables.iter().find(|(name, _)| *name == "tcp").unwrap();
    assert!(table.num_rows() > 100, "{} rows", table.num_rows());
    let hosts = table.column_by_name("host").unwrap();
    let hosts = arrow_array::cast::as_string_array(hosts);
    assert!(hosts.iter().all(|host| host == Some("left")), "decisions are the sender's");
    let (_, segments) = outcome.tables.iter().find(|(name, _)| *name == "segments").unwrap();
    assert!(segments.num_rows() > 400, "{} rows", segments.num_rows());
}

#[test]
fn a_flow_of_the_worlds_own_goes_on_beside_one_over_stacks() {
    let mut spec = pair(lossy(0.01), 100_000);
    spec.nodes.extend([host("third", 3), host("fourth", 4)]);
    for name in ["west", "east"] {
        spec.nodes.push(NodeSpec { name: name.to_owned(), kind: NodeKind::Router });
    }
    let shared = LinkSpec { ends: [4, 5].map(NodeId::new), ..spec.links[0].clone() };
    let fast = config(json!({ "rate": "100 Mbit/s", "propagation": "1 ms" }));
    let spoke = |name: &str, ends| link(name, ends, [fast.clone(), fast.clone()]);
    spec.links = vec![shared, spoke("a", [0, 4]), spoke("b", [2, 4]), spoke("c", [5, 1]), spoke("d", [5, 3])];
    spec.flows.insert(0, between([2, 3], flow("ours", bulk(150_000))));
    let outcome = outcome(&spec, &["quinn", "quinn"]);
    let flows = &outcome.summary.flows;
    assert_eq!([&flows[0].flow, &flows[1].flow], ["ours", "download"]);
    assert!(flows.iter().all(|flow| flow.completed), "{flows:?}");
    assert_eq!(outcome.summary.stopped_by, "every flow closed");
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let refused = |spec: &Spec, names: &[&str]| match Run::new(spec.clone(), &stacks(names)) {
        Err(SetupError::Refused(refusal)) => refusal,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{names:?} should be refused"),
    };
    let spec = pair(lossy(0.0), 1);
    assert_eq!(refused(&spec, &["kernel"]), Refusal::RealTime { host: "left".to_owned(), stack: "kernel" });
    let text = refused(&spec, &["quinn", "smoltcp"]).to_string();
    assert!(text.contains("left (quinn) speaks QUIC and right (smoltcp) speaks TCP"), "{text}");
    assert!(matches!(refused(&spec, &["quinn"]), Refusal::Transport { .. }));
}

#[test]
fn the_pairs_are_all_that_speak_the_same() {
    let known = [["lasthop", "smoltcp"], ["smoltcp", "lasthop"], ["smoltcp", "smoltcp"], ["quinn", "quinn"]];
    assert!(known.iter().all(|names| pairs().contains(names)), "{:?}", pairs());
    assert!(!pairs().contains(&["smoltcp", "quinn"]));
}

//! Who reaches whom, and what no world can be built of.

use lasthop_sim::{BuildError, Spec, World};
use serde_json::json;
use units::{Bytes, LinkId, NodeId};

use crate::support::*;

fn wire() -> link::Config {
    config(json!({ "rate": "10 Mbit/s", "propagation": "5 ms" }))
}

fn refusal(spec: Spec) -> BuildError {
    World::new(spec).err().expect("it should be refused")
}

fn packets_in(spec: Spec) -> Vec<(String, u64)> {
    let links = run(spec).summary.links;
    links.into_iter().map(|link| (format!("{}.{}", link.link, link.direction), link.packets_in)).collect()
}

#[test]
fn the_path_with_the_fewest_links_is_taken() {
    let spec = Spec {
        nodes: vec![host(1), router("a"), router("b"), router("c"), host(2)],
        links: vec![
            link("1-a", [0, 1], wire()),
            link("a-b", [1, 2], wire()),
            link("b-c", [2, 3], wire()),
            link("a-c", [1, 3], wire()),
            link("c-2", [3, 4], wire()),
        ],
        flows: vec![flow("download", 0, 4, 10_000)],
        ..empty("detour")
    };
    let used: Vec<String> =
        packets_in(spec).into_iter().filter(|(_, packets)| *packets > 0).map(|(name, _)| name).collect();
    assert_eq!(used, ["1-a.down", "1-a.up", "a-c.down", "a-c.up", "c-2.down", "c-2.up"]);
}

#[test]
fn of_two_equal_paths_the_link_that_was_declared_first_is_taken() {
    let spec = |first: &str, second: &str| Spec {
        nodes: vec![host(1), host(2)],
        links: vec![link(first, [0, 1], wire()), link(second, [1, 0], wire())],
        flows: vec![flow("download", 0, 1, 10_000)],
        ..empty("twins")
    };
    for (first, second) in [("x", "y"), ("y", "x")] {
        let packets = packets_in(spec(first, second));
        assert!(
            packets[0].1 > 0 && packets[1].1 > 0 && packets[2].1 == 0 && packets[3].1 == 0,
            "{packets:?}"
        );
    }
}

#[test]
fn an_upload_uses_the_other_direction_of_the_same_link() {
    let mut spec = pair(wire(), 100_000);
    spec.flows[0] = flow("upload", 1, 0, 100_000);
    let outcome = run(spec);
    let [down, up] = &outcome.summary.links[..] else { panic!() };
    assert!(up.packets_in > down.packets_in, "{up:?} {down:?}");
    assert!(outcome.summary.flows[0].completed);
}

#[test]
fn hosts_that_no_path_joins_are_named() {
    let spec = Spec {
        nodes: vec![host(1), router("router"), host(2)],
        links: vec![link("half", [0, 1], wire())],
        flows: vec![flow("download", 0, 2, 10_000)],
        ..empty("gap")
    };
    let error = refusal(spec);
    assert_eq!(
        error.to_string(),
        "flow download: there is no path from host-1 to host-2; join them with links, over routers"
    );
}

#[test]
fn hosts_do_not_forward() {
    let spec = Spec {
        nodes: vec![host(1), host(2), host(3)],
        links: vec![link("a", [0, 1], wire()), link("b", [1, 2], wire())],
        flows: vec![flow("through", 0, 2, 10_000)],
        ..empty("chain")
    };
    assert!(
        matches!(refusal(spec), BuildError::NoRoute { from, to, .. } if from == "host-1" && to == "host-3")
    );
}

#[test]
fn contradictions_are_refused_by_name() {
    let base = || pair(wire(), 1000);
    let with = |change: fn(&mut Spec)| {
        let mut spec = base();
        change(&mut spec);
        refusal(spec).to_string()
    };
    type Case = (fn(&mut Spec), &'static str);
    let cases: [Case; 8] = [
        (|spec| spec.nodes[1].name = "host-1".into(), "two nodes are called host-1"),
        (|spec| spec.nodes[1].kind = spec.nodes[0].kind, "host-1 and host-2 both have the address 10.0.0.1"),
        (|spec| spec.links[0].ends[1] = NodeId::new(7), "link lasthop refers to node number 7"),
        (|spec| spec.links[0].ends[1] = NodeId::new(0), "link lasthop joins host-1 with itself"),
        (|spec| spec.flows[0].to = NodeId::new(0), "flow download leads from host-1 to itself"),
        (|spec| spec.flows[0].to = NodeId::new(9), "flow download refers to node number 9"),
        (|spec| spec.nodes[1] = external(1), "flow download needs a host at each end, and kernel-1 is none"),
        (
            |spec| spec.record.captures = vec![lasthop_sim::CapturePoint::Link(LinkId::new(3))],
            "a capture refers to link number 3",
        ),
    ];
    for (change, message) in cases {
        let text = with(change);
        assert!(text.starts_with(message), "{text}");
    }
}

#[test]
fn segments_fit_the_smallest_mtu_of_the_path() {
    let mut spec = Spec {
        nodes: vec![host(1), router("router"), host(2)],
        links: vec![link("lan", [0, 1], wire()), link("narrow", [1, 2], wire())],
        flows: vec![flow("download", 0, 2, 25_600)],
        ..empty("narrow")
    };
    spec.links[1].mtu = Bytes(296);
    let outcome = run(spec);
    assert!(outcome.summary.flows[0].completed);
    // 256 bytes a segment: the MTU less the headers of IPv4 and TCP.
    assert_eq!(outcome.summary.flows[0].segments_sent, 100);
    assert!(outcome.summary.links.iter().all(|link| link.oversize_drops == 0));
}

#[test]
fn a_link_without_any_stage_takes_no_time() {
    let nothing = config(json!({}));
    let outcome = run(pair(nothing, 100_000));
    let flow = &outcome.summary.flows[0];
    assert!(flow.completed && flow.retransmissions == 0);
    // Delayed ACKs are all that takes time.
    assert!(flow.elapsed_s.unwrap() < 1.0, "{flow:?}");
}

//! What many flows cost: a thousand web users on a dumbbell for a minute, and the cost of a segment among 10, 100,
//! 1,000 and 10,000 flows.
//!
//! Prints one JSON line for each figure, the median of [`RUNS`] runs. `cargo bench -p lasthop-sim --bench many -- web`
//! (or `10000`) runs one case once, for a profiler.

mod figures;

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_sim::{
    Amount, FlowSpec, LinkSpec, NodeKind, NodeSpec, RecordSpec, Spec, Summary, Workload, World,
};
use serde_json::json;
use units::{Bytes, Duration, NodeId};
use workload::Application;

use figures::{RUNS, cpu_seconds, median, print};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("web") => println!("{}", cpu_of(web_users()).0),
        Some(number) if number.parse::<usize>().is_ok() => {
            println!("{}", nanoseconds_per_segment(number.parse().unwrap_or(10)));
        }
        _ => all(),
    }
}

fn all() {
    print("sim_1000_web_users_60s_cpu_s", median((0..RUNS).map(|_| cpu_of(web_users()).0)), "s");
    let costs = [10, 100, 1_000, 10_000].map(|flows| {
        let cost = median((0..RUNS).map(|_| nanoseconds_per_segment(flows)));
        print(&format!("sim_{flows}_flows_ns_per_segment"), cost, "ns/segment");
        cost
    });
    print("sim_growth_10_to_10000_flows", costs[3] / costs[0], "times");
}

/// CPU seconds of a run without its building, and what came of it.
fn cpu_of(spec: Spec) -> (f64, Summary) {
    let mut world = World::new(spec).expect("the bench's own specification is right");
    let before = cpu_seconds();
    world.run().expect("the stream arrives as it was sent");
    (cpu_seconds() - before, world.finish().summary)
}

/// As many segments whatever the number of flows: each has four of them under way at a time.
fn nanoseconds_per_segment(flows: usize) -> f64 {
    let (cpu, summary) = cpu_of(windows_of_four(flows));
    let segments: u64 = summary.flows.iter().map(|flow| flow.segments_sent).sum();
    assert!(segments > SEGMENTS * 9 / 10, "{segments} segments");
    cpu * 1e9 / segments as f64
}

fn windows_of_four(flows: usize) -> Spec {
    let segments_per_second = 4.0 / ROUND_TRIP_S;
    let seconds = SEGMENTS as f64 / flows as f64 / segments_per_second;
    let stop = Duration::from_secs_f64(seconds);
    let receiver = tcp(json!({ "window": { "fixed": { "size": "5840 bytes" } } }));
    let flow = |n: usize| FlowSpec {
        start_jitter: Some(Duration::from_millis(100)),
        receiver: Arc::clone(&receiver),
        ..flow(format!("flow-{n}"), [0, 1], Workload::Bulk(Amount::Until(stop)))
    };
    Spec {
        stop: Some(stop),
        nodes: vec![host(0), host(1)],
        links: vec![link("path".to_owned(), [0, 1], &json!({ "propagation": "50 ms" }))],
        flows: (0..flows).map(flow).collect(),
        ..empty("flows")
    }
}

/// A thousand pairs of hosts; each user reads pages as the workload's defaults have them.
fn web_users() -> Spec {
    let access = json!({ "rate": "100 Mbit/s", "propagation": "5 ms", "queue": { "limit": "100 packets" } });
    let shared = json!({ "rate": "100 Mbit/s", "propagation": "20 ms", "queue": { "limit": "500 packets" } });
    let router = |name: &str| NodeSpec { name: name.to_owned(), kind: NodeKind::Router };
    let until = Some(Duration::from_secs(60));
    let web: Application = serde_json::from_value(json!({ "web": {} })).expect("a workload");
    let (mut nodes, mut flows) = (vec![router("left"), router("right")], Vec::new());
    let mut links = vec![link("bottleneck".to_owned(), [0, 1], &shared)];
    for n in 0..USERS {
        let [server, user] = [nodes.len(), nodes.len() + 1];
        nodes.extend([host(2 * n), host(2 * n + 1)]);
        links.push(link(format!("server-{n}"), [server, 0], &access));
        links.push(link(format!("user-{n}"), [1, user], &access));
        let workload = Workload::Application { application: Application::clone(&web), until };
        flows.push(FlowSpec {
            start_jitter: Some(Duration::from_secs(1)),
            ..flow(format!("web-{n}"), [server, user], workload)
        });
    }
    Spec { stop: until, nodes, links, flows, ..empty("web users") }
}

fn empty(name: &str) -> Spec {
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: name.to_owned(),
        seed: 1,
        stop: None,
        nodes: Vec::new(),
        links: Vec::new(),
        flows: Vec::new(),
        record: RecordSpec::default(),
    }
}

fn host(number: usize) -> NodeSpec {
    let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 1)) + number as u32);
    NodeSpec { name: format!("host-{number}"), kind: NodeKind::Host { address } }
}

fn link(name: String, ends: [usize; 2], direction: &serde_json::Value) -> LinkSpec {
    let direction: link::Config = serde_json::from_value(direction.clone()).expect("a link");
    LinkSpec {
        name,
        ends: ends.map(NodeId::new),
        down: direction.clone(),
        up: direction,
        mtu: Bytes(1500),
        mtu_known: true,
    }
}

fn tcp(profile: serde_json::Value) -> Arc<tcp::Config> {
    Arc::new(tcp::Config::from_profile(&profile).expect("a profile"))
}

fn flow(name: String, [from, to]: [usize; 2], workload: Workload) -> FlowSpec {
    FlowSpec {
        name,
        from: NodeId::new(from),
        to: NodeId::new(to),
        start: Duration::ZERO,
        start_jitter: None,
        class: 0,
        workload,
        sender: tcp(json!({})),
        receiver: tcp(json!({})),
        milestones: Vec::new(),
    }
}

const USERS: usize = 1_000;
const SEGMENTS: u64 = 1_000_000;
/// Twice the propagation of the path.
const ROUND_TRIP_S: f64 = 0.1;

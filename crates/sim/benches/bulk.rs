//! How many delivered data segments the world makes of one second of CPU, and in how much memory.
//!
//! The case of the promise: 100 Mbit/s, 50 ms round trip, SACK, 200 s, recording off; one bulk flow, and 50 that share
//! the link. Then what a wake-up costs the event queue with 10 components and with 10,000. Prints one JSON line for
//! each figure, the median of [`RUNS`] runs. `cargo bench -p lasthop-sim --bench bulk -- one` (or `fifty`) runs one
//! case once, for a profiler, and prints how many segments it delivered.

mod figures;

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;

use lasthop_sim::{
    Amount, EventQueue, FlowSpec, LinkSpec, NodeKind, NodeSpec, RecordSpec, Spec, Workload, World,
};
use serde_json::json;
use units::{Bytes, Duration, Instant, NodeId};

use figures::{RUNS, cpu_seconds, median, peak_memory_mib, print};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("one") => println!("{}", delivered_segments(spec(1))),
        Some("fifty") => println!("{}", delivered_segments(spec(50))),
        Some("memory") => println!("{}", peak_memory_of_a_run(1)),
        _ => all(),
    }
}

fn all() {
    let speed = |flows| median((0..RUNS).map(|_| segments_per_cpu_second(flows)));
    print("sim_bulk_segments_per_cpu_s", speed(1), "segments/CPU s");
    print("sim_50flows_segments_per_cpu_s", speed(50), "segments/CPU s");
    for components in [10, 10_000] {
        let cost = median((0..RUNS).map(|_| nanoseconds_per_wake_up(components)));
        print(&format!("sim_queue_{components}_components_ns"), cost, "ns/wake-up");
    }
    // The peak belongs to a process: each run has one of its own.
    print("sim_bulk_rss_mib", median((0..RUNS).map(|_| peak_memory_of_a_process())), "MiB");
}

fn segments_per_cpu_second(flows: usize) -> f64 {
    let spec = spec(flows);
    let before = cpu_seconds();
    let segments = delivered_segments(spec);
    segments / (cpu_seconds() - before)
}

/// Components that wake one after another and arm themselves anew, each after a time of its own.
fn nanoseconds_per_wake_up(components: usize) -> f64 {
    let mut queue = EventQueue::new(components);
    let period = |component: usize| Duration::from_nanos(1_000_000 + (component as u64 * 7919) % 100_003);
    for component in 0..components {
        queue.set(component, Instant::START + period(component));
    }
    let before = cpu_seconds();
    for _ in 0..WAKE_UPS {
        let (now, component) = queue.next().expect("every component is armed");
        queue.set(component, now + period(component));
    }
    (cpu_seconds() - before) * 1e9 / f64::from(WAKE_UPS)
}

fn peak_memory_of_a_run(flows: usize) -> f64 {
    delivered_segments(spec(flows));
    peak_memory_mib()
}

fn peak_memory_of_a_process() -> f64 {
    let own = std::env::current_exe().expect("the bench knows where it is");
    let output = Command::new(own).arg("memory").output().expect("the bench can run itself");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("it prints a number")
}

fn delivered_segments(spec: Spec) -> f64 {
    let mut world = World::new(spec).expect("the bench's own specification is right");
    world.run().expect("the stream arrives as it was sent");
    let summary = world.finish().summary;
    let bytes: u64 = summary.flows.iter().map(|flow| flow.bytes).sum();
    // All but the last segment of a flow are full.
    let segments = bytes as f64 / MSS as f64;
    let ideal = RATE_BPS / 8.0 / 1500.0 * DURATION_S as f64;
    assert!(segments > 0.9 * ideal, "{segments} segments, where {ideal} are possible: {summary:?}");
    segments
}

fn spec(flows: usize) -> Spec {
    let host = |number| NodeSpec {
        name: format!("host-{number}"),
        kind: NodeKind::Host { address: Ipv4Addr::new(10, 0, 0, number) },
    };
    let direction = json!({
        "rate": "100 Mbit/s", "propagation": "25 ms", "queue": { "limit": "420 packets" },
    });
    let direction: link::Config = serde_json::from_value(direction).expect("a link");
    let tcp = Arc::new(tcp::Config::from_profile(&json!({})).expect("a profile"));
    let flow = |number: usize| FlowSpec {
        name: format!("flow-{number}"),
        from: NodeId::new(0),
        to: NodeId::new(1),
        start: Duration::ZERO,
        start_jitter: Some(Duration::from_millis(100)),
        class: 0,
        workload: Workload::Bulk(Amount::Until(Duration::from_secs(DURATION_S))),
        sender: Arc::clone(&tcp),
        receiver: Arc::clone(&tcp),
        milestones: Vec::new(),
    };
    let link = LinkSpec {
        name: "lasthop".to_owned(),
        ends: [0, 1].map(NodeId::new),
        down: direction.clone(),
        up: direction,
        mtu: Bytes(1500),
        mtu_known: true,
    };
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "bulk".to_owned(),
        seed: 1,
        stop: Some(Duration::from_secs(DURATION_S)),
        nodes: vec![host(1), host(2)],
        links: vec![link],
        flows: (0..flows).map(flow).collect(),
        record: RecordSpec::default(),
    }
}

const WAKE_UPS: u32 = 5_000_000;
const DURATION_S: u64 = 200;
const RATE_BPS: f64 = 100e6;
/// Ethernet's MTU less the headers of IPv4 and TCP.
const MSS: u64 = 1460;

//! What one delivered segment costs the simulator, in instructions and in nanoseconds of CPU.
//!
//! Each case is one scenario that records nothing. It runs at two lengths; a figure is the difference of the costs over
//! the difference of the delivered segments, so that building the world and slow start do not count. Instructions are
//! counted by callgrind where valgrind is installed. Prints one JSON line for each figure:
//! `sim_CASE_instructions_per_segment`, `sim_CASE_ns_per_segment` (the median of [`RUNS`] runs), and
//! `sim_CASE_segments_per_cpu_s`, of whole runs, to be compared with other simulators.
//!
//! | case | scenario |
//! |---|---|
//! | `one`, `fifty` | flows over one link of 100 Mbit/s, 25 ms, a queue of 420 packets, delayed ACKs |
//! | `ns2_one`, `ns2_fifty` | access links of 1 Gbit/s, 5 ms; a bottleneck of 100 Mbit/s, 20 ms, 601 packets; payloads of 1000 bytes, an ACK for each |
//! | `10gbit_100ms` | one flow over 10 Gbit/s with a round trip of 100 ms and a queue of one such |
//! | `10_flows`, `10000_flows` | flows of four segments a round trip over a path without a rate |
//!
//! `cargo bench -p lasthop-sim --bench segment -- CASE [SECONDS]` runs one case once, for a profiler, and prints how
//! many segments it delivered; `-- counts [CASE…]` counts instructions alone.

mod figures;

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;

use lasthop_sim::{Amount, FlowSpec, LinkSpec, NodeKind, NodeSpec, RecordSpec, Spec, Workload, World};
use serde_json::{Value, json};
use units::{Bytes, Duration, NodeId};

use figures::{RUNS, cpu_seconds, median, print};

/// A scenario, and the two lengths at which it is run.
struct Case {
    name: &'static str,
    spec: fn(Duration) -> Spec,
    short_s: f64,
    long_s: f64,
}

const CASES: [Case; 7] = [
    Case { name: "one", spec: |stop| shared_link(1, stop), short_s: 10.0, long_s: 30.0 },
    Case { name: "fifty", spec: |stop| shared_link(50, stop), short_s: 10.0, long_s: 30.0 },
    Case { name: "ns2_one", spec: |stop| ns2(1, stop), short_s: 10.0, long_s: 30.0 },
    Case { name: "ns2_fifty", spec: |stop| ns2(50, stop), short_s: 10.0, long_s: 30.0 },
    Case { name: "10gbit_100ms", spec: long_fat, short_s: 2.0, long_s: 3.0 },
    Case { name: "10_flows", spec: |stop| windows_of_four(10, stop), short_s: 100.0, long_s: 600.0 },
    Case { name: "10000_flows", spec: |stop| windows_of_four(10_000, stop), short_s: 0.5, long_s: 1.0 },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.split_first() {
        Some((verb, names)) if verb == "counts" => chosen(names).for_each(print_instructions),
        Some((name, seconds)) => run_once(name, seconds),
        None => CASES.iter().for_each(|case| {
            print_instructions(case);
            print_times(case);
        }),
    }
}

/// The cases of these names, in their order here; without names, all.
fn chosen(names: &[String]) -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(move |case| names.is_empty() || names.iter().any(|name| name == case.name))
}

fn run_once(name: &str, seconds: &[String]) {
    let case = CASES.iter().find(|case| case.name == name).expect("the name of a case, see the table");
    let seconds = seconds.first().map_or(case.long_s, |text| text.parse().expect("seconds"));
    println!("{}", delivered(case, seconds));
}

fn print_instructions(case: &Case) {
    let Some([short, long]) = counts(case) else { return println!("valgrind is not installed") };
    let per_segment = (long.0 - short.0) / (long.1 - short.1);
    print(&format!("sim_{}_instructions_per_segment", case.name), per_segment, "instructions");
}

fn print_times(case: &Case) {
    let times: Vec<[(f64, f64); 2]> =
        (0..RUNS).map(|_| [case.short_s, case.long_s].map(|seconds| timed(case, seconds))).collect();
    let per_segment = times.iter().map(|[short, long]| (long.0 - short.0) / (long.1 - short.1));
    print(&format!("sim_{}_ns_per_segment", case.name), median(per_segment) * 1e9, "ns");
    let rates = times.iter().map(|[_, (cpu, segments)]| segments / cpu);
    print(&format!("sim_{}_segments_per_cpu_s", case.name), median(rates), "segments/CPU s");
}

/// CPU seconds of a run, and the segments that it delivered.
fn timed(case: &Case, seconds: f64) -> (f64, f64) {
    let before = cpu_seconds();
    let segments = delivered(case, seconds);
    (cpu_seconds() - before, segments)
}

/// Instructions and delivered segments of the short run and the long one.
fn counts(case: &Case) -> Option<[(f64, f64); 2]> {
    let [short, long] = [case.short_s, case.long_s].map(|seconds| count(case, seconds));
    Some([short?, long?])
}

/// Runs this program's one case under callgrind.
fn count(case: &Case, seconds: f64) -> Option<(f64, f64)> {
    let own = std::env::current_exe().expect("the bench knows where it is");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(own);
    let output = command.args([case.name, &seconds.to_string()]).output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.split("Collected : ").nth(1)?.split_whitespace().next()?.parse().ok()?;
    Some((collected, String::from_utf8_lossy(&output.stdout).trim().parse().ok()?))
}

/// Runs a case for a time; returns the data delivered, in segments.
fn delivered(case: &Case, seconds: f64) -> f64 {
    let spec = (case.spec)(Duration::from_secs_f64(seconds));
    let mss = spec.flows[0].sender.plain.mss.0;
    let mut world = World::new(spec).expect("the bench's own specification is right");
    world.run().expect("the stream arrives as it was sent");
    let summary = world.finish().summary;
    summary.flows.iter().map(|flow| flow.received / mss).sum::<u64>() as f64
}

/// Flows between two hosts over one link.
fn shared_link(flows: usize, stop: Duration) -> Spec {
    let config = json!({ "rate": "100 Mbit/s", "propagation": "25 ms", "queue": { "limit": "420 packets" } });
    let tcp = tcp(json!({ "mss": "1460 bytes" }));
    Spec {
        nodes: vec![host(0), host(1)],
        links: vec![link("lasthop".to_owned(), [0, 1], &config, &config)],
        flows: (0..flows)
            .map(|n| FlowSpec {
                start_jitter: Some(Duration::from_millis(100)),
                ..flow(n, [0, 1], stop, [&tcp, &tcp])
            })
            .collect(),
        ..empty(stop)
    }
}

/// Sack1 senders as ns-2's users set them up: each on an access link of its own.
fn ns2(flows: usize, stop: Duration) -> Spec {
    let access = json!({ "rate": "1 Gbit/s", "propagation": "5 ms" });
    let down = json!({ "rate": "100 Mbit/s", "propagation": "20 ms", "queue": { "limit": "601 packets" } });
    let up = json!({ "rate": "100 Mbit/s", "propagation": "20 ms" });
    let tcp = tcp(json!({
        "mss": "1000 bytes", "timestamps": false, "recovery": "sack-3517",
        "congestion": "aimd", "ack": "every-segment",
        "window": { "fixed": { "size": "100 MB" } }, "window_scale": true,
    }));
    let router = NodeSpec { name: "router".to_owned(), kind: NodeKind::Router };
    let mut spec = Spec { nodes: vec![router, host(0)], ..empty(stop) };
    spec.links.push(link("bottleneck".to_owned(), [0, 1], &down, &up));
    for n in 0..flows {
        let sender = spec.nodes.len();
        spec.nodes.push(host(n + 1));
        spec.links.push(link(format!("access-{n}"), [sender, 0], &access, &access));
        let start = Duration::from_millis(20 * n as u64);
        spec.flows.push(FlowSpec { start, ..flow(n, [sender, 1], stop, [&tcp, &tcp]) });
    }
    spec
}

/// One flow over a path that holds 83,000 segments.
fn long_fat(stop: Duration) -> Spec {
    let config =
        json!({ "rate": "10 Gbit/s", "propagation": "50 ms", "queue": { "limit": "83333 packets" } });
    let tcp = tcp(json!({
        "mss": "1460 bytes", "window_scale": true, "window": { "fixed": { "size": "400 MB" } },
    }));
    Spec {
        nodes: vec![host(0), host(1)],
        links: vec![link("path".to_owned(), [0, 1], &config, &config)],
        flows: vec![flow(0, [0, 1], stop, [&tcp, &tcp])],
        ..empty(stop)
    }
}

/// Flows that each have four segments under way at a time.
fn windows_of_four(flows: usize, stop: Duration) -> Spec {
    let config = json!({ "propagation": "50 ms" });
    let sender = tcp(json!({ "mss": "1460 bytes" }));
    let receiver = tcp(json!({ "mss": "1460 bytes", "window": { "fixed": { "size": "5840 bytes" } } }));
    Spec {
        nodes: vec![host(0), host(1)],
        links: vec![link("path".to_owned(), [0, 1], &config, &config)],
        flows: (0..flows)
            .map(|n| FlowSpec {
                start_jitter: Some(Duration::from_millis(100)),
                ..flow(n, [0, 1], stop, [&sender, &receiver])
            })
            .collect(),
        ..empty(stop)
    }
}

fn empty(stop: Duration) -> Spec {
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "bench".to_owned(),
        seed: 1,
        stop: Some(stop),
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

fn link(name: String, ends: [usize; 2], down: &Value, up: &Value) -> LinkSpec {
    let direction = |config: &Value| serde_json::from_value(config.clone()).expect("a link");
    LinkSpec {
        name,
        ends: ends.map(NodeId::new),
        down: direction(down),
        up: direction(up),
        mtu: Bytes(1500),
        mtu_known: true,
    }
}

fn tcp(profile: Value) -> Arc<tcp::Config> {
    Arc::new(tcp::Config::from_profile(&profile).expect("a profile"))
}

fn flow(
    number: usize,
    [from, to]: [usize; 2],
    stop: Duration,
    [sender, receiver]: [&Arc<tcp::Config>; 2],
) -> FlowSpec {
    FlowSpec {
        name: format!("flow-{number}"),
        from: NodeId::new(from),
        to: NodeId::new(to),
        start: Duration::ZERO,
        start_jitter: None,
        class: 0,
        workload: Workload::Bulk(Amount::Until(stop)),
        sender: Arc::clone(sender),
        receiver: Arc::clone(receiver),
        milestones: Vec::new(),
    }
}

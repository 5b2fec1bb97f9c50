//! How late the driver releases packets, and how much of a link a kernel's transfer gets.
//!
//! `cargo bench -p lasthop-live --bench lateness` prints one JSON object for each figure, the median of [`RUNS`] runs;
//! with a word after `--`, only figures whose names contain it. They are meaningful on an idle machine only.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_live::{LiveSummary, Options, doctor, run};
use serde_json::{Value, json};
use sim::{Amount, FlowSpec, LinkSpec, NodeKind, NodeSpec, RecordSpec, Spec, Workload};
use units::{Bytes, Duration, NodeId};

const RUNS: usize = 5;

fn main() {
    let needed = ["tun", "namespaces"];
    let obstacle = doctor().into_iter().find(|check| !check.ok && needed.contains(&check.check.as_str()));
    if let Some(obstacle) = obstacle {
        eprintln!("NOT MEASURED: live runs are not possible here: {obstacle}");
        return;
    }
    let lateness = |summary: &LiveSummary| summary.lateness.p99_ms;
    // The link of Sarolahti 2000: packets of 296 bytes, 7 of framing, 9600 bit/s.
    let gsm = json!({
        "rate": "9600 bit/s", "propagation": "200 ms", "framing": "7 bytes", "queue": { "limit": "20 packets" },
    });
    figure("live_lateness_p99_ms_9600", "ms", &spec(gsm, 296, 15), lateness);
    let fast = json!({ "rate": "50 Mbit/s", "propagation": "10 ms", "queue": { "limit": "100 packets" } });
    figure("live_lateness_p99_ms_50mbit", "ms", &spec(fast, 1500, 5), lateness);
    let bulk = json!({ "rate": "10 Mbit/s", "propagation": "50 ms", "queue": { "limit": "100 packets" } });
    figure("live_bulk_10mbit_share", "1", &spec(bulk, 1500, 20), |summary| share(summary, 10e6));
}

/// Measures and prints the median.
fn figure(name: &str, unit: &str, spec: &Spec, value: impl Fn(&LiveSummary) -> f64) {
    let mut wanted = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    if !wanted.next().is_none_or(|word| name.contains(&word)) {
        return;
    }
    let mut values: Vec<f64> = (0..RUNS).map(|_| value(&live(spec))).collect();
    values.sort_by(f64::total_cmp);
    println!("{}", json!({ "name": name, "value": values[RUNS / 2], "unit": unit }));
    eprintln!("{name}: {values:?}");
}

fn live(spec: &Spec) -> LiveSummary {
    let options = Options { congestion: Some("reno".to_owned()), ..Options::default() };
    run(spec, options).unwrap_or_else(|error| panic!("{error}")).summary
}

/// The throughput as a part of what the link's rate leaves for data: 1448 of each 1500 bytes.
fn share(summary: &LiveSummary, bits_per_second: f64) -> f64 {
    let flow = &summary.run.flows[0];
    flow.throughput_bps.unwrap_or(0.0) * 8.0 / (bits_per_second * 1448.0 / 1500.0)
}

/// One transfer of some seconds over a link that is the same both ways.
fn spec(config: Value, mtu: u64, seconds: u64) -> Spec {
    let config: link::Config = serde_json::from_value(config).expect("the link is right");
    let host = |name: &str, number| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address: Ipv4Addr::new(10, 77, 0, number) },
    };
    let tcp = Arc::new(tcp::Config::from_profile(&json!({})).expect("the default profile is right"));
    let flow = FlowSpec {
        name: "bulk".to_owned(),
        from: NodeId::new(0),
        to: NodeId::new(1),
        start: Duration::ZERO,
        start_jitter: None,
        class: 0,
        workload: Workload::Bulk(Amount::Until(Duration::from_secs(seconds))),
        sender: Arc::clone(&tcp),
        receiver: tcp,
        milestones: Vec::new(),
    };
    let (down, up) = (config.clone(), config);
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "bench".to_owned(),
        seed: 1,
        // What is in the send buffer when the time is up need not be waited for.
        stop: Some(Duration::from_secs(seconds)),
        nodes: vec![host("server", 1), host("mobile", 2)],
        links: vec![LinkSpec {
            name: "lasthop".to_owned(),
            ends: [0, 1].map(NodeId::new),
            down,
            up,
            mtu: Bytes(mtu),
            mtu_known: true,
        }],
        flows: vec![flow],
        record: RecordSpec::default(),
    }
}

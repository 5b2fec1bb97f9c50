//! A world by hand: two hosts, a slow link that delays one packet, one bulk flow.
//!
//! `cargo run -p lasthop-sim --example transfer -- DIR` prints the summary and writes the captures at the
//! two hosts and at the link into DIR.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use lasthop_sim::{
    Amount, CapturePoint, FlowSpec, LinkSpec, NodeKind, NodeSpec, RecordSpec, Spec, Workload, World,
};
use serde_json::json;
use units::{Bytes, Duration, LinkId, NodeId};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let mut world = World::new(spec()?)?;
    world.run()?;
    let outcome = world.finish();
    println!("{}", serde_json::to_string_pretty(&outcome.summary)?);
    for (point, bytes) in &outcome.captures {
        if let Some(directory) = &directory {
            std::fs::write(directory.join(format!("capture-{point}.pcapng")), bytes)?;
        }
    }
    Ok(())
}

fn spec() -> Result<Spec, Box<dyn std::error::Error>> {
    let host = |name: &str, number| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address: Ipv4Addr::new(10, 0, 0, number) },
    };
    let down = json!({
        "rate": "9600 bit/s", "propagation": "200 ms", "framing": "7 bytes",
        "queue": { "limit": "7 packets" }, "events": [{ "packet": 40, "delay": "6 s" }],
    });
    let up = json!({ "rate": "9600 bit/s", "propagation": "200 ms", "framing": "7 bytes" });
    let tcp = Arc::new(tcp::Config::from_profile(&json!({}))?);
    Ok(Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "transfer".to_owned(),
        seed: 1,
        stop: None,
        nodes: vec![host("server", 1), host("mobile", 2)],
        links: vec![LinkSpec {
            name: "lasthop".to_owned(),
            ends: [0, 1].map(NodeId::new),
            down: serde_json::from_value(down)?,
            up: serde_json::from_value(up)?,
            mtu: Bytes(296),
            mtu_known: true,
        }],
        flows: vec![FlowSpec {
            name: "download".to_owned(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            start: Duration::ZERO,
            start_jitter: None,
            class: 0,
            workload: Workload::Bulk(Amount::Bytes(Bytes(100 * 1024))),
            sender: Arc::clone(&tcp),
            receiver: tcp,
            milestones: vec![Bytes(10 * 1024)],
        }],
        record: RecordSpec {
            captures: vec![
                CapturePoint::Node(NodeId::new(0)),
                CapturePoint::Link(LinkId::new(0)),
                CapturePoint::Node(NodeId::new(1)),
            ],
            ..RecordSpec::default()
        },
    })
}

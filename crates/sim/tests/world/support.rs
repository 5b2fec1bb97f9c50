//! Worlds to test with.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_sim::{
    Amount, CapturePoint, FlowSpec, LinkSpec, NodeKind, NodeSpec, Outcome, RecordSpec, Spec, Workload, World,
};
use link::Config;
use serde_json::json;
use units::{Bytes, Duration, LinkId, NodeId};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Nothing but a name.
pub(crate) fn empty(name: &str) -> Spec {
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

pub(crate) fn host(number: u8) -> NodeSpec {
    let address = Ipv4Addr::new(10, 0, 0, number);
    NodeSpec { name: format!("host-{number}"), kind: NodeKind::Host { address } }
}

pub(crate) fn router(name: &str) -> NodeSpec {
    NodeSpec { name: name.to_owned(), kind: NodeKind::Router }
}

pub(crate) fn external(number: u8) -> NodeSpec {
    let address = Ipv4Addr::new(10, 0, 1, number);
    NodeSpec { name: format!("kernel-{number}"), kind: NodeKind::External { address } }
}

/// One direction of a link, as a scenario file would say it.
pub(crate) fn config(value: serde_json::Value) -> Config {
    serde_json::from_value(value).expect("a link that the test means to be right")
}

/// 2 Mbit/s, 50 ms, room for 20 packets.
pub(crate) fn slow() -> Config {
    config(json!({ "rate": "2 Mbit/s", "propagation": "50 ms", "queue": { "limit": "20 packets" } }))
}

pub(crate) fn link(name: &str, ends: [usize; 2], config: Config) -> LinkSpec {
    let ends = ends.map(NodeId::new);
    LinkSpec {
        name: name.to_owned(),
        ends,
        down: config.clone(),
        up: config,
        mtu: Bytes(1500),
        mtu_known: true,
    }
}

pub(crate) fn tcp(profile: serde_json::Value) -> Arc<tcp::Config> {
    Arc::new(tcp::Config::from_profile(&profile).expect("a profile that the test means to be right"))
}

pub(crate) fn flow(name: &str, from: usize, to: usize, bytes: u64) -> FlowSpec {
    FlowSpec {
        name: name.to_owned(),
        from: NodeId::new(from),
        to: NodeId::new(to),
        start: Duration::ZERO,
        start_jitter: None,
        class: 0,
        workload: Workload::Bulk(Amount::Bytes(Bytes(bytes))),
        sender: tcp(json!({})),
        receiver: tcp(json!({})),
        milestones: Vec::new(),
    }
}

/// Two hosts, one link, one flow.
pub(crate) fn pair(config: Config, bytes: u64) -> Spec {
    Spec {
        nodes: vec![host(1), host(2)],
        links: vec![link("lasthop", [0, 1], config)],
        flows: vec![flow("download", 0, 1, bytes)],
        ..empty("pair")
    }
}

/// Everything that can be kept.
pub(crate) fn everything(spec: &Spec) -> RecordSpec {
    let nodes = (0..spec.nodes.len()).map(|node| CapturePoint::Node(NodeId::new(node)));
    let links = (0..spec.links.len()).map(|link| CapturePoint::Link(LinkId::new(link)));
    RecordSpec {
        packets: true,
        tcp: true,
        queue: true,
        segments: true,
        captures: nodes.chain(links).collect(),
        ..RecordSpec::default()
    }
}

pub(crate) fn run(spec: Spec) -> Outcome {
    let mut world = World::new(spec).expect("a world that the test means to be right");
    world.run().expect("the stream arrives as it was sent");
    world.finish()
}

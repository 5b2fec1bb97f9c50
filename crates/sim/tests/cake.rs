//! CAKE as in a home router: a shaper before a faster link, shared by hosts.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_sim::{
    Amount, FlowSpec, LinkSpec, MeasureSpec, NodeKind, NodeSpec, RecordSpec, Spec, WindowSpec, Workload,
    World,
};
use serde_json::json;
use testkit::profile::{config, named};
use units::{Bytes, Duration, NodeId};

/// Five hosts: a server, a router, and the hosts that download.
fn host(number: u8) -> NodeSpec {
    let address = Ipv4Addr::new(10, 0, 0, number);
    NodeSpec { name: format!("host-{number}"), kind: NodeKind::Host { address } }
}

fn router() -> NodeSpec {
    NodeSpec { name: "router".to_owned(), kind: NodeKind::Router }
}

fn link(name: &str, ends: [usize; 2], down: serde_json::Value) -> LinkSpec {
    let direction = |value| serde_json::from_value::<link::Config>(value).expect("a link");
    let up = json!({ "rate": "100 Mbit/s", "propagation": "5 ms" });
    let ends = ends.map(NodeId::new);
    LinkSpec {
        name: name.to_owned(),
        ends,
        down: direction(down),
        up: direction(up),
        mtu: Bytes(1500),
        mtu_known: true,
    }
}

const END: Duration = Duration::from_secs(30);

/// Eight downloads to one host and one to another, through a shaper of 19 Mbit/s on a link of 100 Mbit/s.
fn spec() -> Spec {
    let tcp = config(&named("cubic").expect("a profile can be read")).expect("a profile is valid");
    let flow = |number: usize| FlowSpec {
        name: format!("download-{number}"),
        from: NodeId::new(0),
        to: NodeId::new(if number < 8 { 2 } else { 3 }),
        start: Duration::from_millis(50) * number as u64,
        start_jitter: None,
        class: 0,
        workload: Workload::Bulk(Amount::Until(END)),
        sender: Arc::clone(&tcp),
        receiver: Arc::clone(&tcp),
        milestones: Vec::new(),
    };
    let cake = json!({ "rate": "19 Mbit/s", "isolation": "dual-dsthost" });
    let queue = json!({ "limit": "10240 packets", "discipline": { "cake": cake } });
    let fast = json!({ "rate": "100 Mbit/s", "propagation": "5 ms" });
    let window = WindowSpec { name: "steady".to_owned(), from: Duration::from_secs(10), to: Some(END) };
    let measure = MeasureSpec { windows: vec![window], links: true, ..MeasureSpec::default() };
    Spec {
        name: "cake".to_owned(),
        seed: 1,
        stop: Some(END),
        nodes: vec![host(1), router(), host(2), host(3)],
        links: vec![
            link("access", [0, 1], json!({ "rate": "100 Mbit/s", "propagation": "10 ms", "queue": queue })),
            link("first", [1, 2], fast.clone()),
            link("second", [1, 3], fast),
        ],
        cells: Vec::new(),
        proxies: Vec::new(),
        flows: (0..9).map(flow).collect(),
        record: RecordSpec { measure, ..RecordSpec::default() },
    }
}

// Høiland-Jørgensen, Täht and Morton 2018 §IV: hosts share a link equally however many flows each has.
#[test]
fn hosts_share_the_shaped_rate_equally_and_packets_wait_little() {
    let mut world = World::new(spec()).expect("a world");
    world.run().expect("it runs");
    let flows = world.finish().summary.flows;
    let rates: Vec<f64> =
        flows.iter().map(|flow| flow.windows[0].goodput_bps.expect("a rate") * 8.0).collect();
    let (many, one) = (rates[..8].iter().sum::<f64>(), rates[8]);
    // Payload of packets of 1500 bytes with timestamps.
    let shaped = 19e6 * 1448.0 / 1500.0;
    assert!((0.93..1.01).contains(&((many + one) / shaped)), "{rates:.0?} of {shaped:.0} bit/s");
    assert!((0.85..1.15).contains(&(many / one)), "{many:.0} and {one:.0} bit/s");
    let delay = flows[8].windows[0].measures.delay_mean_s.expect("packets arrived");
    assert!(delay < 0.015 + 0.030, "{delay} s");
}

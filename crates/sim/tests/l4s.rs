//! L4S on a last hop: Prague alongside CUBIC under DualPI2, and DCTCP at a shallow threshold, against what RFC 9332,
//! RFC 9331 and RFC 8257 promise.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_sim::{
    Amount, FlowSpec, LinkSpec, MeasureSpec, NodeKind, NodeSpec, RecordSpec, Spec, WindowSpec, Workload,
    World,
};
use serde_json::{Value, json};
use testkit::profile::{config, named};
use units::{Bytes, Duration, NodeId};

/// What a flow came to after slow start.
#[derive(Debug)]
struct Share {
    /// Payload sent, in bits per second.
    rate: f64,
    /// The mean time in queues, in seconds.
    queued: f64,
}

/// What flows with these profiles make of a link, and the share of its capacity that they use.
fn run(profiles: &[&str], millis: u64, dualpi2: &Value) -> (Vec<Share>, f64) {
    let mut world = World::new(spec(profiles, millis, dualpi2)).expect("a world");
    world.run().expect("it runs");
    let flows = world.finish().summary.flows;
    let fixed = millis as f64 / 2e3 + PACKET_TIME;
    let share = |flow: &lasthop_sim::FlowSummary| {
        let window = &flow.windows[0];
        let delay = window.measures.delay_mean_s.expect("packets arrived");
        Share { rate: window.sent_bps.expect("a rate") * 8.0, queued: delay - fixed }
    };
    let shares: Vec<Share> = flows.iter().map(share).collect();
    let used = shares.iter().map(|share| share.rate).sum::<f64>() / CAPACITY;
    (shares, used)
}

fn spec(profiles: &[&str], millis: u64, dualpi2: &Value) -> Spec {
    let direction = |queue: Value| -> link::Config {
        let propagation = format!("{} us", millis * 500);
        let direction = json!({ "rate": "40 Mbit/s", "propagation": propagation, "queue": queue });
        serde_json::from_value(direction).expect("a link")
    };
    let flow = |(number, profile): (usize, &&str)| {
        let tcp = config(&named(profile).expect("a profile can be read")).expect("a profile is valid");
        FlowSpec {
            name: format!("{profile}-{number}"),
            from: NodeId::new(0),
            to: NodeId::new(1),
            start: Duration::from_millis(100) * number as u64,
            start_jitter: None,
            class: 0,
            workload: Workload::Bulk(Amount::Until(END)),
            sender: Arc::clone(&tcp),
            receiver: tcp,
            milestones: Vec::new(),
        }
    };
    let window = WindowSpec { name: "steady".to_owned(), from: BEGIN, to: Some(END) };
    let measure = MeasureSpec { windows: vec![window], links: true, ..MeasureSpec::default() };
    let dualpi2 = json!({ "discipline": { "dualpi2": dualpi2 }, "limit": "833 packets" });
    Spec {
        name: "l4s".to_owned(),
        seed: 1,
        stop: Some(END),
        nodes: [1, 2].map(host).into(),
        links: vec![LinkSpec {
            name: "bottleneck".to_owned(),
            ends: [0, 1].map(NodeId::new),
            down: direction(dualpi2),
            up: direction(json!({})),
            mtu: Bytes(1500),
            mtu_known: true,
        }],
        cells: Vec::new(),
        proxies: Vec::new(),
        flows: profiles.iter().enumerate().map(flow).collect(),
        record: RecordSpec { measure, ..RecordSpec::default() },
    }
}

fn host(number: u8) -> NodeSpec {
    let address = Ipv4Addr::new(10, 0, 0, number);
    NodeSpec { name: format!("host-{number}"), kind: NodeKind::Host { address } }
}

const BEGIN: Duration = Duration::from_secs(10);
const END: Duration = Duration::from_secs(40);
/// Payload that 40 Mbit/s carry in packets of 1500 bytes with timestamps, in bits per second.
const CAPACITY: f64 = 40e6 * 1448.0 / 1500.0;
/// Transmission of such a packet, in seconds.
const PACKET_TIME: f64 = 1500.0 * 8.0 / 40e6;

// RFC 9332 §1: queueing delay below a millisecond on average.
#[test]
fn prague_alone_fills_the_link_and_queues_for_less_than_a_millisecond() {
    for millis in [10, 20] {
        for profiles in [&["prague"][..], &["prague"; 2], &["prague"; 4], &["prague-linux"; 2]] {
            let (shares, used) = run(profiles, millis, &json!({}));
            let queued = shares.iter().map(|share| share.queued).fold(0.0, f64::max);
            assert!(used > 0.9 && queued < 1e-3, "{used:.3} of the link in {millis} ms: {shares:?}");
        }
    }
}

// RFC 9332 §2.1: a coupling of 2 makes rates about equal where round trips are.
#[test]
fn prague_and_cubic_get_about_the_same_rate_and_only_cubic_waits() {
    for millis in [10, 20] {
        for profiles in [["prague", "cubic"], ["prague", "cubic-ecn"], ["prague-linux", "cubic"]] {
            let (shares, used) = run(&profiles, millis, &json!({}));
            let ratio = shares[0].rate / shares[1].rate;
            assert!((0.5..2.0).contains(&ratio), "Prague to CUBIC as {ratio:.2} in {millis} ms: {shares:?}");
            assert!(shares[0].queued < 1e-3 && used > 0.9, "{used:.3} of the link: {shares:?}");
            assert!((0.005..0.025).contains(&shares[1].queued), "CUBIC near the target: {shares:?}");
        }
    }
}

// RFC 8257 §1: the queue stays about the threshold K.
#[test]
fn dctcp_keeps_the_queue_about_the_threshold() {
    for millis in [2_u32, 4] {
        let step = json!({ "any_ect": true, "ramp_start": format!("{millis} ms"), "ramp_range": "0 s" });
        let (shares, used) = run(&["dctcp"; 2], 10, &step);
        let threshold = f64::from(millis) / 1e3;
        let queued = shares.iter().map(|share| share.queued).sum::<f64>() / 2.0;
        assert!(
            used > 0.95 && (0.4..1.3).contains(&(queued / threshold)),
            "{used:.3}, K {millis} ms: {shares:?}"
        );
    }
}

// RFC 9331 §4.3: a peer without Accurate ECN gets a Prague that behaves as Reno, not as an L4S sender.
#[test]
fn prague_with_a_peer_of_classic_ecn_goes_into_the_classic_queue() {
    let mut spec = spec(&["prague", "cubic-ecn"], 20, &json!({}));
    spec.flows[0].receiver = Arc::clone(&spec.flows[1].receiver);
    let mut world = World::new(spec).expect("a world");
    world.run().expect("it runs");
    let flows = world.finish().summary.flows;
    let queued = flows[0].windows[0].measures.delay_mean_s.expect("packets") - 0.010 - PACKET_TIME;
    assert!(queued > 0.005, "{queued} s");
}

//! Worlds between kernels, to test with.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_live::{LiveOutcome, Options, Sysctls, doctor, run};
use libtest_mimic::{Completion, Trial};
use link::Config;
use serde_json::json;
use sim::{Amount, CapturePoint, FlowSpec, LinkSpec, NodeKind, NodeSpec, RecordSpec, Spec, Workload};
use units::{Bytes, Duration, LinkId, NodeId};

/// A test that every machine can run.
pub(crate) fn anywhere(name: &str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

/// A test that is ignored where live runs are not possible.
pub(crate) fn with_kernels(name: &str, test: fn()) -> Trial {
    Trial::ignorable_test(name, move || {
        if let Some(obstacles) = obstacles() {
            return Ok(Completion::ignored_with(obstacles));
        }
        test();
        Ok(Completion::Completed)
    })
}

/// Reason why this machine cannot do live runs.
pub(crate) fn obstacles() -> Option<String> {
    let needed = ["tun", "namespaces"];
    let missing: Vec<String> = doctor()
        .into_iter()
        .filter(|check| !check.ok && needed.contains(&check.check.as_str()))
        .map(|check| check.to_string())
        .collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// The kernel's Reno with SACK, without what came after RFC 6675.
pub(crate) fn reno<'a>() -> Options<'a> {
    let settings =
        [("net.ipv4.tcp_recovery", "0"), ("net.ipv4.tcp_early_retrans", "0"), ("net.ipv4.tcp_frto", "0")];
    let sysctls: Sysctls =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Options { congestion: Some("reno".to_owned()), sysctls, ..Options::default() }
}

pub(crate) fn config(value: serde_json::Value) -> Config {
    serde_json::from_value(value).expect("a link that the test means to be right")
}

/// 10 Mbit/s, 10 ms, room for 100 packets.
pub(crate) fn quick() -> Config {
    config(json!({ "rate": "10 Mbit/s", "propagation": "10 ms", "queue": { "limit": "100 packets" } }))
}

pub(crate) fn flow(name: &str, from: usize, to: usize, amount: Amount) -> FlowSpec {
    let tcp = Arc::new(tcp::Config::from_profile(&json!({})).expect("the default profile is right"));
    FlowSpec {
        name: name.to_owned(),
        from: NodeId::new(from),
        to: NodeId::new(to),
        start: Duration::ZERO,
        start_jitter: None,
        class: 0,
        workload: Workload::Bulk(amount),
        sender: Arc::clone(&tcp),
        receiver: tcp,
        milestones: Vec::new(),
    }
}

/// Two hosts, "left" and "right", and a link.
pub(crate) fn pair(down: Config, flows: Vec<FlowSpec>) -> Spec {
    let host = |name: &str, number| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address: Ipv4Addr::new(10, 77, 0, number) },
    };
    let up = quick();
    Spec {
        cells: Vec::new(),
        proxies: Vec::new(),
        name: "pair".to_owned(),
        seed: 1,
        stop: Some(Duration::from_secs(60)),
        nodes: vec![host("left", 1), host("right", 2)],
        links: vec![LinkSpec {
            name: "lasthop".to_owned(),
            ends: [0, 1].map(NodeId::new),
            down,
            up,
            mtu: Bytes(1500),
            mtu_known: true,
        }],
        flows,
        record: RecordSpec {
            packets: true,
            segments: true,
            captures: vec![
                CapturePoint::Node(NodeId::new(0)),
                CapturePoint::Link(LinkId::new(0)),
                CapturePoint::Node(NodeId::new(1)),
            ],
            ..RecordSpec::default()
        },
    }
}

/// One flow from left to right.
pub(crate) fn download(down: Config, bytes: u64) -> Spec {
    pair(down, vec![flow("download", 0, 1, Amount::Bytes(Bytes(bytes)))])
}

/// A shell script in the first host.
pub(crate) fn script<'a>(text: &str) -> Options<'a> {
    Options { command: vec!["bash".into(), "-c".into(), text.into()], ..Options::default() }
}

pub(crate) fn live(spec: &Spec, options: Options<'_>) -> LiveOutcome {
    run(spec, options).unwrap_or_else(|error| panic!("{error}"))
}

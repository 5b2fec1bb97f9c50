//! Proxies before a wireless hop behind a long wire.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use lasthop_sim::{BuildError, FlowSummary, Outcome, ProxySpec, RecordSpec, Spec, World};
use serde_json::{Value, json};
use units::{Duration, LinkId, NodeId};

use crate::support::{config, empty, external, flow, host, link, router, run, slow, tcp};

const LOSSES: [f64; 6] = [0.0, 0.001, 0.01, 0.02, 0.05, 0.1];

/// Below the product of rate and delay with the queue: nothing is lost to congestion.
fn window() -> Value {
    json!({ "fixed": { "size": "64 kB" } })
}

fn reno() -> Value {
    json!({ "sack": false, "timestamps": false, "recovery": "reno", "window": window() })
}

fn sack() -> Value {
    json!({ "sack": true, "timestamps": true, "recovery": "sack-6675", "window": window() })
}

/// A wire of 50 ms each way, and a hop of 2 ms that loses a share of the packets to the mobile host.
fn path(profile: &Value, loss: f64, bytes: u64) -> Spec {
    let wire = config(json!({ "rate": "100 Mbit/s", "propagation": "50 ms" }));
    let hop = json!({ "rate": "2 Mbit/s", "propagation": "2 ms", "queue": { "limit": "100 packets" } });
    let mut lasthop = link("lasthop", [1, 2], config(hop.clone()));
    let mut down = hop;
    down["errors"] = json!({ "per": "packet", "probability": loss, "effect": "drop" });
    lasthop.down = config(down);
    let mut download = flow("download", 0, 2, bytes);
    (download.sender, download.receiver) = (tcp(profile.clone()), tcp(profile.clone()));
    Spec {
        nodes: vec![host(1), router("base"), host(2)],
        links: vec![link("wire", [0, 1], wire), lasthop],
        flows: vec![download],
        ..empty("proxies")
    }
}

fn proxy(kind: Value, link: usize, node: usize) -> ProxySpec {
    let kind = serde_json::from_value(kind).expect("a proxy that the test means to be right");
    let (link, node) = (LinkId::new(link), NodeId::new(node));
    ProxySpec { name: "agent".to_owned(), link, node, kind, wireless: None, wired: None }
}

/// The same path with a proxy at the base station, before the hop.
fn with(kind: Value, spec: Spec) -> Spec {
    Spec { proxies: vec![proxy(kind, 1, 1)], ..spec }
}

fn goodput(outcome: &Outcome) -> f64 {
    let flow: &FlowSummary = &outcome.summary.flows[0];
    assert!(flow.completed, "{flow:?}");
    flow.throughput_bps.expect("it sent something")
}

fn count(outcome: &Outcome, name: &str) -> u64 {
    outcome.summary.proxies[0].counts[name]
}

fn texts(outcome: &Outcome, table: &str, column: &str) -> Vec<String> {
    let (_, batch) = outcome.tables.iter().find(|(name, _)| *name == table).expect("it was recorded");
    let column = batch.column_by_name(column).expect("it has the column");
    column.as_string::<i32>().iter().map(|text| text.unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_snoop_agent_is_never_worse_than_reno_alone_and_far_better_where_the_hop_loses_packets() {
    for profile in [reno(), sack()] {
        for loss in LOSSES {
            let plain = goodput(&run(path(&profile, loss, 1_000_000)));
            let snooped = goodput(&run(with(json!("snoop"), path(&profile, loss, 1_000_000))));
            assert!(snooped >= 0.99 * plain, "{profile} at {loss}: {snooped} after {plain}");
            let is_reno = profile["sack"] == false;
            let times = if loss >= 0.02 && is_reno {
                2.0
            } else if loss >= 0.01 {
                1.3
            } else {
                0.99
            };
            assert!(snooped >= times * plain, "{profile} at {loss}: {snooped} after {plain}");
        }
    }
}

#[test]
fn the_sender_behind_a_snoop_agent_sends_nearly_nothing_again() {
    for profile in [reno(), sack()] {
        let plain = run(path(&profile, 0.02, 1_000_000));
        let snooped = run(with(json!("snoop"), path(&profile, 0.02, 1_000_000)));
        let [before, after] = [&plain, &snooped].map(|outcome| outcome.summary.flows[0].retransmissions);
        assert!(before >= 10 && after * 10 <= before, "{profile}: {before} before, {after} after");
        let lost = snooped.summary.links[2].error_drops;
        let local = count(&snooped, "local_retransmissions");
        assert!(local >= lost && local <= lost + lost / 4 + 3, "{local} local copies for {lost} losses");
    }
}

#[test]
fn a_local_copy_is_a_packet_of_its_own_and_no_retransmission_of_the_senders() {
    let record = RecordSpec { packets: true, segments: true, proxies: true, ..RecordSpec::default() };
    let outcome = run(Spec { record, ..with(json!("snoop"), path(&reno(), 0.02, 300_000)) });
    let local = count(&outcome, "local_retransmissions");
    let kinds =
        |table| texts(&outcome, table, "kind").iter().filter(|kind| *kind == "local_retransmission").count();
    assert!(local > 0);
    assert_eq!(kinds("packets") as u64, local, "each crosses the hop");
    let lost = outcome.summary.links[2].error_drops as usize;
    assert!(
        kinds("segments") <= local as usize && kinds("segments") + lost >= local as usize,
        "each arrives once"
    );
    let events = texts(&outcome, "proxies", "event");
    let of = |name: &str| events.iter().filter(|event| *event == name).count() as u64;
    assert_eq!(of("local_retransmission") + of("local_timeout"), local);
    assert_eq!(of("suppressed"), count(&outcome, "suppressed_acks"));
}

#[test]
fn what_was_lost_before_the_agent_is_the_senders_to_repair() {
    let mut spec = path(&sack(), 0.0, 300_000);
    spec.links[0].down = config(json!({
        "rate": "100 Mbit/s", "propagation": "50 ms",
        "errors": { "per": "packet", "probability": 0.02, "effect": "drop" },
    }));
    let plain = run(spec.clone());
    let snooped = run(with(json!("snoop"), spec));
    assert!(plain.summary.flows[0].fast_retransmits > 0);
    assert_eq!(snooped.summary.flows[0].fast_retransmits, plain.summary.flows[0].fast_retransmits);
    assert!(count(&snooped, "duplicates_passed") > 0);
    assert!(goodput(&snooped) >= 0.99 * goodput(&plain));
}

#[test]
fn an_agent_at_the_other_end_serves_the_other_direction() {
    let mut spec = path(&reno(), 0.0, 1_000_000);
    spec.links[1].up = config(json!({
        "rate": "2 Mbit/s", "propagation": "2 ms", "queue": { "limit": "100 packets" },
        "errors": { "per": "packet", "probability": 0.02, "effect": "drop" },
    }));
    spec.flows[0].from = NodeId::new(2);
    spec.flows[0].to = NodeId::new(0);
    let plain = run(spec.clone());
    let idle = run(with(json!("snoop"), spec.clone()));
    let snooped = run(Spec { proxies: vec![proxy(json!("snoop"), 1, 2)], ..spec });
    assert_eq!(count(&idle, "local_retransmissions"), 0);
    assert!(count(&snooped, "local_retransmissions") > 0 && goodput(&snooped) > goodput(&plain));
}

#[test]
fn a_split_connection_carries_the_stream_and_recovers_over_the_hop() {
    for profile in [reno(), sack()] {
        for loss in [0.0, 0.02, 0.05] {
            let plain = goodput(&run(path(&profile, loss, 500_000)));
            let outcome = run(with(json!("split"), path(&profile, loss, 500_000)));
            assert_eq!((count(&outcome, "bytes_relayed"), count(&outcome, "resets")), (500_000, 0));
            assert!(count(&outcome, "buffer_max") < 64_000 + 1460);
            assert_eq!(count(&outcome, "acknowledged_early_at_end"), 0);
            if loss > 0.0 {
                assert!(goodput(&outcome) > 1.2 * plain, "{profile} at {loss}");
                assert_eq!(outcome.summary.flows[0].fast_retransmits, 0, "the server loses nothing");
                assert!(count(&outcome, "retransmissions") > 0);
            }
        }
    }
}

#[test]
fn the_two_connections_of_a_split_are_two_flows_in_tables_with_their_own_hosts_and_verdicts() {
    let record =
        RecordSpec { packets: true, segments: true, tcp: true, proxies: true, ..RecordSpec::default() };
    let spec = with(json!({ "split": { "buffer": "20 kB" } }), path(&sack(), 0.02, 200_000));
    let outcome = run(Spec { record, ..spec });
    let pairs_of = |table| {
        let [flows, hosts] = ["flow", "host"].map(|column| texts(&outcome, table, column));
        flows.into_iter().zip(hosts).collect::<BTreeSet<(String, String)>>()
    };
    let expected = [
        ("download", "base"),
        ("download", "host-1"),
        ("download@agent", "base"),
        ("download@agent", "host-2"),
    ];
    let expected = expected.map(|(flow, host)| (flow.to_owned(), host.to_owned()));
    let [_, server, proxy, _] = expected.clone();
    assert_eq!(pairs_of("segments"), BTreeSet::from(expected));
    assert_eq!(pairs_of("tcp"), BTreeSet::from([server, proxy]), "the decisions of the two senders");
    let flows = texts(&outcome, "segments", "flow");
    let whys = texts(&outcome, "segments", "why");
    let again = flows.iter().zip(&whys).filter(|(flow, why)| *flow == "download@agent" && !why.is_empty());
    let (rows, copies) = (again.count() as u64, count(&outcome, "retransmissions"));
    assert!(
        (copies..=2 * copies).contains(&rows),
        "{rows} rows of {copies} copies: sent, and mostly received"
    );
    assert!(texts(&outcome, "proxies", "event").iter().any(|event| event == "full"));
}

#[test]
fn a_hop_that_dies_leaves_the_sender_with_bytes_that_were_never_delivered() {
    let mut spec = with(json!("split"), path(&reno(), 0.0, 200_000));
    spec.links[1].down = config(json!({
        "rate": "2 Mbit/s", "propagation": "2 ms",
        "capacity": { "schedule": { "steps": [
            { "at": "0 s", "rate": "2 Mbit/s" }, { "at": "500 ms", "rate": "8 bit/s" },
        ] } },
    }));
    spec.stop = Some(Duration::from_secs(60));
    let outcome = run(spec);
    let early = count(&outcome, "acknowledged_early_at_end");
    assert!(early > 0);
    let flow = &outcome.summary.flows[0];
    assert_eq!(
        flow.bytes - flow.received,
        early,
        "the server knows as delivered what the mobile host has not"
    );
}

#[test]
fn the_same_run_with_an_idle_proxy_elsewhere_is_the_same() {
    let mut spec = path(&sack(), 0.01, 200_000);
    spec.nodes.push(host(3));
    spec.links.push(link("other", [1, 3], slow()));
    let alone = run(spec.clone());
    let beside = run(Spec { proxies: vec![proxy(json!("snoop"), 2, 1)], ..spec });
    assert_eq!(alone.summary.flows, beside.summary.flows);
    assert_eq!(alone.summary.links, beside.summary.links);
}

#[test]
fn fewer_acks_cross_the_way_back_behind_a_filter_and_the_stream_is_whole() {
    let plain = run(path(&sack(), 0.0, 300_000));
    let spec = path(&sack(), 0.0, 300_000);
    let filter = json!({ "ack-filter": { "every": 4, "delay": "50 ms" } });
    let thinned = run(Spec { proxies: vec![proxy(filter, 1, 2)], ..spec });
    let acks = |outcome: &Outcome| outcome.summary.links[3].packets_out;
    assert!(acks(&thinned) * 2 < acks(&plain), "{} of {}", acks(&thinned), acks(&plain));
    assert!(goodput(&thinned) > 0.8 * goodput(&plain));
    let spec = path(&sack(), 0.0, 300_000);
    let paced = run(Spec {
        proxies: vec![proxy(json!({ "ack-pacer": { "rate": "1 Mbit/s", "limit": 100 } }), 1, 2)],
        ..spec
    });
    assert!(count(&paced, "acks_held") > 0 && goodput(&paced) < 0.7 * goodput(&plain));
}

#[test]
fn a_world_refuses_proxies_that_cannot_work() {
    let refusal = |spec: Spec| World::new(spec).map(|_| ()).expect_err("it is refused");
    let spec = path(&sack(), 0.0, 1000);
    let elsewhere = Spec { proxies: vec![proxy(json!("snoop"), 1, 0)], ..spec.clone() };
    assert!(matches!(refusal(elsewhere), BuildError::NotAtTheLink { .. }));
    let mut outside = with(json!("snoop"), spec.clone());
    outside.nodes.push(external(1));
    assert!(matches!(refusal(outside), BuildError::ProxyOutside { .. }));
    let second = ProxySpec { name: "second".to_owned(), ..proxy(json!("split"), 0, 1) };
    let twice = Spec { proxies: vec![proxy(json!("split"), 1, 1), second], ..spec };
    assert!(matches!(refusal(twice), BuildError::TwoSplits { .. }));
}

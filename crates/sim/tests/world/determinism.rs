//! A run is a pure function of its specification, and strangers do not disturb each other.

use arrow_array::{RecordBatch, StringArray, cast::AsArray};
use lasthop_sim::{Outcome, Spec};
use serde_json::json;

use crate::support::*;

/// Two flows in both directions over a router and a lossy, delaying link, with everything kept.
fn eventful() -> Spec {
    let lossy = config(json!({
        "rate": "1 Mbit/s", "propagation": { "uniform": ["20 ms", "60 ms"] },
        "queue": { "limit": "10 packets" },
        "errors": { "probability": 0.02, "effect": "delay", "delay": { "uniform": ["100 ms", "2 s"] } },
        "dropper": { "probability": 0.01 },
    }));
    let mut spec = Spec {
        nodes: vec![host(1), router("router"), host(2)],
        links: vec![link("lan", [0, 1], slow()), link("lasthop", [1, 2], lossy)],
        flows: vec![flow("download", 0, 2, 200_000), flow("upload", 2, 0, 100_000)],
        ..empty("eventful")
    };
    spec.flows[1].start_jitter = Some(SECOND);
    spec.record = everything(&spec);
    spec
}

fn assert_same(one: &Outcome, other: &Outcome) {
    let text = |outcome: &Outcome| serde_json::to_string(&outcome.summary).unwrap();
    assert_eq!(text(one), text(other));
    assert_eq!(one.tables, other.tables);
    assert_eq!(one.captures, other.captures);
}

#[test]
fn the_same_specification_gives_the_same_summary_tables_and_captures() {
    let (first, second) = (run(eventful()), run(eventful()));
    assert_same(&first, &second);
    assert!(first.summary.flows.iter().all(|flow| flow.completed && flow.retransmissions > 0));
}

#[test]
fn another_seed_gives_another_run() {
    let other = Spec { seed: 2, ..eventful() };
    assert_ne!(run(eventful()).summary.flows, run(other).summary.flows);
}

#[test]
fn recording_changes_nothing() {
    let bare = Spec { record: lasthop_sim::RecordSpec::default(), ..eventful() };
    let (bare, recorded) = (run(bare), run(eventful()));
    assert_eq!(bare.summary, recorded.summary);
    assert_eq!(bare.tables.last(), recorded.tables.last());
}

#[test]
fn an_unrelated_host_with_its_own_link_and_flow_changes_no_packet_of_the_others() {
    let alone = run(eventful());
    let mut spec = eventful();
    spec.nodes.extend([host(8), host(9)]);
    spec.links.push(link("elsewhere", [3, 4], slow()));
    // Starts first, so that it is under way whenever anything happens to the others.
    spec.flows.push(flow("stranger", 3, 4, 500_000));
    let together = run(spec);
    assert_eq!(alone.summary.flows[..], together.summary.flows[..2]);
    assert_eq!(alone.summary.links[..], together.summary.links[..4]);
    assert_eq!(alone.captures[..], together.captures[..]);
    for ((name, own), (_, both)) in alone.tables.iter().zip(&together.tables) {
        let column = if *name == "queue" { "link" } else { "flow" };
        let theirs = without(both, column, &["stranger", "elsewhere"]);
        assert_eq!(rows(own), theirs, "table {name}");
    }
}

fn rows(table: &RecordBatch) -> Vec<String> {
    (0..table.num_rows()).map(|row| row_text(table, row)).collect()
}

fn row_text(table: &RecordBatch, row: usize) -> String {
    table.columns().iter().map(|column| format!("{:?} ", column.slice(row, 1))).collect()
}

fn without(table: &RecordBatch, column: &str, strangers: &[&str]) -> Vec<String> {
    let names: &StringArray = table.column_by_name(column).unwrap().as_string();
    let kept = (0..table.num_rows()).filter(|row| !strangers.contains(&names.value(*row)));
    kept.map(|row| row_text(table, row)).collect()
}

//! The windows and samples of flows over stacks: two windows that share the run between them share its counts.

use arrow_array::{Array, Int64Array};
use serde_json::json;
use sim::{Amount, FlowSpan, FlowSummary, MeasureSpec, RecordSpec, Spec, WindowSpec, Workload};
use units::Duration;

use crate::support::{bulk, flow, lossy, only_flow, outcome, pair, pairs, program, stacks};

const SPLIT: Duration = Duration::from_secs(4);

/// A scenario with a window before [`SPLIT`], one after it, and a sample each second.
fn spec(workload: Workload) -> Spec {
    let window = |name: &str, from, to| WindowSpec { name: name.to_owned(), from, to };
    let windows = vec![window("before", Duration::ZERO, Some(SPLIT)), window("after", SPLIT, None)];
    let measure = MeasureSpec { links: true, windows, sample: Some(Duration::from_secs(1)) };
    let record = RecordSpec { measure, transfers: true, ..RecordSpec::default() };
    let pair = pair(["left", "right"], [lossy(0.01), lossy(0.0)], flow("f", workload));
    Spec { stop: Some(Duration::from_secs(60)), record, ..pair }
}

/// The counts that are in a window, those of the summary with the same names.
fn counts_of(span: &FlowSpan) -> [u64; 7] {
    let FlowSpan { bytes, received, segments_sent, retransmissions, timeouts, acks, measures, .. } = span;
    [*bytes, *received, *segments_sent, *retransmissions, *timeouts, *acks, measures.transfers]
}

fn check(spec: &Spec, names: [&str; 2]) {
    let outcome = outcome(spec, &stacks(&names));
    let flow: &FlowSummary = only_flow(&outcome);
    let [before, after] = &flow.windows[..] else { panic!("{names:?}: {:?}", flow.windows) };
    assert_eq!((before.window.as_str(), after.window.as_str()), ("before", "after"));
    let sums: Vec<u64> = counts_of(before).iter().zip(counts_of(after)).map(|(one, two)| one + two).collect();
    let FlowSummary { bytes, received, segments_sent, retransmissions, timeouts, acks, measures, .. } = flow;
    let whole = [*bytes, *received, *segments_sent, *retransmissions, *timeouts, *acks, measures.transfers];
    assert_eq!(sums, whole, "{names:?}: {flow:?}");
    assert!(before.received > 0 && after.received > 0, "{names:?}: {flow:?}");
    assert_eq!(before.goodput_bps, Some(before.received as f64 / 4.0));
    assert!(before.sent_bps.is_some_and(|sent| sent >= before.goodput_bps.unwrap()), "{names:?}: {before:?}");

    let (_, progress) =
        outcome.tables.iter().find(|(name, _)| *name == "progress").expect("it was asked for");
    let received: &Int64Array = progress["received"].as_any().downcast_ref().expect("whole numbers");
    assert!(received.values().is_sorted(), "{names:?}");
    assert_eq!(received.value(3), before.received as i64, "after four seconds");
    assert_eq!(received.value(received.len() - 1), flow.received as i64);
}

#[test]
fn windows_share_the_counts_of_a_run_between_them() {
    for names in pairs() {
        check(&spec(bulk(2_000_000)), names);
        check(&spec(program(json!({ "web": {} }), 30)), names);
        check(&spec(program(json!({ "web": { "connection": "persistent" } }), 30)), names);
    }
}

#[test]
fn windows_of_datagrams_share_their_counts_too() {
    let until = Workload::Bulk(Amount::Until(Duration::from_secs(8)));
    check(&spec(until), ["dccp", "dccp"]);
    for names in [["dccp", "dccp"], ["smoltcp", "quinn"]] {
        check(&spec(program(json!({ "voip": {} }), 8)), names);
    }
}

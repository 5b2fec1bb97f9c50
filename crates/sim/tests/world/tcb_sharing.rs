//! What the connections of one host share: a budget of advertised window, and what was learned of a path.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lasthop_sim::{Outcome, RecordSpec, Spec};
use serde_json::{Value, json};
use units::Duration;

use crate::support::*;

/// Two downloads to one host, the second a second later.
fn two_downloads(sender: Value, receiver: Value, second: u64) -> Spec {
    let mut spec = pair(slow(), 400_000);
    spec.flows.push(flow("later", 0, 1, 400_000));
    spec.flows[1].start = Duration::from_millis(second);
    for flow in &mut spec.flows {
        flow.sender = tcp(sender.clone());
        flow.receiver = tcp(receiver.clone());
    }
    spec.record = RecordSpec { tcp: true, ..RecordSpec::default() };
    spec
}

/// The largest value in a column of the table `tcp`, of one flow and up to some time.
fn largest(outcome: &Outcome, flow: &str, column: &str, until: Duration) -> u64 {
    let table = &outcome.tables.iter().find(|(found, _)| *found == "tcp").expect("it was asked for").1;
    let times = table["time_ns"].as_primitive::<Int64Type>().values();
    let flows: Vec<_> = table["flow"].as_string::<i32>().iter().collect();
    let values = table[column].as_primitive::<Int64Type>();
    let rows = (0..table.num_rows()).filter(|row| flows[*row] == Some(flow));
    let rows = rows.filter(|row| times[*row] as u64 <= until.as_nanos());
    rows.map(|row| values.value(row) as u64).max().expect("the flow has rows")
}

#[test]
fn two_connections_share_one_budget_of_window() {
    let shared = json!({ "window": { "shared": { "budget": "20000 bytes" } } });
    let outcome = run(two_downloads(json!({}), shared.clone(), 1000));
    let alone = largest(&outcome, "download", "flight", SECOND);
    assert!(alone > 15_000 && alone <= 20_000, "{alone}");
    // What was offered before is not taken back, but it is not offered again.
    let beside = largest(&outcome, "later", "advertised", SECOND * 2);
    assert_eq!(beside, 10_000);
    let outcome = run(two_downloads(json!({}), shared, 60_000));
    assert_eq!(largest(&outcome, "later", "advertised", SECOND * 90), 20_000);
}

#[test]
fn a_connection_begins_with_what_the_last_one_knew() {
    let sharing = json!({ "interdependence": { "lifetime": "60 s" } });
    let ssthresh = |sender: Value, later: u64| {
        let outcome = run(two_downloads(sender, json!({}), later));
        let table = &outcome.tables.iter().find(|(found, _)| *found == "tcp").expect("asked for").1;
        let flows: Vec<_> = table["flow"].as_string::<i32>().iter().collect();
        let events: Vec<_> = table["event"].as_string::<i32>().iter().collect();
        let row = (0..flows.len())
            .find(|row| flows[*row] == Some("later") && events[*row] == Some("established"))
            .expect("it was established");
        let values = table["ssthresh"].as_primitive::<Int64Type>();
        arrow_array::Array::is_valid(values, row).then(|| values.value(row))
    };
    assert_eq!(ssthresh(json!({}), 20_000), None);
    assert!(ssthresh(sharing.clone(), 20_000).is_some_and(|left| left < 100_000));
    assert!(ssthresh(sharing.clone(), 1_000).is_some(), "a connection that is still open counts too");
    assert_eq!(ssthresh(sharing, 100_000), None, "an entry is forgotten after its lifetime");
}

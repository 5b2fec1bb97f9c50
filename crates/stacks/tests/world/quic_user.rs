//! A user who asks for objects over QUIC, for tests.

use arrow_array::ArrayRef;
use arrow_array::types::Int64Type;
use lasthop_stacks::{Assignment, QuinnSettings};
use serde_json::{Value, json};
use sim::{LinkSpec, Outcome, RecordSpec, Spec};
use units::Duration;

use crate::support::{assigned, config, flow, named, pair, program};

/// A user at "phone" asks "server" by a workload, over 4 Mbit/s and 30 ms each way; the way there has these keys
/// besides.
pub(crate) fn spec(workload: Value, down: &Value) -> Spec {
    let pair = pair(["server", "phone"], directions(down), flow("page", program(workload, 20)));
    let record = RecordSpec { tcp: true, packets: true, transfers: true, ..RecordSpec::default() };
    Spec { stop: Some(Duration::from_secs(60)), record, ..pair }
}

/// A link between the two hosts, with these keys of its way down besides.
pub(crate) fn link(name: &str, down: &Value) -> LinkSpec {
    crate::support::link(name, [0, 1], directions(down))
}

fn directions(down: &Value) -> [link::Config; 2] {
    let direction =
        json!({ "rate": "4 Mbit/s", "propagation": "30 ms", "queue": { "limit": "300 packets" } });
    let mut there = direction.clone();
    there.as_object_mut().unwrap().extend(down.as_object().unwrap().clone());
    [there, direction].map(config)
}

/// quinn at both hosts.
pub(crate) fn quinn(settings: QuinnSettings) -> Assignment {
    assigned([named("quinn").with_quinn(settings); 2])
}

/// The ends of the transfers, in ms, sorted.
pub(crate) fn ends(outcome: &Outcome) -> Vec<u64> {
    let mut ends: Vec<u64> = numbers(outcome, "transfers", "end_ns");
    ends.iter_mut().for_each(|end| *end /= 1_000_000);
    ends.sort_unstable();
    ends
}

/// A column of numbers of a table.
pub(crate) fn numbers(outcome: &Outcome, table: &str, name: &str) -> Vec<u64> {
    let column = column(outcome, table, name);
    let values = arrow_array::cast::as_primitive_array::<Int64Type>(column);
    values.values().iter().map(|value| *value as u64).collect()
}

/// A column of texts of a table.
pub(crate) fn texts<'a>(outcome: &'a Outcome, table: &str, name: &str) -> Vec<&'a str> {
    arrow_array::cast::as_string_array(column(outcome, table, name)).iter().map(Option::unwrap).collect()
}

fn column<'a>(outcome: &'a Outcome, table: &str, name: &str) -> &'a ArrayRef {
    let (_, table) = outcome.tables.iter().find(|(known, _)| *known == table).unwrap();
    table.column_by_name(name).unwrap()
}

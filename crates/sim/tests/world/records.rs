//! Tables and captures: what they say is what happened.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use lasthop_sim::{CapturePoint, Outcome, RecordSpec, Records, Spec, World};
use serde_json::json;
use units::{LinkId, NodeId};
use wire::Oddity;
use wire::capture::{Direction, Frame, VIRTUAL_EPOCH};

use crate::support::*;

fn table<'a>(outcome: &'a Outcome, name: &str) -> &'a RecordBatch {
    &outcome.tables.iter().find(|(found, _)| *found == name).expect("the table was asked for").1
}

fn texts<'a>(table: &'a RecordBatch, column: &str) -> Vec<Option<&'a str>> {
    table[column].as_string::<i32>().iter().collect()
}

/// One flow; the 20th packet is held for 3 s, and the queue overflows.
fn troubled() -> Spec {
    let mut spec = pair(
        config(json!({
            "rate": "400 kbit/s", "propagation": "50 ms", "queue": { "limit": "8 packets" },
            "events": [{ "packet": 20, "delay": "3 s" }],
        })),
        300_000,
    );
    spec.links[0].up = slow();
    spec.record = everything(&spec);
    spec
}

#[test]
fn only_what_was_asked_for_is_kept() {
    let outcome = run(pair(slow(), 10_000));
    assert_eq!(outcome.tables.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["flows"]);
    assert!(outcome.captures.is_empty());
    let outcome = run(troubled());
    let names: Vec<&str> = outcome.tables.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["packets", "tcp", "queue", "segments", "flows"]);
    let points: Vec<&str> = outcome.captures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(points, ["host-1", "host-2", "lasthop"]);
}

#[test]
fn packets_have_sizes_on_the_wire_only_where_a_link_changes_them() {
    let has_sizes = |keys: serde_json::Value| {
        let mut lasthop = json!({ "rate": "400 kbit/s", "framing": "8 bytes" });
        lasthop.as_object_mut().expect("a table").extend(keys.as_object().expect("a table").clone());
        let mut spec = pair(config(lasthop), 10_000);
        spec.record = RecordSpec { packets: true, ..RecordSpec::default() };
        table(&run(spec), "packets").column_by_name("wire_bytes").is_some()
    };
    assert!(!has_sizes(json!({})));
    assert!(has_sizes(json!({ "compression": { "vj": {} } })));
    assert!(has_sizes(json!({ "stuffing": {} })));
}

#[test]
fn the_fates_in_the_table_add_up_to_the_summary() {
    let outcome = run(troubled());
    let packets = table(&outcome, "packets");
    let (fates, directions) = (texts(packets, "fate"), texts(packets, "direction"));
    let count = |direction: &str, fate: &str| {
        let rows = fates.iter().zip(&directions);
        rows.filter(|row| *row == (&Some(fate), &Some(direction))).count() as u64
    };
    for link in &outcome.summary.links {
        assert_eq!(count(&link.direction, "delivered"), link.packets_out);
        assert_eq!(count(&link.direction, "queue_drop"), link.queue_drops);
        assert_eq!(count(&link.direction, "in_flight"), link.packets_inside);
    }
    assert!(outcome.summary.links[0].queue_drops > 0);
    let behind = packets["behind"].as_primitive::<Int64Type>();
    let longest = (0..packets.num_rows()).filter(|row| directions[*row] == Some("down"));
    assert_eq!(longest.map(|row| behind.value(row) as u64).max(), Some(outcome.summary.links[0].queue_max));
}

#[test]
fn times_on_the_link_are_those_of_its_rate_and_propagation() {
    let outcome = run(troubled());
    let packets = table(&outcome, "packets");
    let time = |column: &str, row| packets[column].as_primitive::<Int64Type>().value(row);
    // The SYN: 44 bytes with its MSS option and more at 400 kbit/s, then 50 ms.
    let bytes = packets["bytes"].as_primitive::<Int64Type>().value(0);
    assert_eq!(time("transmitted_ns", 0), bytes * 8 * 1_000_000_000 / 400_000);
    assert_eq!(time("delivered_ns", 0) - time("transmitted_ns", 0), 50_000_000);
    let held: Vec<usize> = (0..packets.num_rows()).filter(|row| time("delay_ns", *row) > 0).collect();
    assert_eq!(held.len(), 1);
    assert_eq!(time("delay_ns", held[0]), 3_000_000_000);
    assert_eq!(texts(packets, "delay_cause")[held[0]], Some("scripted"));
}

#[test]
fn every_retransmission_has_a_verdict_and_they_add_up_to_the_summary() {
    let outcome = run(troubled());
    let flow = &outcome.summary.flows[0];
    let segments = table(&outcome, "segments");
    let (directions, hosts) = (texts(segments, "direction"), texts(segments, "host"));
    let needless = segments["needless"].as_boolean();
    let sent = |row: &usize| directions[*row] == Some("sent") && hosts[*row] == Some("host-1");
    let judged: Vec<usize> =
        (0..segments.num_rows()).filter(sent).filter(|row| !needless.is_null(*row)).collect();
    assert_eq!(judged.len() as u64, flow.retransmissions);
    let found_needless = judged.iter().filter(|row| needless.value(**row)).count() as u64;
    assert_eq!(found_needless, flow.unnecessary_retransmissions);
    assert!(found_needless > 0 && found_needless < flow.retransmissions, "{flow:?}");
    assert_eq!(flow.causes.values().sum::<u64>(), flow.unnecessary_retransmissions);
    assert!(flow.spurious_timeouts > 0, "{flow:?}");
    assert!(judged.iter().all(|row| texts(segments, "explanation")[*row].is_some()));
}

#[test]
fn numbers_are_relative_and_windows_in_bytes() {
    let outcome = run(troubled());
    let segments = table(&outcome, "segments");
    let column = |name: &str| segments[name].as_primitive::<Int64Type>();
    let kinds = texts(segments, "kind");
    let first = |kind: &str| kinds.iter().position(|found| *found == Some(kind)).unwrap();
    assert_eq!((column("seq").value(first("syn")), column("seq").value(first("data"))), (0, 1));
    // An unscaled window field cannot say more than 65,535.
    let largest = column("window").iter().flatten().max().unwrap();
    assert!(largest > 65_535, "{largest}");
}

#[test]
fn the_queue_table_ends_empty_and_reaches_the_summarys_maximum() {
    let outcome = run(troubled());
    let queue = table(&outcome, "queue");
    let lengths = queue["packets"].as_primitive::<Int64Type>();
    let down: Vec<i64> = (0..queue.num_rows())
        .filter(|row| texts(queue, "direction")[*row] == Some("down"))
        .map(|row| lengths.value(row))
        .collect();
    assert_eq!(down.last(), Some(&0));
    let times = queue["time_ns"].as_primitive::<Int64Type>().values();
    assert!(times.is_sorted());
    // Every packet passes through the queue, even if it is empty.
    let most = *down.iter().max().unwrap() as u64;
    assert!((outcome.summary.links[0].queue_max..=outcome.summary.links[0].queue_max + 1).contains(&most));
}

#[test]
fn the_tcp_table_reports_the_senders_decisions_in_order() {
    let outcome = run(troubled());
    let tcp = table(&outcome, "tcp");
    assert!(tcp.num_rows() > 100);
    assert!(tcp["time_ns"].as_primitive::<Int64Type>().values().is_sorted());
    assert!(texts(tcp, "event").contains(&Some("timeout")));
    assert!(texts(tcp, "host").contains(&Some("host-1")), "the sender");
    let cwnd = tcp["cwnd"].as_primitive::<Int64Type>();
    assert!(cwnd.iter().flatten().max() > cwnd.iter().flatten().min());
}

#[test]
fn a_capture_reads_back_with_the_verdict_on_every_packet() {
    let outcome = run(troubled());
    let frames = |point: usize| -> Vec<Frame> {
        wire::capture::open(&outcome.captures[point].1[..]).unwrap().map(Result::unwrap).collect()
    };
    let at_link = frames(2);
    let [down, up] = &outcome.summary.links[..] else { panic!() };
    assert_eq!(at_link.len() as u64, down.packets_in + up.packets_in);
    assert!(at_link.iter().all(|frame| frame.at >= VIRTUAL_EPOCH && wire::parse(&frame.data).is_ok()));
    let oddities = |frame: &Frame| wire::parse(&frame.data).unwrap().oddities;
    assert!(at_link.iter().all(|frame| oddities(frame).iter().all(|oddity| *oddity == Oddity::CutOff)));
    let said = |frames: &[Frame], text: &str| {
        frames.iter().filter(|frame| frame.comment.as_deref().unwrap_or_default().contains(text)).count()
            as u64
    };
    assert_eq!(said(&at_link, "dropped by the queue (overflow)"), down.queue_drops);
    assert_eq!(said(&at_link, "held 3.000000 s (scripted)"), 1);
    assert_eq!(said(&at_link, ", needless: "), outcome.summary.flows[0].unnecessary_retransmissions);
    let outbound = |frame: &&Frame| frame.direction == Some(Direction::Outbound);
    assert_eq!(at_link.iter().filter(outbound).count() as u64, down.packets_in);
    // The receiver sees what the link delivered, and sends what enters the other way.
    assert_eq!(frames(1).len() as u64, down.packets_out + up.packets_in);
}

#[test]
fn a_capture_at_a_router_sees_what_it_forwards() {
    let mut spec = Spec {
        nodes: vec![host(1), router("router"), host(2)],
        links: vec![link("lan", [0, 1], slow()), link("lasthop", [1, 2], slow())],
        flows: vec![flow("download", 0, 2, 20_000)],
        ..empty("routed")
    };
    spec.record.captures = vec![CapturePoint::Node(NodeId::new(1))];
    let outcome = run(spec);
    let frames = wire::capture::open(&outcome.captures[0].1[..]).unwrap().count() as u64;
    let [_, lan_up, lasthop_down, _] = &outcome.summary.links[..] else { panic!() };
    assert_eq!(frames, lan_up.packets_in + lasthop_down.packets_in);
}

#[test]
fn a_capture_keeps_the_headers_unless_the_payload_is_asked_for() {
    let mut frames = [false, true].map(|payload| {
        let mut spec = pair(slow(), 20_000);
        spec.record = RecordSpec {
            captures: vec![CapturePoint::Link(LinkId::new(0))],
            payload,
            ..RecordSpec::default()
        };
        let file = run(spec).captures.remove(0).1;
        wire::capture::open(&file[..]).unwrap().map(Result::unwrap).collect::<Vec<Frame>>()
    });
    let whole = std::mem::take(&mut frames[1]);
    assert!(whole.iter().all(|frame| frame.data.len() == frame.original_len as usize));
    assert!(whole.iter().all(|frame| wire::parse(&frame.data).unwrap().oddities.is_empty()));
    assert!(frames[0].iter().zip(&whole).all(|(cut, frame)| cut.original_len == frame.original_len));
    assert!(frames[0].iter().all(|frame| frame.data.len() <= 100));
    assert!(frames[0].iter().zip(&whole).all(|(cut, frame)| frame.data.starts_with(&cut.data)));
}

#[test]
fn a_packet_that_was_queued_and_delivered_has_no_comment() {
    let mut spec = pair(slow(), 20_000);
    spec.record.captures = vec![CapturePoint::Link(LinkId::new(0))];
    let file = run(spec).captures.remove(0).1;
    assert!(wire::capture::open(&file[..]).unwrap().all(|frame| frame.unwrap().comment.is_none()));
}

/// A long run over a link that loses, copies and reorders, with a second flow behind a router.
fn long_and_troubled() -> Spec {
    let last_hop = config(json!({
        "rate": "40 Mbit/s", "propagation": "20 ms", "queue": { "limit": "60 packets" },
        "duplicates": { "probability": 0.002 }, "reordering": { "probability": 0.01, "delay": "30 ms" },
        "errors": { "per": "packet", "probability": 0.001, "effect": "drop" },
    }));
    let mut spec = Spec {
        nodes: vec![host(1), host(2), router("router"), host(3)],
        links: vec![
            link("lan-1", [0, 2], slow()),
            link("lan-2", [1, 2], slow()),
            link("lasthop", [2, 3], last_hop),
        ],
        flows: vec![flow("one", 0, 3, 12_000_000), flow("two", 1, 3, 12_000_000)],
        ..empty("long")
    };
    for lan in 0..2 {
        spec.links[lan].down = config(json!({ "rate": "100 Mbit/s", "propagation": "3 ms" }));
        spec.links[lan].up = spec.links[lan].down.clone();
    }
    spec.links[2].up = config(json!({ "rate": "40 Mbit/s", "propagation": "20 ms" }));
    spec.record = everything(&spec);
    spec
}

#[test]
fn what_is_taken_while_the_run_goes_on_is_what_the_run_keeps_otherwise() {
    let whole = run(long_and_troubled());
    let mut world = World::new(long_and_troubled()).unwrap();
    let mut parts = Vec::new();
    while let Some(next) = world.next_event() {
        world.run_until(next + units::Duration::from_millis(100)).unwrap();
        parts.extend(world.take_records());
    }
    world.run().unwrap();
    let rest = world.finish();
    assert!(parts.len() > 4, "{}", parts.len());
    parts.push(Records { tables: rest.tables, captures: rest.captures });
    for (name, table) in &whole.tables {
        let mut rows = 0;
        for (_, part) in parts.iter().flat_map(|part| &part.tables).filter(|(found, _)| found == name) {
            assert_eq!(*part, table.slice(rows, part.num_rows()), "{name} from row {rows} on");
            rows += part.num_rows();
        }
        assert_eq!(rows, table.num_rows(), "{name}");
    }
    for (point, file) in &whole.captures {
        let taken = parts.iter().flat_map(|part| &part.captures).filter(|(found, _)| found == point);
        assert_eq!(taken.flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<u8>>(), *file, "{point}");
    }
}

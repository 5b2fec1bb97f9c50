//! One link under two clocks: packets that come when they came in a live run are treated alike in
//! virtual time, to the nanosecond.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use libtest_mimic::Trial;
use serde_json::json;
use sim::{NodeKind, RecordSpec, Spec, World};
use units::{Instant, NodeId, Seq};
use wire::{Flags, Options, Payload, Segment};

use crate::support::{config, download, live, reno};

/// The tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    live![the_link_treats_packets_alike_under_both_clocks]
}

/// A packet's way over the link, in the order of coming.
#[derive(Debug, PartialEq)]
struct Passage {
    direction: String,
    entered: i64,
    bytes: i64,
    behind: i64,
    delivered: Option<i64>,
    fate: String,
}

fn passages(tables: &[(&str, arrow_array::RecordBatch)]) -> Vec<Passage> {
    let (_, table) = tables.iter().find(|(name, _)| *name == "packets").expect("packets were recorded");
    let column = |name: &str| table.column_by_name(name).expect("a column of the contract");
    let text = |name: &str, row: usize| {
        let column = arrow_array::cast::as_string_array(column(name));
        column.value(row).to_owned()
    };
    let times = |name: &str| column(name).as_primitive::<Int64Type>();
    let numbers = |name: &str| column(name).as_primitive::<Int64Type>();
    let delivered = |row: usize| {
        let times = times("delivered_ns");
        arrow_array::Array::is_valid(times, row).then(|| times.value(row))
    };
    let rows = (0..table.num_rows()).map(|row| Passage {
        direction: text("direction", row),
        entered: times("entered_ns").value(row),
        bytes: numbers("bytes").value(row),
        behind: numbers("behind").value(row),
        delivered: delivered(row),
        fate: text("fate", row),
    });
    rows.collect()
}

/// The same packets at the same times, from nodes without a kernel, in virtual time.
fn replay(spec: &Spec, passages: &[Passage]) -> Vec<Passage> {
    let mut spec = spec.clone();
    spec.flows.clear();
    spec.record = RecordSpec { packets: true, ..RecordSpec::default() };
    let addresses: Vec<_> =
        spec.nodes.iter().map(|node| node.kind.address().expect("both are hosts")).collect();
    for (node, address) in spec.nodes.iter_mut().zip(&addresses) {
        node.kind = NodeKind::External { address: *address };
    }
    let mut world = World::new(spec).unwrap();
    for passage in passages {
        let from = usize::from(passage.direction == "up");
        let at = Instant::from_nanos(passage.entered as u64);
        world.run_until(at).unwrap();
        world
            .inject(at, NodeId::new(from), packet(addresses[from], addresses[1 - from], passage.bytes as u32))
            .unwrap();
    }
    world.run_until(Instant::from_nanos(60_000_000_000)).unwrap();
    self::passages(&world.finish().tables)
}

/// An IP packet of a number of bytes.
fn packet(from: std::net::Ipv4Addr, to: std::net::Ipv4Addr, bytes: u32) -> Vec<u8> {
    const HEADERS: u32 = 40;
    let segment = Segment {
        source_port: 1,
        destination_port: 2,
        seq: Seq(1),
        ack: Seq(1),
        flags: Flags::ACK,
        window: 0,
        options: Options::default(),
        ecn: wire::Ecn::NotCapable,
        payload: Payload::Pattern { offset: 0, len: bytes - HEADERS },
    };
    wire::emit_ipv4(from, to, 0, &segment)
}

fn the_link_treats_packets_alike_under_both_clocks() {
    let down = config(json!({
        "rate": "4 Mbit/s", "propagation": "10 ms", "queue": { "limit": "10 packets" },
        "errors": {
            "per": "packet", "probability": 0.02, "effect": "delay", "delay": { "uniform": ["10 ms", "50 ms"] },
        },
        "dropper": { "probability": 0.01 },
    }));
    let spec = download(down, 400_000);
    let outcome = live(&spec, reno());
    let live = passages(&outcome.tables);
    let replayed = replay(&spec, &live);
    assert!(live.iter().any(|passage| passage.fate == "queue_drop"));
    assert_eq!(live.len(), replayed.len());
    for (live, replayed) in live.iter().zip(&replayed) {
        assert_eq!(live, replayed);
    }
}

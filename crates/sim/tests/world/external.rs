//! Ends whose stack is elsewhere: packets come in and go out as bytes, at the right time.

use std::net::Ipv4Addr;

use arrow_array::cast::AsArray;
use lasthop_sim::{CapturePoint, Clock, MeasureSpec, RecordSpec, Spec, WindowSpec, World};
use serde_json::json;
use units::{Duration, Instant, NodeId, Seq};
use wire::offload::{Gso, GsoKind, RawPacket, VirtioNetHeader, segments};
use wire::{Flags, Options, Payload, Segment};

use crate::support::*;

fn between_kernels() -> Spec {
    let tenth = config(json!({ "rate": "1 Mbit/s", "propagation": "100 ms" }));
    Spec {
        nodes: vec![external(1), external(2)],
        links: vec![link("lasthop", [0, 1], tenth)],
        ..empty("kernels")
    }
}

fn packet(from: u8, to: u8, seq: u32, len: u32) -> Vec<u8> {
    let segment = Segment {
        source_port: 1000,
        destination_port: 2000,
        seq: Seq(seq),
        ack: Seq(0),
        flags: if len == 0 { Flags::SYN } else { Flags::ACK },
        window: 100,
        options: Options::default(),
        ecn: wire::Ecn::NotCapable,
        payload: Payload::Pattern { offset: 0, len },
    };
    wire::emit_ipv4(Ipv4Addr::new(10, 0, 1, from), Ipv4Addr::new(10, 0, 1, to), 7, &segment)
}

#[test]
fn a_packet_comes_out_at_the_other_node_unchanged_when_the_link_is_done_with_it() {
    let mut world = World::new(between_kernels()).unwrap();
    let start = Instant::from_nanos(5_000_000);
    world.run_until(start).unwrap();
    let bytes = packet(1, 2, 99, 1210);
    assert_eq!(bytes.len(), 1250);
    world.inject(start, NodeId::new(0), bytes.clone()).unwrap();
    // 1250 bytes take 10 ms at 1 Mbit/s, then 100 ms.
    let due = start + Duration::from_millis(110);
    assert_eq!(world.next_event(), Some(due));
    assert_eq!(world.poll_external(), None);
    world.run_until(due).unwrap();
    let (node, arrived) = world.poll_external().expect("it is due");
    assert_eq!((node, arrived.due, arrived.bytes), (NodeId::new(1), due, bytes.into()));
    assert_eq!(world.packets_under_way(), 0);
    assert_eq!(world.finish().summary.clock, Clock::Real);
}

#[test]
fn packets_that_lead_nowhere_are_counted_and_passed_over() {
    let mut world = World::new(between_kernels()).unwrap();
    world.inject(Instant::START, NodeId::new(0), packet(1, 77, 1, 10)).unwrap();
    world.inject(Instant::START, NodeId::new(0), vec![0x60; 60]).unwrap();
    world.inject(Instant::START, NodeId::new(0), Vec::new()).unwrap();
    assert_eq!((world.unroutable(), world.packets_under_way(), world.next_event()), (3, 0, None));
}

#[test]
fn a_damaged_packet_arrives_with_a_checksum_that_is_wrong() {
    let mut spec = between_kernels();
    spec.links[0].down = config(json!({ "errors": { "probability": 1.0, "effect": "corrupt" } }));
    let mut world = World::new(spec).unwrap();
    world.inject(Instant::START, NodeId::new(0), packet(1, 2, 1, 100)).unwrap();
    let (_, arrived) = world.poll_external().expect("it takes no time");
    let parsed = wire::parse(&arrived.bytes.to_bytes()).unwrap();
    assert_eq!(parsed.oddities, [wire::Oddity::Checksum]);
}

#[test]
fn flow_control_asks_the_driver_to_wait() {
    let mut spec = between_kernels();
    let direction =
        json!({ "rate": "1 Mbit/s", "queue": { "limit": "1 packets", "overflow": "flow-control" } });
    spec.links[0].down = config(direction);
    let mut world = World::new(spec).unwrap();
    assert!(world.accepts(NodeId::new(0)) && world.accepts(NodeId::new(1)));
    for seq in 0..2 {
        world.inject(Instant::START, NodeId::new(0), packet(1, 2, seq, 100)).unwrap();
    }
    assert!(!world.accepts(NodeId::new(0)) && world.accepts(NodeId::new(1)));
    world.run_until(Instant::START + SECOND).unwrap();
    assert!(world.accepts(NodeId::new(0)));
}

/// Kernels and a metered link, with windows from and to these seconds.
fn with_windows(windows: &[(&str, u64, Option<u64>)]) -> Spec {
    let window = |(name, from, to): &(&str, u64, Option<u64>)| WindowSpec {
        name: (*name).to_owned(),
        from: SECOND * *from,
        to: to.map(|to| SECOND * to),
    };
    let windows = windows.iter().map(window).collect();
    let mut spec = between_kernels();
    spec.record.measure = MeasureSpec { links: true, windows, sample: None };
    spec
}

#[test]
fn a_run_that_ends_because_nothing_is_left_to_happen_ends_its_windows_there() {
    let mut world = World::new(with_windows(&[("early", 0, Some(1))])).unwrap();
    world.inject(Instant::START, NodeId::new(0), packet(1, 2, 1, 100)).unwrap();
    world.run().unwrap();
    let summary = world.finish().summary;
    assert_eq!((summary.stopped_by.as_str(), summary.stopped_s < 0.2), ("nothing left to happen", true));
    assert_eq!(summary.links[0].windows[0].to_s, summary.stopped_s);
}

#[test]
fn a_window_that_closes_while_nothing_is_under_way_has_nothing_of_what_comes_in_later() {
    let mut world = World::new(with_windows(&[("before", 0, Some(1)), ("after", 1, None)])).unwrap();
    let late = Instant::START + SECOND * 2;
    world.run_until(late).unwrap();
    world.inject(late, NodeId::new(0), packet(1, 2, 1, 100)).unwrap();
    world.run_until(late + SECOND).unwrap();
    let windows = world.finish().summary.links.remove(0).windows;
    let seen: Vec<_> = windows.iter().map(|span| (span.to_s, span.packets_in, span.packets_out)).collect();
    assert_eq!(seen, [(1.0, 0, 0), (3.0, 1, 1)]);
}

#[test]
fn connections_from_outside_are_distinguished_and_their_retransmissions_seen() {
    let mut spec = between_kernels();
    spec.record = RecordSpec {
        packets: true,
        segments: true,
        captures: vec![CapturePoint::Node(NodeId::new(1))],
        ..RecordSpec::default()
    };
    let mut world = World::new(spec).unwrap();
    for bytes in [packet(1, 2, 99, 0), packet(1, 2, 100, 50), packet(1, 2, 100, 50)] {
        world.inject(Instant::START, NodeId::new(0), bytes).unwrap();
    }
    world.run_until(Instant::START + SECOND).unwrap();
    let outcome = world.finish();
    let (_, packets) = &outcome.tables[0];
    let kinds: Vec<&str> = packets["kind"].as_string::<i32>().iter().flatten().collect();
    assert_eq!(kinds, ["syn", "data", "retransmission"]);
    let flows: Vec<&str> = packets["flow"].as_string::<i32>().iter().flatten().collect();
    assert_eq!(flows, ["10.0.1.1:1000-10.0.1.2:2000"; 3]);
    let frames: Vec<_> =
        wire::capture::open(&outcome.captures[0].1[..]).unwrap().map(Result::unwrap).collect();
    assert_eq!(frames.iter().map(|frame| frame.data.len()).collect::<Vec<_>>(), [40, 40, 40]);
    assert_eq!(frames.iter().map(|frame| frame.original_len).collect::<Vec<_>>(), [40, 90, 90]);
}

/// A segment of 3 × 1000 bytes that a kernel left to be segmented, and that understands marks.
fn unsegmented() -> Vec<RawPacket> {
    let segment = Segment {
        source_port: 1000,
        destination_port: 2000,
        seq: Seq(1),
        ack: Seq(0),
        flags: Flags::ACK,
        window: 100,
        options: Options::default(),
        ecn: wire::Ecn::Capable,
        payload: Payload::Pattern { offset: 0, len: 3000 },
    };
    let bytes = wire::emit_ipv4(Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 1, 2), 7, &segment);
    let gso = Some(Gso { kind: GsoKind::TcpV4, size: 1000 });
    segments(VirtioNetHeader { gso, ..VirtioNetHeader::default() }, bytes).unwrap().collect()
}

#[test]
fn each_segment_of_a_larger_packet_has_its_own_time_and_fate() {
    let mut spec = between_kernels();
    let line = json!({ "rate": "1 Mbit/s", "events": [{ "packet": 2, "effect": "drop" }] });
    spec.links = vec![link("lasthop", [0, 1], config(line))];
    let mut world = World::new(spec).unwrap();
    let sent = unsegmented();
    for segment in &sent {
        assert_eq!(segment.len(), 1040);
        world.inject(Instant::START, NodeId::new(0), segment.clone()).unwrap();
    }
    world.run_until(Instant::START + SECOND).unwrap();
    let arrived: Vec<_> = std::iter::from_fn(|| world.poll_external()).map(|(_, packet)| packet).collect();
    let times: Vec<u64> = arrived.iter().map(|packet| packet.due.as_nanos() / 1_000).collect();
    // 1040 bytes take 8.32 ms at 1 Mbit/s.
    assert_eq!(times, [8_320, 24_960]);
    assert_eq!([&arrived[0].bytes, &arrived[1].bytes], [&sent[0], &sent[2]]);
    assert_eq!(
        world.poll_external_event().expect("the loss is reported").bytes,
        sent[1].to_bytes().into_owned()
    );
}

#[test]
fn a_packet_from_outside_is_marked_where_its_sender_understands_marks() {
    let discipline = json!({ "codel": { "ecn": true, "target": "1 ms", "interval": "10 ms" } });
    let queue = json!({ "discipline": discipline });
    let mut spec = between_kernels();
    spec.links = vec![link("lasthop", [0, 1], config(json!({ "rate": "1 Mbit/s", "queue": queue })))];
    let mut world = World::new(spec).unwrap();
    for segment in (0..20).flat_map(|_| unsegmented()) {
        world.inject(Instant::START, NodeId::new(0), segment).unwrap();
    }
    world.run_until(Instant::START + SECOND).unwrap();
    let arrived: Vec<_> =
        std::iter::from_fn(|| world.poll_external()).map(|(_, packet)| packet.bytes).collect();
    assert_eq!(arrived.len(), 60);
    let marked: Vec<_> = arrived.iter().filter(|packet| packet.ecn() == 0b11).collect();
    assert!(!marked.is_empty());
    let parsed = wire::parse(&marked[0].to_bytes()).unwrap();
    assert_eq!(parsed.segment().unwrap().ecn, wire::Ecn::Experienced);
    assert_eq!(parsed.oddities, []);
}

#[test]
fn what_waits_goes_on_through_the_changed_link_and_every_packet_is_counted_once() {
    let mut spec = between_kernels();
    spec.record = RecordSpec { packets: true, ..RecordSpec::default() };
    let mut world = World::new(spec.clone()).unwrap();
    // Four packets of 10 ms each; the first is being transmitted when the link becomes ten times as fast.
    for seq in 0..4 {
        world.inject_to(Instant::START, [0, 1].map(NodeId::new), packet(1, 2, seq, 1210)).unwrap();
    }
    let changed = Instant::START + Duration::from_millis(5);
    world.run_until(changed).unwrap();
    spec.links[0].down = config(json!({ "rate": "10 Mbit/s" }));
    world.exchange_links(changed, &spec).unwrap();
    let state = &world.link_states()[0];
    assert_eq!((state.counters.packets_in, state.waiting.0, world.packets_under_way()), (4, 2, 4));
    // The second change comes while the third packet is being transmitted, and removes the rest of the queue.
    let again = changed + Duration::from_micros(1_500);
    world.run_until(again).unwrap();
    spec.links[0].down = config(json!({ "rate": "1 Mbit/s" }));
    world.exchange_links(again, &spec).unwrap();
    world.exchange_links(again, &spec).unwrap();
    world.run_until(Instant::START + SECOND).unwrap();
    let mut due: Vec<u64> = std::iter::from_fn(|| world.poll_external())
        .map(|(_, packet)| packet.due.as_nanos() / 1_000)
        .collect();
    due.sort_unstable();
    assert_eq!(due, [6_000, 7_000, 16_500, 110_000]);
    let counters = world.link_states()[0].counters;
    assert_eq!((counters.packets_in, counters.bytes_in.0, counters.packets_out), (4, 5000, 4));
    assert_eq!(world.finish().tables[0].1.num_rows(), 4);
}

//! Packets of several flows, at a point and in a file.

use std::net::Ipv4Addr;

use units::Seq;
use wire::capture::{Frame, Interface, open};
use wire::{Flags, Options, Payload, emit_ipv4, pcapng};

use super::*;
use crate::flow::{SegmentKind, Side};

fn packet(ports: [u16; 2], seq: u32, flags: Flags, len: u32) -> Vec<u8> {
    let segment = Segment {
        source_port: ports[0],
        destination_port: ports[1],
        seq: Seq(seq),
        ack: Seq(0),
        flags,
        window: 8000,
        options: Options::default(),
        ecn: wire::Ecn::NotCapable,
        payload: Payload::Pattern { offset: 0, len },
    };
    // The port identifies the host, so that one address serves in both directions.
    let address = |port: u16| Ipv4Addr::new(10, 0, 0, (port % 256) as u8);
    emit_ipv4(address(ports[0]), address(ports[1]), 1, &segment)
}

fn seen(capture: &mut Capture, bytes: &[u8]) -> (usize, Side, SegmentKind) {
    let found = capture.handle_packet(Instant::START, PacketId(0), bytes).expect("a sound packet");
    let (flow, observed) = found.expect("a segment");
    (flow, observed.sender, observed.kind)
}

#[test]
fn flows_are_distinguished_and_their_sides_too() {
    let mut capture = Capture::new();
    assert_eq!(seen(&mut capture, &packet([1, 2], 10, Flags::SYN, 0)), (0, Side::Opener, SegmentKind::Syn));
    assert_eq!(seen(&mut capture, &packet([3, 2], 10, Flags::SYN, 0)), (1, Side::Opener, SegmentKind::Syn));
    let syn_ack = Flags::SYN.with(Flags::ACK);
    assert_eq!(seen(&mut capture, &packet([2, 1], 90, syn_ack, 0)), (0, Side::Answerer, SegmentKind::Syn));
    assert_eq!(seen(&mut capture, &packet([2, 3], 70, syn_ack, 0)), (1, Side::Answerer, SegmentKind::Syn));
    assert_eq!(seen(&mut capture, &packet([2, 9], 70, syn_ack, 0)), (2, Side::Answerer, SegmentKind::Syn));
}

#[test]
fn a_syn_with_another_number_opens_another_flow() {
    let mut capture = Capture::new();
    seen(&mut capture, &packet([1, 2], 10, Flags::SYN, 0));
    assert_eq!(seen(&mut capture, &packet([1, 2], 5000, Flags::SYN, 0)), (1, Side::Opener, SegmentKind::Syn));
    assert_eq!(capture.flows().len(), 2);
}

#[test]
fn what_is_no_tcp_is_counted_and_passed_over() {
    let mut capture = Capture::new();
    let datagram = wire::udp::Datagram { source_port: 1, destination_port: 2, payload: Payload::EMPTY };
    let bytes = wire::emit_udp_ipv4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 1, &datagram);
    assert_eq!(capture.handle_packet(Instant::START, PacketId(0), &bytes), Ok(None));
    assert!(capture.handle_packet(Instant::START, PacketId(0), b"E").is_err());
    assert_eq!((capture.other_packets(), capture.unreadable_packets()), (1, 1));
}

#[test]
fn packets_cut_off_by_the_capture_count_with_their_whole_length() {
    let mut capture = Capture::new();
    let data = packet([1, 2], 1, Flags::ACK, 1000);
    seen(&mut capture, &data[..60]);
    assert!(matches!(seen(&mut capture, &data[..60]).2, SegmentKind::Retransmission(_)));
    let counters = capture.flows()[0].half(Side::Opener).counters();
    assert_eq!((counters.data_bytes, counters.unique_bytes), (2000, 1000));
}

#[test]
fn a_file_gives_its_points_and_a_torn_one_what_came_before_the_tear() {
    let mut writer = pcapng::Writer::new(Vec::new(), &pcapng::Section::default()).expect("written");
    for name in ["server", "mobile"] {
        writer.add_interface(&Interface::raw_ip(name)).expect("written");
    }
    for (interface, seq) in [(0, 1), (1, 1), (0, 101)] {
        let bytes = packet([1, 2], seq, Flags::ACK, 100);
        writer.write(&Frame::new(interface, Instant::START, bytes)).expect("written");
    }
    let file = writer.finish().expect("written");
    let bytes_at = |points: &[Point]| -> Vec<u64> {
        let flows = points.iter().map(|point| &point.capture.flows()[0]);
        flows.map(|flow| flow.half(Side::Opener).counters().unique_bytes).collect()
    };
    let (points, error) = read(&mut open(&file[..]).expect("our own file"));
    assert!(error.is_none());
    assert_eq!(points[1].interface.name, "mobile");
    assert_eq!(bytes_at(&points), [200, 100]);
    let (points, error) = read(&mut open(&file[..file.len() - 1]).expect("its head is whole"));
    assert!(error.expect("a tear").to_string().contains(&format!("ends at byte {}", file.len() - 1)));
    assert_eq!(bytes_at(&points), [100, 100]);
}

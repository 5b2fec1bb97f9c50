use std::net::Ipv4Addr;

use proptest::prelude::*;
use units::Seq;

use super::*;
use crate::ip::Protocol;
use crate::ip::v4::Header;
use crate::udp::Datagram;
use crate::{
    Ecn, Flags, Options, Parsed, Payload, Segment, Timestamps, Transport, emit_ipv4_behind,
    emit_udp_ipv4_behind, parse,
};

const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn header(protocol: Protocol, identification: u16) -> Header {
    Header { traffic_class: 0xb8, ..Header::new(SOURCE, DESTINATION, protocol, identification) }
}

fn segment(seq: u32, flags: Flags, payload: &[u8]) -> Segment {
    Segment {
        source_port: 5001,
        destination_port: 80,
        seq: Seq(seq),
        ack: Seq(77),
        flags,
        window: 100,
        options: Options { timestamps: Some(Timestamps { value: 3, echo: 4 }), ..Options::default() },
        ecn: Ecn::Capable,
        payload: Payload::Data(payload.into()),
    }
}

fn of_tcp(size: u16) -> VirtioNetHeader {
    VirtioNetHeader { gso: Some(Gso { kind: GsoKind::TcpV4, size }), ..VirtioNetHeader::default() }
}

/// A large segment with everything that only one of its parts has, and those parts.
fn parts(payload: &[u8], size: u16, seq: u32, identification: u16) -> (Vec<u8>, Vec<RawPacket>) {
    let flags = Flags::ACK.with(Flags::PSH).with(Flags::FIN);
    let bytes = emit_ipv4_behind(header(Protocol::TCP, identification), &segment(seq, flags, payload));
    let parts = segments(of_tcp(size), bytes.clone()).expect("a sound packet").collect();
    (bytes, parts)
}

fn sound(packet: &[u8]) -> Parsed {
    let parsed = parse(packet).expect("it can be read");
    assert_eq!(parsed.oddities, []);
    parsed
}

/// The packet that a kernel gets, with its checksums finished.
fn written(coalesced: &Coalesced<'_>) -> (VirtioNetHeader, Vec<u8>) {
    let mut bytes = Vec::new();
    let payload = coalesced.write(&mut bytes);
    bytes.extend_from_slice(payload);
    let (virtio, packet) = bytes.split_first_chunk().expect("the header of virtio");
    let virtio = VirtioNetHeader::read(virtio).expect("it is known");
    let mut packet = packet.to_vec();
    if let Some(place) = virtio.checksum {
        finish_checksum(&mut packet, place);
    }
    (virtio, packet)
}

fn coalesce(packets: &[RawPacket]) -> Vec<Coalesced<'_>> {
    let mut all: Vec<Coalesced<'_>> = Vec::new();
    for packet in packets {
        if !all.last_mut().is_some_and(|last| last.push(packet)) {
            all.push(Coalesced::new(packet));
        }
    }
    all
}

/// A datagram that may be fragmented, as a kernel hands it over: its checksum is left to be finished.
fn datagram(identification: u16, ports: [u16; 2], payload: &[u8]) -> RawPacket {
    let datagram = Datagram {
        source_port: ports[0],
        destination_port: ports[1],
        payload: Payload::Data(payload.into()),
    };
    let header = Header { dont_fragment: false, ..header(Protocol::UDP, identification) };
    let bytes = emit_udp_ipv4_behind(header, &datagram);
    let gso = Some(Gso { kind: GsoKind::Udp, size: u16::MAX });
    let virtio = VirtioNetHeader { gso, ..VirtioNetHeader::default() };
    let whole: Vec<_> = segments(virtio, bytes).expect("a sound packet").collect();
    let mut head = Vec::new();
    let payload = Coalesced::new(&whole[0]).write(&mut head);
    head.extend_from_slice(payload);
    let (virtio, bytes) = head.split_first_chunk().expect("the header of virtio");
    let virtio = VirtioNetHeader::read(virtio).expect("it is known");
    segments(virtio, bytes.to_vec()).expect("a sound packet").next().expect("one packet")
}

fn join(packets: &[RawPacket]) -> Vec<Coalesced<'_>> {
    let mut all: Vec<Coalesced<'_>> = Vec::new();
    for packet in packets {
        if !all.last_mut().is_some_and(|last| last.push(packet)) {
            all.push(Coalesced::joining(packet));
        }
    }
    all
}

fn payload_of(packet: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    match sound(packet).transport {
        Transport::Tcp(segment) => segment.payload.write_to(&mut bytes),
        Transport::Udp(datagram) => datagram.payload.write_to(&mut bytes),
        other => panic!("{other:?}"),
    }
    bytes
}

proptest! {
    #[test]
    fn what_is_taken_apart_and_put_together_is_the_same(
        payload in prop::collection::vec(any::<u8>(), 1..9000),
        size in 1u16..3000,
        seq in any::<u32>(),
        identification in any::<u16>(),
    ) {
        let (bytes, parts) = parts(&payload, size, seq, identification);
        let one = coalesce(&parts);
        prop_assert_eq!(one.len(), 1);
        prop_assert_eq!(one[0].packets(), parts.len());
        prop_assert_eq!(&one[0].segments().collect::<Vec<_>>(), &parts);
        let (virtio, packet) = written(&one[0]);
        prop_assert_eq!(virtio.gso.is_some(), parts.len() > 1);
        prop_assert_eq!(packet, bytes);
    }

    #[test]
    fn each_part_is_a_segment_of_its_own(
        payload in prop::collection::vec(any::<u8>(), 1..9000),
        size in 100u16..3000,
        seq in any::<u32>(),
        identification in any::<u16>(),
    ) {
        let (_, parts) = parts(&payload, size, seq, identification);
        let mut joined = Vec::new();
        for (number, part) in (0_u16..).zip(&parts) {
            let bytes = part.to_bytes();
            prop_assert_eq!(bytes.len(), part.len());
            let parsed = sound(&bytes);
            let sent = parsed.segment().expect("of TCP");
            let is_last = usize::from(number) + 1 == parts.len();
            prop_assert_eq!(sent.seq, Seq(seq.wrapping_add(joined.len() as u32)));
            prop_assert_eq!(sent.flags.contains(Flags::FIN), is_last);
            prop_assert_eq!(sent.flags.contains(Flags::PSH), is_last);
            prop_assert_eq!((sent.ack, sent.ecn), (Seq(77), Ecn::Capable));
            let crate::ip::Header::V4(header) = parsed.header else { panic!("IPv4") };
            prop_assert_eq!(header.identification, identification.wrapping_add(number));
            prop_assert_eq!(header.traffic_class >> 2, 0xb8 >> 2);
            prop_assert!(is_last || bytes.len() == 52 + usize::from(size));
            joined.extend(payload_of(&bytes));
        }
        prop_assert_eq!(joined, payload);
    }

    #[test]
    fn what_is_left_of_them_goes_on_as_the_same_segments(
        payload in prop::collection::vec(any::<u8>(), 1..9000),
        size in 100u16..1500,
        fates in prop::collection::vec(0..4u8, 90),
    ) {
        let (_, parts) = parts(&payload, size, 1, 65_530);
        let mut left = parts.into_iter().zip(fates).filter(|(_, fate)| *fate > 0).map(|(mut part, fate)| {
            if fate == 3 {
                part.mark_ce();
            }
            part
        });
        let left: Vec<RawPacket> = left.by_ref().collect();
        let mut again = Vec::new();
        for one in coalesce(&left) {
            let (virtio, packet) = written(&one);
            sound(&packet);
            again.extend(segments(VirtioNetHeader { checksum: None, ..virtio }, packet).expect("sound"));
        }
        prop_assert_eq!(again, left);
    }

    #[test]
    fn datagrams_that_are_sent_as_one_are_datagrams(
        payload in prop::collection::vec(any::<u8>(), 1..5000),
        size in 1u16..1500,
    ) {
        let data = Payload::Data(payload.as_slice().into());
        let datagram = Datagram { source_port: 7, destination_port: 9, payload: data };
        let bytes = emit_udp_ipv4_behind(header(Protocol::UDP, 9), &datagram);
        let gso = Some(Gso { kind: GsoKind::Udp, size });
        let parts: Vec<_> = segments(VirtioNetHeader { gso, ..VirtioNetHeader::default() }, bytes.clone())
            .expect("a sound packet").collect();
        let each: Vec<Vec<u8>> = parts.iter().map(|part| payload_of(&part.to_bytes())).collect();
        prop_assert_eq!(each.concat(), payload);
        prop_assert!(each.iter().rev().skip(1).all(|one| one.len() == usize::from(size)));
        prop_assert_eq!(&written(&coalesce(&parts)[0]).1, &bytes);
    }

    #[test]
    fn datagrams_that_a_kernel_takes_as_one_are_the_same_datagrams(
        sent in prop::collection::vec((0u16..3, 0u16..2, 1usize..4), 1..200),
        size in 1usize..700,
    ) {
        let mut identification = 65_500u16;
        let packets: Vec<_> = sent.iter().enumerate().map(|(place, (skipped, port, length))| {
            identification = identification.wrapping_add(1 + skipped / 2);
            datagram(identification, [7, 9 + port / 2], &vec![place as u8; size * length.min(&2)])
        }).collect();
        let all = join(&packets);
        let mut again = Vec::new();
        for one in &all {
            prop_assert_eq!(one.segments().count(), one.packets());
            let (virtio, bytes) = written(one);
            sound(&bytes);
            prop_assert!(one.packets() <= 64 && bytes.len() <= 65_535);
            again.extend(segments(VirtioNetHeader { checksum: None, ..virtio }, bytes).expect("sound"));
        }
        prop_assert_eq!(again, packets);
    }

    #[test]
    fn nothing_that_a_kernel_could_say_is_followed_out_of_the_packet(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        header in any::<[u8; VirtioNetHeader::LEN]>(),
    ) {
        let Ok(virtio) = VirtioNetHeader::read(&header) else { return Ok(()) };
        let Ok(packets) = segments(virtio, bytes) else { return Ok(()) };
        for mut packet in packets {
            packet.mark_ce();
            prop_assert_eq!(packet.to_bytes().len(), packet.len());
            packet.corrupt();
        }
    }
}

#[test]
fn datagrams_are_joined_while_one_follows_the_other() {
    let one = |number: u16, length: usize| datagram(number, [7, 9], &vec![1; length]);
    let sizes = |packets: &[RawPacket]| join(packets).iter().map(Coalesced::packets).collect::<Vec<_>>();
    assert_eq!(sizes(&[one(1, 50), one(2, 50), one(3, 20), one(4, 50)]), [3, 1], "a shorter one is the last");
    assert_eq!(sizes(&[one(1, 50), one(2, 51)]), [1, 1], "a longer one does not fit");
    assert_eq!(sizes(&[one(1, 50), one(3, 50)]), [1, 1], "one between was dropped");
    let others = [one(1, 50), datagram(2, [7, 10], &[1; 50])];
    assert_eq!(sizes(&others), [1, 1], "to another port");
    let mut marked = [one(1, 50), one(2, 50)];
    marked[1].corrupt();
    assert_eq!(sizes(&marked), [1, 1], "its checksum is there already");
    assert_eq!(coalesce(&[one(1, 50), one(2, 50)]).len(), 2, "only where a kernel takes trains");
    let atomic = [0, 0].map(|_| {
        let mut bytes = one(0, 50).to_bytes().into_owned();
        bytes[6] |= 0x40;
        write_header_checksum(&mut bytes[..20]);
        let checksum = Some(ChecksumPlace { start: 20, offset: 6 });
        segments(VirtioNetHeader { checksum, ..VirtioNetHeader::default() }, bytes).unwrap().next().unwrap()
    });
    assert_eq!(sizes(&atomic), [2], "the number of what is never fragmented says nothing (RFC 6864 §4.1)");
    let many: Vec<_> = (0..70).map(|number| one(number, 10)).collect();
    assert_eq!(sizes(&many), [64, 6]);
}

#[test]
fn a_header_of_virtio_is_read_as_it_was_written() {
    let header = VirtioNetHeader {
        checksum: Some(ChecksumPlace { start: 20, offset: 16 }),
        gso: Some(Gso { kind: GsoKind::TcpV4, size: 1448 }),
        headers_len: 52,
    };
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    assert_eq!(VirtioNetHeader::read(bytes.as_slice().try_into().unwrap()), Ok(header));
    bytes[1] = 3;
    assert_eq!(VirtioNetHeader::read(bytes.as_slice().try_into().unwrap()), Err(UnknownGso(3)));
}

#[test]
fn a_checksum_that_was_left_is_finished_for_a_wire_and_left_to_a_kernel() {
    let (bytes, parts) = parts(b"data", 1448, 1, 7);
    let place = ChecksumPlace { start: 20, offset: 16 };
    let mut head = Vec::new();
    let left = [Coalesced::new(&parts[0]).write(&mut head).to_vec()].concat();
    let unfinished = [&head[VirtioNetHeader::LEN..], &left].concat();
    assert_ne!(unfinished, bytes);
    let virtio = VirtioNetHeader { checksum: Some(place), ..VirtioNetHeader::default() };
    let packet = segments(virtio, unfinished.clone()).unwrap().next().unwrap();
    assert_eq!(packet, bytes);
    let mut head = Vec::new();
    assert_eq!(Coalesced::new(&packet).write(&mut head), unfinished);
    assert_eq!(VirtioNetHeader::read(head[..].try_into().unwrap()).unwrap().checksum, Some(place));
}

#[test]
fn a_damaged_part_has_a_wrong_checksum_that_a_kernel_will_check() {
    let (_, mut parts) = parts(&[7; 3000], 1000, 1, 7);
    parts[1].corrupt();
    let all = coalesce(&parts);
    assert_eq!(all.iter().map(Coalesced::packets).collect::<Vec<_>>(), [1, 1, 1]);
    let (virtio, packet) = written(&all[1]);
    assert_eq!((virtio.checksum, virtio.gso), (None, None));
    assert_eq!(parse(&packet).unwrap().oddities, [crate::Oddity::Checksum]);
}

#[test]
fn only_the_first_part_says_that_the_window_was_reduced_and_it_goes_alone() {
    let flags = Flags::ACK.with(Flags::CWR);
    let bytes = emit_ipv4_behind(header(Protocol::TCP, 1), &segment(1, flags, &[7; 3000]));
    let parts: Vec<_> = segments(of_tcp(1000), bytes).unwrap().collect();
    let reduced =
        parts.iter().map(|part| sound(&part.to_bytes()).segment().unwrap().flags.contains(Flags::CWR));
    assert_eq!(reduced.collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(coalesce(&parts).iter().map(Coalesced::packets).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_mark_is_set_only_where_it_is_understood() {
    let (_, mut parts) = parts(&[7; 100], 60, 1, 7);
    parts[1].mark_ce();
    assert_eq!(parts.iter().map(RawPacket::ecn).collect::<Vec<_>>(), [0b10, 0b11]);
    let capable = emit_ipv4_behind(header(Protocol::TCP, 1), &segment(1, Flags::ACK, b"data"));
    let mut whole = RawPacket::from(capable);
    whole.mark_ce();
    assert_eq!(sound(&whole.to_bytes()).segment().unwrap().ecn, Ecn::Experienced);
    let not = Segment { ecn: Ecn::NotCapable, ..segment(1, Flags::ACK, b"data") };
    let bytes = emit_ipv4_behind(Header { traffic_class: 0, ..header(Protocol::TCP, 1) }, &not);
    let mut packet = RawPacket::from(bytes.clone());
    packet.mark_ce();
    assert_eq!(packet, bytes);
}

#[test]
fn headers_alone_say_how_long_the_segment_is() {
    let (_, parts) = parts(&[7; 3000], 1000, 1, 7);
    let headers = parts[1].to_headers();
    assert_eq!(headers.len(), 52);
    let parsed = parse(&headers).unwrap();
    assert_eq!((parsed.missing, parsed.segment().unwrap().seq), (1000, Seq(1001)));
}

#[test]
fn the_last_part_that_is_left_gives_the_memory_back() {
    let (bytes, mut parts) = parts(&[7; 3000], 1000, 1, 7);
    assert_eq!(parts.remove(2).into_buffer(), None);
    parts.remove(0).corrupt();
    assert_eq!(parts.remove(0).into_buffer(), Some(bytes));
}

#[test]
fn what_has_no_segments_is_refused() {
    let tcp = emit_ipv4_behind(header(Protocol::TCP, 1), &segment(1, Flags::ACK, b"data"));
    let refused = |gso: VirtioNetHeader, bytes: &[u8]| segments(gso, bytes.to_vec()).err();
    let udp =
        VirtioNetHeader { gso: Some(Gso { kind: GsoKind::Udp, size: 9 }), ..VirtioNetHeader::default() };
    assert_eq!(refused(udp, &tcp), Some(SuperPacketError::Transport(GsoKind::Udp)));
    assert_eq!(refused(of_tcp(0), &tcp), Some(SuperPacketError::Segments { payload: 4, size: 0 }));
    assert_eq!(refused(of_tcp(9), &tcp[..30]), Some(SuperPacketError::Transport(GsoKind::TcpV4)));
    assert_eq!(refused(of_tcp(9), &[0x60; 80]), Some(SuperPacketError::Ip));
}

use std::net::{Ipv4Addr, Ipv6Addr};

use units::Seq;

use super::*;
use crate::ip::{Fragment, Protocol, v4, v6};
use crate::{Ecn, Flags, Options, Payload, Segment};

const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const ETHERNET: [u8; 12] = [2; 12];

fn segment(len: u32) -> Segment {
    Segment {
        source_port: 5000,
        destination_port: 80,
        seq: Seq(1),
        ack: Seq(1),
        flags: Flags::ACK,
        window: 8000,
        options: Options::default(),
        ecn: Ecn::NotCapable,
        payload: Payload::Pattern { offset: 0, len },
    }
}

fn packet() -> Vec<u8> {
    crate::emit_ipv4(HOSTS[0], HOSTS[1], 7, &segment(10))
}

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&ETHERNET[..], &ether_type.to_be_bytes(), payload].concat()
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    v4::Header::new(HOSTS[1], HOSTS[0], Protocol(protocol), 1).encode(payload.len(), &mut out);
    [out, payload.to_vec()].concat()
}

fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    v6::Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED, Protocol(protocol))
        .encode(payload.len(), &mut out);
    [out, payload.to_vec()].concat()
}

fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    ipv4(17, &[&[0, 9][..], &port.to_be_bytes(), &len.to_be_bytes(), &[0, 0], payload].concat())
}

fn assert_found(link_type: LinkType, frame: &[u8]) {
    let found = Unpacker::default().unpack(link_type, frame).map(|found| found.bytes().to_vec());
    assert_eq!(found, Ok(packet()), "link type {link_type:?}");
}

#[test]
fn the_packet_is_found_after_the_header_of_every_known_link_type() {
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let log = [2, 0, 0, 0, 5, 0, 1, 0, 7, 0, 0, 0];
    let payload_of_log = [(packet().len() + 4) as u8, 0, 9, 0];
    let radiotap = [0, 0, 9, 0, 2, 0, 0, 0, 0x20];
    let headers: [(LinkType, &[&[u8]]); 17] = [
        (LinkType::RAW, &[]),
        (LinkType::NULL, &[&[2, 0, 0, 0]]),
        (LinkType::ETHERNET, &[&ETHERNET, &[8, 0]]),
        (LinkType::ETHERNET, &[&ETHERNET, &[0, 60], &snap]),
        (LinkType::FDDI, &[&[0; 13], &snap]),
        (LinkType::PPP, &[&[0xff, 3, 0, 0x21]]),
        (LinkType::PPP, &[&[0x21]]),
        (LinkType::PPP_ETHER, &[&[0x11, 0, 0, 1, 0, 52, 0, 0x21]]),
        (LinkType::CISCO_HDLC, &[&[0x0f, 0, 8, 0]]),
        (LinkType::IEEE_802_11, &[&[8, 1], &[0; 22], &snap]),
        (LinkType::IEEE_802_11, &[&[0x88, 2], &[0; 24], &snap]),
        (LinkType::RADIOTAP, &[&radiotap, &[0x88, 1], &[0; 24], &[0; 2], &snap]),
        (LinkType::PRISM, &[&[0; 144], &[8, 3], &[0; 28], &snap]),
        (LinkType::LINUX_SLL, &[&[0; 14], &[8, 0]]),
        (LinkType::LINUX_SLL, &[&[0; 14], &[0, 4], &snap]),
        (LinkType::LINUX_SLL2, &[&[8, 0], &[0; 18]]),
        (LinkType::NFLOG, &[&log, &payload_of_log]),
    ];
    for (link_type, parts) in headers {
        assert_found(link_type, &[parts.concat(), packet()].concat());
    }
}

#[test]
fn a_radiotap_header_that_is_shorter_than_its_first_word_is_cut_off() {
    for length in 0..4 {
        let frame = [0, 0, length, 0];
        assert_eq!(Unpacker::default().unpack(LinkType::RADIOTAP, &frame), Err(NotIp::CutOff), "{length}");
    }
}

#[test]
fn the_packet_is_found_inside_every_known_tunnel() {
    let inner = packet();
    let frame = ethernet(0x0800, &inner);
    let outer = [
        ethernet(0x8100, &[&[0, 5, 0x88, 0xa8, 0, 6, 8, 0][..], &inner].concat()),
        ethernet(0x8864, &[&[0x11, 0, 0, 1, 0, 52, 0, 0x21][..], &inner].concat()),
        ethernet(0x8847, &[&[0, 1, 0, 64, 0, 2, 1, 64][..], &inner].concat()),
        ethernet(0x8847, &[&[0, 1, 1, 64, 0, 0, 0, 0][..], &frame].concat()),
        ethernet(0x0800, &ipv4(4, &inner)),
        ethernet(0x86dd, &ipv6(4, &inner)),
        ethernet(0x0800, &ipv4(41, &ipv6(4, &inner))),
        ethernet(0x0800, &ipv4(47, &[&[0, 0, 8, 0][..], &inner].concat())),
        ethernet(0x0800, &ipv4(47, &[&[0x30, 0, 0x65, 0x58, 0, 0, 0, 1, 0, 0, 0, 2][..], &frame].concat())),
        ethernet(
            0x0800,
            &ipv4(47, &[&[0x30, 1, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 2, 0x21][..], &inner].concat()),
        ),
        ethernet(0x0800, &ipv4(47, &[&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &[0; 8], &frame].concat())),
        ethernet(0x0800, &datagram(2152, &[&[0x30, 255, 0, 50, 0, 0, 0, 1][..], &inner].concat())),
        ethernet(
            0x0800,
            &datagram(
                2152,
                &[&[0x34, 255, 0, 58, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0][..], &inner].concat(),
            ),
        ),
        ethernet(0x0800, &datagram(4789, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &frame].concat())),
        ethernet(
            0x0800,
            &datagram(6081, &[&[1, 0, 0x65, 0x58, 0, 0, 7, 0, 0, 0, 0, 0][..], &frame].concat()),
        ),
    ];
    for frame in outer {
        assert_found(LinkType::ETHERNET, &frame);
    }
}

#[test]
fn a_packet_in_fragments_comes_with_the_last_of_them_in_any_order() {
    let whole = crate::emit_ipv4(HOSTS[0], HOSTS[1], 9, &segment(100));
    let part = |from: usize, to: usize| {
        let payload = &whole[20 + from..(20 + to).min(whole.len())];
        let fragment = Fragment { offset: from as u16, more: 20 + to < whole.len() };
        let mut out = Vec::new();
        let header = v4::Header::new(HOSTS[0], HOSTS[1], Protocol::TCP, 9);
        v4::Header { fragment: Some(fragment), ..header }.encode(payload.len(), &mut out);
        [out, payload.to_vec()].concat()
    };
    let mut unpacker = Unpacker::default();
    for early in [part(40, 80), part(80, 160), part(40, 80)] {
        assert_eq!(unpacker.unpack(LinkType::RAW, &early), Err(NotIp::Fragment));
    }
    let found = unpacker.unpack(LinkType::RAW, &part(0, 40)).map(|found| found.bytes().to_vec());
    assert_eq!(found, Ok(whole.clone()));
}

#[test]
fn fragments_of_version_6_are_put_together() {
    let whole = ipv6(6, &packet()[20..]);
    let part = |from: usize, to: usize| {
        let more = u16::from(to < whole.len() - 40);
        let field = (from as u16 | more).to_be_bytes();
        let payload = &whole[40 + from..40 + to];
        ipv6(44, &[&[6, 0, field[0], field[1], 0, 0, 0, 9][..], payload].concat())
    };
    let mut unpacker = Unpacker::default();
    assert_eq!(unpacker.unpack(LinkType::RAW, &part(16, 30)), Err(NotIp::Fragment));
    assert_eq!(
        unpacker.unpack(LinkType::RAW, &part(0, 16)).map(|found| found.bytes().to_vec()),
        Ok(whole.clone())
    );
}

#[test]
fn fragments_that_a_snap_length_cut_give_a_packet_that_is_cut_off() {
    let whole = crate::emit_ipv4(HOSTS[0], HOSTS[1], 9, &segment(100));
    let mut first = whole[..60].to_vec();
    first[6..8].copy_from_slice(&[0x20, 0]);
    first[2..4].copy_from_slice(&100_u16.to_be_bytes());
    let mut last = [&whole[..20], &whole[100..]].concat();
    last[6..8].copy_from_slice(&[0, 10]);
    let len = last.len() as u16;
    last[2..4].copy_from_slice(&len.to_be_bytes());
    let mut unpacker = Unpacker::default();
    assert_eq!(unpacker.unpack(LinkType::RAW, &first), Err(NotIp::Fragment));
    let packet = unpacker.unpack(LinkType::RAW, &last).expect("all fragments were seen").bytes().to_vec();
    assert_eq!(crate::parse(&packet).expect("a segment").missing, 80);
}

#[test]
fn what_is_not_ip_is_named() {
    let named = |link_type, frame: &[u8]| {
        Unpacker::default().unpack(link_type, frame).expect_err("no packet").to_string()
    };
    assert_eq!(named(LinkType::ETHERNET, &ethernet(0x0806, &[0; 28])), "ARP");
    assert_eq!(named(LinkType::ETHERNET, &ethernet(0x1234, &[0; 28])), "EtherType 0x1234");
    assert_eq!(named(LinkType(147), &[]), "link type 147 (private use), which is not read");
    assert_eq!(named(LinkType::ETHERNET, &[0; 5]), "cut off before the IP packet");
    assert_eq!(named(LinkType::IEEE_802_11, &[&[8, 0x41][..], &[0; 40]].concat()), "encrypted");
    assert_eq!(named(LinkType::RAW, &[0x15]), "version 1 in place of IP's");
}

#[test]
fn a_datagram_to_a_tunnels_port_with_something_else_inside_is_a_datagram() {
    let frame = ethernet(0x0800, &datagram(4789, b"not a tunnel"));
    let found = Unpacker::default().unpack(LinkType::ETHERNET, &frame).expect("a datagram").bytes().to_vec();
    assert_eq!(found, frame[14..]);
}

#[test]
fn the_bytes_that_a_datagram_carries_are_found_by_the_header_that_was_decoded() {
    let carried = |frame: &[u8]| {
        let packet = Unpacker::default().unpack(LinkType::RAW, frame).expect("a packet");
        match packet.parse_headers().expect("a datagram").transport {
            crate::Transport::Udp(datagram) => packet.carried_by(&datagram).to_vec(),
            other => panic!("{other:?}"),
        }
    };
    let four = datagram(443, b"contents");
    assert_eq!(carried(&four), b"contents");
    // Padding of the link layer, and a capture that was cut off.
    assert_eq!(carried(&[&four[..], &[0; 9]].concat()), b"contents");
    assert_eq!(carried(&four[..four.len() - 5]), b"con");
    // After a header of destination options.
    let six = ipv6(60, &[&[17, 0, 1, 4, 0, 0, 0, 0][..], &four[20..]].concat());
    assert_eq!(carried(&six), b"contents");
    // Inside a tunnel.
    assert_eq!(carried(&ipv4(41, &six)), b"contents");
}

#[test]
fn a_packet_whose_header_contradicts_itself_is_found_and_cannot_be_parsed() {
    let mut fragment = packet();
    (fragment[0], fragment[6]) = (0x44, 0x20);
    let packet = Unpacker::default().unpack(LinkType::RAW, &fragment).expect("an IP packet");
    assert_eq!(packet.bytes(), fragment);
    assert!(packet.parse_headers().is_err());
}

//! Packets from values to bytes and back, and bytes of any kind.

use std::net::{Ipv4Addr, Ipv6Addr};

use lasthop_wire as wire;
use proptest::prelude::*;
use units::{Seq, SeqRange};
use wire::ip::Header;
use wire::udp::Datagram;
use wire::{
    AccEcn, AccEcnOrder, AckRate, AckScheme, Flags, Oddity, Options, Parsed, Payload, SackBlocks, Segment,
    Timestamps, Transport, emit_ipv4, parse,
};

fn payloads() -> impl Strategy<Value = Payload> {
    prop_oneof![
        Just(Payload::EMPTY),
        prop::collection::vec(any::<u8>(), 1..1500).prop_map(|bytes| Payload::Data(bytes.into())),
        (any::<u32>(), 1_u32..1500).prop_map(|(offset, len)| Payload::Pattern { offset: offset.into(), len }),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let timestamps = prop::option::of((any::<u32>(), any::<u32>()));
    let blocks = prop::collection::vec((any::<u32>(), any::<u32>()), 0..=4);
    let counters = (any::<bool>(), any::<[u32; 3]>(), 0_u8..=3);
    let accecn = prop::option::of(counters.prop_map(|(ect0_first, [ect0, ce, ect1], count)| {
        let order = if ect0_first { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
        AccEcn::new(order, ect0, ce, ect1, count)
    }));
    let ack_rate =
        prop::option::of((any::<bool>(), prop::option::of(any::<u8>())).prop_map(|(tarr, ratio)| {
            let scheme = if tarr { AckScheme::Tarr } else { AckScheme::AckCc };
            AckRate { scheme, ratio: ratio.map(|ratio| ratio.min(scheme.greatest())) }
        }));
    let of_syn = (prop::option::of(any::<u16>()), prop::option::of(any::<u8>()), any::<bool>());
    (of_syn, timestamps, blocks, accecn, ack_rate)
        .prop_map(|((mss, window_scale, sack_permitted), timestamps, blocks, accecn, ack_rate)| {
            let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
            let mut sack = SackBlocks::default();
            for (start, end) in blocks {
                sack.push(SeqRange { start: Seq(start), end: Seq(end) });
            }
            let options =
                Options { mss, window_scale, sack_permitted, timestamps, sack, ..Options::default() };
            Options { accecn, ack_rate, ..options }
        })
        .prop_filter("a header has room for 40 bytes of options", |options| options.wire_len() <= 40)
}

fn segments() -> impl Strategy<Value = Segment> {
    let numbers = (any::<u16>(), any::<u16>(), any::<u32>(), any::<u32>(), any::<u16>(), any::<u16>());
    (numbers, options(), payloads()).prop_map(|(numbers, options, payload)| {
        let (source_port, destination_port, seq, ack, flags, window) = numbers;
        let flags = Flags::from_bits(flags);
        Segment {
            source_port,
            destination_port,
            seq: Seq(seq),
            ack: Seq(ack),
            flags,
            window,
            options,
            ecn: wire::Ecn::NotCapable,
            payload,
        }
    })
}

/// The same segment with its payload as bytes.
fn in_bytes(mut segment: Segment) -> Segment {
    segment.payload = as_data(&segment.payload);
    segment
}

fn as_data(payload: &Payload) -> Payload {
    let mut data = Vec::new();
    payload.write_to(&mut data);
    if data.is_empty() { Payload::EMPTY } else { Payload::Data(data.into()) }
}

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 200);

proptest! {
    #[test]
    fn a_segment_survives_the_trip_over_ipv4(segment in segments(), identification: u16) {
        let bytes = emit_ipv4(A, B, identification, &segment);
        prop_assert_eq!(bytes.len() as u32, 20 + segment.wire_len());
        let parsed = parse(&bytes).expect("our own packet");
        prop_assert_eq!(&parsed.oddities, &[]);
        prop_assert_eq!(parsed.header.source(), A);
        prop_assert_eq!(parsed.header.destination(), B);
        prop_assert_eq!(parsed.segment(), Some(&in_bytes(segment)));
    }

    #[test]
    fn a_segment_survives_the_trip_over_ipv6(segment in segments(), a: u128, b: u128) {
        let (a, b) = (Ipv6Addr::from(a), Ipv6Addr::from(b));
        let bytes = wire::emit_ipv6(a, b, &segment);
        let parsed = parse(&bytes).expect("our own packet");
        prop_assert_eq!(&parsed.oddities, &[]);
        prop_assert_eq!((parsed.header.source(), parsed.header.destination()), (a.into(), b.into()));
        prop_assert_eq!(parsed.segment(), Some(&in_bytes(segment)));
    }

    #[test]
    fn a_datagram_survives_the_trip(ports: (u16, u16), payload in payloads(), identification: u16) {
        let datagram = Datagram { source_port: ports.0, destination_port: ports.1, payload };
        let expected = Transport::Udp(Datagram { payload: as_data(&datagram.payload), ..datagram.clone() });
        for bytes in [
            wire::emit_udp_ipv4(A, B, identification, &datagram),
            wire::emit_udp_ipv6(A.to_ipv6_mapped(), B.to_ipv6_mapped(), &datagram),
        ] {
            let parsed = parse(&bytes).expect("our own packet");
            prop_assert_eq!(&parsed.oddities, &[]);
            prop_assert_eq!(&parsed.transport, &expected);
        }
    }

    #[test]
    fn one_flipped_bit_is_always_noticed(segment in segments(), at: prop::sample::Index, bit in 0_u32..8) {
        let mut bytes = emit_ipv4(A, B, 1, &segment);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        match parse(&bytes) {
            Err(_) => {}
            // IPv6 has no checksum of its header: a bit error in it that changes the version is not detected.
            Ok(Parsed { header: Header::V6(_), .. }) => prop_assert_eq!((at, bit), (0, 5)),
            // Bits that make it another protocol or a fragment break the header's checksum.
            Ok(parsed) => prop_assert!(
                parsed.oddities.contains(&Oddity::Checksum) || parsed.oddities.contains(&Oddity::HeaderChecksum)
            ),
        }
    }

    #[test]
    fn bytes_of_any_kind_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn packets_with_any_bytes_changed_never_panic(
        segment in segments(),
        changes in prop::collection::vec((0_usize..80, any::<u8>()), 0..8),
        keep in 0_usize..200,
    ) {
        let over_ipv6 = wire::emit_ipv6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, &segment);
        for mut bytes in [emit_ipv4(A, B, 1, &segment), over_ipv6] {
            for (at, byte) in &changes {
                if let Some(place) = bytes.get_mut(*at) { *place = *byte }
            }
            bytes.truncate(keep);
            let _ = parse(&bytes);
        }
    }

    #[test]
    fn a_packet_cut_off_anywhere_behind_the_ports_keeps_its_length(segment in segments(), keep in 40_usize..100) {
        let mut bytes = emit_ipv4(A, B, 1, &segment);
        bytes.truncate(keep);
        let parsed = parse(&bytes).expect("the fixed headers are there");
        let found = parsed.segment().expect("a segment");
        prop_assert_eq!(found.seq_len() + parsed.missing, segment.seq_len());
    }
}

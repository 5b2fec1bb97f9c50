//! Both formats through the common reader: round trips, foreign byte orders, tears and damage.

use proptest::prelude::*;
use units::{Instant, PacketId};

use crate::capture::{Direction, Frame, Interface, LinkType, ReadError, open};
use crate::{pcap, pcapng};

fn frames(interfaces: u32) -> impl Strategy<Value = Frame> {
    let data = prop::collection::vec(any::<u8>(), 0..100);
    let direction = prop_oneof![Just(None), Just(Some(Direction::Inbound)), Just(Some(Direction::Outbound))];
    let comment = prop::option::of("[a-zäπ]{1,40}");
    (0..interfaces, any::<u64>(), data, 0_u32..50, direction, prop::option::of(any::<u64>()), comment)
        .prop_map(|(interface, nanos, data, cut_off, direction, packet, comment)| Frame {
            interface,
            at: Instant::from_nanos(nanos),
            original_len: data.len() as u32 + cut_off,
            data,
            direction,
            packet: packet.map(PacketId),
            comment,
        })
}

fn written(interfaces: &[Interface], frames: &[Frame]) -> Vec<u8> {
    let section = pcapng::Section {
        application: "lasthop 0.1.0".into(),
        comment: "quickstart, seed 1".into(),
        ..Default::default()
    };
    let mut writer = pcapng::Writer::new(Vec::new(), &section).expect("memory can be written");
    for interface in interfaces {
        writer.add_interface(interface).expect("memory can be written");
    }
    for frame in frames {
        writer.write(frame).expect("memory can be written");
    }
    writer.finish().expect("memory can be written")
}

fn points() -> [Interface; 2] {
    let far =
        Interface { description: "behind the link".into(), snap_len: 96, ..Interface::raw_ip("mobile") };
    [Interface::raw_ip("server"), far]
}

/// The frames that a reader finds in `file`, and the error after them.
fn read(file: &[u8]) -> (Vec<Frame>, Option<ReadError>) {
    let mut frames = Vec::new();
    match open(file) {
        Err(error) => return (frames, Some(error)),
        Ok(reader) => {
            for frame in reader {
                match frame {
                    Ok(frame) => frames.push(frame),
                    Err(error) => return (frames, Some(error)),
                }
            }
        }
    }
    (frames, None)
}

/// A block in the byte order that `endian` gives.
fn block(kind: u32, body: &[u8], order: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let total = order(body.len() as u32 + 12);
    [&order(kind)[..], &total, body, &total].concat()
}

/// A section of foreign (big-endian) order with one interface of millisecond ticks and an offset.
fn big_endian_section() -> Vec<u8> {
    let be = u32::to_be_bytes;
    let header = [&be(0x1a2b_3c4d)[..], &[0, 1, 0, 0], &[0xff; 8]].concat();
    let options = [
        &[0, 2, 0, 5][..],
        b"fore\xff\0\0\0",
        &[0, 9, 0, 1, 3, 0, 0, 0],
        &[0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0, 10],
        &[0, 0, 0, 0],
    ];
    let interface = [&[0, 101, 0, 0, 0, 0, 0, 0][..], &options.concat()].concat();
    let packet = [&be(0)[..], &be(0), &be(2500), &be(3), &be(9), &[1, 2, 3, 0]].concat();
    [
        block(0x0a0d_0d0a, &header, be),
        block(0x0bad, b"who knows what  ", be),
        block(1, &interface, be),
        block(6, &packet, be),
    ]
    .concat()
}

proptest! {
    #[test]
    fn frames_survive_the_trip_through_pcapng(frames in prop::collection::vec(frames(2), 0..20)) {
        let file = written(&points(), &frames);
        let mut reader = open(&file[..]).expect("our own file");
        let found: Vec<Frame> = reader.by_ref().map(|frame| frame.expect("our own frame")).collect();
        prop_assert_eq!(found, frames);
        prop_assert_eq!(reader.interfaces(), points());
    }

    #[test]
    fn frames_survive_the_trip_through_pcap_but_for_what_it_has_no_place_for(
        frames in prop::collection::vec(frames(1), 0..20),
    ) {
        let mut writer = pcap::Writer::new(Vec::new(), LinkType::RAW).expect("memory can be written");
        let bare: Vec<Frame> = frames
            .into_iter()
            .map(|frame| Frame {
                at: Instant::from_nanos(frame.at.as_nanos() % (1 << 61)),
                direction: None,
                packet: None,
                comment: None,
                ..frame
            })
            .collect();
        for frame in &bare { writer.write(frame).expect("memory can be written") }
        let file = writer.finish().expect("memory can be written");
        let (found, error) = read(&file);
        prop_assert!(error.is_none());
        prop_assert_eq!(found, bare);
    }

    #[test]
    fn a_file_torn_anywhere_gives_what_was_whole_and_says_where_it_ends(
        frames in prop::collection::vec(frames(2), 1..6), keep: prop::sample::Index,
    ) {
        let file = written(&points(), &frames);
        let keep = keep.index(file.len());
        let (found, error) = read(&file[..keep]);
        prop_assert_eq!(&found[..], &frames[..found.len()]);
        match error {
            Some(ReadError::Torn { at, begins, .. }) => prop_assert!(at == keep as u64 && begins < at),
            Some(ReadError::Unknown { .. }) => prop_assert!(keep < 4),
            Some(other) => prop_assert!(false, "{}", other),
            None => prop_assert!(found.len() < frames.len()),
        }
    }

    #[test]
    fn files_with_any_bytes_changed_never_panic(
        frames in prop::collection::vec(frames(2), 1..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
    ) {
        let mut file = written(&points(), &frames);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        read(&file);
    }

    #[test]
    fn bytes_of_any_kind_never_panic(magic in 0_usize..6, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let magics: [&[u8]; 6] = [
            &[],
            &[0x0a, 0x0d, 0x0d, 0x0a],
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
            &[0xa1, 0xb2, 0xc3, 0xd4],
            &[0xd4, 0xc3, 0xb2, 0xa1],
            &[0x4d, 0x3c, 0xb2, 0xa1],
        ];
        read(&[magics[magic], &bytes[..]].concat());
    }
}

#[test]
fn a_foreign_section_is_read_in_its_own_order_and_time() {
    let (frames, error) = read(&big_endian_section());
    assert!(error.is_none(), "{error:?}");
    let expected = Frame {
        at: Instant::from_nanos(12_500_000_000),
        data: vec![1, 2, 3],
        original_len: 9,
        ..Frame::default()
    };
    assert_eq!(frames, [expected]);
}

#[test]
fn sections_of_both_orders_follow_each_other_in_one_file() {
    let ours = Frame::new(0, Instant::from_nanos(7), vec![9]);
    let file = [written(&[Interface::raw_ip("ours")], &[ours]), big_endian_section()].concat();
    let mut reader = open(&file[..]).expect("a sound file");
    let seen: Vec<u32> = reader.by_ref().map(|frame| frame.expect("a sound frame").interface).collect();
    assert_eq!(seen, [0, 1]);
    let names: Vec<&str> = reader.interfaces().iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!(names, ["ours", "fore\u{fffd}"]);
}

#[test]
fn simple_and_old_packet_blocks_are_read() {
    let le = u32::to_le_bytes;
    let mut file = written(&[Interface { snap_len: 2, ..Interface::raw_ip("eth") }], &[]);
    file.extend(block(3, &[5, 0, 0, 0, 1, 2, 0, 0], le));
    file.extend(block(2, &[&[0; 8][..], &le(42), &le(1), &le(1), &[7, 0, 0, 0]].concat(), le));
    let (frames, error) = read(&file);
    assert!(error.is_none(), "{error:?}");
    assert_eq!((frames[0].data.as_slice(), frames[0].original_len), (&[1, 2][..], 5));
    assert_eq!((frames[1].data.as_slice(), frames[1].at), (&[7][..], Instant::from_nanos(42)));
}

#[test]
fn pcap_is_read_in_both_orders_and_resolutions() {
    for (magic, nanos) in [(0xa1b2_c3d4_u32, 5000), (0xa1b2_3c4d, 5)] {
        for order in [u32::to_be_bytes as fn(u32) -> [u8; 4], u32::to_le_bytes] {
            let head = [order(magic), [0; 4], [0; 4], [0; 4], order(65_535), order(101)].concat();
            let file = [head, [order(1), order(5), order(1), order(40)].concat(), vec![0x45]].concat();
            let (frames, error) = read(&file);
            assert!(error.is_none(), "{error:?}");
            assert_eq!(frames[0].at, Instant::from_nanos(1_000_000_000 + nanos));
            assert_eq!(frames[0].original_len, 40);
        }
    }
}

#[test]
fn a_tear_is_reported_by_its_byte() {
    let file = written(&points(), &[Frame::new(1, Instant::START, vec![0; 40])]);
    let whole = file.len();
    let (_, error) = read(&file[..whole - 3]);
    let begins = whole - 72;
    assert_eq!(
        error.expect("a tear").to_string(),
        format!(
            "torn: the file ends at byte {}, inside the enhanced packet block that begins at byte {begins}",
            whole - 3
        )
    );
}

#[test]
fn damage_is_reported_with_its_block() {
    let mut file = written(&points(), &[Frame::new(0, Instant::START, vec![0; 40])]);
    let begins = file.len() - 72;
    file[begins + 8] = 9;
    let (_, error) = read(&file);
    assert_eq!(
        error.expect("damage").to_string(),
        format!(
            "damaged: the enhanced packet block that begins at byte {begins} \
             speaks of interface 9, and there are 2 in its section so far"
        )
    );
}

#[test]
fn a_file_of_another_kind_is_named_as_such() {
    let (_, error) = read(b"PK\x03\x04 and so on");
    assert_eq!(
        error.expect("no capture").to_string(),
        "not a pcap or pcapng file: it begins with \"PK\\x03\\x04\""
    );
}

//! ROHC: lengths by the formats of RFC 6846 and RFC 3095, and what losses do in each mode.

use proptest::prelude::*;

use super::super::HeaderKind::{Compressed, Dynamic, Full};
use super::super::headers::SYN;
use super::super::rohc::{Mode, Parameters};
use super::*;

fn rohc(parameters: Parameters) -> Link {
    Link::new(&Compression::Rohc(parameters))
}

fn in_mode(mode: Mode) -> Link {
    rohc(Parameters { mode, ..Parameters::default() })
}

fn data(number: u32) -> Vec<u8> {
    let seq = 1_000_000 + 512 * number;
    Segment { payload: 512, seq, id: 100 + number as u16, ..Segment::default() }.headers()
}

fn ack(number: u32) -> Vec<u8> {
    Segment { ack: 7_000_000 + 1024 * number, id: 100 + number as u16, ..Segment::default() }.headers()
}

/// A frame of speech of 31 bytes, 20 ms after the one before; `silence` are frames that were not sent before it.
fn speech(number: u16, silence: u32, has_checksum: bool) -> Vec<u8> {
    let mut bytes = vec![0; 40];
    (bytes[0], bytes[8], bytes[9]) = (0x45, 64, 17);
    put16(&mut bytes, 2, 71);
    put16(&mut bytes, 4, number);
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    finish_ip_checksum(&mut bytes[..20]);
    put16(&mut bytes, 20, 5004);
    put16(&mut bytes, 22, 5004);
    put16(&mut bytes, 24, 51);
    put16(&mut bytes, 26, if has_checksum { number | 1 } else { 0 });
    bytes[28] = 0x80;
    put16(&mut bytes, 30, number);
    put32(&mut bytes, 32, 160 * (u32::from(number) + silence));
    bytes
}

#[test]
fn a_bulk_transfer_takes_five_bytes_and_its_acks_six() {
    for (headers, length) in [(data as fn(u32) -> Vec<u8>, 5), (ack, 6)] {
        let mut link = in_mode(Mode::Unidirectional);
        for number in 0..4 {
            // 3 of the type, 14 that never change, and 22 that do: 5, 12, the ACK number, and an empty list.
            assert_eq!(link.carry(headers(number)), (Full, 3 + 14 + 5 + 12 + 4 + 1, None));
        }
        for number in 4..100 {
            // seq_2 with 3 bytes, or seq_3 with 4, and TCP's checksum.
            assert_eq!(link.carry(headers(number)), (Compressed, length, None));
        }
    }
}

#[test]
fn a_random_identification_takes_two_bytes_of_its_own_and_one_of_zero_none() {
    let with = |number: u32, id: u16| {
        Segment { payload: 512, seq: 512 * number, id, ..Segment::default() }.headers()
    };
    let (mut random, mut zero) = (in_mode(Mode::Optimistic), in_mode(Mode::Optimistic));
    let id = |number: u32| (number.wrapping_mul(40_503) >> 3) as u16 | 1;
    let fates: Vec<Fate> = (0..60).map(|number| random.carry(with(number, id(number)))).collect();
    assert_eq!(fates[50], (Compressed, 2 + 2 + 2, None), "rnd_2");
    assert!(fates.iter().all(|fate| fate.2.is_none()));
    let fates: Vec<Fate> = (0..20).map(|number| zero.carry(with(number, 0))).collect();
    assert_eq!(fates[19], (Compressed, 2 + 2, None), "rnd_2");
    assert_eq!(fates[0].1, 3 + 14 + 3 + 12 + 4 + 1);
}

#[test]
fn timestamps_take_a_byte_each_while_both_grow() {
    let mut link = in_mode(Mode::Unidirectional);
    let stamped = |number: u32| {
        let options = timestamps(10 * number, 3 * number);
        Segment { payload: 512, seq: 512 * number, id: 100 + number as u16, options, ..Segment::default() }
            .headers()
    };
    let fates: Vec<Fate> = (0..20).map(|number| link.carry(stamped(number))).collect();
    // The list has three options: 1 byte, 2 for the kinds, 8 of contents.
    assert_eq!(fates[0].1, 3 + 14 + 5 + 12 + 4 + 11);
    assert_eq!(fates[19], (Compressed, 3 + 2 + 2, None));
}

#[test]
fn a_list_of_options_is_sent_with_the_header_in_which_its_kinds_change() {
    let mut link = in_mode(Mode::Unidirectional);
    let with = |number: u32, options: Vec<u8>| {
        let (seq, id) = (512 * number, 100 + number as u16);
        Segment { payload: 512, seq, id, window: 8192 + (number % 2) as u16, options, ..Segment::default() }
    };
    let none = |number| with(number, Vec::new()).headers();
    let stamped = |number: u32| with(number, timestamps(10 * number, 3 * number)).headers();
    (0..10).for_each(|number| {
        link.carry(none(number));
    });
    let before = link.carry(none(10)).1;
    let changed = link.carry(stamped(11)).1;
    (12..30).for_each(|number| {
        link.carry(stamped(number));
    });
    let after = link.carry(stamped(30)).1;
    // The whole list has 11 bytes; in a header that keeps the kinds, the timestamps take two.
    assert!(changed >= before + 11 - 1, "{before} to {changed}");
    assert!(after < changed && after <= before + 3, "{before}, {changed}, {after}");
}

#[test]
fn a_frame_of_speech_takes_one_byte_and_the_checksum() {
    for (has_checksum, length) in [(true, 3), (false, 1)] {
        let mut link = in_mode(Mode::Unidirectional);
        assert_eq!(link.carry(speech(0, 0, has_checksum)), (Full, 3 + 18 + 6 + 2 + 12, None));
        let fates: Vec<Fate> = (1..20).map(|number| link.carry(speech(number, 0, has_checksum))).collect();
        assert_eq!(fates[18], (Compressed, length, None));
        // A silence of 350 frames, 7 s: UOR-2 with extension 2 until the window has forgotten the old offset.
        let fates: Vec<Fate> = (20..30).map(|number| link.carry(speech(number, 350, has_checksum))).collect();
        assert_eq!(fates[0], (Compressed, length + 5, None));
        assert_eq!(fates[4], (Compressed, length, None));
    }
}

#[test]
fn a_second_connection_reports_its_number() {
    let mut link = in_mode(Mode::Optimistic);
    let of = |port: u16, number: u32| {
        Segment { port, payload: 512, seq: 512 * number, id: number as u16, ..Segment::default() }.headers()
    };
    let fates: Vec<[Fate; 2]> =
        (0..20).map(|number| [2000, 2001].map(|port| link.carry(of(port, number)))).collect();
    assert_eq!(fates[19].map(|fate| fate.1), [5, 6]);
}

#[test]
fn a_segment_that_closes_reports_its_flags_and_a_window_that_moves_two_bytes() {
    let mut link = in_mode(Mode::Optimistic);
    (0..10).for_each(|number| assert_eq!(link.carry(ack(number)).2, None));
    let changed = |number: u32, window: u16, flags: u8| {
        let ack = 7_000_000 + 1024 * number;
        Segment { ack, id: 100 + number as u16, window, flags, ..Segment::default() }.headers()
    };
    assert_eq!(link.carry(changed(10, 9000, ACK)), (Compressed, 6 + 2, None), "seq_7");
    assert_eq!(link.carry(changed(10, 8192, ACK | SYN)).0, Compressed, "co_common or seq_8");
    let aged = |number: u32| {
        let mut headers = ack(number);
        headers[8] = 63;
        headers
    };
    for number in 11..15 {
        assert_eq!(
            link.carry(aged(number)).0,
            Dynamic,
            "another time to live, as often as the window is long"
        );
    }
    assert_eq!(link.carry(aged(16)).0, Compressed);
}

#[test]
fn so_many_losses_in_a_row_do_no_harm() {
    for (robustness, mode) in [(1, Mode::Unidirectional), (3, Mode::Optimistic), (7, Mode::Unidirectional)] {
        for headers in [data as fn(u32) -> Vec<u8>, ack, |number| speech(number as u16, 0, true)] {
            let mut link = rohc(Parameters { robustness, mode, ..Parameters::default() });
            (0..20).for_each(|number| assert_eq!(link.carry(headers(number)).2, None));
            (20..20 + robustness).for_each(|number| link.lose(headers(number)));
            assert_eq!(link.carry(headers(20 + robustness)).2, None, "{robustness}");
        }
    }
}

/// Packets from the first after `lost` losses to the first that is restored, and its form.
fn repair(link: &mut Link, headers: fn(u32) -> Vec<u8>, lost: u32) -> (u32, HeaderKind) {
    (0..20).for_each(|number| assert_eq!(link.carry(headers(number)).2, None));
    (20..20 + lost).for_each(|number| link.lose(headers(number)));
    let fate = |number| (number, link.carry(headers(20 + lost + number)));
    let (discarded, restored) =
        (0..1000).map(fate).find(|(_, fate)| fate.2.is_none()).expect("the decompressor recovers");
    (discarded, restored.0)
}

#[test]
fn after_more_losses_optimistic_mode_is_repaired_by_a_nack_and_unidirectional_by_the_next_full_header() {
    // The sequence number of four bits does not cover sixteen losses in a row.
    let (discarded, by) = repair(&mut in_mode(Mode::Optimistic), data, 20);
    assert_eq!((discarded, by), (5, Dynamic), "feedback takes 5 ms, and a packet comes each millisecond");
    let u = Parameters { mode: Mode::Unidirectional, refresh: 100, ..Parameters::default() };
    let (discarded, by) = repair(&mut rohc(u), data, 20);
    assert_eq!((discarded, by), (100 - 36 - 1, Full));
}

#[test]
fn reliable_mode_distinguishes_the_number_from_every_header_that_is_not_acknowledged() {
    for lost in [5, 20, 60] {
        assert_eq!(repair(&mut in_mode(Mode::Reliable), data, lost).0, 0, "{lost}");
    }
}

#[test]
fn a_lost_beginning_is_asked_for_again() {
    let mut link = in_mode(Mode::Optimistic);
    (0..4).for_each(|number| link.lose(data(number)));
    assert_eq!(link.carry(data(4)), (Compressed, 5, Some(1)));
    (5..9).for_each(|number| assert_eq!(link.carry(data(number)).2, Some(1)));
    assert_eq!(link.carry(data(9)).0, Full, "a STATIC-NACK asks for all fields");
    assert!(link.ends.feedback() > Bytes::ZERO);
}

proptest! {
    /// Without losses everything is restored, whatever the fields do; and with losses of fewer packets in a row than
    /// the window has.
    #[test]
    fn headers_are_restored_from_any_header_of_the_window(
        steps in prop::collection::vec(
            (0..3000_u32, 0..3000_u32, 0..100_u16, 0..400_u16, 0..3_u16, any::<bool>()),
            1..120,
        ),
    ) {
        let mut link = in_mode(Mode::Unidirectional);
        let (mut segment, mut lost) = (Segment::default(), 3);
        for (seq, ack, window, id, payload, loses) in steps {
            segment.seq = segment.seq.wrapping_add(seq);
            segment.ack = segment.ack.wrapping_add(ack);
            segment.window = segment.window.wrapping_add(window);
            segment.id = segment.id.wrapping_add(id);
            segment.payload = payload * 500;
            let headers = segment.headers();
            if loses && lost < 3 {
                lost += 1;
                link.lose(headers);
            } else {
                lost = if link.sent < 4 { 3 } else { 0 };
                prop_assert_eq!(link.carry(headers).2, None);
            }
        }
    }
}

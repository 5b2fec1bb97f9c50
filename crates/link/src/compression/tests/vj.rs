//! Van Jacobson's compression against the tables of RFC 1144, worked by hand.

use proptest::prelude::*;

use super::super::Form;
use super::super::HeaderKind::{Compressed, Full, Plain};
use super::super::headers::{FIN, PSH, SYN, URG};
use super::super::vj::{Compressor, Decompressor, Parameters};
use super::*;

fn vj() -> Link {
    Link::new(&Compression::Vj(Parameters::default()))
}

/// The bytes of the last of these segments on a link that has carried the others.
fn bytes(segments: &[Segment]) -> Vec<u8> {
    let mut compressor = Compressor::new(Parameters::default());
    let last = segments.iter().map(|segment| compressor.compress(&segment.headers())).last();
    match last.expect("a segment").form {
        Form::VjDelta(bytes) => bytes,
        form => panic!("{form:?} is not compressed"),
    }
}

/// A checksum of [`Segment::headers`].
fn check(segment: &Segment) -> [u8; 2] {
    ((segment.seq ^ segment.ack) as u16 | 1).to_be_bytes()
}

#[test]
fn data_in_one_direction_take_three_bytes() {
    // RFC 1144 §3.2.3: the sequence number grew by the last packet's data, and the identification by one.
    let first = Segment { payload: 512, ..Segment::default() };
    let next = Segment { seq: first.seq + 512, id: 101, ..first.clone() };
    let [high, low] = check(&next);
    assert_eq!(bytes(&[first, next]), [0x0f, high, low]);
}

#[test]
fn echoed_characters_take_three_bytes() {
    let first = Segment { payload: 1, flags: ACK | PSH, ..Segment::default() };
    let next = Segment { seq: first.seq + 1, ack: first.ack + 1, id: 101, ..first.clone() };
    let [high, low] = check(&next);
    assert_eq!(bytes(&[first, next]), [0x0b | 0x10, high, low]);
}

#[test]
fn an_ack_of_two_segments_takes_six_bytes_and_one_with_a_new_window_seven() {
    let first = Segment::default();
    let next = Segment { ack: first.ack + 1024, id: 101, ..first.clone() };
    let [high, low] = check(&next);
    assert_eq!(bytes(&[first.clone(), next]), [0x04, high, low, 0, 4, 0]);
    let opened = Segment { ack: first.ack + 1024, window: first.window + 200, id: 101, ..first.clone() };
    let [high, low] = check(&opened);
    assert_eq!(bytes(&[first, opened]), [0x06, high, low, 200, 0, 4, 0], "the window comes before the ACK");
}

#[test]
fn all_differences_come_in_their_order() {
    let first = Segment { payload: 10, ..Segment::default() };
    let next = Segment {
        flags: ACK | URG,
        urgent: 5,
        window: first.window - 1,
        ack: first.ack + 300,
        seq: first.seq + 10,
        id: 105,
        ..first.clone()
    };
    let [high, low] = check(&next);
    // All of U, W, A and S would stand for data in one direction: such a header goes whole.
    let mut link = vj();
    link.carry(first.headers());
    assert_eq!(link.carry(next.headers()), (Full, 40, None));
    let next = Segment { window: first.window, ..next };
    assert_eq!(bytes(&[first, next]), [0x2d, high, low, 5, 0, 1, 44, 10, 5], "300 is a zero and two bytes");
}

#[test]
fn what_looks_like_a_retransmission_goes_with_all_fields() {
    let data = Segment { payload: 512, ..Segment::default() };
    let back = Segment { seq: data.seq - 1024, id: 101, ..data.clone() };
    let again = Segment { id: 101, ..data.clone() };
    let far = Segment { seq: data.seq + 70_000, id: 101, ..data.clone() };
    let ack = Segment { payload: 0, ..data.clone() };
    let same_ack = Segment { id: 101, ..ack.clone() };
    for (first, next) in [(&data, &back), (&data, &again), (&data, &far), (&ack, &same_ack)] {
        let mut link = vj();
        link.carry(first.headers());
        assert_eq!(link.carry(next.headers()), (Full, 40, None), "{next:?}");
    }
    let mut link = vj();
    link.carry(ack.headers());
    let after_ack = Segment { id: 101, ..data };
    assert_eq!(
        link.carry(after_ack.headers()),
        (Compressed, 3, None),
        "data after an ACK of the same numbers"
    );
}

#[test]
fn segments_that_open_or_close_pass_as_they_are_and_changed_options_go_whole() {
    let mut link = vj();
    for flags in [SYN, ACK | SYN, ACK | FIN] {
        assert_eq!(link.carry(Segment { flags, ..Segment::default() }.headers()), (Plain, 40, None));
    }
    let stamped =
        |value, id| Segment { options: timestamps(value, 9), id, ack: u32::from(id), ..Segment::default() };
    assert_eq!(link.carry(stamped(1, 100).headers()), (Full, 52, None));
    assert_eq!(
        link.carry(stamped(2, 101).headers()),
        (Full, 52, None),
        "RFC 1144 does not look into options"
    );
    assert_eq!(link.carry(stamped(2, 102).headers()), (Compressed, 4, None), "the same timestamps again");
}

#[test]
fn a_packet_of_another_connection_reports_its_slot_and_without_slots_all_fields_go() {
    let of = |port: u16, number: u32| {
        let step =
            Segment { port, ack: 7_000_000 + number * 10, id: 100 + number as u16, ..Segment::default() };
        step.headers()
    };
    for (slots, alternating) in [(2, (Compressed, 5, None)), (1, (Full, 40, None))] {
        let mut link = Link::new(&Compression::Vj(Parameters { slots, ..Parameters::default() }));
        for port in [2000, 2001] {
            assert_eq!(link.carry(of(port, 0)), (Full, 40, None));
        }
        for port in [2000, 2001] {
            assert_eq!(link.carry(of(port, 1)), alternating);
        }
        assert_eq!(link.carry(of(2001, 2)), (Compressed, 4, None), "the number of the slot is left out");
    }
    let explicit_slots = Parameters { compress_slot_id: false, ..Parameters::default() };
    let mut link = Link::new(&Compression::Vj(explicit_slots));
    link.carry(of(2000, 0));
    assert_eq!(link.carry(of(2000, 1)), (Compressed, 5, None));
}

/// RFC 1144 §4.2 and RFC 2507 §3.2: all that follows a loss is bad until a packet with all fields.
#[test]
fn after_a_loss_all_packets_are_discarded_until_a_retransmission() {
    let mut link = vj();
    let data = |number: u32| Segment {
        payload: 512,
        seq: 1_000_000 + 512 * number,
        id: 100 + number as u16,
        ..Segment::default()
    };
    (0..3).for_each(|number| assert_eq!(link.carry(data(number).headers()).2, None));
    link.lose(data(3).headers());
    for number in 4..20 {
        assert_eq!(
            link.carry(data(number).headers()),
            (Compressed, 3, Some(4)),
            "out of step since the fourth"
        );
    }
    assert_eq!(
        link.carry(Segment { id: 120, ..data(3) }.headers()),
        (Full, 40, None),
        "the sender goes back"
    );
    assert_eq!(link.carry(Segment { id: 121, ..data(4) }.headers()), (Compressed, 3, None));
    link.lose(Segment { id: 122, ..data(5) }.headers());
    let (_, _, since) = link.carry(Segment { id: 123, ..data(6) }.headers());
    assert_eq!(since, Some(link.sent - 1), "the first loss is repaired, and the second one has the blame");
}

#[test]
fn a_loss_does_not_harm_other_connections() {
    let mut link = vj();
    let of = |port: u16, number: u32| {
        Segment { port, seq: 512 * number, id: number as u16, payload: 512, ..Segment::default() }.headers()
    };
    [2000, 2001].into_iter().for_each(|port| assert_eq!(link.carry(of(port, 0)).0, Full));
    link.lose(of(2000, 1));
    assert_eq!(link.carry(of(2001, 1)).2, None);
    assert_eq!(link.carry(of(2000, 2)).2, Some(3));
}

/// RFC 1144 §4.1: the decompressor that knows of an error tosses what names no slot.
#[test]
fn after_a_line_error_packets_without_a_slot_are_tossed() {
    let mut link = vj();
    let data = |number: u32| {
        let ack = Segment { ack: 1000 + 7 * number, id: number as u16, ..Segment::default() };
        ack.headers()
    };
    link.carry(data(0));
    let lost = link.compress(data(1));
    link.ends.on_lost(&lost, true);
    let mut other = Segment { port: 2001, ..Segment::default() };
    assert_eq!(link.carry(data(2)).2, Some(2));
    assert_eq!(link.carry(other.headers()), (Full, 40, None));
    (other.ack, other.id) = (other.ack + 1, other.id + 1);
    assert_eq!(link.carry(other.headers()), (Compressed, 4, None));
}

fn step() -> impl Strategy<Value = Segment> {
    let small = prop_oneof![Just(0_u32), 1..600_u32, Just(70_000)];
    let flags = prop_oneof![
        Just(ACK),
        Just(ACK | PSH),
        Just(ACK | URG),
        Just(ACK | FIN),
        Just(SYN),
        Just(ACK | 0x40)
    ];
    let options = prop_oneof![4 => Just(vec![]), 1 => (0..3_u32).prop_map(|value| timestamps(value, 1))];
    (2000..2004_u16, small.clone(), small.clone(), flags, small, 0..4_u16, 0..3_u16, options).prop_map(
        |(port, seq, ack, flags, window, id, payload, options)| Segment {
            port,
            id,
            seq,
            ack,
            flags,
            window: window as u16,
            urgent: if flags & URG != 0 { id } else { 0 },
            payload: payload * 256,
            options,
        },
    )
}

proptest! {
    /// Whatever passes a link without losses comes out as it went in, bit for bit.
    #[test]
    fn all_headers_are_restored(steps in prop::collection::vec(step(), 1..80), slots in 1..5_u16) {
        let parameters = Parameters { slots, ..Parameters::default() };
        let (mut compressor, mut decompressor) = (Compressor::new(parameters), Decompressor::new(slots));
        let mut last = Segment::default();
        for step in steps {
            last = Segment {
                seq: last.seq.wrapping_add(step.seq),
                ack: last.ack.wrapping_add(step.ack),
                window: last.window.wrapping_add(step.window),
                id: last.id.wrapping_add(step.id),
                ..step
            };
            let headers = last.headers();
            match compressor.compress(&headers).form {
                Form::VjFull { slot } => decompressor.remember(slot, &headers),
                Form::VjDelta(bytes) => {
                    prop_assert!((3..=19).contains(&bytes.len()));
                    prop_assert_eq!(decompressor.restore(&bytes, last.payload), Some(headers));
                }
                _ => {}
            }
        }
    }
}

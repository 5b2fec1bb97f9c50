//! Short histories at the sender's end, and the causes inferred from them.

use proptest::prelude::any;
use units::Seq;
use wire::{Options, Payload};

use super::*;

const MSS: u32 = 100;
const ISS: Seq = Seq(u32::MAX - 250);

/// A sender and its peer, written down line by line. Times are in milliseconds; the sender is the
/// opener, its data is counted in segments from 0.
struct Script {
    flow: Flow,
    packet: u64,
}

fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn end(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 5000))
}

fn segment(seq: Seq, ack: Seq, flags: Flags, len: u32) -> Segment {
    Segment {
        source_port: 5000,
        destination_port: 5000,
        seq,
        ack,
        flags,
        window: 8000,
        options: Options::default(),
        ecn: wire::Ecn::NotCapable,
        payload: Payload::Pattern { offset: 0, len },
    }
}

impl Script {
    /// After a handshake of 100 ms, at 200 ms.
    fn connected() -> Self {
        let mut script = Self::before_the_handshake(&[]);
        script.sent(ms(100), segment(ISS, Seq(0), Flags::SYN, 0));
        script.arrived(ms(200), segment(Seq(7), ISS + 1, Flags::SYN.with(Flags::ACK), 0));
        script.sent(ms(200), segment(ISS + 1, Seq(8), Flags::ACK, 0));
        script
    }

    fn before_the_handshake(milestones: &[Bytes]) -> Self {
        Self { flow: Flow::new(ms(100), end(1), end(2), Flags::SYN, milestones), packet: 0 }
    }

    fn sent(&mut self, at: Instant, segment: Segment) -> ObservedSegment {
        self.packet += 1;
        self.flow.handle_segment(at, PacketId(self.packet), Side::Opener, &segment, 0, None)
    }

    fn arrived(&mut self, at: Instant, segment: Segment) -> ObservedSegment {
        self.packet += 1;
        self.flow.handle_segment(at, PacketId(self.packet), Side::Answerer, &segment, 0, None)
    }

    /// Data segment `n` is sent.
    fn data(&mut self, millis: u64, n: u32) -> SegmentKind {
        self.sent(ms(millis), segment(ISS + 1 + n * MSS, Seq(8), Flags::ACK, MSS)).kind
    }

    fn window(&mut self, millis: u64, segments: std::ops::Range<u32>) {
        for n in segments {
            assert_eq!(self.data(millis, n), SegmentKind::Data);
        }
    }

    /// An acknowledgment of all segments before `n` arrives, with SACK blocks from the first
    /// segment of each pair up to the second.
    fn ack(&mut self, millis: u64, n: u32, sacked: &[(u32, u32)]) {
        let mut found = segment(Seq(8), ISS + 1 + n * MSS, Flags::ACK, 0);
        for (first, end) in sacked {
            let start = ISS + 1 + first * MSS;
            found.options.sack.push(units::SeqRange::new(start, (end - first) * MSS));
        }
        self.arrived(ms(millis), found);
    }

    fn counters(&self) -> Counters {
        *self.flow.half(Side::Opener).counters()
    }
}

const fn again(cause: Cause) -> SegmentKind {
    SegmentKind::Retransmission(cause)
}

#[test]
fn three_duplicate_acks_make_a_fast_retransmit() {
    let mut script = Script::connected();
    script.window(200, 0..5);
    for _ in 0..4 {
        script.ack(300, 0, &[]);
    }
    assert_eq!(script.data(300, 0), again(Cause::FastRetransmit));
    script.ack(400, 5, &[]);
    let counters = script.counters();
    assert_eq!((counters.fast_retransmits, counters.timeouts, counters.retransmissions), (1, 0, 1));
    assert_eq!((counters.data_segments, counters.unique_bytes, counters.duplicate_acks), (6, 500, 4));
}

#[test]
fn a_partial_ack_continues_the_recovery_that_was_begun() {
    let mut script = Script::connected();
    script.window(200, 0..6);
    for _ in 0..3 {
        script.ack(300, 0, &[]);
    }
    script.data(300, 0);
    script.ack(400, 2, &[]);
    assert_eq!(script.data(400, 2), again(Cause::PartialAck));
    assert_eq!(script.counters().fast_retransmits, 1);
}

#[test]
fn holes_below_sack_blocks_are_the_scoreboards() {
    let mut script = Script::connected();
    script.window(200, 0..8);
    script.ack(300, 0, &[(1, 2)]);
    script.ack(300, 0, &[(3, 4), (1, 2)]);
    script.ack(300, 0, &[(3, 6), (1, 2)]);
    assert_eq!(script.data(300, 0), again(Cause::FastRetransmit));
    assert_eq!(script.data(300, 2), again(Cause::Scoreboard));
    script.ack(400, 2, &[(3, 7)]);
    assert_eq!(script.data(401, 2), again(Cause::Scoreboard));
}

#[test]
fn silence_and_then_the_first_segment_again_is_a_timeout_and_what_follows_is_behind_it() {
    let mut script = Script::connected();
    script.window(200, 0..4);
    assert_eq!(script.data(1200, 0), again(Cause::Timeout));
    script.ack(1300, 1, &[]);
    assert_eq!(script.data(1300, 1), again(Cause::AfterTimeout));
    assert_eq!(script.data(1300, 2), again(Cause::AfterTimeout));
    script.ack(1400, 4, &[]);
    assert_eq!(script.data(1400, 4), SegmentKind::Data);
    assert_eq!(script.counters().timeouts, 1);
}

#[test]
fn a_segment_that_times_out_twice_makes_two_timeouts() {
    let mut script = Script::connected();
    script.window(200, 0..4);
    assert_eq!(script.data(1200, 0), again(Cause::Timeout));
    assert_eq!(script.data(3200, 0), again(Cause::Timeout));
    assert_eq!(script.counters().timeouts, 2);
}

#[test]
fn a_lost_fast_retransmit_ends_in_a_timeout() {
    let mut script = Script::connected();
    script.window(200, 0..5);
    for _ in 0..4 {
        script.ack(300, 0, &[]);
    }
    script.data(300, 0);
    assert_eq!(script.data(1300, 0), again(Cause::Timeout));
}

#[test]
fn duplicate_acks_of_needless_retransmissions_make_a_fast_retransmit_too() {
    // Sarolahti 2000, §5.1: a spurious timeout, go-back-N, then a false fast retransmit.
    let mut script = Script::connected();
    script.window(200, 0..4);
    script.data(1200, 0);
    script.ack(1300, 1, &[]);
    script.data(1300, 1);
    script.ack(1301, 4, &[]);
    script.window(1301, 4..6);
    for millis in 1400..1403 {
        script.ack(millis, 4, &[]);
    }
    assert_eq!(script.data(1402, 4), again(Cause::FastRetransmit));
    let counters = script.counters();
    assert_eq!((counters.timeouts, counters.fast_retransmits, counters.retransmissions), (1, 1, 3));
}

/// A connection whose SYNs, at 100 and 200 ms, say how large its segments are.
fn connected_with_mss() -> Script {
    let mut script = Script::before_the_handshake(&[]);
    let syn = |seq, ack, flags| {
        let mut syn = segment(seq, ack, flags, 0);
        syn.options.mss = Some(MSS as u16);
        syn
    };
    script.sent(ms(100), syn(ISS, Seq(0), Flags::SYN));
    script.arrived(ms(200), syn(Seq(7), ISS + 1, Flags::SYN.with(Flags::ACK)));
    script
}

#[test]
fn duplicates_of_the_segments_in_a_super_segment_are_no_sign_of_a_second_arrival() {
    let mut script = connected_with_mss();
    script.sent(ms(200), segment(ISS + 1, Seq(8), Flags::ACK, 5 * MSS));
    (0..4).for_each(|_| script.ack(300, 0, &[]));
    assert_eq!(script.data(300, 0), again(Cause::FastRetransmit));
    script.ack(400, 5, &[]);
    let judged = script.flow.half(Side::Opener).judgements();
    assert_eq!(judged[0].needed, Some(true), "{:?}", judged[0]);
}

#[test]
fn a_super_segment_sent_again_is_needless_only_if_each_of_its_segments_arrived_twice() {
    for (duplicates, needed) in [(1, true), (2, false)] {
        let mut script = connected_with_mss();
        script.sent(ms(200), segment(ISS + 1, Seq(8), Flags::ACK, 2 * MSS));
        let copy = script.sent(ms(1200), segment(ISS + 1, Seq(8), Flags::ACK, 2 * MSS));
        assert_eq!(copy.kind, again(Cause::Timeout));
        script.ack(1300, 2, &[]);
        (0..duplicates).for_each(|_| script.ack(1310, 2, &[]));
        let judged = script.flow.half(Side::Opener).judgements();
        assert_eq!(judged[0].needed, Some(needed), "{:?}", judged[0]);
    }
}

#[test]
fn a_super_segment_that_brought_one_of_its_segments_is_needed_though_others_arrived_twice() {
    let stamped = |mut segment: Segment, value, echo| {
        segment.options.timestamps = Some(wire::Timestamps { value, echo });
        segment
    };
    let acked = |n: u32, duplicate: (u32, u32), echo| {
        let mut ack = segment(Seq(8), ISS + 1 + n * MSS, Flags::ACK, 0);
        let start = ISS + 1 + duplicate.0 * MSS;
        ack.options.sack.push(units::SeqRange::new(start, (duplicate.1 - duplicate.0) * MSS));
        stamped(ack, 900, echo)
    };
    // The timestamp that the first acknowledgment of the data echoes is the copy's, or that of the original.
    for (echo, needed) in [(1200, true), (200, false)] {
        let mut script = connected_with_mss();
        script.sent(ms(200), stamped(segment(ISS + 1, Seq(8), Flags::ACK, 3 * MSS), 200, 0));
        script.sent(ms(1200), stamped(segment(ISS + 1, Seq(8), Flags::ACK, 3 * MSS), 1200, 0));
        script.arrived(ms(1300), stamped(segment(Seq(8), ISS + 1 + 3 * MSS, Flags::ACK, 0), 900, echo));
        script.arrived(ms(1301), acked(3, (1, 2), echo));
        script.arrived(ms(1302), acked(3, (2, 3), echo));
        let judged = script.flow.half(Side::Opener).judgements();
        assert_eq!(judged[0].needed, Some(needed), "{:?}", judged[0]);
        // A report of the first segment, too, shows that nothing was brought.
        script.arrived(ms(1303), acked(3, (0, 1), echo));
        let judged = script.flow.half(Side::Opener).judgements();
        assert_eq!(judged[0].needed, Some(false), "{:?}", judged[0]);
    }
}

#[test]
fn a_timer_that_runs_out_just_after_a_duplicate_ack_was_answered_is_still_a_timer() {
    // A Linux without SACK, in the careful mode of RFC 6582 §4.1: duplicates bring new data only.
    let mut script = Script::connected();
    script.window(200, 0..5);
    for n in 0..10 {
        let millis = 700 + u64::from(n);
        script.ack(millis, 0, &[]);
        script.window(millis, 5 + n..6 + n);
    }
    assert_eq!(script.data(709, 0), again(Cause::Timeout));
}

#[test]
fn a_loss_behind_a_timeout_found_spurious_begins_a_recovery() {
    // F-RTO: two new segments instead of going back.
    let mut script = Script::connected();
    script.window(200, 0..4);
    script.data(1200, 0);
    script.ack(1300, 1, &[]);
    script.window(1300, 4..6);
    script.ack(1310, 3, &[]);
    script.window(1310, 6..8);
    script.ack(1400, 3, &[(4, 5)]);
    script.ack(1410, 3, &[(4, 6)]);
    assert_eq!(script.data(1410, 3), again(Cause::FastRetransmit));
    assert_eq!(script.counters().fast_retransmits, 1);
}

#[test]
fn the_last_segment_sent_again_in_silence_is_a_tail_loss_probe() {
    let mut script = Script::connected();
    script.window(200, 0..4);
    assert_eq!(script.data(400, 3), again(Cause::TailLossProbe));
    assert_eq!(script.data(1200, 0), again(Cause::Timeout));
    let counters = script.counters();
    assert_eq!((counters.tail_loss_probes, counters.timeouts), (1, 1));
}

#[test]
fn a_sender_that_waits_for_reordering_to_end_is_not_taken_for_a_timer() {
    let mut script = Script::connected();
    script.window(200, 0..3);
    script.ack(300, 0, &[(1, 2)]);
    script.ack(301, 0, &[(1, 3)]);
    assert_eq!(script.data(326, 0), again(Cause::FastRetransmit));
}

#[test]
fn a_syn_sent_again_is_a_timeout_and_the_answer_to_it_is_not() {
    let mut script = Script::before_the_handshake(&[]);
    let syn = segment(ISS, Seq(0), Flags::SYN, 0);
    let syn_ack = segment(Seq(7), ISS + 1, Flags::SYN.with(Flags::ACK), 0);
    assert_eq!(script.sent(ms(100), syn.clone()).kind, SegmentKind::Syn);
    assert_eq!(script.arrived(ms(150), syn_ack.clone()).kind, SegmentKind::Syn);
    assert_eq!(script.sent(ms(1100), syn).kind, again(Cause::Timeout));
    assert_eq!(script.arrived(ms(1100), syn_ack).kind, again(Cause::Answer));
    assert_eq!(script.counters().timeouts, 1);
    assert_eq!(script.flow.half(Side::Answerer).counters().timeouts, 0);
}

#[test]
fn keep_alives_and_window_probes_are_not_retransmissions() {
    let mut script = Script::connected();
    script.window(200, 0..1);
    script.ack(300, 1, &[]);
    let last = ISS + MSS;
    assert_eq!(script.sent(ms(9000), segment(last, Seq(8), Flags::ACK, 0)).kind, SegmentKind::Probe);
    assert_eq!(script.sent(ms(9500), segment(last, Seq(8), Flags::ACK, 1)).kind, SegmentKind::Probe);
    let mut closed = segment(Seq(8), ISS + 1 + MSS, Flags::ACK, 0);
    closed.window = 0;
    script.arrived(ms(9600), closed);
    let next = ISS + 1 + MSS;
    assert_eq!(script.sent(ms(9700), segment(next, Seq(8), Flags::ACK, 1)).kind, SegmentKind::Data);
    assert_eq!(script.sent(ms(9900), segment(next, Seq(8), Flags::ACK, 1)).kind, SegmentKind::Probe);
    assert_eq!((script.counters().probes, script.counters().retransmissions), (3, 0));
}

#[test]
fn a_whole_transfer_is_measured_from_syn_to_the_ack_of_fin() {
    let mut script = Script::before_the_handshake(&[Bytes(150), Bytes(1000)]);
    script.sent(ms(100), segment(ISS, Seq(0), Flags::SYN, 0));
    script.arrived(ms(200), segment(Seq(7), ISS + 1, Flags::SYN.with(Flags::ACK), 0));
    script.sent(ms(200), segment(ISS + 1, Seq(8), Flags::ACK, 0));
    script.window(200, 0..2);
    script.ack(300, 2, &[]);
    let fin = segment(ISS + 201, Seq(8), Flags::FIN.with(Flags::ACK), 50);
    let observed = script.sent(ms(310), fin);
    assert_eq!(
        (observed.kind, observed.seq, observed.len, observed.ack),
        (SegmentKind::Fin, 201, 50, Some(1))
    );
    assert!(!script.flow.completed(Side::Opener));
    script.arrived(ms(420), segment(Seq(8), ISS + 252, Flags::ACK, 0));
    script.arrived(ms(430), segment(Seq(8), ISS + 252, Flags::FIN.with(Flags::ACK), 0));
    let half = script.flow.half(Side::Opener);
    assert!(script.flow.completed(Side::Opener) && half.fin_acked());
    assert_eq!(half.acked(), Bytes(250));
    assert_eq!(script.flow.elapsed(Side::Opener), Some(Duration::from_millis(320)));
    assert_eq!(script.flow.connected_at(), Some(ms(200)));
    assert_eq!(half.milestones()[0], Milestone { bytes: Bytes(150), at: Some(ms(300)), retransmissions: 0 });
    assert_eq!(half.milestones()[1].at, None);
    assert_eq!(script.flow.bulk_sender(), Side::Opener);
}

#[test]
fn windows_are_scaled_once_both_sides_agreed() {
    let mut script = Script::before_the_handshake(&[]);
    let mut syn = segment(ISS, Seq(0), Flags::SYN, 0);
    syn.options.window_scale = Some(3);
    let mut answer = segment(Seq(7), ISS + 1, Flags::SYN.with(Flags::ACK), 0);
    answer.options.window_scale = Some(1);
    assert_eq!(script.sent(ms(100), syn).window, Bytes(8000));
    assert_eq!(script.arrived(ms(200), answer).window, Bytes(8000));
    assert_eq!(script.sent(ms(200), segment(ISS + 1, Seq(8), Flags::ACK, 0)).window, Bytes(64_000));
    assert_eq!(script.arrived(ms(300), segment(Seq(8), ISS + 1, Flags::ACK, 0)).window, Bytes(16_000));
}

#[test]
fn losses_that_are_reported_separate_the_needed_from_the_needless() {
    let mut script = Script::connected();
    script.window(200, 0..4);
    let lost = segment(ISS + 1, Seq(8), Flags::ACK, MSS);
    script.flow.handle_loss(ms(210), PacketId(4), Side::Opener, &lost, 0, "queue_drop");
    script.data(1200, 0);
    script.data(1200, 1);
    let diagnosis = script.flow.half(Side::Opener).diagnosis();
    let whys: Vec<&str> = diagnosis.retransmissions.iter().map(|verdict| verdict.why.id()).collect();
    assert_eq!(whys, ["original_lost", "go_back_n_over_arrived_data"]);
    assert_eq!((diagnosis.timeouts.len(), diagnosis.spurious_timeouts()), (1, 0));
}

#[test]
fn a_flow_met_in_the_middle_counts_from_there() {
    let mut script = Script::before_the_handshake(&[]);
    script.window(200, 7..9);
    script.ack(300, 9, &[]);
    assert_eq!(script.flow.half(Side::Opener).acked(), Bytes(200));
    assert_eq!(script.counters().retransmissions, 0);
    assert_eq!(script.flow.elapsed(Side::Opener), Some(Duration::from_millis(200)));
}

#[test]
fn what_the_capture_missed_is_said_and_does_no_harm() {
    let mut script = Script::connected();
    script.window(200, 0..2);
    script.ack(300, 5, &[]);
    script.window(300, 5..6);
    script.ack(400, 6, &[]);
    assert_eq!((script.counters().unseen, script.counters().retransmissions), (1, 0));
}

#[test]
fn new_data_after_a_timeout_is_no_proof_that_the_timeout_was_spurious() {
    // F-RTO again, but the first acknowledgment covers only the data that the timer resent, and the
    // next one is a duplicate: the timeout was right (RFC 5682 §3.1).
    let mut script = Script::connected();
    script.window(200, 0..4);
    script.data(1200, 0);
    script.ack(1300, 1, &[]);
    script.window(1300, 4..6);
    script.ack(1400, 1, &[(4, 5)]);
    assert_eq!(script.data(1400, 1), again(Cause::AfterTimeout));
    assert_eq!(script.counters().fast_retransmits, 0);
}

proptest::proptest! {
    #[test]
    fn segments_of_any_kind_in_any_order_never_panic(
        segments in proptest::collection::vec(
            (any::<bool>(), 0_u32..9, 0_u32..9, any::<u16>(), 0_u32..300, 0_u64..900),
            0..60,
        ),
    ) {
        // Near one another, half a circle away, or across the wrap.
        const PLACES: [u32; 9] = [0, 1, 100, 250, 1 << 31, (1 << 31) - 5, u32::MAX, u32::MAX - 200, 1 << 20];
        let mut script = Script::before_the_handshake(&[Bytes(150)]);
        let mut now = 0;
        for (forward, seq, ack, flags, len, wait) in segments {
            now += wait;
            let (seq, ack) = (Seq(PLACES[seq as usize]), Seq(PLACES[ack as usize]));
            let found = segment(seq, ack, Flags::from_bits(flags), len);
            if forward { script.sent(ms(now), found) } else { script.arrived(ms(now), found) };
        }
        for side in [Side::Opener, Side::Answerer] {
            let half = script.flow.half(side);
            let counters = half.counters();
            proptest::prop_assert!(counters.unique_bytes <= counters.data_bytes);
            let needless = half.diagnosis().unnecessary_retransmissions();
            proptest::prop_assert!(needless <= counters.retransmissions);
            let _ = (half.acked(), script.flow.elapsed(side));
        }
    }
}

#[test]
fn a_copy_of_a_part_of_a_super_segment_leaves_the_rest_to_the_partial_acks() {
    let mut script = Script::connected();
    script.sent(ms(200), segment(ISS + 1, Seq(8), Flags::ACK, 10 * MSS));
    for _ in 0..4 {
        script.ack(300, 0, &[]);
    }
    assert_eq!(script.data(300, 0), again(Cause::FastRetransmit));
    script.ack(400, 1, &[]);
    assert_eq!(script.data(400, 1), again(Cause::PartialAck));
    script.ack(500, 2, &[]);
    assert_eq!(script.data(500, 2), again(Cause::PartialAck));
    assert_eq!(script.counters().timeouts, 0);
}

#[test]
fn an_acknowledgment_inside_a_super_segment_times_it() {
    let mut script = Script::connected();
    script.sent(ms(200), segment(ISS + 1, Seq(8), Flags::ACK, 10 * MSS));
    script.ack(230, 4, &[]);
    assert_eq!(script.flow.half(Side::Opener).round_trips().shortest, Duration::from_millis(30));
}

#[test]
fn data_that_pass_after_their_acknowledgment_are_no_copies() {
    let mut script = Script::connected();
    script.ack(200, 1, &[]);
    assert_eq!(script.data(200, 0), SegmentKind::Data);
    assert_eq!(script.counters().retransmissions, 0);
}

#[test]
fn a_gap_that_fills_within_a_round_trip_is_reordering_and_later_a_copy() {
    let mut script = Script::connected();
    script.data(200, 0);
    script.data(200, 2);
    assert_eq!(script.data(201, 1), SegmentKind::OutOfOrder);
    script.data(202, 4);
    assert!(matches!(script.data(402, 3), SegmentKind::Retransmission(_)));
    assert_eq!((script.counters().out_of_order, script.counters().retransmissions), (1, 1));
}

#[test]
fn an_acknowledgment_ahead_of_the_data_shows_what_the_capture_lacks() {
    let mut script = Script::connected();
    script.data(200, 0);
    script.sent(ms(250), segment(ISS + 1 + 2 * MSS, Seq(8), Flags::ACK, 0));
    assert!(matches!(script.data(600, 1), SegmentKind::Retransmission(_)));
}

#[test]
fn the_handshake_shows_where_it_was_captured() {
    let placed = Script::connected().flow.place(Side::Opener);
    assert_eq!((placed.place, placed.confidence), (Place::Sender, Confidence::Certain));
    let placed = Script::connected().flow.place(Side::Answerer);
    assert_eq!((placed.place, placed.confidence), (Place::Receiver, Confidence::Certain));
}

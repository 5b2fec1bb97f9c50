//! Small histories with an obvious verdict.

use proptest::prelude::*;

use super::*;

const MSS: u32 = 100;

/// Segment `n` of the stream, counted from 0; the initial sequence number is near the wrap.
fn segment(n: u32) -> SeqRange {
    SeqRange::new(Seq(u32::MAX - 150) + n * MSS, MSS)
}

fn ms(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

fn resend(ledger: &mut Ledger, packet: u64, n: u32, sent: u32, cause: &'static str) {
    let range = segment(n);
    ledger.on_retransmission(Retransmission {
        packet: PacketId(packet),
        at: ms(packet),
        range,
        cause,
        snd_max: segment(sent).start,
    });
}

fn whys(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.retransmissions.iter().map(|verdict| verdict.why.id()).collect()
}

#[test]
fn a_flow_without_trouble_has_no_verdicts() {
    assert_eq!(Ledger::new().finish(), Diagnosis::default());
}

#[test]
fn a_retransmission_of_a_lost_segment_is_necessary() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(3), segment(3), ms(3), "tail_drop");
    resend(&mut ledger, 10, 3, 7, causes::FAST_RETRANSMIT);
    let diagnosis = ledger.finish();
    assert_eq!(whys(&diagnosis), ["original_lost"]);
    assert_eq!(diagnosis.unnecessary_retransmissions(), 0);
    let why = diagnosis.verdict(PacketId(10)).expect("packet 10 was a retransmission").why.to_string();
    assert_eq!(why, "the original was lost (packet #3, tail_drop, at 0.003000 s)");
}

#[test]
fn a_drop_that_happens_after_the_retransmission_still_makes_it_necessary() {
    // The original waits in a long queue, is retransmitted in the meantime, and is then dropped at the far end.
    let mut ledger = Ledger::new();
    resend(&mut ledger, 10, 3, 7, causes::TIMEOUT);
    ledger.on_drop(PacketId(3), segment(3), ms(500), "dropper");
    assert_eq!(whys(&ledger.finish()), ["original_lost"]);
}

#[test]
fn a_drop_of_the_retransmission_itself_does_not_make_it_necessary() {
    let mut ledger = Ledger::new();
    resend(&mut ledger, 10, 3, 7, causes::FAST_RETRANSMIT);
    ledger.on_drop(PacketId(10), segment(3), ms(11), "tail_drop");
    let diagnosis = ledger.finish();
    assert_eq!(whys(&diagnosis), ["only_late"]);
    assert_eq!(diagnosis.unnecessary_retransmissions(), 1);
}

#[test]
fn when_the_retransmission_is_lost_too_the_next_one_is_necessary() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(3), segment(3), ms(3), "tail_drop");
    resend(&mut ledger, 10, 3, 7, causes::FAST_RETRANSMIT);
    ledger.on_drop(PacketId(10), segment(3), ms(12), "tail_drop");
    ledger.on_timeout(ms(20), segment(3));
    resend(&mut ledger, 20, 3, 7, causes::TIMEOUT);
    let diagnosis = ledger.finish();
    assert_eq!(whys(&diagnosis), ["original_lost", "every_copy_lost"]);
    assert_eq!(diagnosis.spurious_timeouts(), 0);
}

#[test]
fn a_timeout_while_the_retransmission_is_underway_is_spurious() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(3), segment(3), ms(3), "tail_drop");
    resend(&mut ledger, 10, 3, 7, causes::FAST_RETRANSMIT);
    ledger.on_timeout(ms(20), segment(3));
    resend(&mut ledger, 20, 3, 7, causes::TIMEOUT);
    let diagnosis = ledger.finish();
    assert_eq!(whys(&diagnosis), ["original_lost", "copy_underway"]);
    assert_eq!(diagnosis.spurious_timeouts(), 1);
    assert_eq!(diagnosis.timeouts[0].why, Why::CopyUnderway);
}

#[test]
fn a_copy_that_a_proxy_sent_makes_a_later_one_of_the_sender_needless_unless_it_was_lost_too() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(3), segment(3), ms(3), "error");
    ledger.on_drop(PacketId(4), segment(4), ms(4), "error");
    ledger.on_local_copy(PacketId(8), segment(3));
    ledger.on_local_copy(PacketId(9), segment(4));
    ledger.on_drop(PacketId(9), segment(4), ms(9), "error");
    resend(&mut ledger, 10, 3, 7, causes::FAST_RETRANSMIT);
    ledger.on_timeout(ms(20), segment(4));
    resend(&mut ledger, 20, 4, 7, causes::TIMEOUT);
    assert_eq!(ledger.retransmissions(), 2);
    let diagnosis = ledger.finish();
    assert_eq!(whys(&diagnosis), ["local_retransmission", "every_copy_lost"]);
    assert_eq!((diagnosis.retransmissions.len(), diagnosis.spurious_timeouts()), (2, 0));
}

#[test]
fn a_spurious_timeout_is_followed_by_needless_go_back_n_and_a_false_fast_retransmit() {
    // Sarolahti 2000, §5.1 and Figure 7: the whole window is resent, then new data; the receiver's
    // duplicate ACKs for the window look like a loss of the first new segment.
    let mut ledger = Ledger::new();
    ledger.on_delay(ms(5), Duration::from_secs(6), "error");
    ledger.on_timeout(ms(10), segment(0));
    resend(&mut ledger, 10, 0, 4, causes::TIMEOUT);
    for n in 1..4 {
        resend(&mut ledger, 20 + u64::from(n), n, 4, causes::AFTER_TIMEOUT);
    }
    resend(&mut ledger, 40, 4, 6, causes::FAST_RETRANSMIT);
    resend(&mut ledger, 41, 5, 7, causes::PARTIAL_ACK);
    let diagnosis = ledger.finish();
    let go_back_n = "go_back_n_after_spurious_timeout";
    assert_eq!(
        whys(&diagnosis),
        [
            "spurious_timeout",
            go_back_n,
            go_back_n,
            go_back_n,
            "duplicate_acks_of_needless",
            "needless_recovery"
        ]
    );
    assert_eq!(diagnosis.spurious_timeouts(), 1);
    assert_eq!(diagnosis.causes()[go_back_n], 3);
    assert!(diagnosis.timeouts[0].why.to_string().contains("held a packet for 6.000000 s"));
}

#[test]
fn go_back_n_over_data_that_arrived_is_distinguished_from_what_was_lost() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(0), segment(0), ms(0), "tail_drop");
    ledger.on_drop(PacketId(2), segment(2), ms(2), "tail_drop");
    ledger.on_timeout(ms(10), segment(0));
    resend(&mut ledger, 10, 0, 3, causes::TIMEOUT);
    resend(&mut ledger, 11, 1, 3, causes::AFTER_TIMEOUT);
    resend(&mut ledger, 12, 2, 3, causes::AFTER_TIMEOUT);
    let diagnosis = ledger.finish();
    assert_eq!(whys(&diagnosis), ["original_lost", "go_back_n_over_arrived_data", "original_lost"]);
    assert_eq!(diagnosis.spurious_timeouts(), 0);
}

#[test]
fn a_needless_retransmission_long_ago_does_not_explain_a_late_segment() {
    let mut ledger = Ledger::new();
    ledger.on_timeout(ms(10), segment(0));
    resend(&mut ledger, 10, 0, 4, causes::TIMEOUT);
    resend(&mut ledger, 4000, 400, 410, causes::FAST_RETRANSMIT);
    assert_eq!(whys(&ledger.finish()), ["spurious_timeout", "only_late"]);
}

#[test]
fn lost_acknowledgments_are_named() {
    let mut ledger = Ledger::new();
    ledger.on_ack_drop(ms(5), segment(1).start);
    ledger.on_timeout(ms(10), segment(0));
    resend(&mut ledger, 10, 0, 1, causes::TIMEOUT);
    let diagnosis = ledger.finish();
    assert_eq!(whys(&diagnosis), ["acknowledgments_lost"]);
    assert_eq!(diagnosis.spurious_timeouts(), 1);
}

#[test]
fn a_probe_of_a_closed_window_is_never_needless() {
    let mut ledger = Ledger::new();
    resend(&mut ledger, 10, 0, 1, causes::PROBE);
    let diagnosis = ledger.finish();
    assert_eq!(whys(&diagnosis), ["window_probe"]);
    assert_eq!(diagnosis.unnecessary_retransmissions(), 0);
}

#[test]
fn the_names_of_reasons_are_listed_with_what_they_speak_for() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(3), segment(3), ms(3), "tail_drop");
    resend(&mut ledger, 10, 3, 7, causes::FAST_RETRANSMIT);
    resend(&mut ledger, 11, 3, 7, causes::TIMEOUT);
    resend(&mut ledger, 12, 5, 7, causes::PROBE);
    for verdict in ledger.finish().retransmissions {
        assert!(Why::IDS.contains(&(verdict.why.id(), verdict.necessary)), "{verdict:?}");
    }
}

#[test]
fn a_timeout_that_sends_nothing_is_judged_all_the_same() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(0), segment(0), ms(0), "tail_drop");
    ledger.on_timeout(ms(10), segment(0));
    let diagnosis = ledger.finish();
    assert_eq!(diagnosis.timeouts.len(), 1);
    assert!(!diagnosis.timeouts[0].spurious);
}

#[test]
fn a_retransmission_that_joins_a_lost_segment_with_one_that_arrived_is_necessary() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(1), segment(1), ms(1), "tail_drop");
    ledger.on_retransmission(Retransmission {
        packet: PacketId(10),
        at: ms(10),
        range: SeqRange::new(segment(0).start, 2 * MSS),
        cause: causes::TIMEOUT,
        snd_max: segment(2).start,
    });
    assert_eq!(whys(&ledger.finish()), ["original_lost"]);
}

#[test]
fn flows_of_many_gibibytes_keep_their_bytes_apart() {
    let mut ledger = Ledger::new();
    ledger.on_drop(PacketId(0), segment(0), ms(0), "tail_drop");
    resend(&mut ledger, 1, 0, 4, causes::FAST_RETRANSMIT);
    for quarter in 1..=4_u32 {
        ledger.advance_to(segment(0).start + (1 << 30) * (quarter % 4));
    }
    resend(&mut ledger, 1 << 30, 0, 4, causes::FAST_RETRANSMIT);
    // The same number one turn later was not lost; were it taken for the old one, it would be a
    // copy of a segment whose original was lost.
    assert_eq!(whys(&ledger.finish()), ["original_lost", "only_late"]);
}

proptest! {
    /// The definition itself, byte by byte and with every packet known.
    #[test]
    fn verdicts_agree_with_the_definition(
        packets in prop::collection::vec((0_u32..12, 1_u32..4, any::<bool>()), 1..60),
    ) {
        let mut ledger = Ledger::new();
        let mut survived = [false; 16];
        let mut sent = [false; 16];
        let mut expected = Vec::new();
        let base = Seq(u32::MAX - 5);
        for (id, (start, len, dropped)) in packets.into_iter().enumerate() {
            let places = start as usize..(start + len) as usize;
            let again = places.clone().all(|place| sent[place]);
            // The sender sends new data in whole runs: no segment is partly new.
            if !again && places.clone().any(|place| sent[place]) { continue; }
            let packet = PacketId(id as u64);
            let range = SeqRange::new(base + start, len);
            if again {
                let cause = causes::TIMEOUT;
                ledger.on_retransmission(
                    Retransmission { packet, at: ms(id as u64), range, cause, snd_max: base + 16 });
                expected.push(!places.clone().all(|place| survived[place]));
            }
            if dropped { ledger.on_drop(packet, range, ms(id as u64), "test"); }
            for place in places {
                sent[place] = true;
                survived[place] |= !dropped;
            }
        }
        let found: Vec<bool> = ledger.finish().retransmissions.iter().map(|verdict| verdict.necessary).collect();
        prop_assert_eq!(found, expected);
    }
}

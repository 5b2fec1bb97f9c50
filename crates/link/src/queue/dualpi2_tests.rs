//! DualPI2 against the equations of RFC 9332 and of its appendix A.

use super::*;
use crate::packet::Ecn;
use crate::queue::QueuedPacket;
use crate::store::Handle;

fn us(micros: u64) -> Instant {
    Instant::START + Duration::from_micros(micros)
}

fn departure(now: Instant, waited: Duration, left: u32, ecn: Ecn) -> Departure {
    Departure { now, size: Bytes(1500), ecn, waited, left, left_bytes: Bytes(1500) * u64::from(left) }
}

fn lines() -> Vec<SubQueue> {
    (0..2).map(|_| SubQueue::new(tail_drop::policy())).collect()
}

fn packet(arrived: Instant, ecn: Ecn) -> QueuedPacket {
    QueuedPacket { handle: Handle::from_index(0), ecn, size: Bytes(1500), arrived }
}

fn with_p(p: f64) -> DualPi2 {
    let mut dualpi2 = DualPi2::new(Parameters::default());
    dualpi2.controller.p = p;
    // No update comes between.
    dualpi2.next_update = Instant::NEVER;
    dualpi2
}

/// The shares of packets that are marked and dropped.
fn shares(dualpi2: &mut DualPi2, queue: usize, waited: Duration, ecn: Ecn) -> (f64, f64) {
    let decisions: Vec<Decision> = (0..10_000)
        .map(|_| dualpi2.on_departure(&mut lines(), queue, &departure(us(1_000_000), waited, 10, ecn)))
        .collect();
    let share =
        |wanted: fn(&Decision) -> bool| decisions.iter().filter(|one| wanted(one)).count() as f64 / 1e4;
    (share(|one| matches!(one, Decision::Mark(_))), share(|one| matches!(one, Decision::Drop(_))))
}

const SHORT: Duration = Duration::from_micros(100);

// RFC 9332 §A.1 with its defaults: alpha = 0.1 · 15 ms / (100 ms)², beta = 0.3 / 100 ms.
#[test]
fn the_base_probability_moves_with_the_delay_of_the_classic_head() {
    let mut dualpi2 = DualPi2::new(Parameters::default());
    let mut lines = lines();
    lines[C].push(packet(us(0), Ecn::NotCapable));
    let arrival = |at| Arrival {
        now: us(at),
        size: Bytes(1500),
        ecn: Ecn::NotCapable,
        queued: 1,
        queued_bytes: Bytes(1500),
        has_room: true,
        idle_since: None,
        rate: None,
    };
    dualpi2.on_arrival(&mut lines, C, &arrival(45_000));
    // Updates at 15, 30 and 45 ms; the head had waited as long.
    let p = (0.15 * 0.0 + 3.0 * 0.015) + (0.15 * 0.015 + 3.0 * 0.015) + (0.15 * 0.030 + 3.0 * 0.015);
    assert!((dualpi2.controller.p - p).abs() < 1e-12, "{} for {p}", dualpi2.controller.p);
}

#[test]
fn updates_are_missed_only_while_both_queues_are_empty() {
    let p_after = |arrived: Option<u64>| {
        let mut dualpi2 = DualPi2::new(Parameters::default());
        dualpi2.catch_up(us(60_000), [arrived.map(us), None]);
        dualpi2.controller.p
    };
    // At 15 ms without delay, at 30, 45 and 60 ms with 15, 30 and 45 ms.
    let p = (0.15 * 0.0 + 3.0 * 0.015) + (0.15 * 0.015 + 3.0 * 0.015) + (0.15 * 0.030 + 3.0 * 0.015);
    assert!((p_after(Some(15_000)) - p).abs() < 1e-12);
    assert_eq!(p_after(None), 0.0);
}

// RFC 9332 §2.1: p_C = p'², p_CL = k·p'.
#[test]
fn classic_packets_meet_the_square_and_l4s_packets_the_multiple_of_the_base_probability() {
    for p in [0.05, 0.1, 0.3] {
        let (_, dropped) = shares(&mut with_p(p), C, SHORT, Ecn::NotCapable);
        let (marked, _) = shares(&mut with_p(p), L, SHORT, Ecn::Capable1);
        assert!(
            (dropped - p * p).abs() < 2e-4 && (marked - 2.0 * p).abs() < 2e-4,
            "{dropped} {marked} at {p}"
        );
    }
}

#[test]
fn a_classic_packet_of_ect_0_is_marked_and_one_without_ecn_dropped() {
    let (marked, dropped) = shares(&mut with_p(0.2), C, SHORT, Ecn::Capable);
    assert!((marked - 0.04).abs() < 2e-4 && dropped == 0.0, "{marked} {dropped}");
}

// §A.1, laqm(): 0 up to 800 µs, 1 from 1200 µs, linear between.
#[test]
fn the_l4s_queue_marks_by_a_ramp_on_its_own_delay() {
    for (micros, expected) in [(800, 0.0), (900, 0.25), (1_000, 0.5), (1_100, 0.75), (1_200, 1.0)] {
        let waited = Duration::from_micros(micros);
        let (marked, dropped) = shares(&mut with_p(0.0), L, waited, Ecn::Capable1);
        assert!((marked - expected).abs() < 2e-4 && dropped == 0.0, "{marked} after {micros} us");
    }
    let mut alone = with_p(0.0);
    let last = departure(us(1_000_000), Duration::from_millis(5), 0, Ecn::Capable1);
    assert!(
        (0..100).all(|_| alone.on_departure(&mut lines(), L, &last) == Decision::Pass),
        "one packet is no queue"
    );
}

#[test]
fn the_greater_of_ramp_and_coupled_probability_marks() {
    let waited = Duration::from_micros(900);
    let (low, _) = shares(&mut with_p(0.05), L, waited, Ecn::Capable1);
    let (high, _) = shares(&mut with_p(0.3), L, waited, Ecn::Capable1);
    assert!((low - 0.25).abs() < 2e-4 && (high - 0.6).abs() < 2e-4, "{low} {high}");
}

// §A.2: from k·p' = 1 on, ECN is off in the classic queue and the L4S queue drops unmarked packets with p'².
#[test]
fn under_overload_both_queues_drop_with_the_classic_probability() {
    let (marked, dropped) = shares(&mut with_p(0.6), C, SHORT, Ecn::Capable);
    assert!((dropped - 0.36).abs() < 2e-4 && marked == 0.0, "{marked} {dropped}");
    let (marked, dropped) = shares(&mut with_p(0.6), L, SHORT, Ecn::Capable1);
    assert!((dropped - 0.36).abs() < 2e-4 && (marked - 0.64).abs() < 2e-4, "{marked} {dropped}");
}

#[test]
fn ect_1_and_ce_go_into_the_l4s_queue_and_ect_0_only_where_it_is_set_so() {
    let class_of = |any_ect, ecn| {
        let mut dualpi2 = DualPi2::new(Parameters { any_ect, ..Parameters::default() });
        dualpi2.classify(&Keys { ecn, ..Keys::default() })
    };
    let all = [Ecn::NotCapable, Ecn::Capable, Ecn::Capable1, Ecn::CongestionExperienced];
    assert_eq!(all.map(|ecn| class_of(false, ecn)), [C, C, L, L]);
    assert_eq!(all.map(|ecn| class_of(true, ecn)), [C, L, L, L]);
}

/// The mean number of packets that leave two full queues for each one of the classic queue.
fn classic_share(scheduler: Turns) -> f64 {
    let mut dualpi2 = DualPi2::new(Parameters { scheduler, ..Parameters::default() });
    let mut lines = lines();
    let mut classic = 0;
    for turn in 0..1_600 {
        for queue in [C, L] {
            lines[queue].push(packet(us(100 * turn), Ecn::NotCapable));
        }
        let next = dualpi2.next(&lines, us(100 * turn)).expect("packets wait");
        lines[next].take_head(us(100 * turn));
        dualpi2.on_served(next, Bytes(1500));
        classic += u32::from(next == C);
    }
    f64::from(classic) / 1_600.0
}

#[test]
fn the_classic_queue_gets_its_share_of_a_link_that_l4s_fills() {
    let sixteenth = classic_share(Turns::Wrr(Probability::new(1.0 / 16.0).expect("a share")));
    assert!((sixteenth - 1.0 / 16.0).abs() < 1e-3, "{sixteenth}");
}

#[test]
fn a_time_shift_holds_classic_packets_back_by_so_much_only() {
    let scheduler = Turns::TimeShifted(Duration::from_millis(50));
    let dualpi2 = DualPi2::new(Parameters { scheduler, ..Parameters::default() });
    assert!(!dualpi2.is_turn_of_classic(us(0), us(50_000)));
    assert!(dualpi2.is_turn_of_classic(us(0), us(50_001)));
}

#[test]
fn an_empty_link_forgets_and_catches_up_with_a_long_silence_at_once() {
    let mut dualpi2 = DualPi2::new(Parameters::default());
    dualpi2.controller.p = 0.2;
    dualpi2.catch_up(us(3_600_000_000), [None, None]);
    assert!(dualpi2.controller.p == 0.0 && dualpi2.next_update > us(3_600_000_000));
}

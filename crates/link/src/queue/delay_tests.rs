//! CoDel and PIE against their RFCs' control laws.

use super::codel::{self, Codel};
use super::pie::{self, Pie};
use super::{Arrival, Decision, Departure, Policy};
use crate::packet::Ecn;
use units::{Bytes, Duration, Instant, Streams};

fn ms(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

/// A packet that leaves after this stay, with many after it.
fn departure(now: Instant, stay: u64) -> Departure {
    Departure {
        now,
        size: Bytes(1500),
        ecn: Ecn::NotCapable,
        waited: Duration::from_millis(stay),
        left: 20,
        left_bytes: Bytes(30_000),
    }
}

/// When CoDel drops, asked every millisecond from `from` to `to`; after a drop it is asked again at once.
fn drops(codel: &mut Codel, from: u64, to: u64, stay: u64) -> Vec<u64> {
    let dropped = |at: &u64| {
        let drops = codel.on_departure(&departure(ms(*at), stay)) == Decision::Drop(codel::DELAY);
        if drops {
            assert_eq!(codel.on_departure(&departure(ms(*at), stay)), Decision::Pass);
        }
        drops
    };
    (from..to).filter(dropped).collect()
}

#[test]
fn codel_drops_by_its_control_law() {
    let mut codel = Codel::new(codel::Parameters::default());
    // Above the target since 10 ms, so that dropping begins an interval later.
    let mut due = 110.0_f64;
    let mut expected = vec![110];
    for count in 1..30_u32 {
        due += 100.0 / f64::from(count).sqrt();
        expected.push(due.ceil() as u64);
    }
    let (from, to) = (10, expected[29] + 1);
    assert_eq!(drops(&mut codel, from, to, 50), expected);
}

#[test]
fn codel_drops_nobody_below_its_target_nor_before_an_interval_has_passed() {
    let mut codel = Codel::new(codel::Parameters::default());
    assert_eq!(drops(&mut codel, 0, 10_000, 4), [0; 0]);
    assert_eq!(drops(&mut codel, 10_000, 10_100, 6), [0; 0]);
    // One packet below the target, and the interval restarts.
    assert_eq!(drops(&mut codel, 10_100, 10_101, 4), [0; 0]);
    assert_eq!(drops(&mut codel, 10_101, 10_202, 6), [10_201]);
}

#[test]
fn codel_drops_nobody_who_leaves_no_more_than_a_packet_behind() {
    let mut codel = Codel::new(codel::Parameters::default());
    for at in 0..1_000 {
        let last = Departure { left: 1, left_bytes: Bytes(1500), ..departure(ms(at), 500) };
        assert_eq!(codel.on_departure(&last), Decision::Pass);
    }
}

#[test]
fn codel_resumes_near_its_last_rate_if_dropping_begins_again_soon() {
    let mut codel = Codel::new(codel::Parameters::default());
    let first = drops(&mut codel, 0, 1_000, 50);
    assert_eq!(drops(&mut codel, 1_000, 1_050, 1), [0; 0]);
    let again = drops(&mut codel, 1_050, 1_400, 50);
    // RFC 8289 §5.5: count starts from the drops of last time without the first.
    let count = first.len() as f64 - 1.0;
    assert_eq!(again[0], 1_150);
    assert_eq!(again[1] - again[0], (100.0 / count.sqrt()).ceil() as u64);
    // After 16 intervals it restarts.
    assert_eq!(drops(&mut codel, 1_400, 4_000, 1), [0; 0]);
    let late = drops(&mut codel, 4_000, 4_400, 50);
    assert_eq!(late[..2], [4_100, 4_200]);
}

#[test]
fn codel_marks_what_is_capable_and_lets_it_pass() {
    let mut codel = Codel::new(codel::Parameters { ecn: true, ..codel::Parameters::default() });
    let capable = |at| Departure { ecn: Ecn::Capable, ..departure(ms(at), 50) };
    let marked: Vec<u64> =
        (0..400).filter(|at| codel.on_departure(&capable(*at)) == Decision::Mark(codel::DELAY)).collect();
    assert_eq!(marked, [100, 200, 271, 329, 379]);
}

#[test]
fn codel_drops_what_is_not_capable_and_everything_where_it_may_not_mark() {
    for (marks, ecn) in [(true, Ecn::NotCapable), (false, Ecn::Capable)] {
        let mut codel = Codel::new(codel::Parameters { ecn: marks, ..codel::Parameters::default() });
        let decisions = (0..101).map(|at| codel.on_departure(&Departure { ecn, ..departure(ms(at), 50) }));
        assert_eq!(decisions.last(), Some(Decision::Drop(codel::DELAY)));
    }
}

fn pie() -> Pie {
    Pie::new(pie::Parameters::default(), Streams::new(1).stream("queue"))
}

/// The drop probability after each of these delays was the latest at an update.
fn probabilities(pie: &mut Pie, delays: &[u64]) -> Vec<f64> {
    let mut at = 0;
    let mut after = |delay: &u64| {
        pie.on_departure(&departure(ms(at), *delay));
        at += 15;
        pie.catch_up(ms(at));
        pie.drop_prob
    };
    delays.iter().map(&mut after).collect()
}

// RFC 8033 §4.2: p += α·(delay − target) + β·(delay − delay before), divided by the factor for the present p. Computed
// by hand with α = 0.125 and β = 1.25 per second.
#[test]
fn pie_steps_by_its_control_law() {
    let steps = probabilities(&mut pie(), &[30, 30, 50, 45]);
    let one = (0.125 * 0.015 + 1.25 * 0.030) / 2048.0;
    let two = one + 0.125 * 0.015 / 128.0;
    let three = two + (0.125 * 0.035 + 1.25 * 0.020) / 128.0;
    let four = three + (0.125 * 0.030 + 1.25 * -0.005) / 32.0;
    for (step, expected) in steps.iter().zip([one, two, three, four]) {
        assert!((step - expected).abs() < 1e-15, "{steps:?}, expected {expected}");
    }
}

#[test]
fn pie_grows_by_no_more_than_two_percent_from_ten_percent_on() {
    let steps = probabilities(&mut pie(), &[400; 400]);
    let large = steps.windows(2).filter(|pair| pair[0] >= 0.1 && pair[1] < 1.0);
    let growths: Vec<f64> = large.map(|pair| pair[1] - pair[0]).collect();
    assert!(!growths.is_empty() && growths.iter().all(|growth| (growth - 0.02).abs() < 1e-12));
    assert_eq!(steps.last(), Some(&1.0));
}

#[test]
fn pie_forgets_while_there_is_no_delay() {
    let mut pie = pie();
    let high = *probabilities(&mut pie, &[100; 100]).last().expect("steps");
    let quiet = Departure { left: 0, left_bytes: Bytes::ZERO, ..departure(ms(1_500), 0) };
    pie.on_departure(&quiet);
    pie.catch_up(ms(1_500 + 15 * 2));
    let (before, step) = (pie.drop_prob, 0.125 * 0.015);
    assert!(before < high);
    pie.catch_up(ms(1_500 + 15 * 3));
    assert!((pie.drop_prob - (before - step) * 0.98).abs() < 1e-12);
    pie.catch_up(ms(3_600_000));
    assert_eq!(pie.drop_prob, 0.0);
}

#[test]
fn pie_made_to_catch_up_seldom_is_where_it_would_be_if_asked_often() {
    let run = |often: bool| {
        let mut pie = pie();
        for second in 0..20 {
            pie.on_departure(&departure(ms(1_000 * second), 10 + 3 * (second % 7)));
            if often {
                (1..1_000).for_each(|more| pie.catch_up(ms(1_000 * second + more)));
            }
        }
        pie.catch_up(ms(20_000));
        pie.drop_prob
    };
    assert!(run(true) > 0.0);
    assert_eq!(run(true), run(false));
}

fn arrival(now: Instant, ecn: Ecn) -> Arrival {
    Arrival {
        now,
        size: Bytes(1500),
        ecn,
        queued: 20,
        queued_bytes: Bytes(30_000),
        has_room: true,
        idle_since: None,
        rate: None,
    }
}

#[test]
fn pie_lets_a_burst_in_and_then_drops_its_share_evenly() {
    let mut pie = pie();
    pie.on_departure(&departure(ms(0), 100));
    let decision = |pie: &mut Pie, at: u64, ecn| {
        pie.on_departure(&departure(ms(at), 100));
        pie.on_arrival(&arrival(ms(at), ecn))
    };
    assert!((0..150).all(|at| decision(&mut pie, at, Ecn::NotCapable) == Decision::Pass));
    let early: Vec<Decision> = (150..3_000).map(|at| decision(&mut pie, at, Ecn::Capable)).collect();
    assert!(early.contains(&Decision::Drop(pie::EARLY)), "without ECN set, what is capable is dropped too");
}

// RFC 8033 appendix A, enque(): the packet that comes finds both samples small and the probability zero.
#[test]
fn pie_lets_the_next_burst_in_as_soon_as_a_packet_comes_to_a_quiet_queue() {
    let mut pie = pie();
    probabilities(&mut pie, &[10; 400]);
    assert_eq!((pie.drop_prob, pie.burst_allowance), (0.0, Duration::ZERO));
    pie.on_departure(&departure(ms(6_001), 5));
    pie.on_arrival(&arrival(ms(6_002), Ecn::NotCapable));
    assert_eq!(pie.burst_allowance, Duration::ZERO, "the sample before was not small");
    pie.on_arrival(&arrival(ms(6_016), Ecn::NotCapable));
    assert_eq!(pie.burst_allowance, Duration::from_millis(150));
}

/// A PIE of this probability, past its first burst, with this delay at the last update.
fn settled(seed: u64, drop_prob: f64, delay: Duration) -> Pie {
    let mut pie = Pie::new(pie::Parameters::default(), Streams::new(seed).stream("queue"));
    (pie.drop_prob, pie.qdelay_old, pie.burst_allowance) = (drop_prob, delay, Duration::ZERO);
    pie
}

// RFC 8033 §4.1: QDELAY_REF/2 is 7.5 ms.
#[test]
fn pie_drops_none_below_half_its_target_while_the_probability_is_under_a_fifth() {
    let drops = |drop_prob, nanos| {
        let mut pie = settled(1, drop_prob, Duration::from_nanos(nanos));
        (0..1_000).any(|_| pie.on_arrival(&arrival(ms(1), Ecn::NotCapable)) != Decision::Pass)
    };
    assert!(!drops(0.19, 7_499_999));
    assert!(drops(0.19, 7_500_000));
    assert!(drops(0.2, 7_499_999));
}

// RFC 8033 §5.4.
#[test]
fn pie_drops_for_certain_once_the_probabilities_since_the_last_drop_sum_to_eight_and_a_half() {
    let dropped = |accumulated: f64, seed| {
        let mut pie = settled(seed, 0.25, Duration::from_millis(50));
        pie.accu_prob = accumulated;
        pie.on_arrival(&arrival(ms(1), Ecn::NotCapable)) == Decision::Drop(pie::EARLY)
    };
    assert!((0..20).all(|seed| dropped(8.25, seed)));
    assert!(!(0..20).all(|seed| dropped(8.0, seed)));
}

#[test]
fn pie_marks_while_its_probability_is_small() {
    let mut pie = Pie::new(
        pie::Parameters { ecn: true, ..pie::Parameters::default() },
        Streams::new(1).stream("queue"),
    );
    let mut small = Vec::new();
    let mut large = Vec::new();
    for at in 0..5_000 {
        pie.on_departure(&departure(ms(at), 60));
        let decision = pie.on_arrival(&arrival(ms(at), Ecn::Capable));
        if decision != Decision::Pass {
            if pie.drop_prob < 0.1 { small.push(decision) } else { large.push(decision) }
        }
    }
    assert!(!small.is_empty() && small.iter().all(|decision| *decision == Decision::Mark(pie::EARLY)));
    assert!(!large.is_empty() && large.iter().all(|decision| *decision == Decision::Drop(pie::EARLY)));
}

//! The disciplines' registry, and RED against its paper.

use super::*;
use units::text::{Packets, Probability};
use units::{Bytes, Duration, Instant, Rate, Streams};

fn probability(number: f64) -> Probability {
    Probability::new(number).expect("a probability")
}

/// Sarolahti 2000, Table 11, R1 for the buffer of 7 packets.
fn red(weight: f64, max_probability: f64) -> Box<dyn Policy> {
    let parameters = red::Parameters {
        min: Packets(2),
        max: Packets(7),
        weight: probability(weight),
        max_probability: probability(max_probability),
        idle_packet: None,
    };
    Discipline::Red(parameters).policy(Streams::new(1).stream("queue"))
}

/// A packet of 303 bytes that meets `waiting` others on a link of 9600 bit/s.
fn arrival(now: Instant, waiting: u32) -> Arrival {
    Arrival { now, size: Bytes(303), waiting, rate: Some(Rate::from_bits_per_sec(9600)) }
}

fn departure(now: Instant, left: u32) -> Departure {
    Departure { now, waited: Duration::ZERO, left }
}

fn average(policy: &dyn Policy) -> f64 {
    policy.average().expect("RED keeps an average")
}

#[test]
fn every_example_reads_checks_and_writes_back_as_itself() {
    #[derive(serde::Deserialize)]
    struct File {
        discipline: Discipline,
    }
    for entry in ENTRIES {
        let file: File = toml::from_str(&format!("discipline = {}", entry.example)).expect("readable");
        assert_eq!(file.discipline.id(), entry.id);
        assert_eq!(file.discipline.check(), Ok(()));
        let json = serde_json::to_value(&file.discipline).expect("it can be written");
        assert_eq!(serde_json::from_value::<Discipline>(json).expect("and read"), file.discipline);
    }
}

#[test]
fn tail_drop_itself_lets_everything_pass_and_keeps_no_average() {
    let mut policy = Discipline::default().policy(Streams::new(1).stream("queue"));
    assert_eq!(policy.on_arrival(&arrival(Instant::START, 1_000_000)), Verdict::Pass);
    assert_eq!(policy.average(), None);
}

#[test]
fn the_average_moves_by_the_weight() {
    let mut policy = red(0.15, 0.3);
    policy.on_arrival(&arrival(Instant::START, 4));
    assert!((average(&*policy) - 0.6).abs() < 1e-12);
    policy.on_arrival(&arrival(Instant::START, 4));
    assert!((average(&*policy) - (0.85 * 0.6 + 0.15 * 4.0)).abs() < 1e-12);
}

#[test]
fn an_idle_time_lowers_the_average_as_if_packets_had_gone_by() {
    let mut policy = red(0.15, 0.3);
    for _ in 0..100 {
        policy.on_arrival(&arrival(Instant::START, 1));
    }
    let before = average(&*policy);
    policy.on_departure(&departure(Instant::START, 0));
    // Ten packets of 252.5 ms could have been sent in 2.525 s.
    let later = Instant::START + Duration::from_millis(2_525);
    policy.on_arrival(&arrival(later, 0));
    let expected = before * 0.85_f64.powi(10);
    assert!((average(&*policy) - expected).abs() < 1e-9);
    // The idle time is not counted a second time.
    policy.on_arrival(&arrival(later, 0));
    assert!((average(&*policy) - expected).abs() < 1e-9);
}

#[test]
fn below_the_lower_threshold_nobody_is_dropped_and_from_the_upper_on_everybody() {
    let mut policy = red(1.0, 1.0);
    for _ in 0..1_000 {
        assert_eq!(policy.on_arrival(&arrival(Instant::START, 1)), Verdict::Pass);
    }
    for _ in 0..1_000 {
        assert_eq!(policy.on_arrival(&arrival(Instant::START, 7)), Verdict::Drop(red::FORCED));
    }
}

/// Lengths of the gaps from one early drop to the next, at a constant average of `waiting`.
fn gaps(waiting: u32, max_probability: f64) -> Vec<u64> {
    let mut policy = red(1.0, max_probability);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() < 20_000 {
        gap += 1;
        if policy.on_arrival(&arrival(Instant::START, waiting)) == Verdict::Drop(red::EARLY) {
            gaps.push(std::mem::take(&mut gap));
        }
    }
    gaps
}

// Floyd and Jacobson 1993, section 7, method 2: p_a = p_b / (1 − count·p_b) makes the gap between two
// drops uniform. In figure 2 a drop sets the count to 0 and the next packet raises it before it is
// used, so the first p_a is p_b / (1 − p_b) and gaps run from 1 to 1/p_b − 1.
#[test]
fn the_gaps_between_early_drops_are_uniform_as_the_paper_proves() {
    // p_b = 0.25 · (4 − 2) / (7 − 2) = 0.1.
    let gaps = gaps(4, 0.25);
    assert_eq!(gaps[1..].iter().max(), Some(&9));
    for length in 1..=9 {
        let share = gaps[1..].iter().filter(|gap| **gap == length).count() as f64 / 19_999.0;
        assert!((share - 1.0 / 9.0).abs() < 0.008, "gaps of {length} have the share {share}");
    }
}

#[test]
fn the_drop_probability_grows_with_the_average() {
    let rate = |waiting| 20_000.0 / gaps(waiting, 0.1).iter().sum::<u64>() as f64;
    // p_b = 0.1 · (average − 2) / (7 − 2); gaps from 1 to 1/p_b − 1 have the mean 1/(2·p_b).
    for (waiting, probability) in [(3, 0.02), (4, 0.04), (6, 0.08)] {
        let theory = 2.0 * probability;
        assert!((rate(waiting) / theory - 1.0).abs() < 0.03, "{waiting}: {} against {theory}", rate(waiting));
    }
}

#[test]
fn a_link_without_a_rate_forgets_at_once_when_idle() {
    let mut policy = red(0.5, 0.3);
    policy.on_arrival(&arrival(Instant::START, 6));
    policy.on_departure(&departure(Instant::START, 0));
    let later = Arrival { rate: None, ..arrival(Instant::from_nanos(1), 0) };
    policy.on_arrival(&later);
    assert_eq!(policy.average(), Some(0.0));
}

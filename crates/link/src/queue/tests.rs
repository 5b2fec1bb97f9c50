//! The disciplines' registry, and RED against its paper.

use super::*;
use crate::packet::Ecn;
use units::text::{Packets, PacketsOrBytes, Probability};
use units::{Bytes, Duration, Instant, Rate, Streams};

fn probability(number: f64) -> Probability {
    Probability::new(number).expect("a probability")
}

/// The policy of a discipline that serves in order.
fn policy(discipline: &Discipline) -> Box<dyn Policy> {
    match discipline.service(Streams::new(1).stream("queue")) {
        Service::Fifo(policy) => policy,
        Service::Plain(_) => tail_drop::policy(),
        Service::Classful(_) => panic!("{} is classful", discipline.id()),
    }
}

fn packets(count: u64) -> PacketsOrBytes {
    PacketsOrBytes::Packets(Packets(count))
}

/// Sarolahti 2000, Table 11, R1 for the buffer of 7 packets.
fn parameters(weight: f64, max_probability: f64) -> red::Parameters {
    red::Parameters {
        min: packets(2),
        max: packets(7),
        weight: probability(weight),
        max_probability: probability(max_probability),
        idle_packet: None,
        scaled_by: None,
        gentle: false,
        ecn: false,
    }
}

fn red(weight: f64, max_probability: f64) -> Box<dyn Policy> {
    policy(&Discipline::Red(parameters(weight, max_probability)))
}

/// A packet of 303 bytes that meets `waiting` others on a link of 9600 bit/s.
fn arrival(now: Instant, waiting: u32) -> Arrival {
    Arrival {
        now,
        size: Bytes(303),
        ecn: Ecn::NotCapable,
        queued: waiting,
        queued_bytes: Bytes(303) * u64::from(waiting),
        has_room: true,
        idle_since: None,
        rate: Some(Rate::from_bits_per_sec(9600)),
    }
}

fn departure(now: Instant, left: u32) -> Departure {
    Departure {
        now,
        size: Bytes(303),
        ecn: Ecn::NotCapable,
        waited: Duration::ZERO,
        left,
        left_bytes: Bytes(303) * u64::from(left),
    }
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
        let file: File = toml::from_str(&format!("discipline = {}", entry.example())).expect("readable");
        assert_eq!(file.discipline.id(), entry.id);
        assert_eq!(file.discipline.check(), Ok(()));
        let json = serde_json::to_value(&file.discipline).expect("it can be written");
        assert_eq!(serde_json::from_value::<Discipline>(json).expect("and read"), file.discipline);
    }
}

#[test]
fn tail_drop_itself_lets_everything_pass_and_keeps_no_average() {
    let mut policy = policy(&Discipline::default());
    assert_eq!(policy.on_arrival(&arrival(Instant::START, 1_000_000)), Decision::Pass);
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
        assert_eq!(policy.on_arrival(&arrival(Instant::START, 1)), Decision::Pass);
    }
    for _ in 0..1_000 {
        assert_eq!(policy.on_arrival(&arrival(Instant::START, 7)), Decision::Drop(red::FORCED));
    }
}

// Floyd and Jacobson 1993, figure 2: min_th ≤ avg < max_th, increment count.
#[test]
fn packets_at_exactly_the_lower_threshold_count_towards_the_next_early_drop() {
    let after = |waiting| {
        let mut policy = red(1.0, 0.1);
        assert!((0..100).all(|_| policy.on_arrival(&arrival(Instant::START, waiting)) == Decision::Pass));
        policy.on_arrival(&arrival(Instant::START, 6))
    };
    // The probability at 6 is 0.08, and certain from a count of 12 on.
    assert_eq!(after(2), Decision::Drop(red::EARLY));
    assert_eq!(after(1), Decision::Pass);
}

/// Lengths of the gaps from one early drop to the next, at a constant average of `waiting`.
fn gaps(waiting: u32, max_probability: f64) -> Vec<u64> {
    let mut policy = red(1.0, max_probability);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() < 20_000 {
        gap += 1;
        if policy.on_arrival(&arrival(Instant::START, waiting)) == Decision::Drop(red::EARLY) {
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

/// The share of packets that are dropped early, at a constant length, and the number of them.
fn early_share(parameters: red::Parameters, waiting: u32, size: Bytes) -> f64 {
    const PACKETS: u32 = 200_000;
    let mut policy = policy(&Discipline::Red(parameters));
    let arrival = Arrival { size, ..arrival(Instant::START, waiting) };
    let dropped = (0..PACKETS).filter(|_| policy.on_arrival(&arrival) == Decision::Drop(red::EARLY)).count();
    dropped as f64 / f64::from(PACKETS)
}

// At a constant p_b the gaps are uniform from 1 to 1/p_b − 1: one drop in 1/(2·p_b) packets.
#[test]
fn gentle_red_goes_on_from_the_maximum_probability_to_one_at_twice_the_threshold() {
    let gentle = red::Parameters { gentle: true, ..parameters(1.0, 0.1) };
    // p_b = 0.1 + 0.9 · (7 − 7) / 7 = 0.1 at max; a little above it where floats round.
    let share = early_share(gentle, 7, Bytes(303));
    assert!((share - 0.2).abs() < 0.006, "{share}");
    // p_b = 0.1 + 0.9 · (8 − 7) / 7: gaps of 1 or 2, then a certain drop.
    let p = 0.1 + 0.9 / 7.0;
    let expected = mean_gap(p).recip();
    let share = early_share(gentle, 8, Bytes(303));
    assert!((share - expected).abs() < 0.006, "{share} against {expected}");
    let mut policy = policy(&Discipline::Red(gentle));
    assert_eq!(policy.on_arrival(&arrival(Instant::START, 14)), Decision::Drop(red::FORCED));
}

/// The mean gap between drops by the paper's equation 3, p_a = p_b / (1 − count·p_b), count from 1.
fn mean_gap(p: f64) -> f64 {
    let (mut mean, mut survives) = (0.0, 1.0);
    for count in 1..10_000 {
        mean += survives;
        let rest = 1.0 - f64::from(count) * p;
        if rest <= p {
            break;
        }
        survives *= 1.0 - p / rest;
    }
    mean
}

#[test]
fn red_in_bytes_looks_at_bytes_and_scales_the_probability_with_the_packet() {
    let in_bytes = red::Parameters {
        min: PacketsOrBytes::Bytes(Bytes(606)),
        max: PacketsOrBytes::Bytes(Bytes(2_121)),
        ..parameters(1.0, 0.1)
    };
    let mut line = policy(&Discipline::Red(in_bytes));
    line.on_arrival(&arrival(Instant::START, 4));
    assert_eq!(line.average(), Some(1_212.0));
    // As the same lengths in packets would.
    assert!((early_share(in_bytes, 4, Bytes(303)) - 0.08).abs() < 0.004);
    let scaled = red::Parameters { scaled_by: Some(Bytes(303)), ..in_bytes };
    assert!((early_share(scaled, 4, Bytes(303)) - 0.08).abs() < 0.004);
    let small = early_share(scaled, 4, Bytes(101));
    assert!((small - 2.0 * 0.04 / 3.0).abs() < 0.003, "{small}");
}

#[test]
fn red_marks_what_is_capable_below_the_upper_threshold_and_drops_it_above() {
    let marking = red::Parameters { ecn: true, gentle: true, ..parameters(1.0, 1.0) };
    let decisions = |waiting, ecn| {
        let mut policy = policy(&Discipline::Red(marking));
        let arrival = Arrival { ecn, ..arrival(Instant::START, waiting) };
        (0..1_000)
            .map(|_| policy.on_arrival(&arrival))
            .filter(|decision| *decision != Decision::Pass)
            .collect()
    };
    let all = |decisions: Vec<Decision>, decision| {
        !decisions.is_empty() && decisions.iter().all(|one| *one == decision)
    };
    assert!(all(decisions(5, Ecn::Capable), Decision::Mark(red::EARLY)));
    assert!(all(decisions(5, Ecn::NotCapable), Decision::Drop(red::EARLY)));
    assert!(all(decisions(8, Ecn::Capable), Decision::Drop(red::EARLY)));
}

#[test]
fn thresholds_of_two_kinds_are_refused() {
    let mixed = red::Parameters { max: PacketsOrBytes::Bytes(Bytes(9_000)), ..parameters(1.0, 0.1) };
    assert_eq!(Discipline::Red(mixed).check().expect_err("mixed").path, "red.max");
}

#[test]
fn a_class_that_would_never_be_served_is_refused() {
    let check = |weights: &[u32]| {
        let parameters = weighted_round_robin::Parameters { weights: weights.to_vec() };
        Discipline::WeightedRoundRobin(parameters).check().map_err(|error| error.path)
    };
    assert_eq!(check(&[]), Err("weighted-round-robin.weights".into()));
    assert_eq!(check(&[3, 0]), Err("weighted-round-robin.weights[1]".into()));
    assert_eq!(check(&[3, 1]), Ok(()));
}

fn pdpc(discard: pdpc::Discard) -> Box<dyn Policy> {
    policy(&Discipline::Pdpc(pdpc::Parameters { min: packets(4), max: packets(10), prevention: 5, discard }))
}

#[test]
fn pdpc_discards_one_packet_and_spares_as_many_as_its_counter_says() {
    let mut policy = pdpc(pdpc::Discard::Arriving);
    let decisions: Vec<Decision> = (0..13).map(|_| policy.on_arrival(&arrival(Instant::START, 6))).collect();
    let dropped: Vec<usize> = (0..13).filter(|n| decisions[*n] == Decision::Drop(pdpc::EARLY)).collect();
    assert_eq!(dropped, [0, 6, 12]);
}

#[test]
fn pdpc_lets_everything_pass_up_to_its_lower_threshold_and_nothing_from_its_upper() {
    let mut policy = pdpc(pdpc::Discard::Oldest);
    assert!((0..100).all(|_| policy.on_arrival(&arrival(Instant::START, 4)) == Decision::Pass));
    let forced = Decision::DropOldest(pdpc::FORCED);
    assert!((0..100).all(|_| policy.on_arrival(&arrival(Instant::START, 10)) == forced));
    assert_eq!(policy.on_arrival(&arrival(Instant::START, 9)), Decision::Pass, "the counter was set");
}

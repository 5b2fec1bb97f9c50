//! The model over a path of one bottleneck.

use super::super::testing::{RTT, SMSS, delivery};
use super::*;

/// A bottleneck of 8 Mbit/s and 100 ms, BDP 100 segments, whose ACKs come one by one.
struct Bottleneck {
    now: Instant,
    delivered: Bytes,
    flight: Bytes,
}

const BDP: Bytes = Bytes(100_000);

impl Bottleneck {
    fn new() -> Self {
        Self { now: Instant::START + RTT, delivered: Bytes::ZERO, flight: SMSS * 10 }
    }

    /// 100 ms: the bottleneck delivers what it can, and the model sends as much as its rate and its window let it.
    fn round(&mut self, bbr: &mut Bbr, phase: LossPhase, lost: Bytes) {
        let arrives = self.flight.min(BDP);
        let rtt = RTT.max(RTT * self.flight.0 / BDP.0);
        let (prior, flight, segments) = (self.delivered, self.flight, arrives.whole(SMSS).max(1));
        for number in 1..=segments {
            self.delivered += SMSS;
            self.now += RTT / segments;
            let sample = delivery(self.now, prior, self.delivered, flight - SMSS);
            let rate =
                sample.rate.map(|rate| RateSample { delivered: SMSS * number, in_flight: flight, ..rate });
            let newly_lost = if number == 1 { lost } else { Bytes::ZERO };
            let of_path =
                DeliverySample { newly_lost, lost: newly_lost, rate, rtt: Some(rtt), phase, ..sample };
            bbr.on_delivery(&of_path, &[]);
        }
        let sent = Bytes((bbr.pacing_rate.bits_per_sec() as f64 / 8.0 * RTT.as_secs_f64()) as u64);
        self.flight = (flight - arrives + sent).min(bbr.cwnd()).max(SMSS);
    }
}

fn started() -> (Bbr, Bottleneck) {
    let mut bbr = Bbr::new(Parameters::default());
    bbr.start(SMSS, SMSS * 10);
    bbr.on_handshake(RTT);
    (bbr, Bottleneck::new())
}

fn rounds(bbr: &mut Bbr, path: &mut Bottleneck, count: u32) {
    (0..count).for_each(|_| path.round(bbr, LossPhase::Open, Bytes::ZERO));
}

#[test]
fn acks_at_the_bandwidth_are_no_bunch_and_a_bunch_counts_beyond_it() {
    let bandwidth = Rate::from_bits_per_sec(8_000_000);
    let mut aggregation = Aggregation::default();
    let at = |ms: u64| Instant::START + Duration::from_millis(1000 + ms);
    // A segment takes 1 ms.
    for ms in 0..20 {
        aggregation.on_ack(&delivery(at(ms), Bytes::ZERO, SMSS, SMSS), bandwidth, SMSS * 100, false);
    }
    assert_eq!(aggregation.extra(bandwidth), SMSS, "each epoch ends with the next ACK");
    for _ in 0..5 {
        aggregation.on_ack(&delivery(at(20), Bytes::ZERO, SMSS, SMSS), bandwidth, SMSS * 100, false);
    }
    assert_eq!(aggregation.extra(bandwidth), SMSS * 5);
}

#[test]
fn draining_ends_once_no_more_is_in_flight_than_the_path_holds() {
    let (mut bbr, mut path) = started();
    rounds(&mut bbr, &mut path, 20);
    bbr.mode = Mode::Drain;
    let holds = bbr.inflight(bbr.max_bw(), 1.0);
    bbr.check_drain(&delivery(path.now, Bytes::ZERO, path.delivered, holds + SMSS));
    assert_eq!(bbr.mode, Mode::Drain);
    bbr.check_drain(&delivery(path.now, Bytes::ZERO, path.delivered, holds));
    assert!(matches!(bbr.mode, Mode::ProbeBw { .. }), "{:?}", bbr.mode);
}

#[test]
fn the_round_of_probe_rtt_begins_once_the_flight_is_small() {
    let (mut bbr, mut path) = started();
    rounds(&mut bbr, &mut path, 20);
    assert!(!bbr.limits_itself());
    bbr.mode = Mode::ProbeRtt { until: None, round_done: false };
    assert!(bbr.limits_itself());
    let sent = path.delivered;
    bbr.on_delivery(&delivery(path.now, Bytes::ZERO, sent + SMSS, SMSS * 4), &[]);
    // It was sent before the flight was small: no round trip has passed since.
    bbr.on_delivery(&delivery(path.now, sent, sent + SMSS * 2, SMSS * 4), &[]);
    assert!(matches!(bbr.mode, Mode::ProbeRtt { until: Some(_), round_done: false }), "{:?}", bbr.mode);
    bbr.on_delivery(&delivery(path.now, sent + SMSS * 2, sent + SMSS * 3, SMSS * 4), &[]);
    assert!(matches!(bbr.mode, Mode::ProbeRtt { until: Some(_), round_done: true }), "{:?}", bbr.mode);
}

#[test]
fn startup_doubles_until_three_rounds_bring_no_more_bandwidth_and_then_the_queue_drains() {
    let (mut bbr, mut path) = started();
    let mut windows = vec![];
    while bbr.mode == Mode::Startup && windows.len() < 30 {
        rounds(&mut bbr, &mut path, 1);
        windows.push(bbr.cwnd().whole(SMSS));
    }
    assert!(windows.len() < 12, "{windows:?}");
    assert_eq!(bbr.max_bw(), Rate::from_bits_per_sec(8_000_000));
    rounds(&mut bbr, &mut path, 4);
    assert!(matches!(bbr.mode, Mode::ProbeBw { .. }), "{:?}", bbr.mode);
    // Two BDP, three quanta of two segments, an even number, and what came in bunches.
    let window = bbr.cwnd().whole(SMSS);
    assert!((200..=330).contains(&window), "{window}");
}

#[test]
fn the_cycle_probes_drains_and_cruises() {
    let (mut bbr, mut path) = started();
    rounds(&mut bbr, &mut path, 20);
    let mut gains = vec![];
    for _ in 0..24 {
        rounds(&mut bbr, &mut path, 1);
        gains.push(bbr.gains().0);
    }
    for gain in CYCLE {
        assert!(gains.contains(&gain), "{gain} in {gains:?}");
    }
}

#[test]
fn a_loss_conserves_packets_for_a_round_and_the_window_comes_back() {
    let (mut bbr, mut path) = started();
    rounds(&mut bbr, &mut path, 20);
    let before = bbr.cwnd();
    let flight = SMSS * 60;
    bbr.on_loss(&super::super::testing::loss(flight));
    path.round(&mut bbr, LossPhase::FastRecovery, SMSS * 5);
    assert!(bbr.cwnd() <= before);
    path.round(&mut bbr, LossPhase::Open, Bytes::ZERO);
    assert!(bbr.cwnd() >= SMSS * 200, "{}", bbr.cwnd());
}

#[test]
fn the_first_ack_after_recovery_brings_the_window_back() {
    let (mut bbr, mut path) = started();
    rounds(&mut bbr, &mut path, 20);
    let sample = |phase| DeliverySample {
        phase,
        ..delivery(path.now, path.delivered, path.delivered + SMSS, SMSS * 60)
    };
    bbr.on_loss(&super::super::testing::loss(SMSS * 60));
    bbr.on_delivery(&sample(LossPhase::FastRecovery), &[]);
    assert_eq!(bbr.cwnd(), SMSS * 61);
    bbr.on_delivery(&sample(LossPhase::Open), &[]);
    assert!(bbr.cwnd() >= SMSS * 200, "{}", bbr.cwnd());
}

#[test]
fn after_ten_seconds_without_a_shorter_round_trip_four_segments_are_left_for_a_while() {
    let (mut bbr, mut path) = started();
    rounds(&mut bbr, &mut path, 20);
    let mut least = bbr.cwnd();
    for _ in 0..110 {
        rounds(&mut bbr, &mut path, 1);
        least = least.min(bbr.cwnd());
    }
    assert_eq!(least, SMSS * 4);
    rounds(&mut bbr, &mut path, 30);
    assert!(bbr.cwnd() > SMSS * 100);
}

#[test]
fn flows_with_other_seeds_begin_elsewhere_in_the_cycle_and_none_where_it_drains() {
    let phases: std::collections::BTreeSet<usize> = (0..100)
        .map(|seed| {
            let (mut bbr, _) = started();
            bbr.seed(seed);
            bbr.start_probe_bw(Instant::START);
            match bbr.mode {
                Mode::ProbeBw { phase, .. } => phase,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), [0, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_timeout_leaves_one_segment() {
    let (mut bbr, mut path) = started();
    rounds(&mut bbr, &mut path, 20);
    bbr.on_timeout(&super::super::testing::timeout(SMSS * 60, false));
    assert_eq!(bbr.cwnd(), SMSS);
}

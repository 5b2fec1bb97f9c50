//! The draft's test cases (appendix A) that need no network, over a path of one bottleneck.

use super::super::testing::{RTT, SMSS, delivery, loss, timeout};
use super::super::{CongestionSignal, RateSample};
use super::*;

/// A bottleneck with a queue, whose ACKs come one by one.
struct Bottleneck {
    now: Instant,
    delivered: Bytes,
    lost: Bytes,
    flight: Bytes,
    /// What it carries in 100 ms, and what may wait.
    bdp: Bytes,
    buffer: Bytes,
    application_limited: bool,
}

const BDP: Bytes = Bytes(100_000);

impl Bottleneck {
    fn new(buffer: Bytes) -> Self {
        Self {
            now: Instant::START + RTT,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            flight: SMSS * 10,
            bdp: BDP,
            buffer,
            application_limited: false,
        }
    }

    /// 100 ms: what fits is delivered or waits, what does not is lost, and the model sends what rate and window let it.
    fn round(&mut self, bbr: &mut Bbr3) {
        let flight = self.flight;
        let dropped = flight.saturating_sub(self.bdp + self.buffer);
        let arrives = (flight - dropped).min(self.bdp);
        let rtt = RTT.max(RTT * (flight - dropped).0 / self.bdp.0);
        let phase = if dropped.is_zero() { LossPhase::Open } else { LossPhase::FastRecovery };
        if !dropped.is_zero() && bbr.prior_phase == LossPhase::Open {
            bbr.on_loss(&loss(flight));
        }
        let before = self.lost;
        for _ in 0..dropped.whole(SMSS) {
            self.lost += SMSS;
            bbr.on_segment_lost(&LostSegment {
                size: SMSS,
                in_flight: flight,
                lost: self.lost - before,
                prior_delivered: self.delivered,
                application_limited: false,
            });
        }
        let segments = arrives.whole(SMSS).max(1);
        let prior = self.delivered;
        for number in 1..=segments {
            self.delivered += SMSS;
            self.now += RTT / segments;
            let rate = RateSample {
                delivered: SMSS * number,
                interval: Some(RTT * number / segments),
                prior_delivered: prior,
                lost: self.lost - before,
                in_flight: flight,
                application_limited: self.application_limited,
                retransmitted: false,
            };
            bbr.on_delivery(
                &DeliverySample {
                    now: self.now,
                    newly_delivered: SMSS,
                    newly_lost: if number == 1 { self.lost - before } else { Bytes::ZERO },
                    marked: Bytes::ZERO,
                    delivered: self.delivered,
                    lost: self.lost,
                    rate: Some(rate),
                    rtt: Some(rtt),
                    maybe_delayed: false,
                    prior_in_flight: flight - dropped,
                    in_flight: flight - dropped,
                    application_limited: self.application_limited,
                    phase,
                },
                &[],
            );
        }
        let sent = carried(bbr.pacing_rate, RTT);
        self.flight = (flight - dropped - arrives + sent).min(bbr.cwnd()).max(SMSS);
    }

    fn rounds(&mut self, bbr: &mut Bbr3, count: u32) -> Vec<State> {
        (0..count)
            .map(|_| {
                self.round(bbr);
                bbr.state
            })
            .collect()
    }

    /// Continues until the model is in a phase.
    fn until(&mut self, bbr: &mut Bbr3, phase: Phase) {
        for _ in 0..200 {
            self.round(bbr);
            if bbr.state == State::ProbeBw(phase) {
                return;
            }
        }
        panic!("never in {phase:?}: {:?}", bbr.state);
    }
}

fn started() -> Bbr3 {
    let mut bbr = Bbr3::new(Parameters::default());
    bbr.seed(1);
    bbr.start(SMSS, SMSS * 10);
    bbr.on_handshake(RTT);
    bbr
}

/// Deep enough that nothing is lost.
fn deep() -> (Bbr3, Bottleneck) {
    (started(), Bottleneck::new(BDP * 10))
}

/// A fifth of a bandwidth-delay product.
fn shallow() -> (Bbr3, Bottleneck) {
    (started(), Bottleneck::new(BDP / 5))
}

#[test]
fn startup_ends_on_a_plateau_with_the_bandwidth_known() {
    let (mut bbr, mut path) = deep();
    let states = path.rounds(&mut bbr, 14);
    assert!(!matches!(states.last(), Some(State::Startup)), "{states:?}");
    assert_eq!(bbr.model.max_bw(), Rate::from_bits_per_sec(8_000_000));
    assert!(bbr.full_pipe.reached);
    assert_eq!(bbr.model.bounds.inflight_longterm, None, "nothing was lost");
}

#[test]
fn startup_goes_on_while_the_application_is_the_limit() {
    let (mut bbr, mut path) = deep();
    path.application_limited = true;
    let states = path.rounds(&mut bbr, 40);
    assert!(states.iter().all(|state| *state == State::Startup), "{states:?}");
}

#[test]
fn drain_lasts_three_round_trips_at_the_most() {
    let (mut bbr, mut path) = deep();
    while !matches!(bbr.state, State::Drain { .. }) {
        path.round(&mut bbr);
    }
    path.bdp = BDP / 2;
    path.flight = BDP * 4;
    let states = path.rounds(&mut bbr, 5);
    assert!(matches!(states[1], State::Drain { .. }), "{states:?}");
    assert!(matches!(states[4], State::ProbeBw(_)), "{states:?}");
}

#[test]
fn the_cycle_goes_down_cruises_refills_and_goes_up() {
    let (mut bbr, mut path) = deep();
    for phase in [Phase::Cruise, Phase::Refill, Phase::Up, Phase::Down, Phase::Cruise, Phase::Refill] {
        path.until(&mut bbr, phase);
    }
}

#[test]
fn a_probe_comes_every_two_to_three_seconds() {
    let (mut bbr, mut path) = deep();
    bbr.parameters.probe_rtt_interval = Duration::from_secs(1000);
    path.until(&mut bbr, Phase::Down);
    let began = path.now;
    path.until(&mut bbr, Phase::Refill);
    let waited = path.now.saturating_since(began);
    assert!(Duration::from_millis(1900) < waited && waited < Duration::from_millis(3100), "{waited:?}");
}

#[test]
fn a_probe_that_loses_more_than_two_percent_bounds_the_flight() {
    let (mut bbr, mut path) = shallow();
    path.until(&mut bbr, Phase::Up);
    path.until(&mut bbr, Phase::Cruise);
    let bound = bbr.model.bounds.inflight_longterm.expect("losses have set it");
    assert!(bound <= BDP + BDP / 2, "{bound}");
    path.round(&mut bbr);
    assert!(bbr.cwnd() <= bbr.inflight_with_headroom().expect("as above"), "cruising leaves 15 % of room");
}

#[test]
fn the_probe_after_a_lossy_one_ends_as_soon_as_it_reaches_the_bound() {
    let (mut bbr, mut path) = deep();
    path.until(&mut bbr, Phase::Refill);
    bbr.model.bounds.inflight_longterm = Some(BDP);
    bbr.on_lost(SMSS, BDP * 2, BDP, false, path.now);
    assert_eq!(bbr.model.bounds.inflight_longterm, Some(BDP), "these samples are of no probe");
    path.until(&mut bbr, Phase::Up);
    bbr.on_lost(SMSS, BDP, BDP / 10, false, path.now);
    assert_eq!(bbr.state, State::ProbeBw(Phase::Down));
    path.until(&mut bbr, Phase::Refill);
    // The next probe reaches the bound, stops, and since nothing is lost another follows without a cruise.
    let states = path.rounds(&mut bbr, 6);
    let down = states.iter().position(|state| *state == State::ProbeBw(Phase::Down)).expect("it stops");
    assert!(states[down..].contains(&State::ProbeBw(Phase::Refill)), "{states:?}");
    assert!(!states.contains(&State::ProbeBw(Phase::Cruise)), "{states:?}");
}

#[test]
fn inflight_at_loss_is_where_two_percent_were_lost() {
    // 98 segments before, of which none was lost: two more may be.
    let found = |lost: u64| {
        let (mut bbr, mut path) = deep();
        path.until(&mut bbr, Phase::Up);
        bbr.on_lost(SMSS * 10, SMSS * 108, SMSS * lost, false, path.now);
        bbr.model.bounds.inflight_longterm.map(|bound| bound.whole(SMSS))
    };
    assert_eq!(found(10), Some(100));
    assert_eq!(found(2), None, "less than 2 %");
}

#[test]
fn cruising_a_round_with_losses_takes_three_tenths_at_the_most() {
    let (mut bbr, mut path) = deep();
    path.until(&mut bbr, Phase::Cruise);
    let cwnd = bbr.cwnd();
    bbr.on_loss(&loss(path.flight));
    path.lost += SMSS * 5;
    bbr.on_segment_lost(&LostSegment {
        size: SMSS,
        in_flight: path.flight,
        lost: SMSS * 5,
        prior_delivered: path.delivered,
        application_limited: false,
    });
    path.rounds(&mut bbr, 2);
    let bounds = bbr.model.bounds;
    let bw = bounds.bw_shortterm.expect("a loss has set it").bits_per_sec();
    assert!((5_600_000..=8_000_000).contains(&bw), "{bw}");
    let inflight = bounds.inflight_shortterm.expect("a loss has set it");
    assert!(part(cwnd, 0.7) <= inflight && inflight < cwnd, "{inflight} of {cwnd}");
    path.until(&mut bbr, Phase::Refill);
    assert_eq!(bbr.model.bounds.bw_shortterm, None, "a new probe forgets it");
}

#[test]
fn after_five_seconds_without_a_shorter_round_trip_the_flight_is_halved() {
    let (mut bbr, mut path) = deep();
    path.rounds(&mut bbr, 20);
    let states = path.rounds(&mut bbr, 60);
    let probes = states.iter().filter(|state| matches!(state, State::ProbeRtt { .. })).count();
    assert!((2..=8).contains(&probes), "{states:?}");
    path.until(&mut bbr, Phase::Cruise);
    bbr.state = State::ProbeRtt { until: None, round_done: false };
    path.round(&mut bbr);
    assert_eq!(bbr.cwnd(), BDP / 2);
}

#[test]
fn no_probe_of_the_round_trip_follows_an_idle_time() {
    let (mut bbr, mut path) = deep();
    path.until(&mut bbr, Phase::Cruise);
    path.now += Duration::from_secs(10);
    bbr.on_sent(&SendEvent { now: path.now, ..super::super::testing::send_event(RTT, SMSS, true) });
    path.flight = SMSS;
    path.round(&mut bbr);
    assert!(matches!(bbr.state, State::ProbeBw(_)), "{:?}", bbr.state);
}

#[test]
fn a_spurious_loss_in_a_probe_gives_back_the_bounds_and_probes_again() {
    let (mut bbr, mut path) = deep();
    path.until(&mut bbr, Phase::Up);
    let (cwnd, ssthresh) = (bbr.cwnd(), bbr.ssthresh());
    bbr.on_loss(&loss(path.flight));
    bbr.on_lost(SMSS, BDP, BDP / 10, false, path.now);
    assert_eq!(bbr.state, State::ProbeBw(Phase::Down));
    assert!(bbr.model.bounds.inflight_longterm.is_some());
    bbr.on_restore(cwnd, ssthresh);
    assert_eq!(bbr.model.bounds.inflight_longterm, None);
    assert_eq!((bbr.state, bbr.cwnd()), (State::ProbeBw(Phase::Refill), cwnd));
}

#[test]
fn ten_times_the_bandwidth_is_found() {
    let (mut bbr, mut path) = deep();
    path.until(&mut bbr, Phase::Cruise);
    path.bdp = BDP * 10;
    path.rounds(&mut bbr, 150);
    assert!(bbr.model.max_bw() > Rate::from_bits_per_sec(76_000_000), "{:?}", bbr.model.max_bw());
}

#[test]
fn a_tenth_of_the_bandwidth_is_found_within_two_cycles() {
    let (mut bbr, mut path) = shallow();
    path.until(&mut bbr, Phase::Cruise);
    path.bdp = BDP / 10;
    path.buffer = BDP / 50;
    path.rounds(&mut bbr, 100);
    assert!(bbr.model.max_bw() < Rate::from_bits_per_sec(900_000), "{:?}", bbr.model.max_bw());
}

#[test]
fn four_segments_are_the_least_and_a_timeout_leaves_one_until_an_ack_comes() {
    let (mut bbr, mut path) = deep();
    path.bdp = SMSS;
    path.buffer = SMSS * 20;
    path.rounds(&mut bbr, 100);
    assert!(bbr.cwnd() >= SMSS * 4);
    bbr.on_timeout(&timeout(path.flight, false));
    assert_eq!(bbr.cwnd(), SMSS);
    path.round(&mut bbr);
    assert!(bbr.cwnd() >= SMSS * 4);
}

#[test]
fn marks_are_not_answered() {
    let (mut bbr, mut path) = deep();
    path.until(&mut bbr, Phase::Cruise);
    let cwnd = bbr.cwnd();
    bbr.on_mark(&CongestionEvent { signal: CongestionSignal::EcnEcho, ..loss(cwnd) });
    assert_eq!(bbr.cwnd(), cwnd);
}

fn fresh() -> Bbr3 {
    let mut bbr = Bbr3::new(Parameters::default());
    bbr.start(SMSS, SMSS * 10);
    bbr
}

/// An ACK of a segment that reports nothing else.
fn plain(now: Instant) -> DeliverySample {
    DeliverySample {
        now,
        newly_delivered: SMSS,
        newly_lost: Bytes::ZERO,
        marked: Bytes::ZERO,
        delivered: SMSS * 1_000,
        lost: Bytes::ZERO,
        rate: None,
        rtt: None,
        maybe_delayed: false,
        prior_in_flight: SMSS * 11,
        in_flight: SMSS * 10,
        application_limited: false,
        phase: LossPhase::Open,
    }
}

// §5.6.4.4: BBRSaveCwnd, BBRRestoreCwnd.
#[test]
fn the_window_before_a_recovery_comes_back_with_its_end() {
    let mut bbr = fresh();
    (bbr.cwnd, bbr.prior_cwnd) = (SMSS * 40, SMSS * 90);
    bbr.on_loss(&loss(SMSS * 40));
    assert_eq!(bbr.prior_cwnd, SMSS * 40, "not one of long ago");
    bbr.follow_phase(LossPhase::FastRecovery);
    bbr.cwnd = SMSS * 20;
    bbr.on_timeout(&timeout(SMSS * 20, false));
    assert_eq!((bbr.prior_cwnd, bbr.cwnd), (SMSS * 40, SMSS), "the largest of a recovery");
    bbr.follow_phase(LossPhase::Open);
    assert_eq!(bbr.cwnd, SMSS * 40);
    bbr.cwnd = SMSS * 30;
    bbr.follow_phase(LossPhase::Open);
    assert_eq!(bbr.cwnd, SMSS * 30, "nothing has ended");
}

#[test]
fn a_timeout_outside_of_recovery_saves_the_window_too() {
    let mut bbr = fresh();
    bbr.cwnd = SMSS * 40;
    bbr.on_timeout(&timeout(SMSS * 40, false));
    bbr.follow_phase(LossPhase::Open);
    assert_eq!(bbr.cwnd, SMSS * 40);
}

#[test]
fn the_handshake_gives_the_first_round_trip() {
    let mut bbr = fresh();
    bbr.on_handshake(RTT);
    assert_eq!(bbr.round_trip.min, Some(RTT));
}

#[test]
fn it_limits_itself_in_probe_rtt_alone() {
    let limits = |state| Bbr3 { state, ..fresh() }.limits_itself();
    assert!(limits(State::ProbeRtt { until: None, round_done: false }));
    assert!(!limits(State::Startup) && !limits(State::ProbeBw(Phase::Cruise)));
}

// §5.3.4.3: MinRTTFilterLen is 10 s.
#[test]
fn the_shortest_round_trip_is_forgotten_after_its_window_and_no_earlier() {
    let after = |nanos| {
        let mut bbr = fresh();
        let trip = &mut bbr.round_trip;
        (trip.min, trip.min_at) = (Some(RTT), Instant::START);
        let later = Instant::START + Duration::from_secs(9);
        (trip.probe_rtt_min, trip.probe_rtt_min_at) = (Some(RTT * 2), later);
        bbr.update_min_rtt(&plain(Instant::from_nanos(nanos)));
        bbr.round_trip.min
    };
    assert_eq!(after(10_000_000_000), Some(RTT));
    assert_eq!(after(10_000_000_001), Some(RTT * 2));
}

#[test]
fn the_time_of_probe_rtt_begins_once_the_flight_is_small() {
    let until = |in_flight| {
        let mut bbr = fresh();
        bbr.state = State::ProbeRtt { until: None, round_done: false };
        bbr.check_probe_rtt(&DeliverySample { in_flight, ..plain(Instant::START + RTT) });
        matches!(bbr.state, State::ProbeRtt { until: Some(_), .. })
    };
    let most = fresh().probe_rtt_cwnd();
    assert!(until(most) && !until(most + SMSS));
}

#[test]
fn losses_of_startup_are_counted_until_their_round_trip_ends() {
    let mut bbr = fresh();
    let lossy = DeliverySample { newly_lost: SMSS * 3, ..plain(Instant::START + RTT) };
    for sample in [lossy, plain(Instant::START + RTT), lossy] {
        bbr.check_startup_done(&sample);
    }
    assert_eq!(bbr.loss_events, 2);
    bbr.model.loss_round_start = true;
    bbr.check_startup_done(&lossy);
    assert_eq!(bbr.loss_events, 0);
    bbr.model.update_latest(&plain(Instant::START + RTT));
    assert!(!bbr.model.loss_round_start, "it began with the ACK before");
}

// §5.6.4.6: BBRSetCwnd.
#[test]
fn the_window_shrinks_to_the_model_once_the_pipe_was_full_and_not_before() {
    let window = |reached| {
        let mut bbr = fresh();
        bbr.full_pipe.reached = reached;
        bbr.on_handshake(RTT);
        bbr.cwnd = SMSS * 1_000;
        bbr.set_cwnd(&plain(Instant::START + RTT), 2.0);
        bbr.cwnd
    };
    assert_eq!(window(false), SMSS * 1_000);
    assert!(window(true) < SMSS * 100);
}

#[test]
fn the_bandwidth_is_probed_once_the_wait_is_over_or_reno_would_have_probed() {
    let (mut bbr, mut path) = deep();
    path.until(&mut bbr, Phase::Cruise);
    let began = path.now;
    (bbr.cycle.began, bbr.cycle.wait) = (began, Duration::from_secs(2));
    bbr.cycle.rounds_since_probe_up = 0;
    let end = began + Duration::from_secs(2);
    assert!(!bbr.is_time_to_probe(end));
    assert!(bbr.is_time_to_probe(end + Duration::from_nanos(1)));
    // Reno gains a segment in each round trip; more than 63 are not waited for (draft §5.3.3.5.3).
    bbr.cycle.rounds_since_probe_up = 63;
    assert!(bbr.is_time_to_probe(began));
}

#[test]
fn the_round_of_probe_rtt_begins_once_the_flight_is_small() {
    let (mut bbr, mut path) = deep();
    path.until(&mut bbr, Phase::Cruise);
    bbr.state = State::ProbeRtt { until: None, round_done: false };
    let (sent, small) = (path.delivered, bbr.probe_rtt_cwnd());
    bbr.on_delivery(&delivery(path.now, Bytes::ZERO, sent + SMSS, small), &[]);
    // It was sent before the flight was small: no round trip has passed since.
    bbr.on_delivery(&delivery(path.now, sent, sent + SMSS * 2, small), &[]);
    assert!(matches!(bbr.state, State::ProbeRtt { until: Some(_), round_done: false }), "{:?}", bbr.state);
    bbr.on_delivery(&delivery(path.now, sent + SMSS * 2, sent + SMSS * 3, small), &[]);
    assert!(matches!(bbr.state, State::ProbeRtt { until: Some(_), round_done: true }), "{:?}", bbr.state);
}

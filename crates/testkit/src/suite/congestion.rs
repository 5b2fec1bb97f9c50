//! Every congestion control.

use rand::RngExt;
use registry::Algorithm;
use serde_json::json;
use tcp::congestion::{AckSample, CongestionControl, CongestionEvent, CongestionSignal, ENTRIES, SendEvent};
use units::{Bytes, Duration, Instant, Seq, Streams};

use super::{Case, CheckResult, build, each, ensure};
use crate::fate::drop_numbers;
use crate::pair::{Pair, Side, User};
use crate::profile::config;
use crate::timeline::run_text;

pub(super) fn cases() -> Vec<Case> {
    each(
        "congestion",
        ENTRIES,
        &[
            ("the_window_never_falls_below_one_segment", the_floor_holds),
            ("duplicate_acks_do_not_grow_the_window", duplicates_grow_nothing),
            ("one_loss_event_is_one_reduction", one_reduction),
            ("a_timeout_leaves_one_segment", timeout_leaves_one),
            ("a_loss_never_opens_the_window", losses_open_nothing),
            ("no_congestion_event_leaves_more_than_was_in_use", events_raise_nothing),
            ("a_window_that_is_not_filled_does_not_grow_where_it_is_validated", unused_windows_hold),
            ("a_sender_limited_by_the_peers_window_reduces_what_is_in_flight", peers_window_is_reduced),
            ("a_mark_leaves_the_threshold_and_never_opens_the_window", marks_open_nothing),
            ("a_model_carries_every_byte", a_model_carries_every_byte),
            ("a_restored_window_is_the_one_named", restores),
            ("the_window_curve_is_the_recorded_one", the_curve_is_recorded),
        ],
    )
}

fn started(entry: &'static Algorithm<dyn CongestionControl>) -> Box<dyn CongestionControl> {
    let mut congestion = build(entry);
    congestion.start(SMSS, SMSS * 2);
    congestion
}

/// Whether an algorithm sends by a model of the path and governs recovery itself. A loss then does not require a
/// reduction, and the rules of RFC 5681 about reductions do not apply; `a_model_carries_every_byte` applies instead.
fn goes_by_a_model(entry: &'static Algorithm<dyn CongestionControl>) -> bool {
    build(entry).traits().governs_recovery
}

/// A model fills a link of which every 50th packet is lost and so on, and no byte is missing: its window neither
/// collapses for the losses nor stays at nothing after them.
fn a_model_carries_every_byte(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    if !goes_by_a_model(entry) {
        return Ok(());
    }
    let profile = config(&json!({ "congestion": entry.id })).expect("defaults do");
    let lost: Vec<u64> = (1..20).map(|number| number * 50).collect();
    let mut pair = Pair::new(&profile, &profile)
        .users(User::sends_pattern(1_000_000), User::listens())
        .fates(drop_numbers(Side::Client, &lost));
    pair.run(Duration::from_secs(600));
    let client = &pair.host(Side::Client).endpoint;
    let (acked, cwnd) = (client.acked(), client.cwnd());
    ensure(acked == Bytes(1_000_000) && cwnd >= SMSS * 4, || format!("{acked} acknowledged, cwnd {cwnd}"))
}

/// RFC 5681 §3.1: the loss window is one segment, ssthresh two at least.
fn the_floor_holds(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    let mut congestion = started(entry);
    let mut stream = Streams::new(1).stream("operations");
    let mut una = Seq::default();
    for step in 0..20_000_u64 {
        let now = Instant::START + Duration::from_millis(step * 10);
        let flight = Bytes(stream.random_range(0..=congestion.cwnd().0));
        let repeated = stream.random_range(0..4) == 0;
        match stream.random_range(0..40) {
            0 => congestion.on_loss(&event(now, CongestionSignal::Loss, flight)),
            1 => congestion.on_timeout(&event(now, CongestionSignal::Timeout { repeated }, flight)),
            2 => congestion.on_mark(&event(now, CongestionSignal::EcnEcho, flight)),
            3 => {
                let window = SMSS.max(congestion.ssthresh().min(flight));
                congestion.on_recovery_exit(window);
            }
            4..15 => congestion.on_sent(&send_event(now, flight, stream.random_range(0..2) == 0)),
            _ => {
                una += stream.random_range(1..=3000);
                let acked = Bytes(stream.random_range(1..=3000));
                let ack =
                    AckSample { number: una, nxt: una + flight.0 as u32, ..ack_sample(now, acked, flight) };
                congestion.observe(&ack);
                congestion.on_ack(&ack);
            }
        }
        let (cwnd, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
        ensure(cwnd >= SMSS && ssthresh >= SMSS * 2, || format!("step {step}: {cwnd}, ssthresh {ssthresh}"))?;
    }
    Ok(())
}

/// RFC 5681 §3.1: only the acknowledgment of new data opens the window.
fn duplicates_grow_nothing(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    let text = format!(
        "# RFC 5681 §3.1\nset congestion = \"{}\"\nset initial_window = \"4 segments\"\n\
         0 open rtt 0.1\nwrite 9000\n> . 1:4001(4x1000) ack 1\n+0.1 < . 1:1(0) ack 1 x2\n? cwnd 4\n",
        entry.id
    );
    run_text(entry.id, &text).map_err(|wrong| wrong.to_string())
}

/// RFC 5681 §4.3 and RFC 6675 §5: several losses in one window are one sign of congestion.
fn one_reduction(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    // The numbers below are of packets, which dummy segments are, too.
    if goes_by_a_model(entry) || build(entry).traits().sends_dummies {
        return Ok(());
    }
    let profile = config(&json!({ "congestion": entry.id })).expect("defaults do");
    let mut pair = Pair::new(&profile, &profile)
        .users(User::sends_pattern(300_000), User::listens())
        .fates(drop_numbers(Side::Client, &[40, 43, 45]));
    pair.host_mut(Side::Client).endpoint.set_recording(true);
    pair.run(Duration::from_secs(600));
    let records = pair.host_mut(Side::Client).endpoint.take_records();
    let mut thresholds: Vec<Bytes> = records.iter().map(|record| record.ssthresh).collect();
    thresholds.dedup();
    // Later the threshold may follow a window that grows, as Linux' Vegas has it.
    let falls = thresholds.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let client = &pair.host(Side::Client).endpoint;
    let once = (client.fast_retransmits(), client.timeouts(), falls) == (1, 0, 1);
    ensure(once, || format!("{} fast retransmits, ssthresh {thresholds:?}", client.fast_retransmits()))
}

/// RFC 5681 §3.1: one segment after a timeout; ssthresh is held when the same segment times out again.
fn timeout_leaves_one(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    if goes_by_a_model(entry) {
        return Ok(());
    }
    let mut congestion = started(entry);
    Path::new().rounds(congestion.as_mut(), 5);
    let flight = congestion.cwnd();
    congestion.on_timeout(&event(later(5), TIMEOUT, flight));
    let (cwnd, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
    ensure(cwnd == SMSS && ssthresh < flight, || format!("{cwnd}, ssthresh {ssthresh} after {flight}"))?;
    congestion.on_timeout(&event(later(7), CongestionSignal::Timeout { repeated: true }, SMSS));
    ensure(congestion.ssthresh() == ssthresh, || format!("ssthresh {} again", congestion.ssthresh()))
}

/// RFC 5681 §3.1: a loss leaves at least two segments, and never enlarges the window; nor does the end of its recovery,
/// which most algorithms set to the threshold (§3.2 step 6).
fn losses_open_nothing(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    let mut congestion = started(entry);
    Path::new().rounds(congestion.as_mut(), 5);
    for flight in [congestion.cwnd(), SMSS * 4, SMSS * 3, SMSS * 2] {
        congestion.on_restore(flight, congestion.ssthresh());
        congestion.on_loss(&event(later(5), CongestionSignal::Loss, flight));
        let found = congestion.cwnd();
        congestion.on_recovery_exit(congestion.ssthresh());
        let repaired = congestion.cwnd();
        ensure(found.max(repaired) <= flight, || {
            format!("{found}, then {repaired} after a loss at {flight}")
        })?;
    }
    Ok(())
}

/// RFC 5681 equation 4, with the smaller of cwnd and FlightSize: after any congestion event cwnd is no larger than
/// before, and ssthresh, unless unchanged, is at most the amount in use, or two segments. FlightSize may be far below
/// cwnd if the application or the peer's window limits the sender, and above it if most of it is SACKed. There are no
/// samples of the path, from which Westwood+ would set ssthresh.
fn events_raise_nothing(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    let mut congestion = started(entry);
    let mut stream = Streams::new(2).stream("events");
    for step in 0..5_000_u64 {
        let (cwnd, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
        let flight = Bytes(stream.random_range(0..=cwnd.0 * 3));
        let pipe = Bytes(stream.random_range(0..=flight.0));
        let repeated = stream.random_range(0..4) == 0;
        let signal = match stream.random_range(0..30) {
            0 => CongestionSignal::Loss,
            1 => CongestionSignal::Timeout { repeated },
            2 => CongestionSignal::EcnEcho,
            _ => {
                congestion.on_ack(&AckSample { rtt: None, ..ack_sample(later(step), SMSS, flight) });
                continue;
            }
        };
        let event = CongestionEvent { now: later(step), signal, cwnd, flight, pipe };
        match signal {
            CongestionSignal::Loss => congestion.on_loss(&event),
            CongestionSignal::Timeout { .. } => congestion.on_timeout(&event),
            CongestionSignal::EcnEcho | CongestionSignal::CountedMarks => congestion.on_mark(&event),
        }
        let (after, left) = (congestion.cwnd(), congestion.ssthresh());
        ensure(after <= cwnd, || format!("step {step}: {event:?} raised cwnd to {after}"))?;
        ensure(left == ssthresh || left <= event.in_use().max(SMSS * 2), || {
            format!("step {step}: {event:?} left ssthresh {left}")
        })?;
        congestion.on_recovery_exit(after.min(left).max(SMSS));
    }
    Ok(())
}

/// RFC 2861 §3.1, RFC 7661 §4.3: under `window-validation` no algorithm grows a window that the application or the
/// peer's window does not let the sender fill, in slow start or in congestion avoidance.
fn unused_windows_hold(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    let validated = json!({ "over": entry.id, "idle": false, "application_limited": false });
    let validation = ENTRIES.iter().find(|entry| entry.id == "window-validation").expect("it is listed");
    let mut congestion = validation.choice(validated).map_err(|wrong| wrong.to_string())?.build();
    congestion.start(SMSS, SMSS * 20);
    for (start, ssthresh) in [(0, Bytes::MAX), (200, SMSS * 10)] {
        congestion.on_restore(SMSS * 20, ssthresh);
        for round in 0..200 {
            let ack = ack_sample(later(start + round), SMSS, SMSS * 11);
            congestion.observe(&ack);
            congestion.on_ack(&ack);
        }
        ensure(congestion.cwnd() <= SMSS * 20, || format!("{} with 11 in flight", congestion.cwnd()))?;
    }
    Ok(())
}

/// The peer offers 11 segments, and cwnd has grown far beyond: a loss reduces the 11.
fn peers_window_is_reduced(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    if goes_by_a_model(entry) {
        return Ok(());
    }
    let sender = config(&json!({ "mss": "1000 bytes", "congestion": entry.id }));
    let receiver =
        config(&json!({ "window": { "fixed": { "size": "11000 bytes" } }, "window_scale": false }));
    let (sender, receiver) = (sender.expect("defaults do"), receiver.expect("defaults do"));
    let mut pair = Pair::new(&sender, &receiver)
        .users(User::sends_pattern(300_000), User::listens())
        .fates(drop_numbers(Side::Client, &[150]));
    pair.run(Duration::from_secs(600));
    let client = &pair.host(Side::Client).endpoint;
    let reduced = client.ssthresh() >= SMSS * 2 && client.ssthresh() <= SMSS * 11;
    ensure(reduced && client.timeouts() == 0, || {
        format!("ssthresh {}, {} timeouts", client.ssthresh(), client.timeouts())
    })
}

/// RFC 3168 §6.1.2: a mark counts as a loss, but nothing is retransmitted, and a window of one segment stays one. The
/// window becomes the threshold without inflation, because there is no recovery.
fn marks_open_nothing(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    if goes_by_a_model(entry) {
        return Ok(());
    }
    let mut congestion = started(entry);
    Path::new().rounds(congestion.as_mut(), 5);
    for flight in [congestion.cwnd(), SMSS * 3, SMSS * 2, SMSS] {
        congestion.on_restore(flight, congestion.ssthresh());
        congestion.on_mark(&event(later(5), CongestionSignal::EcnEcho, flight));
        let (cwnd, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
        ensure(cwnd == ssthresh.min(flight), || {
            format!("{cwnd}, ssthresh {ssthresh} after a mark at {flight}")
        })?;
    }
    Ok(())
}

/// RFC 4015 §3.2: after a spurious signal both windows are restored, whatever the algorithm did in the meantime.
fn restores(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    if goes_by_a_model(entry) {
        return Ok(());
    }
    let mut congestion = started(entry);
    let mut path = Path::new();
    // Three: five of them take Hybla to the largest window that it has.
    path.rounds(congestion.as_mut(), 3);
    let (cwnd, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
    for timeout in [false, true] {
        if timeout {
            congestion.on_timeout(&event(later(5), TIMEOUT, cwnd));
        } else {
            congestion.on_loss(&event(later(5), CongestionSignal::Loss, cwnd));
        }
        congestion.on_restore(cwnd, ssthresh);
        let came = (congestion.cwnd(), congestion.ssthresh());
        ensure(came == (cwnd, ssthresh), || format!("{came:?} and not {:?}", (cwnd, ssthresh)))?;
    }
    path.rounds(congestion.as_mut(), 2);
    ensure(congestion.cwnd() > cwnd, || format!("{} has not grown from {cwnd}", congestion.cwnd()))
}

/// The curve is that of `curves/<id>.txt`; `make record` renews it.
fn the_curve_is_recorded(entry: &'static Algorithm<dyn CongestionControl>) -> CheckResult {
    let (file, curve) = curve(entry);
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    ensure(recorded == curve, || {
        format!("{file} says\n{recorded}and the curve is\n{curve}`make record` renews it")
    })
}

/// The window curve of each congestion control, with the file in which it is recorded.
#[must_use]
pub fn curves() -> Vec<(String, String)> {
    ENTRIES.iter().map(curve).collect()
}

/// cwnd at the end of each round trip, in whole segments: from the start, after a loss, after a timeout.
fn curve(entry: &'static Algorithm<dyn CongestionControl>) -> (String, String) {
    let mut congestion = started(entry);
    let mut path = Path::new();
    let mut curve = format!("start: {}\n", path.rounds(congestion.as_mut(), 6));
    congestion.on_loss(&event(later(6), CongestionSignal::Loss, congestion.cwnd()));
    let window = congestion.cwnd();
    congestion.on_recovery_exit(window);
    curve += &format!("loss: {}\n", path.rounds(congestion.as_mut(), 12));
    congestion.on_timeout(&event(later(20), TIMEOUT, congestion.cwnd()));
    curve += &format!("timeout: {}\n", path.rounds(congestion.as_mut(), 12));
    (format!("{}/curves/{}.txt", env!("CARGO_MANIFEST_DIR"), entry.id), curve)
}

/// A path of 100 ms that carries whatever is sent.
struct Path {
    round: u64,
    una: Seq,
}

impl Path {
    fn new() -> Self {
        Self { round: 0, una: Seq::default() }
    }

    /// A number of round trips with a full window, each segment acknowledged; cwnd after each.
    fn rounds(&mut self, congestion: &mut dyn CongestionControl, count: u64) -> String {
        let mut curve = vec![];
        for _ in 0..count {
            self.round += 1;
            let segments = congestion.cwnd().whole(SMSS);
            let mut nxt = self.una + (SMSS * segments).0 as u32;
            for _ in 0..segments {
                self.una += SMSS.0 as u32;
                let full = ack_sample(later(self.round), SMSS, congestion.cwnd());
                let ack = AckSample { number: self.una, nxt, ..full };
                congestion.observe(&ack);
                congestion.on_ack(&ack);
                nxt = nxt.max(self.una + congestion.cwnd().0 as u32);
            }
            curve.push(congestion.cwnd().whole(SMSS).to_string());
        }
        curve.join(" ")
    }
}

fn ack_sample(now: Instant, acked: Bytes, flight: Bytes) -> AckSample {
    let (rtt, seq) = (Some(Duration::from_millis(100)), Seq::default());
    let segments = acked.whole(SMSS).max(1) as u32;
    AckSample { now, acked, segments, flight, rtt, number: seq, nxt: seq, ..AckSample::default() }
}

/// A sign of congestion while the window is full.
fn event(now: Instant, signal: CongestionSignal, flight: Bytes) -> CongestionEvent {
    CongestionEvent { now, signal, cwnd: flight, flight, pipe: flight }
}

fn send_event(now: Instant, flight: Bytes, application_limited: bool) -> SendEvent {
    let rto = Duration::from_millis(200);
    let retransmission = false;
    let (advertised, busy_until) = (SMSS * 40, Instant::START);
    SendEvent { now, len: SMSS, flight, retransmission, application_limited, advertised, rto, busy_until }
}

fn later(round: u64) -> Instant {
    Instant::START + Duration::from_millis(100) * round
}

const SMSS: Bytes = Bytes(1000);
const TIMEOUT: CongestionSignal = CongestionSignal::Timeout { repeated: false };

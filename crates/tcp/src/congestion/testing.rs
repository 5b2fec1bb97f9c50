//! Common parts of the algorithms' tests: instances by name, and rounds of ACKs with a clock.

use serde_json::Value;
use units::{Bytes, Duration, Instant, Seq};

use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionSignal, DeliverySample, ENTRIES, LossPhase,
    RateSample, SendEvent,
};

pub(super) const SMSS: Bytes = Bytes(1000);
pub(super) const RTT: Duration = Duration::from_millis(100);

/// A started instance, with a first window of two segments.
pub(super) fn built(id: &str, keys: Value) -> Box<dyn CongestionControl> {
    let entry = ENTRIES.iter().find(|entry| entry.id == id).expect("it is listed");
    let mut congestion = entry.choice(keys).expect("the test's parameters make sense").build();
    congestion.start(SMSS, SMSS * 2);
    congestion
}

/// An ACK of `acked` bytes, with `flight` bytes in flight before it.
pub(super) fn ack_sample(acked: Bytes, flight: Bytes) -> AckSample {
    let seq = Seq::default();
    let segments = acked.whole(SMSS) as u32;
    AckSample { acked, segments, flight, number: seq, nxt: seq, ..AckSample::default() }
}

/// An ACK of one segment that was sent when `prior_delivered` had been delivered, after a round trip of [`RTT`].
pub(super) fn delivery(
    now: Instant,
    prior_delivered: Bytes,
    delivered: Bytes,
    in_flight: Bytes,
) -> DeliverySample {
    let rate = RateSample {
        delivered: SMSS,
        interval: Some(RTT),
        prior_delivered,
        lost: Bytes::ZERO,
        in_flight,
        application_limited: false,
        retransmitted: false,
    };
    DeliverySample {
        now,
        newly_delivered: SMSS,
        newly_lost: Bytes::ZERO,
        marked: Bytes::ZERO,
        delivered,
        lost: Bytes::ZERO,
        rate: Some(rate),
        rtt: Some(RTT),
        maybe_delayed: false,
        prior_in_flight: in_flight + SMSS,
        in_flight,
        application_limited: false,
        phase: LossPhase::Open,
    }
}

/// `segments` segments are acknowledged one by one, the window full.
pub(super) fn ack(congestion: &mut dyn CongestionControl, segments: u64) {
    for _ in 0..segments {
        congestion.on_ack(&ack_sample(SMSS, congestion.cwnd()));
    }
}

/// A loss that SACKs or duplicate ACKs report, with a full window in flight.
pub(super) fn loss(flight: Bytes) -> CongestionEvent {
    event(CongestionSignal::Loss, flight)
}

/// A timeout with a full window in flight.
pub(super) fn timeout(flight: Bytes, repeated: bool) -> CongestionEvent {
    event(CongestionSignal::Timeout { repeated }, flight)
}

/// An echoed congestion mark with a full window in flight.
pub(super) fn mark(flight: Bytes) -> CongestionEvent {
    event(CongestionSignal::EcnEcho, flight)
}

/// Marks that are counted, with a full window in flight.
pub(super) fn counted_marks(flight: Bytes) -> CongestionEvent {
    event(CongestionSignal::CountedMarks, flight)
}

fn event(signal: CongestionSignal, flight: Bytes) -> CongestionEvent {
    CongestionEvent { now: Instant::START, signal, cwnd: flight, flight, pipe: flight }
}

/// A loss with `segments` segments in flight, which are the window, is found and repaired.
pub(super) fn reduced(congestion: &mut dyn CongestionControl, segments: u64) {
    congestion.on_restore(SMSS * segments, congestion.ssthresh());
    congestion.on_loss(&loss(SMSS * segments));
    congestion.on_recovery_exit(congestion.ssthresh());
}

/// The mean window in segments where one segment in 1/p is lost, each loss is repaired at once and every segment is
/// acknowledged alone, in round trips of 100 ms: the response function w(p) of a loss-based algorithm. The mean is that
/// of round trips, after the first half of the losses.
pub(super) fn mean_window_at(congestion: &mut dyn CongestionControl, p: f64) -> f64 {
    const LOSSES: u32 = 40;
    let mut path = Path::new();
    congestion.on_restore(SMSS * 20, SMSS * 2);
    let (mut sent, mut windows, mut rounds, mut losses) = (0.0, 0.0, 0.0, 0);
    while losses < LOSSES {
        let window = congestion.cwnd().whole(SMSS);
        path.round(congestion, Duration::from_millis(100), Duration::ZERO);
        sent += window as f64;
        if losses >= LOSSES / 2 {
            windows += window as f64;
            rounds += 1.0;
        }
        if sent >= 1.0 / p {
            sent -= 1.0 / p;
            losses += 1;
            congestion.on_loss(&CongestionEvent { now: path.now, ..loss(congestion.cwnd()) });
            congestion.on_recovery_exit(congestion.ssthresh());
        }
    }
    windows / rounds
}

/// A sender with a clock, whose window is always full and whose every segment is acknowledged alone.
pub(super) struct Path {
    /// Time at which the first ACK of this round trip arrived.
    now: Instant,
    /// Time at which the next ACK may come.
    free: Instant,
    una: Seq,
}

impl Path {
    pub(super) fn new() -> Self {
        Self { now: Instant::START, free: Instant::START, una: Seq::default() }
    }

    /// Time at which the first ACK of the last round trip arrived.
    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// One round trip that takes `rtt`: all of the window is acknowledged, one segment each `spacing`.
    pub(super) fn round(&mut self, congestion: &mut dyn CongestionControl, rtt: Duration, spacing: Duration) {
        let flight = congestion.cwnd().whole(SMSS);
        let mut nxt = self.una + (SMSS * flight).0 as u32;
        self.now = (self.now + rtt).max(self.free);
        self.free = self.now + spacing * flight;
        for step in 0..flight {
            self.una += SMSS.0 as u32;
            let ack = AckSample {
                now: self.now + spacing * step,
                rtt: Some(rtt + spacing * step),
                newest_rtt: Some(rtt + spacing * step),
                last_rtt: Some(rtt + spacing * step),
                number: self.una,
                nxt,
                ..ack_sample(SMSS, congestion.cwnd())
            };
            congestion.observe(&ack);
            congestion.on_ack(&ack);
            nxt = nxt.max(self.una + congestion.cwnd().0 as u32);
        }
    }
}

/// A segment that goes out.
pub(super) fn send_event(at: Duration, flight: Bytes, application_limited: bool) -> SendEvent {
    SendEvent {
        now: Instant::START + at,
        len: SMSS,
        flight,
        retransmission: false,
        application_limited,
        advertised: Bytes(65_535),
        rto: Duration::from_secs(1),
        busy_until: Instant::START,
    }
}

//! What the algorithms' tests share: instances by name, and rounds of ACKs with a clock.

use serde_json::Value;
use units::{Bytes, Duration, Instant, Seq};

use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal, ENTRIES, SendEvent};

pub(super) const SMSS: Bytes = Bytes(1000);

/// A started instance, with a first window of two segments.
pub(super) fn built(id: &str, keys: Value) -> Box<dyn CongestionControl> {
    let entry = ENTRIES.iter().find(|entry| entry.id == id).expect("it is listed");
    let mut congestion = (entry.parse)(keys).expect("the test's parameters make sense")();
    congestion.start(SMSS, SMSS * 2);
    congestion
}

/// An ACK of so many bytes, with so much in flight before it.
pub(super) fn ack_sample(acked: Bytes, flight: Bytes) -> AckSample {
    let seq = Seq::default();
    let segments = acked.whole(SMSS) as u32;
    AckSample { now: Instant::START, acked, segments, flight, rtt: None, number: seq, nxt: seq }
}

/// So many segments are acknowledged one by one, the window full.
pub(super) fn ack(congestion: &mut dyn CongestionControl, segments: u64) {
    for _ in 0..segments {
        congestion.on_ack(&ack_sample(SMSS, congestion.cwnd()));
    }
}

/// A loss that SACKs or duplicate ACKs tell of, with a full window in flight.
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

fn event(signal: CongestionSignal, flight: Bytes) -> CongestionEvent {
    CongestionEvent { now: Instant::START, signal, cwnd: flight, flight, pipe: flight }
}

/// A loss with so many segments in flight, which are the window, is found and repaired.
pub(super) fn reduced(congestion: &mut dyn CongestionControl, segments: u64) {
    congestion.on_restore(SMSS * segments, congestion.ssthresh());
    congestion.on_loss(&loss(SMSS * segments));
    congestion.on_recovery_exit(congestion.ssthresh());
}

/// A sender with a clock, whose window is always full and whose every segment is acknowledged alone.
pub(super) struct Path {
    /// When the first ACK of this round trip came.
    now: Instant,
    /// When the next ACK may come.
    free: Instant,
    una: Seq,
}

impl Path {
    pub(super) fn new() -> Self {
        Self { now: Instant::START, free: Instant::START, una: Seq::default() }
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
    }
}

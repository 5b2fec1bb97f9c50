//! What the algorithms' tests share: instances by name, and rounds of ACKs with a clock.

use serde_json::Value;
use units::{Bytes, Duration, Instant, Seq};

use super::{Congestion, CongestionEvent, CongestionSignal, Departure, ENTRIES, Growth};

pub(super) const SMSS: Bytes = Bytes(1000);

/// A started instance, with a first window of two segments.
pub(super) fn built(id: &str, keys: Value) -> Box<dyn Congestion> {
    let entry = ENTRIES.iter().find(|entry| entry.id == id).expect("it is listed");
    let mut congestion = (entry.parse)(keys).expect("the test's parameters make sense")();
    congestion.start(SMSS, SMSS * 2);
    congestion
}

/// An ACK of so many bytes, with so much in flight before it.
pub(super) fn growth(acked: Bytes, flight: Bytes) -> Growth {
    let seq = Seq::default();
    let segments = acked.whole(SMSS) as u32;
    Growth { now: Instant::START, acked, segments, flight, rtt: None, number: seq, nxt: seq }
}

/// So many segments are acknowledged one by one, the window full.
pub(super) fn ack(congestion: &mut dyn Congestion, segments: u64) {
    for _ in 0..segments {
        congestion.on_ack(&growth(SMSS, congestion.cwnd()));
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
pub(super) fn reduced(congestion: &mut dyn Congestion, segments: u64) {
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
    pub(super) fn round(&mut self, congestion: &mut dyn Congestion, rtt: Duration, spacing: Duration) {
        let flight = congestion.cwnd().whole(SMSS);
        let mut nxt = self.una + (SMSS * flight).0 as u32;
        self.now = (self.now + rtt).max(self.free);
        self.free = self.now + spacing * flight;
        for step in 0..flight {
            self.una += SMSS.0 as u32;
            let growth = Growth {
                now: self.now + spacing * step,
                rtt: Some(rtt + spacing * step),
                number: self.una,
                nxt,
                ..growth(SMSS, congestion.cwnd())
            };
            congestion.observe(&growth);
            congestion.on_ack(&growth);
            nxt = nxt.max(self.una + congestion.cwnd().0 as u32);
        }
    }
}

/// A segment that goes out.
pub(super) fn departure(at: Duration, flight: Bytes, drained: bool) -> Departure {
    Departure {
        now: Instant::START + at,
        len: SMSS,
        flight,
        again: false,
        drained,
        advertised: Bytes(65_535),
        rto: Duration::from_secs(1),
    }
}

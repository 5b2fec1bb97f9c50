//! A first threshold from the first round trips (Hoe 1996): segments sent in a row arrive at the distance
//! that the bottleneck gives them, and so do their ACKs. The line through the first three of one round
//! trip is the bandwidth; times the round trip, it is what slow start should end at.
//!
//! It sets the threshold once, if nothing else has set it by then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Seq};

use super::layer::{Over, Rule, layered};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The algorithm below.
    pub(super) over: Over,
}

#[derive(Debug)]
struct PacketPair {
    smss: Bytes,
    /// The shortest round trip so far: the one without our own queue.
    rtt: Option<Duration>,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    /// ACKs of one round trip are gathered: when each came, and how much was acknowledged by then.
    Gathers { end: Seq, acks: [(Instant, u64); ACKS], count: usize },
    /// Nothing was acknowledged yet.
    Waits,
    /// The threshold is set, or a loss has shown more.
    Done,
}

impl PacketPair {
    const fn new() -> Self {
        Self { smss: Bytes::ZERO, rtt: None, mode: Mode::Waits }
    }

    /// Takes up an ACK; the bandwidth in bytes a second, once there are enough.
    fn gather(&mut self, ack: &AckSample) -> Option<f64> {
        let first = |bytes: u64| [(ack.now, bytes); ACKS];
        match &mut self.mode {
            Mode::Done => None,
            Mode::Gathers { end, acks, count } if ack.number.at_or_before(*end) => {
                let before = acks[*count - 1].1;
                acks[*count] = (ack.now, before + ack.acked.0);
                *count += 1;
                (*count == ACKS).then(|| slope(acks))
            }
            Mode::Waits | Mode::Gathers { .. } => {
                self.mode = Mode::Gathers { end: ack.nxt, acks: first(ack.acked.0), count: 1 };
                None
            }
        }
    }

    fn set_threshold(&mut self, inner: &mut dyn CongestionControl, bandwidth: f64) {
        self.mode = Mode::Done;
        let Some(rtt) = self.rtt.filter(|_| bandwidth.is_finite() && bandwidth > 0.0) else { return };
        let product = Bytes((bandwidth * rtt.as_secs_f64()).round() as u64);
        let ssthresh = (self.smss * product.whole(self.smss)).max(self.smss * 2);
        if inner.ssthresh() == Bytes::MAX {
            inner.on_restore(inner.cwnd(), ssthresh);
        }
    }
}

/// The slope of the line of least squares, in bytes a second; infinite where all came at one time.
fn slope(acks: &[(Instant, u64); ACKS]) -> f64 {
    let start = acks[0].0;
    let points = acks.map(|(at, bytes)| ((at - start).as_secs_f64(), bytes as f64));
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / ACKS as f64;
    let (mean_time, mean_bytes) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|(time, bytes)| (time - mean_time) * (bytes - mean_bytes)).sum();
    let variance: f64 = points.iter().map(|(time, _)| (time - mean_time) * (time - mean_time)).sum();
    covariance / variance
}

impl Rule for PacketPair {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        self.smss = smss;
        inner.on_segment_size(smss);
    }

    fn observe(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        inner.observe(ack);
        if matches!(self.mode, Mode::Done) {
            return;
        }
        self.rtt = self.rtt.into_iter().chain(ack.rtt).min();
        if let Some(bandwidth) = self.gather(ack) {
            self.set_threshold(inner, bandwidth);
        }
    }

    fn on_loss(&mut self, inner: &mut dyn CongestionControl, event: &CongestionEvent) {
        self.mode = Mode::Done;
        inner.on_loss(event);
    }

    fn on_timeout(&mut self, inner: &mut dyn CongestionControl, event: &CongestionEvent) {
        self.mode = Mode::Done;
        inner.on_timeout(event);
    }
}

/// Hoe 1996 estimates from three closely spaced ACKs.
const ACKS: usize = 3;

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "packet-pair",
    "a first ssthresh from the spacing of the first ACKs; over another algorithm",
    "Hoe 1996",
    &Build(|parameters: &Parameters| layered(PacketPair::new(), &parameters.over)),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn after_rounds(count: u64, spacing: Duration) -> Box<dyn CongestionControl> {
        let mut pair = built(ENTRY.id, json!({}));
        let mut path = Path::new();
        for _ in 0..count {
            path.round(pair.as_mut(), RTT, spacing);
        }
        pair
    }

    #[test]
    fn three_acks_of_a_round_trip_give_the_product_of_bandwidth_and_delay() {
        // A segment every 10 ms over 100 ms: ten segments. Two ACKs of the first window are not enough.
        let spacing = Duration::from_millis(10);
        assert_eq!(after_rounds(1, spacing).ssthresh(), Bytes::MAX);
        let pair = after_rounds(2, spacing);
        assert_eq!((pair.cwnd(), pair.ssthresh()), (SMSS * 8, SMSS * 10));
        assert_eq!(after_rounds(5, spacing).ssthresh(), SMSS * 10);
    }

    #[test]
    fn a_path_without_a_bottleneck_gives_no_estimate() {
        assert_eq!(after_rounds(4, Duration::ZERO).ssthresh(), Bytes::MAX);
    }

    #[test]
    fn a_slow_path_leaves_two_segments() {
        assert_eq!(after_rounds(2, Duration::from_millis(400)).ssthresh(), SMSS * 2);
    }

    #[test]
    fn a_loss_before_the_estimate_has_the_last_word() {
        let mut pair = built(ENTRY.id, json!({}));
        pair.on_loss(&loss(SMSS * 8));
        let mut path = Path::new();
        for _ in 0..3 {
            path.round(pair.as_mut(), RTT, Duration::from_millis(1));
        }
        assert_eq!(pair.ssthresh(), SMSS * 4);
    }

    #[test]
    fn a_threshold_that_someone_has_named_stays() {
        let mut pair = built(ENTRY.id, json!({}));
        pair.on_restore(SMSS * 4, SMSS * 20);
        Path::new().round(pair.as_mut(), RTT, Duration::from_millis(10));
        assert_eq!(pair.ssthresh(), SMSS * 20);
    }

    #[test]
    fn the_line_of_least_squares_runs_between_the_points() {
        let at = |millis: u64, bytes: u64| (Instant::START + Duration::from_millis(millis), bytes);
        let even = slope(&[at(0, 0), at(100, 1000), at(200, 2000)]);
        assert!((even - 10_000.0).abs() < 0.001, "{even}");
        let uneven = slope(&[at(0, 0), at(50, 1000), at(200, 2000)]);
        assert!((9_000.0..10_000.0).contains(&uneven), "{uneven}");
    }
}

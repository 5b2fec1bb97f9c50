//! HyStart as in Linux (Ha and Rhee 2011; `tcp_cubic.c`): slow start ends before it loses, where the round trip has
//! grown or where the ACKs of a round trip have arrived for longer than an empty path takes, so that they must have
//! queued.
//!
//! It lies over any congestion control that slow-starts, and acts by one means: it sets ssthresh to cwnd.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::{Segments, SegmentsOrBytes};
use units::{Bytes, Duration, Instant, Seq};

use super::layer::{Over, Rule, layered};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Build};

/// Parameters; the defaults are Linux'.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Whether slow start ends where the shortest round trip of eight ACKs has grown by an eighth
    /// (`hystart_detect` & 2).
    pub delay: bool,
    /// Whether slow start ends where a train of ACKs has lasted for half of the shortest round trip (`hystart_detect` &
    /// 1).
    pub ack_train: bool,
    /// Window below which neither rule applies: 16 segments (`hystart_low_window`).
    pub low_window: SegmentsOrBytes,
    /// Maximum gap between the ACKs of a train: 2 ms (`hystart_ack_delta_us`).
    pub ack_delta: Duration,
    /// Whether the sender paces: its ACKs are then spread over half of a round trip by nature, and the train must take
    /// the whole of one.
    pub paced: bool,
    /// The algorithm below.
    pub(super) over: Over,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            delay: true,
            ack_train: true,
            low_window: SegmentsOrBytes::Segments(Segments(16)),
            ack_delta: Duration::from_millis(2),
            paced: false,
            over: Over::default(),
        }
    }
}

#[derive(Debug)]
struct HyStart {
    parameters: Parameters,
    smss: Bytes,
    /// The shortest round trip since the connection began or a timeout (`delay_min`).
    shortest: Option<Duration>,
    round: Option<Round>,
    /// It has found the end of slow start, and does nothing until a timeout.
    found: bool,
    /// Time at which the window was last reduced.
    reduced: Option<Instant>,
    srtt: Option<Duration>,
}

/// A round trip of slow start.
#[derive(Clone, Copy, Debug)]
struct Round {
    began: Instant,
    /// SND.NXT when it began: the round trip is over when more than that is acknowledged.
    end: Seq,
    /// Time at which the last ACK of the train arrived.
    last_ack: Instant,
    /// The shortest round trip of its first ACKs.
    shortest: Option<Duration>,
    samples: u32,
}

impl HyStart {
    const fn new(parameters: Parameters) -> Self {
        let (smss, shortest) = (Bytes::ZERO, None);
        Self { parameters, smss, shortest, round: None, found: false, reduced: None, srtt: None }
    }

    /// An ACK in slow start (`hystart_update`); whether slow start is to end. Round trips are separated below the low
    /// window too, but nothing else is done there.
    fn finds_end(&mut self, ack: &AckSample, rtt: Duration, cwnd: Bytes) -> bool {
        let shortest = self.shortest.unwrap_or(rtt);
        let low = cwnd < self.parameters.low_window.bytes(self.smss);
        let mut round = self.round.filter(|round| !ack.number.after(round.end)).unwrap_or(Round {
            began: ack.now,
            end: ack.nxt,
            last_ack: ack.now,
            shortest: None,
            samples: 0,
        });
        if low {
            self.round = Some(round);
            return false;
        }
        let by_train = self.parameters.ack_train && self.train_is_long(&mut round, ack.now, shortest, cwnd);
        let by_delay = self.parameters.delay && delay_has_grown(&mut round, rtt, shortest);
        self.round = Some(round);
        by_train || by_delay
    }

    /// Whether ACKs that follow one another closely have come for half of the shortest round trip.
    fn train_is_long(&self, round: &mut Round, now: Instant, shortest: Duration, cwnd: Bytes) -> bool {
        if now.saturating_since(round.last_ack) > self.parameters.ack_delta {
            return false;
        }
        round.last_ack = now;
        let whole = shortest + self.offload_delay(cwnd);
        let enough = if self.parameters.paced { whole } else { whole / 2 };
        now.saturating_since(round.began) > enough
    }

    /// Duration of four maximum-size packets with segmentation offload at the pacing rate of slow start, a millisecond
    /// at most: the delay that the host itself may add to ACKs (`hystart_ack_delay`).
    fn offload_delay(&self, cwnd: Bytes) -> Duration {
        let Some(srtt) = self.srtt else { return Duration::ZERO };
        let bytes_per_sec = 2.0 * cwnd.0 as f64 / srtt.as_secs_f64().max(1e-9);
        Duration::from_secs_f64(4.0 * LARGEST_OFFLOAD / bytes_per_sec.max(1.0)).min(LONGEST_OFFLOAD_DELAY)
    }
}

/// Whether the shortest round trip of the first ACKs of this round is an eighth longer than the shortest of all.
fn delay_has_grown(round: &mut Round, rtt: Duration, shortest: Duration) -> bool {
    let present = round.shortest.map_or(rtt, |present| present.min(rtt));
    round.shortest = Some(present);
    if round.samples < MIN_SAMPLES {
        round.samples += 1;
        return false;
    }
    present > shortest + (shortest / 8).clamp(LEAST_GROWTH, MOST_GROWTH)
}

impl Rule for HyStart {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        self.smss = smss;
        inner.on_segment_size(smss);
    }

    /// Before the window grows by the same ACK, as `pkts_acked` comes before `cong_avoid`.
    fn observe(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        inner.observe(ack);
        if let Some(rtt) = ack.rtt {
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        }
        let Some(rtt) = ack.newest_rtt else { return };
        // Samples of the first second after a reduction are of the queue that it leaves.
        if self.reduced.is_some_and(|at| ack.now.saturating_since(at) < SETTLING) {
            return;
        }
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        let cwnd = inner.cwnd();
        let counts = !self.found && inner.in_slow_start();
        if counts && self.finds_end(ack, rtt, cwnd) {
            self.found = true;
            inner.on_restore(cwnd, cwnd.max(self.smss * 2));
        }
    }

    fn on_loss(&mut self, inner: &mut dyn CongestionControl, event: &CongestionEvent) {
        self.reduced = Some(event.now);
        inner.on_loss(event);
    }

    /// All begins anew (`bictcp_reset` on TCP_CA_Loss).
    fn on_timeout(&mut self, inner: &mut dyn CongestionControl, event: &CongestionEvent) {
        (self.found, self.shortest, self.round, self.reduced) = (false, None, None, None);
        inner.on_timeout(event);
    }
}

/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);
/// `cubictcp_acked`: a second after an epoch's begin.
const SETTLING: Duration = Duration::from_secs(1);
/// `GSO_MAX_SIZE`, in bytes.
const LARGEST_OFFLOAD: f64 = 65_536.0;
/// `hystart_ack_delay`.
const LONGEST_OFFLOAD_DELAY: Duration = Duration::from_millis(1);

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "hystart",
    "slow start ends where delay grows or a train of ACKs is long, as in Linux; over another algorithm",
    "Ha and Rhee 2011; Linux tcp_cubic.c",
    &Build(|parameters: &Parameters| layered(HyStart::new(parameters.clone()), &parameters.over)),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, timeout};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Slow start until it ends, with round trips of 100 ms and `queueing` per segment above 40; the window then.
    fn slow_start_ends_at(keys: serde_json::Value, queueing: Duration, spacing: Duration) -> Option<u64> {
        let mut congestion = built("hystart", keys);
        let mut path = Path::new();
        for _ in 0..8 {
            let queued = congestion.cwnd().whole(SMSS).saturating_sub(40);
            path.round(congestion.as_mut(), RTT + queueing * queued, spacing);
            if !congestion.in_slow_start() {
                return Some(congestion.cwnd().whole(SMSS));
            }
        }
        None
    }

    #[test]
    fn a_round_trip_that_grows_by_an_eighth_ends_slow_start() {
        let keys = json!({ "ack_train": false });
        let window = slow_start_ends_at(keys.clone(), Duration::from_millis(1), Duration::ZERO);
        // 100 ms grow to 112.5 with 12 segments in the queue: the window of 64 is the first that has as many.
        assert!(window.is_some_and(|window| (64..=80).contains(&window)), "{window:?}");
        assert_eq!(slow_start_ends_at(keys, Duration::ZERO, Duration::ZERO), None);
    }

    #[test]
    fn a_train_of_acks_of_half_a_round_trip_ends_slow_start() {
        let keys = json!({ "delay": false });
        // 50 ms and one for offload: 52 ACKs a millisecond apart.
        let window = slow_start_ends_at(keys.clone(), Duration::ZERO, Duration::from_millis(1));
        assert!(window.is_some_and(|window| (64..=128).contains(&window)), "{window:?}");
        assert_eq!(slow_start_ends_at(keys, Duration::ZERO, Duration::from_millis(3)), None, "too far apart");
    }

    #[test]
    fn below_sixteen_segments_and_after_it_has_found_the_end_it_does_nothing() {
        let mut congestion = built("hystart", json!({}));
        let mut path = Path::new();
        path.round(congestion.as_mut(), RTT, Duration::ZERO);
        path.round(congestion.as_mut(), RTT * 9, Duration::ZERO);
        path.round(congestion.as_mut(), RTT * 9, Duration::ZERO);
        assert!(congestion.in_slow_start());
        path.round(congestion.as_mut(), RTT * 9, Duration::ZERO);
        path.round(congestion.as_mut(), RTT * 9, Duration::ZERO);
        assert!(!congestion.in_slow_start());
        congestion.on_timeout(&timeout(SMSS * 30, false));
        assert!(congestion.in_slow_start(), "up to the threshold that the timeout has left");
    }
}

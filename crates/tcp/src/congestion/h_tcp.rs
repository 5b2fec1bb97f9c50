//! H-TCP (Leith and Shorten 2004, draft-leith-tcp-htcp-06): the more time has passed since the last loss, the faster
//! the window grows; a loss leaves the part of it that just empties the queue.
//!
//! The increase is a function of time, so that flows whose round trips differ, and flows of long and of short standing,
//! have the same increase after a loss that they share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Whether the increase is scaled by the shortest round trip over 100 ms, between 1/10 and 2, so that flows of
    /// different round trips are as fast as one another (draft §3; Linux `use_rtt_scaling`).
    pub rtt_scaling: bool,
    /// Whether a loss leaves half where the throughput before it differs by more than a fifth from that before the loss
    /// before (draft §4; Linux `use_bandwidth_switch`).
    pub bandwidth_switch: bool,
    /// Counting in congestion avoidance.
    #[serde(default = "Increase::of_linux")]
    pub increase: Increase,
    /// Base of the reduction after a loss.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            rtt_scaling: true,
            bandwidth_switch: true,
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Clone, Debug)]
struct HTcp {
    parameters: Parameters,
    /// Time at which the last loss was found, or the connection's first ACK arrived.
    last_congestion: Option<Instant>,
    /// Fraction that remained after the last loss.
    beta: f64,
    least_rtt: Option<Duration>,
    /// The longest smoothed round trip of late: what a full queue makes of it.
    longest_rtt: Duration,
    srtt: Option<Duration>,
    throughput: Throughput,
    /// The highest throughput before the last loss, in bytes a second.
    prior_throughput: f64,
    /// Whether the last loss found the throughput as it was (draft §4): only then does the next adapt.
    is_steady: bool,
    /// State before the last loss, in case it was spurious.
    prior: Option<(Instant, Duration, f64)>,
}

/// The throughput since the last loss, by a sample for each shortest round trip.
#[derive(Clone, Debug, Default)]
struct Throughput {
    began: Option<Instant>,
    acked: Bytes,
    smoothed: f64,
    highest: f64,
}

impl Throughput {
    /// An ACK; samples of the first three round trips after a loss start anew (Linux `measure_achieved_throughput`).
    fn on_ack(&mut self, ack: &AckSample, least_rtt: Duration, is_early: bool) {
        let began = *self.began.get_or_insert(ack.now);
        let length = ack.now.saturating_since(began);
        self.acked += ack.acked;
        if length < least_rtt || length.is_zero() {
            return;
        }
        let sample = self.acked.0 as f64 / length.as_secs_f64();
        self.smoothed = if is_early { sample } else { (3.0 * self.smoothed + sample) / 4.0 };
        self.highest = if is_early { sample } else { self.highest.max(self.smoothed) };
        (self.began, self.acked) = (Some(ack.now), Bytes::ZERO);
    }
}

impl HTcp {
    fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            last_congestion: None,
            beta: BETA_MIN,
            least_rtt: None,
            longest_rtt: Duration::ZERO,
            srtt: None,
            throughput: Throughput::default(),
            prior_throughput: 0.0,
            is_steady: false,
            prior: None,
        }
    }

    fn since_congestion(&self, now: Instant) -> Duration {
        self.last_congestion.map_or(Duration::ZERO, |last| now.saturating_since(last))
    }

    /// Whether three round trips have not yet passed since the last loss: what is measured then is of the reduced
    /// window.
    fn is_early(&self, now: Instant) -> bool {
        self.least_rtt.is_none_or(|rtt| self.since_congestion(now) <= rtt * 3)
    }

    fn measure(&mut self, now: Instant, rtt: Duration) {
        let least = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        // RFC 6298 §2.3.
        let srtt = self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8);
        (self.least_rtt, self.srtt) = (Some(least), Some(srtt));
        self.longest_rtt = self.longest_rtt.max(least);
        // Linux (`measure_rtt`): an outlier of more than 20 ms is no queue.
        if !self.is_early(now) && srtt > self.longest_rtt && srtt <= self.longest_rtt + OUTLIER {
            self.longest_rtt = srtt;
        }
    }

    /// The adaptive backoff (draft §4, Linux `htcp_beta_update`).
    fn adapt_beta(&mut self) {
        let (before, now) = (self.prior_throughput, self.throughput.highest);
        self.prior_throughput = now;
        let differs = (now - before).abs() > before * CHANGE;
        let ratio = self.least_rtt.filter(|rtt| *rtt > LEAST_RTT && !self.longest_rtt.is_zero());
        if self.parameters.bandwidth_switch && differs {
            (self.beta, self.is_steady) = (BETA_MIN, false);
        } else if let (Some(least), true) = (ratio, self.is_steady) {
            self.beta = (least.as_secs_f64() / self.longest_rtt.as_secs_f64()).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.is_steady) = (BETA_MIN, true);
        }
        // Linux (`htcp_param_update`): the memory of a long round trip fades by a twentieth each time.
        let least = self.least_rtt.unwrap_or_default();
        self.longest_rtt = least + self.longest_rtt.saturating_sub(least) * 19 / 20;
    }
}

/// Draft §3: segments that a round trip adds, by the time since the last loss, before it is scaled.
fn increase_after(elapsed: f64) -> f64 {
    let over = (elapsed - DELTA_L).max(0.0);
    1.0 + 10.0 * over + 0.25 * over * over
}

impl Policy for HTcp {
    fn alpha(&mut self, _window: &Window, ack: &AckSample) -> Alpha {
        let scale = match self.least_rtt {
            Some(rtt) if self.parameters.rtt_scaling => (rtt.as_secs_f64() / REFERENCE_RTT).clamp(0.1, 2.0),
            _ => 1.0,
        };
        let elapsed = self.since_congestion(ack.now).as_secs_f64();
        let increase = (increase_after(elapsed) * scale).max(1.0);
        Alpha::new(2.0 * (1.0 - self.beta) * increase)
    }

    fn observe(&mut self, ack: &AckSample) {
        self.last_congestion.get_or_insert(ack.now);
        if let Some(rtt) = ack.rtt {
            self.measure(ack.now, rtt);
        }
        let is_early = self.is_early(ack.now);
        self.throughput.on_ack(ack, self.least_rtt.unwrap_or_default(), is_early);
    }

    fn ssthresh_on_loss(&mut self, _window: &Window, event: &CongestionEvent) -> Bytes {
        let last = self.last_congestion.unwrap_or(event.now);
        self.prior = Some((last, self.longest_rtt, self.prior_throughput));
        self.adapt_beta();
        self.last_congestion = Some(event.now);
        self.parameters.reduction_of.kept(self.beta, event)
    }

    fn rules(&self) -> Rules {
        Rules { ssthresh_unit: self.parameters.ssthresh_unit, is_cwnd_limited_only: true, ..Rules::default() }
    }

    fn on_restore(&mut self) {
        // Linux (`htcp_cwnd_undo`).
        if let Some((last, longest, throughput)) = self.prior.take() {
            self.last_congestion = Some(last);
            (self.longest_rtt, self.prior_throughput) = (longest, throughput);
        }
    }
}

/// Draft §3, Δ_L: time after a loss in which it is a standard TCP, in seconds.
const DELTA_L: f64 = 1.0;
/// Draft §4: the least and the most that a loss leaves.
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// Draft §4: a throughput that differs by a larger part is another one.
const CHANGE: f64 = 0.2;
/// The round trip at which the increase is not scaled, in seconds (Linux `htcp_alpha_update`).
const REFERENCE_RTT: f64 = 0.1;
/// Linux (`measure_rtt`).
const OUTLIER: Duration = Duration::from_millis(20);
/// Linux (`htcp_beta_update`): below it a ratio of round trips is too coarse to go by.
const LEAST_RTT: Duration = Duration::from_millis(10);

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "h-tcp",
    "H-TCP: the window grows faster with the time since the last loss",
    "Leith and Shorten 2004, draft-leith-tcp-htcp-06; Linux net/ipv4/tcp_htcp.c",
    &Build(|parameters: &Parameters| {
        Box::new(Classic::new(HTcp::new(parameters.clone()), parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, ack_sample, built, loss, mean_window_at};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn the_increase_is_the_drafts_function_of_time() {
        // 1 + 10 (Δ − 1) + ((Δ − 1) / 2)².
        for (elapsed, more) in [(0.0, 1.0), (1.0, 1.0), (2.0, 11.25), (3.0, 22.0), (11.0, 126.0)] {
            assert_eq!(increase_after(elapsed), more, "after {elapsed} s");
        }
    }

    #[test]
    fn the_window_grows_by_the_integral_of_the_increase() {
        let mut h_tcp = built(ENTRY.id, json!({}));
        h_tcp.on_restore(SMSS * 200, SMSS * 2);
        let mut path = Path::new();
        (0..50).for_each(|_| path.round(h_tcp.as_mut(), RTT, Duration::ZERO));
        // 50 round trips of 100 ms: the sum of 1 + 10 (Δ − 1) + (Δ − 1)²/4 at 0, 0.1, ... 4.9 s, as β is a half.
        let grown = (h_tcp.cwnd() - SMSS * 200).0 as f64 / 1000.0;
        let law: f64 = (0..50).map(|round| increase_after(f64::from(round) / 10.0)).sum();
        assert!((grown / law - 1.0).abs() < 0.05, "{grown} and {law}");
    }

    #[test]
    fn a_short_round_trip_adds_less_so_that_the_rate_grows_alike() {
        let alpha = |rtt: u64| {
            let mut h_tcp = HTcp::new(Parameters::default());
            let rtt = Duration::from_millis(rtt);
            let ack = AckSample { rtt: Some(rtt), ..ack_sample(SMSS, SMSS) };
            h_tcp.observe(&ack);
            h_tcp.alpha(&Window::UNSET, &AckSample { now: ack.now + Duration::from_secs(3), ..ack })
        };
        assert_eq!(alpha(100), Alpha::new(22.0));
        assert_eq!(alpha(50), Alpha::new(11.0));
        assert_eq!(alpha(1000), Alpha::new(44.0));
    }

    #[test]
    fn the_first_loss_halves_and_a_later_one_at_the_same_rate_leaves_the_ratio_of_round_trips() {
        let mut h_tcp = HTcp::new(Parameters::default());
        let window = Window::UNSET;
        let feed = |h_tcp: &mut HTcp, from: u64| {
            for step in 0..40 {
                // 15 ms of queue over 100 ms, ten segments a second each round trip.
                let now = Instant::START + Duration::from_millis(from + step * 100);
                let rtt = if step < 5 { RTT } else { Duration::from_millis(115) };
                h_tcp.observe(&AckSample { now, rtt: Some(rtt), ..ack_sample(SMSS, SMSS) });
            }
        };
        let mut kept = vec![];
        for turn in 0..3 {
            feed(&mut h_tcp, turn * 4000);
            let now = Instant::START + Duration::from_millis((turn + 1) * 4000);
            let event = CongestionEvent { now, ..loss(SMSS * 100) };
            kept.push(h_tcp.ssthresh_on_loss(&window, &event).whole(SMSS));
        }
        // The first throughput is new, the second as the first, and from the third on the queue is known.
        assert_eq!(kept[..2], [50, 50]);
        assert!(kept[2] == 80, "{kept:?}");
    }

    // Linux, measure_rtt().
    #[test]
    fn the_longest_round_trip_follows_a_queue_that_grows_but_neither_outliers_nor_the_time_after_a_loss() {
        let longest = |since_loss: Duration, rtts: [u64; 3]| {
            let now = Instant::START + Duration::from_secs(60);
            let mut h_tcp =
                HTcp { last_congestion: Some(now - since_loss), ..HTcp::new(Parameters::default()) };
            for rtt in rtts {
                (0..60).for_each(|_| h_tcp.measure(now, Duration::from_millis(rtt)));
            }
            h_tcp.longest_rtt.as_nanos() / 1_000_000
        };
        assert_eq!(longest(Duration::from_secs(9), [100, 117, 134]), 133);
        assert_eq!(
            longest(Duration::from_millis(300), [100, 117, 134]),
            100,
            "three round trips after a loss"
        );
        assert_eq!(longest(Duration::from_millis(301), [100, 117, 134]), 133);
        let late = |rtt| {
            let mut h_tcp =
                HTcp { srtt: Some(Duration::from_millis(rtt)), ..HTcp::new(Parameters::default()) };
            h_tcp.last_congestion = Some(Instant::START);
            (h_tcp.least_rtt, h_tcp.longest_rtt) = (Some(RTT), RTT);
            h_tcp.measure(Instant::START + Duration::from_secs(9), Duration::from_millis(rtt));
            h_tcp.longest_rtt
        };
        assert_eq!([late(120), late(121)], [Duration::from_millis(120), RTT]);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut h_tcp = built(ENTRY.id, json!({}));
        h_tcp.on_restore(SMSS * 200, SMSS * 2);
        (0..1_000).for_each(|_| h_tcp.on_ack(&ack_sample(SMSS, SMSS * 20)));
        assert_eq!(h_tcp.cwnd(), SMSS * 200);
    }

    /// The law that follows from the increase: from W/2 to W in T seconds, with a window each 100 ms, 1/p segments. At
    /// a constant round trip the ratio of least to longest is 1, and a loss leaves 0.8.
    #[test]
    fn the_window_is_that_of_the_increase_function() {
        for p in [1e-3, 1e-4, 1e-5, 1e-6] {
            let mut h_tcp = built(ENTRY.id, json!({}));
            let (least, mean) = law_at(p);
            let ratio = mean_window_at(h_tcp.as_mut(), p) / mean;
            assert!((0.9..1.1).contains(&ratio), "{ratio} of the law at {p}, from {least}");
        }
    }

    /// The window after a loss, and the mean, where `rounds` round trips bring it back: by bisection of their number.
    fn law_at(p: f64) -> (f64, f64) {
        let cycle = |rounds: u32| {
            let gains: Vec<f64> =
                (0..rounds).map(|round| 0.4 * increase_after(f64::from(round) / 10.0)).collect();
            let least = gains.iter().sum::<f64>() * BETA_MAX / (1.0 - BETA_MAX);
            let mut window = least;
            let sent: f64 = gains
                .iter()
                .map(|gain| {
                    window += gain;
                    window - gain / 2.0
                })
                .sum();
            (sent, least, sent / f64::from(rounds))
        };
        let (_, least, mean) =
            (1..).map(cycle).find(|(sent, ..)| *sent >= 1.0 / p).expect("it sends ever more");
        (least, mean)
    }
}

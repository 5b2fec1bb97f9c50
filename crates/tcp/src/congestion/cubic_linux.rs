//! CUBIC as in Linux (`tcp_cubic.c`): whole segments, a count of acknowledged segments for each further one, and
//! the rules that RFC 9438 does not have.
//!
//! Compared with `cubic`: until a loss shows the window of the path, congestion avoidance adds a segment for every
//! twenty that are acknowledged at least, which is 5 % in a round trip; the target is looked up once in 1/32 of a
//! second where the window has not changed; the time of the function runs ahead by the shortest round trip; a timeout
//! forgets all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::window::{ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, is_cwnd_limited};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Base of the reduction after a loss; Linux uses cwnd, since it bounds its growth by what is in flight.
    pub reduction_of: ReductionOf,
    /// Whether a flow that loses below its last maximum makes room for others (`fast_convergence`).
    pub fast_convergence: bool,
    /// Whether a window that grows slower than a standard TCP's follows that one (`tcp_friendliness`).
    pub tcp_friendliness: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { reduction_of: ReductionOf::default(), fast_convergence: true, tcp_friendliness: true }
    }
}

#[derive(Debug)]
struct CubicLinux {
    parameters: Parameters,
    window: Window,
    /// Segments acknowledged towards the next one (`snd_cwnd_cnt`).
    counted: u64,
    /// The shortest round trip since the connection began or a timeout (`delay_min`).
    shortest: Option<Duration>,
    /// The window at which the last loss came, less what fast convergence takes off it; 0 before a loss and after a
    /// timeout (`last_max_cwnd`).
    last_max: u64,
    epoch: Option<Epoch>,
    /// Time at which a segment was last sent: idle times do not count.
    last_sent: Option<Instant>,
}

/// A stage of congestion avoidance, in segments and seconds.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Instant,
    /// Time at which the function reaches `origin` (`bic_K`).
    k: f64,
    origin: u64,
    /// Time at which the target was last looked up, and for which window (`last_time`, `last_cwnd`).
    looked_up: Option<(Instant, u64)>,
    /// Number of segments to acknowledge before the window grows by one (`cnt`).
    every: u64,
    /// The window of a standard TCP in its place, and what was acknowledged towards its next segment (`tcp_cwnd`,
    /// `ack_cnt`).
    standard: u64,
    acked: u64,
}

impl CubicLinux {
    const fn new(parameters: Parameters) -> Self {
        let (window, last_sent) = (Window::UNSET, None);
        Self { parameters, window, counted: 0, shortest: None, last_max: 0, epoch: None, last_sent }
    }

    fn segments(&self) -> u64 {
        self.window.cwnd().whole(self.window.smss)
    }

    /// A stage begins at the window that there is (`bictcp_update`, `epoch_start == 0`).
    fn begin(&self, now: Instant, cwnd: u64) -> Epoch {
        let below = self.last_max.saturating_sub(cwnd);
        let k = libm::cbrt(below as f64 / SCALE);
        Epoch { began: now, k, origin: cwnd + below, looked_up: None, every: 1, standard: cwnd, acked: 0 }
    }

    /// Number of segments to acknowledge before the window grows by one (`bictcp_update`).
    fn update(&mut self, now: Instant, cwnd: u64, acked: u64) -> u64 {
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(now, cwnd));
        epoch.acked += acked;
        let known = epoch.looked_up.is_some_and(|(at, of)| of == cwnd && now - at <= LOOK_UP);
        if !known {
            epoch.looked_up = Some((now, cwnd));
            epoch.every = self.by_function(&epoch, now, cwnd);
            if self.parameters.tcp_friendliness {
                epoch.every = epoch.every.min(epoch.by_standard(cwnd));
            }
            epoch.every = epoch.every.max(LEAST_COUNT);
        }
        self.epoch = Some(epoch);
        epoch.every
    }

    /// By the cubic function, a shortest round trip ahead.
    fn by_function(&self, epoch: &Epoch, now: Instant, cwnd: u64) -> u64 {
        let ahead = self.shortest.unwrap_or_default();
        let t = (now.saturating_since(epoch.began) + ahead).as_secs_f64() - epoch.k;
        let distance = (SCALE * (t * t * t).abs()) as u64;
        let target = if t < 0.0 { epoch.origin.saturating_sub(distance) } else { epoch.origin + distance };
        let every = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // The path is not known yet: the window grows by 5 % in a round trip at least.
        if self.last_max == 0 { every.min(20) } else { every }
    }

    fn reduce(&mut self, event: &CongestionEvent) {
        let cwnd = event.cwnd.whole(self.window.smss);
        self.epoch = None;
        self.last_max = if self.parameters.fast_convergence && cwnd < self.last_max {
            cwnd * (UNIT + BETA) / (2 * UNIT)
        } else {
            cwnd
        };
        let kept = self.parameters.reduction_of.kept(BETA as f64 / UNIT as f64, event);
        self.window.reduce_ssthresh(kept, SsthreshUnit::Segments);
    }
}

impl Epoch {
    /// By a standard TCP in its place, whose window grows by a segment for each 15/8 windows.
    fn by_standard(&mut self, cwnd: u64) -> u64 {
        let a_segment = (cwnd * 8 * (UNIT + BETA) / 3 / (UNIT - BETA) / 8).max(1);
        self.standard += self.acked / a_segment;
        self.acked %= a_segment;
        if self.standard > cwnd { cwnd / (self.standard - cwnd) } else { u64::MAX }
    }
}

impl CongestionControl for CubicLinux {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn traits(&self) -> super::Traits {
        super::Traits { observes_sends: true, ..super::Traits::default() }
    }

    /// `cubictcp_acked`.
    fn observe(&mut self, ack: &AckSample) {
        let settles = self.epoch.is_some_and(|epoch| ack.now.saturating_since(epoch.began) < SETTLING);
        if let Some(rtt) = ack.newest_rtt.filter(|_| !settles) {
            self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !is_cwnd_limited(self.cwnd(), ack.flight, self.window.smss) {
            return;
        }
        if self.in_slow_start() {
            return self.window.slow_start(ack.acked);
        }
        let (smss, cwnd) = (self.window.smss, self.segments());
        let acked = ack.acked.0.div_ceil(smss.0);
        let every = self.update(ack.now, cwnd, acked);
        // `tcp_cong_avoid_ai`.
        let mut more = 0;
        if self.counted >= every {
            self.counted = 0;
            more = 1;
        }
        self.counted += acked;
        more += self.counted / every;
        self.counted %= every;
        self.window.open(smss * more);
    }

    /// `cubictcp_cwnd_event`: the function does not advance while nothing is sent.
    fn on_sent(&mut self, sent: &super::SendEvent) {
        let idle = self.last_sent.replace(sent.now).filter(|_| sent.flight == sent.len);
        if let (Some(last), Some(epoch)) = (idle, &mut self.epoch) {
            epoch.began = (epoch.began + (sent.now - last)).min(sent.now);
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.reduce(event);
        self.window.reduce_to_ssthresh();
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        // RFC 5681 §3.1: the threshold is held when the same segment times out again.
        if !event.repeats_timeout() {
            self.reduce(event);
        }
        self.window.collapse();
        // `bictcp_reset`, once the threshold is set.
        (self.last_max, self.epoch, self.shortest) = (0, None, None);
        self.counted = 0;
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.window.set_cwnd(window);
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}

/// `BICTCP_BETA_SCALE` and `beta`: 717/1024 of the window are left.
const UNIT: u64 = 1024;
const BETA: u64 = 717;
/// C, by `bic_scale`: 41 · 10 / 1024.
const SCALE: f64 = 410.0 / 1024.0;
/// Lifetime of a target for the same window (`HZ / 32`).
const LOOK_UP: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// A window does not grow by more than half in a round trip (`max(ca->cnt, 2U)`).
const LEAST_COUNT: u64 = 2;
/// Round trips of the first second after a reduction are of the queue that it leaves (`cubictcp_acked`, `HZ`).
const SETTLING: Duration = Duration::from_secs(1);

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "cubic-linux",
    "CUBIC as in Linux: whole segments, and 5 % a round trip until a loss shows the window of the path",
    "Linux net/ipv4/tcp_cubic.c; RFC 9438",
    &Build(|parameters: &Parameters| Box::new(CubicLinux::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SMSS, ack_sample, built, loss, timeout};
    use super::*;

    /// Full windows are acknowledged for `rounds` round trips of 100 ms, two segments by each ACK; the windows after
    /// each.
    fn rounds(cubic: &mut dyn CongestionControl, from: u64, count: u64) -> Vec<u64> {
        (from..from + count)
            .map(|round| {
                let now = Instant::START + Duration::from_millis(100 * round);
                for _ in 0..cubic.cwnd().whole(SMSS) / 2 {
                    let rtt = Some(Duration::from_millis(100));
                    let ack = AckSample { now, newest_rtt: rtt, ..ack_sample(SMSS * 2, cubic.cwnd()) };
                    cubic.observe(&ack);
                    cubic.on_ack(&ack);
                }
                cubic.cwnd().whole(SMSS)
            })
            .collect()
    }

    #[test]
    fn without_a_loss_the_window_grows_by_a_twentieth_in_a_round_trip() {
        let mut cubic = built(ENTRY.id, json!({}));
        cubic.on_restore(SMSS * 100, SMSS * 100);
        assert_eq!(rounds(cubic.as_mut(), 1, 3), [105, 110, 115]);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_in_whole_segments_and_the_window_comes_back_in_k_seconds() {
        let mut cubic = built(ENTRY.id, json!({}));
        cubic.on_restore(SMSS * 100, SMSS * 100);
        cubic.on_loss(&loss(SMSS * 100));
        assert_eq!(cubic.ssthresh(), SMSS * 70);
        cubic.on_recovery_exit(cubic.ssthresh());
        // K is the cube root of 30 / 0.4004: 4.216 s. The window is there a round trip earlier, and flat around it.
        let windows = rounds(cubic.as_mut(), 1, 60);
        assert!((97..=100).contains(&windows[40]), "{windows:?}");
        assert!(windows[59] > 100, "{windows:?}");
    }

    #[test]
    fn after_a_timeout_nothing_is_known_of_the_path() {
        let mut cubic = built(ENTRY.id, json!({}));
        cubic.on_restore(SMSS * 100, SMSS * 100);
        cubic.on_timeout(&timeout(SMSS * 100, false));
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (SMSS, SMSS * 70));
        cubic.on_restore(SMSS * 70, SMSS * 70);
        assert_eq!(rounds(cubic.as_mut(), 1, 1), [73]);
    }

    #[test]
    fn a_falling_maximum_makes_room() {
        let second = |keys| {
            let mut cubic = built(ENTRY.id, keys);
            cubic.on_restore(SMSS * 100, SMSS * 100);
            cubic.on_loss(&loss(SMSS * 100));
            cubic.on_loss(&loss(SMSS * 70));
            cubic.on_recovery_exit(SMSS * 49);
            rounds(cubic.as_mut(), 1, 30).pop()
        };
        // The function is flat around 59 segments in place of 70.
        let (fast, slow) = (second(json!({})), second(json!({ "fast_convergence": false })));
        assert!(fast < slow, "{fast:?} {slow:?}");
    }
}

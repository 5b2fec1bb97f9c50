//! YeAH-TCP (Baiocchi, Castellani and Vacirca 2007): fast as Scalable TCP while few segments wait in queues, as Reno
//! otherwise; a queue of more than 80 of its own is taken out of the window before losses report it.
//!
//! Alongside greedy flows it is Reno: it keeps count of the window that Reno would have, and goes no lower.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration};

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::round_trips::{RoundTrips, Rounds};
use super::window::{Alpha, ReductionOf, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Build};

/// Parameters. The other constants are those of Baiocchi et al. 2007 §3, as in Linux, and no keys.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Maximum number of its own segments in queues, `Q_max`. Linux (`TCP_YEAH_ALPHA`): 80.
    pub most_queued: Segments,
    /// Counting in congestion avoidance.
    #[serde(default = "Increase::of_linux")]
    pub increase: Increase,
    /// Base of the reduction after a loss.
    pub reduction_of: ReductionOf,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            most_queued: Segments(80),
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
        }
    }
}

#[derive(Debug)]
struct Yeah {
    parameters: Parameters,
    rounds: Rounds,
    /// The round trip that has ended and is not yet judged.
    ended: Option<RoundTrips>,
    base_rtt: Option<Duration>,
    /// Segments that waited in the last round trip.
    queued: f64,
    /// Round trips in a row in which it was Reno.
    slow_rounds: u32,
    /// Round trips in which it was fast, since the last loss.
    fast_rounds: u32,
    /// The window that a Reno in competition would have, in segments.
    reno_window: f64,
}

impl Yeah {
    fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            rounds: Rounds::default(),
            ended: None,
            base_rtt: None,
            queued: 0.0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_window: LEAST,
        }
    }

    /// §3.1 and §3.2: the mode of the next round trip, and the precautionary decongestion.
    fn judge(&mut self, window: &mut Window, round: &RoundTrips) {
        let Some(base) = self.base_rtt else { return };
        let (rtt, base) = (round.least.as_secs_f64(), base.as_secs_f64());
        let w = window.segments();
        self.queued = w * (rtt - base) / rtt;
        let is_full = self.queued > self.parameters.most_queued.0 as f64;
        if is_full || rtt - base > base / PHI {
            if is_full && w > self.reno_window {
                let left = (w - self.queued.min(w / 2.0)).max(self.reno_window);
                window.set_cwnd(Bytes((left * window.smss.0 as f64) as u64));
                window.ssthresh = window.cwnd();
            }
            let starts = self.reno_window <= LEAST;
            self.reno_window =
                if starts { (window.segments() / 2.0).max(LEAST) } else { self.reno_window + 1.0 };
            self.slow_rounds = self.slow_rounds.saturating_add(1);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ZETA {
                (self.reno_window, self.fast_rounds) = (LEAST, 0);
            }
            self.slow_rounds = 0;
        }
    }
}

impl Policy for Yeah {
    fn alpha(&mut self, window: &Window, _ack: &AckSample) -> Alpha {
        // Scalable TCP as in Linux: a segment at least.
        let fast = (window.segments() / SCALABLE).max(1.0);
        if self.slow_rounds == 0 { Alpha::new(fast) } else { Alpha::ONE }
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        }
        // Linux: a round trip with two samples says too little.
        self.ended = self.rounds.on_ack(ack).filter(|round| round.samples > FEW).or(self.ended);
    }

    fn before_growth(&mut self, window: &mut Window, _ack: &AckSample) -> bool {
        if let Some(round) = self.ended.take() {
            self.judge(window, &round);
        }
        true
    }

    /// §3.3: what waited is taken off, an eighth at least and half at most; alongside greedy flows half.
    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let w = window.segments();
        let part = if self.slow_rounds < RHO { (self.queued / w).clamp(0.125, 0.5) } else { 0.5 };
        self.fast_rounds = 0;
        self.reno_window = (self.reno_window / 2.0).max(LEAST);
        self.parameters.reduction_of.kept(1.0 - part, event)
    }

    fn rules(&self) -> Rules {
        Rules { is_cwnd_limited_only: true, ..Rules::default() }
    }
}

/// §3 and Linux, as are the others: a queue of an eighth of the shortest round trip makes it slow (`TCP_YEAH_PHY`).
const PHI: f64 = 8.0;
/// Slow round trips in a row after which the flow is taken to compete with greedy ones (`TCP_YEAH_RHO`).
const RHO: u32 = 16;
/// Fast round trips after which the count of Reno's window begins anew (`TCP_YEAH_ZETA`).
const ZETA: u32 = 50;
/// Segments for each of which Scalable TCP adds one (`TCP_SCALABLE_AI_CNT`).
const SCALABLE: f64 = 100.0;
/// Reno's window is no smaller than two segments.
const LEAST: f64 = 2.0;
/// Linux (`tcp_yeah_cong_avoid`, `cntRTT`).
const FEW: u64 = 2;

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "yeah",
    "YeAH-TCP: fast as Scalable TCP without a queue, Reno with one, which it keeps short",
    "Baiocchi, Castellani and Vacirca 2007; Linux net/ipv4/tcp_yeah.c",
    &Build(|parameters: &Parameters| {
        Box::new(Classic::new(Yeah::new(parameters.clone()), parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss};
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    /// A window of `segments` segments, after a round trip of 100 ms and `rounds` of `rtt`.
    fn with_rtt(segments: u64, rtt: Duration, rounds: u32) -> Box<dyn CongestionControl> {
        let mut yeah = built(ENTRY.id, json!({}));
        yeah.on_restore(SMSS * 10, SMSS * 2);
        let mut path = Path::new();
        (0..3).for_each(|_| path.round(yeah.as_mut(), BASE, Duration::ZERO));
        for _ in 0..rounds {
            yeah.on_restore(SMSS * segments, SMSS * 2);
            path.round(yeah.as_mut(), rtt, Duration::ZERO);
        }
        yeah
    }

    #[test]
    fn without_a_queue_it_grows_as_scalable_tcp_and_with_one_as_reno() {
        for (rtt, more) in [(BASE, 4.0), (BASE * 6 / 5, 1.0)] {
            let grown = (with_rtt(400, rtt, 3).cwnd() - SMSS * 400).0 as f64 / 1000.0;
            assert!((grown / more - 1.0).abs() < 0.02, "{grown} at {rtt:?}");
        }
    }

    #[test]
    fn a_queue_of_more_than_eighty_segments_is_taken_out_of_the_window() {
        // 400 segments over 100 ms of 125: 80 wait and no more; over 100 of 160, 150 do.
        let without = with_rtt(400, BASE * 5 / 4, 3);
        assert!(without.cwnd() >= SMSS * 400);
        let with = with_rtt(400, BASE * 8 / 5, 3);
        assert!((SMSS * 250..SMSS * 252).contains(&with.cwnd()), "{}", with.cwnd());
    }

    #[test]
    fn a_loss_takes_what_waited_an_eighth_at_least_and_half_of_a_competitor() {
        for (rtt, rounds, left) in [(BASE, 3, 350), (BASE * 5 / 4, 3, 320), (BASE * 5 / 4, 30, 200)] {
            let mut yeah = with_rtt(400, rtt, rounds);
            yeah.on_restore(SMSS * 400, SMSS * 2);
            yeah.on_loss(&loss(SMSS * 400));
            let came = yeah.cwnd().whole(SMSS);
            assert!(came.abs_diff(left) <= 1, "{came} after {rounds} round trips of {rtt:?}");
        }
    }
}

//! TCP-LP (Kuzmanovic and Knightly 2003): low priority, with one-way delays as the early sign of congestion. A smoothed
//! delay above 15 % of the way from the least to the largest halves the window; a second sign within three round trips
//! leaves one segment.
//!
//! Otherwise it is Reno. It follows the paper, except that the least and the largest delay begin anew with each sign,
//! as in Linux (`tcp_lp.c`): a path that has become longer would be a sign for ever. Three rules are ours: a delay is
//! the least of the last few, as in LEDBAT (RFC 6817 §3.1.1), because one of them may have the wait of a delayed ACK; a
//! range begins with half a round trip; and a sign needs the last delay above the threshold too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::proportion::Proportion;
use super::queueing_delay::CurrentDelay;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// δ: the position between the smallest and the largest delay above which the path counts as congested. Kuzmanovic
    /// and Knightly 2003 §IV and Linux: 0.15.
    pub(super) threshold: Proportion,
    /// γ: the weight of a new delay in the average. Kuzmanovic and Knightly 2003 §IV and Linux: 1/8.
    pub(super) gain: Proportion,
    /// Base that a loss halves.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            threshold: Proportion(0.15),
            gain: Proportion(0.125),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct LowPriority {
    parameters: Parameters,
    current: CurrentDelay,
    /// The last, the smoothed, the least and the largest delay, in nanoseconds with the difference of the clocks.
    delays: Option<Delays>,
    rtt: Duration,
    /// Until when a sign of congestion is followed by the inference phase (§III-C).
    inference_until: Option<Instant>,
    /// Whether the average has been below the threshold since the last sign: a sign is a passage upwards.
    was_below: bool,
}

#[derive(Clone, Copy, Debug)]
struct Delays {
    last: f64,
    smoothed: f64,
    least: f64,
    largest: f64,
}

impl LowPriority {
    fn is_congested(&self) -> bool {
        self.delays.is_some_and(|Delays { last, smoothed, least, largest }| {
            // The last too: an average that is on its way down from a queue is no second sign of it.
            last.min(smoothed) > least + (largest - least) * self.parameters.threshold.0
        })
    }

    /// A range that begins: it is half a round trip at least, so that one tick of the timestamps is no queue. Linux has
    /// the smoothed delay there, which has the difference of the clocks in it.
    const fn delays_from(&self, smoothed: f64) -> Delays {
        let largest = smoothed + (self.rtt.as_nanos() / 2) as f64;
        Delays { last: smoothed, smoothed, least: smoothed, largest }
    }

    fn infers(&self, now: Instant) -> bool {
        self.inference_until.is_some_and(|until| now < until)
    }
}

impl Policy for LowPriority {
    fn alpha(&mut self, _window: &Window, _ack: &AckSample) -> Alpha {
        Alpha::ONE
    }

    fn observe(&mut self, ack: &AckSample) {
        self.rtt = ack.rtt.unwrap_or(self.rtt);
        let rtt = || ack.rtt.and_then(|rtt| i64::try_from(rtt.as_nanos()).ok());
        let Some(delay) = ack.one_way.map(|delay| delay.as_nanos()).or_else(rtt) else { return };
        self.current.on_delay(delay);
        let delay = self.current.least() as f64;
        let first = self.delays_from(delay);
        let Delays { smoothed, least, largest, .. } = self.delays.unwrap_or(first);
        self.delays = Some(Delays {
            last: delay,
            smoothed: smoothed + self.parameters.gain.0 * (delay - smoothed),
            least: least.min(delay),
            largest: largest.max(delay),
        });
    }

    /// §III-C, the congestion control of TCP-LP.
    fn before_growth(&mut self, window: &mut Window, ack: &AckSample) -> bool {
        if !self.is_congested() {
            self.was_below = true;
        } else if self.was_below || !self.infers(ack.now) {
            let cwnd = window.cwnd();
            window.set_cwnd(if self.infers(ack.now) { window.smss } else { (cwnd / 2).max(window.smss) });
            window.ssthresh = window.ssthresh.min((cwnd / 2).max(window.smss * 2));
            self.inference_until = Some(ack.now + self.rtt * INFERENCE);
            self.was_below = false;
            self.delays = self.delays.map(|delays| self.delays_from(delays.smoothed));
        }
        !self.infers(ack.now)
    }

    fn ssthresh_on_loss(&mut self, _window: &Window, event: &CongestionEvent) -> Bytes {
        self.parameters.reduction_of.kept(0.5, event)
    }

    /// It yields, also to its own kind: a flow that sees the queue of another halves.
    fn rules(&self) -> Rules {
        Rules {
            ssthresh_unit: self.parameters.ssthresh_unit,
            is_cwnd_limited_only: true,
            unequal_shares: true,
            ..Rules::default()
        }
    }
}

/// §IV and Linux: the inference phase lasts three round trips.
const INFERENCE: u64 = 3;

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "lp",
    "TCP-LP: low priority, halves at the first sign of a queue",
    "Kuzmanovic and Knightly 2003; Linux net/ipv4/tcp_lp.c",
    &Build(|parameters: &Parameters| {
        let policy = LowPriority {
            parameters: parameters.clone(),
            current: CurrentDelay::NONE,
            delays: None,
            rtt: Duration::ZERO,
            inference_until: None,
            was_below: true,
        };
        Box::new(Classic::new(policy, Increase::of_linux()))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::OneWayDelay;
    use super::super::testing::{SMSS, ack_sample, built};
    use super::*;

    /// An ACK at this time whose one-way delay is `delay` milliseconds.
    fn ack(lp: &mut dyn CongestionControl, millis: u64, delay: u32) -> Bytes {
        let ack = AckSample {
            now: Instant::START + Duration::from_millis(millis),
            rtt: Some(Duration::from_millis(100)),
            one_way: Some(OneWayDelay::between(9_000_000, 50 + delay)),
            ..ack_sample(SMSS, lp.cwnd())
        };
        lp.observe(&ack);
        lp.on_ack(&ack);
        lp.cwnd()
    }

    #[test]
    fn a_delay_above_a_seventh_of_the_range_halves_and_a_second_sign_within_three_round_trips_leaves_one() {
        let mut lp = built(ENTRY.id, json!({}));
        lp.on_restore(SMSS * 32, SMSS * 2);
        (0..10).for_each(|step| {
            ack(lp.as_mut(), step, 0);
        });
        // The fourth is a delay; the average passes 15 % of the new largest with the fifth.
        let windows: Vec<Bytes> =
            (10..17).map(|step| ack(lp.as_mut(), step, 40)).collect::<Vec<_>>().split_off(3);
        let half = windows[0] / 2;
        assert_eq!(windows[1..], [half; 3], "{windows:?}");
        (17..40).for_each(|step| {
            ack(lp.as_mut(), step, 0);
        });
        assert_eq!(lp.cwnd(), half, "the inference phase adds nothing");
        (40..50).for_each(|step| {
            ack(lp.as_mut(), step, 40);
        });
        assert_eq!(lp.cwnd(), SMSS);
    }

    #[test]
    fn a_path_that_has_become_longer_is_no_sign_for_ever_and_a_tick_is_none() {
        let mut lp = built(ENTRY.id, json!({}));
        lp.on_restore(SMSS * 8, SMSS * 2);
        let at_first = ack(lp.as_mut(), 0, 20);
        assert!(
            (1..20).map(|step| ack(lp.as_mut(), step, 20 + step as u32 % 2)).all(|cwnd| cwnd >= at_first)
        );
        let reduced = (20..400).map(|step| ack(lp.as_mut(), step, 60)).min();
        assert!(reduced.is_some_and(|cwnd| cwnd < at_first), "60 ms were a queue of 40");
        (400..1000).for_each(|step| {
            ack(lp.as_mut(), step, 60);
        });
        assert!(lp.cwnd() > at_first, "they are the path's now");
    }

    #[test]
    fn the_wait_of_a_delayed_ack_is_no_sign() {
        let mut lp = built(ENTRY.id, json!({}));
        lp.on_restore(SMSS * 3, SMSS * 2);
        let windows = (0..20).map(|step| ack(lp.as_mut(), step, if step % 2 == 0 { 0 } else { 100 }));
        assert!(windows.is_sorted());
    }

    #[test]
    fn without_a_queue_it_grows_as_reno() {
        let (mut lp, mut reno) =
            (built(ENTRY.id, json!({})), built("reno", json!({ "increase": "per-byte" })));
        for congestion in [&mut lp, &mut reno] {
            congestion.on_restore(SMSS * 10, SMSS * 2);
            (0..50).for_each(|step| {
                ack(congestion.as_mut(), step, 0);
            });
        }
        assert_eq!(lp.cwnd(), reno.cwnd());
    }
}

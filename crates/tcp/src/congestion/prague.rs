//! Prague (draft-briscoe-iccrg-prague-congestion-control): DCTCP's reduction for the public Internet, by the
//! requirements on users of L4S (RFC 9331 §4).
//!
//! It sends ECT(1) and counts marks by Accurate ECN (`l4s = true` and `ecn = "accurate"` in a profile). Unlike DCTCP:
//!
//! - flows do not depend on their round trips below a virtual one of 25 ms: they grow by one segment, reduce once and
//!   update their average in each of those, as if they had it (draft §2.4.3). It sets in a few round trips after slow
//!   start;
//! - the window grows with every ACK by what was not marked, also right after a reduction, as marks come all the time;
//! - a peer or path with classic ECN only, and any loss, halve the window as with Reno (RFC 9331 §4.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::classic::{Classic, Policy, Rules};
use super::increase::Increase;
use super::marked_share::MarkedShare;
use super::proportion::Proportion;
use super::window::{Alpha, ReductionOf, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Weight of an update in the average of marks: 1/16 (draft §2.4.2).
    gain: Proportion,
    /// The average at first, between 0 and 1: 1, so that the first mark halves (draft §2.4.2).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub initial_alpha: f64,
    /// The round trip that flows with shorter ones behave as if they had: 25 ms (draft §2.4.3). 0 s: each has its own.
    pub virtual_rtt: Duration,
    /// Round trips after slow start before this rule applies: 4 (Linux, `prague_rtt_transition`).
    pub transition: u32,
    /// Counting in congestion avoidance.
    #[serde(default = "Increase::of_linux")]
    pub increase: Increase,
    /// Base that a loss halves.
    pub reduction_of: ReductionOf,
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            gain: Proportion(1.0 / 16.0),
            initial_alpha: 1.0,
            virtual_rtt: Duration::from_millis(25),
            transition: 4,
            increase: Increase::of_linux(),
            reduction_of: ReductionOf::default(),
            ssthresh_unit: SsthreshUnit::default(),
        }
    }
}

#[derive(Debug)]
struct Prague {
    parameters: Parameters,
    share: MarkedShare,
    srtt: Option<Duration>,
    /// Round trips since slow start ended, if it has.
    rounds: Option<u32>,
    /// When the average was last updated, and when marks last reduced the window.
    updated: Instant,
    reduced: Option<Instant>,
}

impl Prague {
    fn new(parameters: Parameters) -> Self {
        let share = MarkedShare::new(parameters.initial_alpha.clamp(0.0, 1.0), parameters.gain.0);
        Self { parameters, share, srtt: None, rounds: None, updated: Instant::START, reduced: None }
    }

    /// Whether the flow behaves as if it had the virtual round trip, where that is longer than its own.
    fn is_independent(&self) -> bool {
        self.rounds.is_some_and(|rounds| rounds >= self.parameters.transition)
            && self.srtt.is_some_and(|srtt| srtt < self.parameters.virtual_rtt)
    }

    fn measure(&mut self, rtt: Option<Duration>) {
        let Some(rtt) = rtt else { return };
        // RFC 6298 §2.3: an eighth of each sample.
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
    }

    /// The part of the window that counted marks leave: all of it where they have reduced it within this round trip,
    /// the virtual one if that counts.
    fn reduce(&mut self, now: Instant) -> f64 {
        let own = self.srtt.unwrap_or(Duration::ZERO);
        let period = if self.is_independent() { self.parameters.virtual_rtt } else { own };
        if self.reduced.is_some_and(|reduced| now - reduced < period) {
            return 1.0;
        }
        self.reduced = Some(now);
        self.share.kept()
    }
}

impl Policy for Prague {
    /// A segment for each virtual round trip of the window that the virtual round trip would have: (RTT/virtual)² of
    /// one for each real one.
    fn alpha(&mut self, _: &Window, _: &AckSample) -> Alpha {
        let srtt = self.srtt.filter(|_| self.is_independent());
        srtt.map_or(Alpha::ONE, |srtt| {
            let ratio = srtt.as_secs_f64() / self.parameters.virtual_rtt.as_secs_f64();
            Alpha::new(ratio * ratio)
        })
    }

    fn observe(&mut self, ack: &AckSample) {
        self.measure(ack.rtt);
        if !self.share.ends_window(ack) {
            return;
        }
        self.rounds = self.rounds.map(|rounds| rounds.saturating_add(1));
        let is_due = ack.now.saturating_since(self.updated) >= self.parameters.virtual_rtt;
        if is_due || !self.is_independent() {
            self.share.update();
            self.updated = ack.now;
        }
    }

    fn ssthresh_on_loss(&mut self, _: &Window, event: &CongestionEvent) -> Bytes {
        self.rounds.get_or_insert(0);
        match event.signal {
            CongestionSignal::CountedMarks => ReductionOf::Cwnd.kept(self.reduce(event.now), event),
            _ => self.parameters.reduction_of.kept(0.5, event),
        }
    }

    fn ssthresh_on_timeout(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        let kept = self.ssthresh_on_loss(window, event);
        // Slow start follows.
        self.rounds = None;
        kept
    }

    fn rules(&self) -> Rules {
        Rules { ssthresh_unit: self.parameters.ssthresh_unit, governs_marks: true, ..Rules::default() }
    }

    /// As Linux: every segment acknowledged adds one, however few the ACKs.
    fn slow_start(&mut self, window: &mut Window, acked: Bytes) {
        window.open(acked);
    }
}

/// The registry's line.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "prague",
    "Prague: DCTCP's reduction for L4S, independent of short round trips",
    "draft-briscoe-iccrg-prague-congestion-control; RFC 9331 §4",
    &Build(|parameters: &Parameters| {
        Box::new(Classic::new(Prague::new(parameters.clone()), parameters.increase))
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, counted_marks, loss, mark};
    use super::*;

    const NO_TIME: Duration = Duration::ZERO;

    /// In congestion avoidance for ten round trips of this length, with a window of 50 segments.
    fn steady(rtt: Duration) -> (Box<dyn CongestionControl>, Path) {
        let mut prague = built(ENTRY.id, json!({}));
        let mut path = Path::new();
        prague.on_mark(&counted_marks(prague.cwnd()));
        for _ in 0..10 {
            prague.on_restore(SMSS * 50, SMSS * 10);
            path.round(prague.as_mut(), rtt, NO_TIME);
        }
        prague.on_restore(SMSS * 50, SMSS * 10);
        (prague, path)
    }

    fn growth(rtt: Duration) -> f64 {
        let (mut prague, mut path) = steady(rtt);
        path.round(prague.as_mut(), rtt, NO_TIME);
        prague.cwnd().0 as f64 / SMSS.0 as f64 - 50.0
    }

    #[test]
    fn short_round_trips_grow_by_the_square_of_their_ratio_to_the_virtual_one() {
        for (millis, segments) in [(5, 0.04), (10, 0.16), (25, 1.0), (80, 1.0)] {
            let grown = growth(Duration::from_millis(millis));
            assert!((grown - segments).abs() < 0.03 * segments + 1e-3, "{grown} in {millis} ms");
        }
    }

    #[test]
    fn marks_reduce_once_in_a_virtual_round_trip() {
        let (mut prague, path) = steady(Duration::from_millis(5));
        let mut marked = |after: u64| {
            let before = prague.cwnd();
            let now = path.now() + Duration::from_millis(after);
            prague.on_mark(&CongestionEvent { now, ..counted_marks(before) });
            prague.cwnd() < before
        };
        assert_eq!([100, 105, 124, 125].map(&mut marked), [true, false, false, true]);
    }

    #[test]
    fn a_loss_and_a_classic_echo_halve() {
        for event in [loss(SMSS * 50), mark(SMSS * 50)] {
            let (mut prague, _) = steady(Duration::from_millis(5));
            prague.on_mark(&event);
            assert_eq!(prague.cwnd(), SMSS * 25);
        }
    }
}

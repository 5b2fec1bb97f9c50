//! HyStart++ (RFC 9406): where the round trip has grown, slow start continues at a quarter of its speed (conservative
//! slow start) until it is certain that the path is full, or until the round trip shrinks again.
//!
//! It lies over any congestion control that slow-starts, passes on what acknowledged data may open, and ends slow start
//! by setting ssthresh to cwnd.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Seq};

use super::layer::{Over, Rule, layered};
use super::{AckSample, CongestionControl};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters; the names of RFC 9406 §4.3 in brackets.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Minimum growth of the round trip that counts (`MIN_RTT_THRESH`): 4 ms.
    pub least_growth: Duration,
    /// The growth that always counts (`MAX_RTT_THRESH`): 16 ms.
    pub most_growth: Duration,
    /// Between them counts growth by this part of the round trip (`MIN_RTT_DIVISOR`): an eighth.
    #[schemars(range(min = 1))]
    pub divisor: u64,
    /// Samples of a round before it is judged (`N_RTT_SAMPLE`): 8.
    pub samples: u32,
    /// Conservative slow start grows by this part of what slow start would (`CSS_GROWTH_DIVISOR`): a quarter.
    #[schemars(range(min = 1))]
    pub growth_divisor: u64,
    /// Rounds of conservative slow start before congestion avoidance (`CSS_ROUNDS`): 5.
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Segments by which one ACK may open the window (`L`): 8; absent for a sender that paces.
    pub limit: Option<u64>,
    /// The algorithm below.
    pub(super) over: Over,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            least_growth: Duration::from_millis(4),
            most_growth: Duration::from_millis(16),
            divisor: 8,
            samples: 8,
            growth_divisor: 4,
            rounds: 5,
            limit: Some(8),
            over: Over::default(),
        }
    }
}

#[derive(Debug)]
struct HyStartPlusPlus {
    parameters: Parameters,
    smss: Bytes,
    phase: Phase,
    /// `windowEnd`: the round is over when this is acknowledged.
    end: Option<Seq>,
    /// `lastRoundMinRTT` and `currentRoundMinRTT`.
    last_round: Option<Duration>,
    this_round: Option<Duration>,
    samples: u32,
    /// Remainder of conservative slow start below a segment's share.
    rest: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: `cssBaselineMinRtt`, and the rounds that it has begun.
    Conservative {
        baseline: Duration,
        rounds: u32,
    },
    /// The first slow start is over; the next ones go up to a threshold that is known (§4.3).
    Over,
}

impl HyStartPlusPlus {
    const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            smss: Bytes::ZERO,
            phase: Phase::SlowStart,
            end: None,
            last_round: None,
            this_round: None,
            samples: 0,
            rest: Bytes::ZERO,
        }
    }

    /// A round ends with this ACK (§4.2): whether conservative slow start has lasted long enough.
    fn end_round(&mut self, nxt: Seq) -> bool {
        self.end = Some(nxt);
        self.last_round = self.this_round.take();
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            return *rounds > self.parameters.rounds;
        }
        false
    }

    /// A round-trip sample (§4.2).
    fn sample(&mut self, rtt: Duration) {
        let shortest = self.this_round.map_or(rtt, |shortest| shortest.min(rtt));
        self.this_round = Some(shortest);
        self.samples += 1;
        if self.samples < self.parameters.samples {
            return;
        }
        self.phase = match (self.phase, self.last_round) {
            (Phase::SlowStart, Some(last)) if shortest >= last + self.threshold(last) => {
                Phase::Conservative { baseline: shortest, rounds: 1 }
            }
            // The growth was not that of a queue which stays.
            (Phase::Conservative { baseline, .. }, _) if shortest < baseline => Phase::SlowStart,
            (phase, _) => phase,
        };
    }

    /// `RttThresh`.
    fn threshold(&self, last: Duration) -> Duration {
        (last / self.parameters.divisor).min(self.parameters.most_growth).max(self.parameters.least_growth)
    }

    /// Growth of the window that an ACK permits.
    fn counted(&mut self, acked: Bytes) -> Bytes {
        let counted = self.parameters.limit.map_or(acked, |limit| acked.min(self.smss * limit));
        if !matches!(self.phase, Phase::Conservative { .. }) {
            return counted;
        }
        let whole = counted + self.rest;
        self.rest = Bytes(whole.0 % self.parameters.growth_divisor);
        whole / self.parameters.growth_divisor
    }
}

impl Rule for HyStartPlusPlus {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        inner.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, inner: &mut dyn CongestionControl, smss: Bytes) {
        self.smss = smss;
        inner.on_segment_size(smss);
    }

    fn on_ack(&mut self, inner: &mut dyn CongestionControl, ack: &AckSample) {
        if self.phase == Phase::Over || !inner.in_slow_start() || inner.ssthresh() != Bytes::MAX {
            self.phase = Phase::Over;
            return inner.on_ack(ack);
        }
        let over = match self.end {
            Some(end) if ack.number.at_or_after(end) => self.end_round(ack.nxt),
            Some(_) => false,
            None => self.end_round(ack.nxt),
        };
        if over {
            let cwnd = inner.cwnd();
            self.phase = Phase::Over;
            inner.on_restore(cwnd, cwnd.max(self.smss * 2));
            return inner.on_ack(ack);
        }
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        let mut left = self.counted(ack.acked);
        let before = inner.cwnd();
        // The window was full when the ACK came, or was not; what its first part adds does not change that.
        while !left.is_zero() {
            let flight = ack.flight + inner.cwnd().saturating_sub(before);
            let acked = left.min(self.smss);
            inner.on_ack(&AckSample { acked, flight, ..*ack });
            left = left.saturating_sub(acked);
        }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.divisor == 0 || self.growth_divisor == 0 || self.rounds == 0 || self.limit == Some(0) {
            let wrong = "divisor, growth_divisor, rounds or limit is 0";
            return Err(refusal(wrong, "1 or more; RFC 9406 §4.3 has 8, 4, 5 and 8"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "hystart-plus-plus",
    "slow start continues more slowly when delay grows, and ends after some rounds; over another algorithm",
    "RFC 9406",
    &Checked(Parameters::check, |parameters: &Parameters| {
        layered(HyStartPlusPlus::new(parameters.clone()), &parameters.over)
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Path, SMSS, built, loss};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Windows after round trips of these lengths, in milliseconds.
    fn windows(rtts: &[u64]) -> (Vec<u64>, bool) {
        let mut congestion = built("hystart-plus-plus", json!({}));
        let mut path = Path::new();
        let windows = rtts.iter().map(|rtt| {
            path.round(congestion.as_mut(), Duration::from_millis(*rtt), Duration::ZERO);
            congestion.cwnd().whole(SMSS)
        });
        let windows = windows.collect();
        (windows, congestion.in_slow_start())
    }

    #[test]
    fn slow_start_doubles_while_the_round_trip_stays() {
        assert_eq!(windows(&[100; 6]), (vec![4, 8, 16, 32, 64, 128], true));
    }

    #[test]
    fn a_longer_round_trip_slows_it_to_a_quarter_and_five_rounds_later_it_is_over() {
        let (windows, in_slow_start) = windows(&[100, 100, 100, 100, 120, 120, 120, 120, 120, 120]);
        // Eight samples of the fifth round decide; the other 24 ACKs of it open 6 segments.
        assert_eq!(windows[..5], [4, 8, 16, 32, 46]);
        for pair in windows[4..9].windows(2) {
            let growth = pair[1] as f64 / pair[0] as f64;
            assert!((growth - 1.25).abs() < 0.03, "{windows:?}");
        }
        assert!(!in_slow_start, "{windows:?}");
    }

    #[test]
    fn a_round_trip_that_shrinks_again_resumes_slow_start() {
        let (windows, in_slow_start) = windows(&[100, 100, 100, 100, 120, 100, 100]);
        assert!(in_slow_start && windows[6] > windows[5] * 19 / 10, "{windows:?}");
    }

    // RFC 9406 §4.3: only in the initial slow start.
    #[test]
    fn once_it_is_over_it_stays_so_though_the_loss_is_undone() {
        let mut congestion = built("hystart-plus-plus", json!({}));
        let mut path = Path::new();
        let mut round =
            |congestion: &mut dyn CongestionControl, rtt| path.round(congestion, rtt, Duration::ZERO);
        (0..4).for_each(|_| round(congestion.as_mut(), RTT));
        congestion.on_loss(&loss(SMSS * 32));
        round(congestion.as_mut(), RTT);
        congestion.on_restore(SMSS * 32, Bytes::MAX);
        (0..8).for_each(|_| round(congestion.as_mut(), RTT * 2));
        assert_eq!((congestion.cwnd(), congestion.ssthresh()), (SMSS * 32 * 256, Bytes::MAX));
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_ms() {
        let rule = HyStartPlusPlus::new(Parameters::default());
        let of = |millis| rule.threshold(Duration::from_millis(millis)).as_nanos() / 1_000_000;
        assert_eq!([of(10), of(100), of(1000)], [4, 12, 16]);
    }

    #[test]
    fn one_ack_opens_eight_segments_at_most() {
        let mut congestion = built("hystart-plus-plus", json!({}));
        congestion.on_restore(SMSS * 40, Bytes::MAX);
        let ack = super::super::testing::ack_sample(SMSS * 20, SMSS * 40);
        congestion.on_ack(&AckSample { rtt: Some(RTT), ..ack });
        assert_eq!(congestion.cwnd(), SMSS * 48);
    }
}

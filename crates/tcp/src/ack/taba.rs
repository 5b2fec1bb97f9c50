//! TCP Taba (Cheskis 2006): while the sender is taken to be in slow start, each segment is acknowledged by
//! several ACKs, each for a part of its bytes, so that a sender which counts ACKs opens its window the faster.
//! Otherwise the receiver is a common one.
//!
//! The sender's state is read off the gaps between segments, in blocks (§2.4): a slow start sends a burst and
//! then waits for most of a round trip.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Duration, Instant};

use super::{AckPolicy, Data, Series, When, delayed, every_segment, linux_2000};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// By how many ACKs a segment is acknowledged, and from when on; the last stage that has begun holds. In the
    /// document it is a number in the proc file system, which may change at any time. Before the first stage, and
    /// with 0 or 1 part, the receiver is a common one.
    pub factor: Vec<Stage>,
    /// Condition for several ACKs.
    pub amplifies: Amplifies,
    /// Number of gaps in a block. Cheskis 2006 §2.4: 20.
    #[schemars(range(min = 2))]
    pub block: Segments,
    /// Sample that is smoothed as the round trip.
    pub sample: Sampled,
    /// Weight of the earlier smoothed round trip at each sample. Cheskis 2006 §2.4: 7/8.
    pub alpha: f64,
    /// Share of the round trip that the largest gap of a block must reach in slow start; also, two gaps are about the
    /// same if the lesser reaches this share of the greater. Cheskis 2006 §2.4: 0.6.
    pub beta: f64,
    /// Meaning of a missing segment for the state of the sender.
    pub missing: Missing,
    /// The common receiver.
    pub otherwise: Otherwise,
}

/// By how many ACKs a segment is acknowledged, and from when on.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Time since the first segment with data.
    #[serde(default)]
    pub at: Duration,
    /// Segments with data that came before it.
    #[serde(default)]
    pub after: Segments,
    /// Number of ACKs for a segment; each acknowledges at least one byte.
    pub parts: u32,
}

/// Condition under which segments are acknowledged by several ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Amplifies {
    /// While the sender is taken to be in slow start.
    #[default]
    InSlowStart,
    /// Always.
    Always,
}

/// Sample of the round trip that the detector uses. The document only says "sample".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sampled {
    /// The endpoint's estimate at each segment: from echoed timestamps, or from the handshake.
    #[default]
    RoundTrip,
    /// The greatest gap of each block: what a receiver that goes by gaps alone sees of a round trip in slow start.
    GreatestGap,
    /// The sum of a block's gaps, as the document's name for the smoothed value, `ssum`, may mean.
    SumOfGaps,
}

/// The meaning of a missing segment for the sender's state. The document is silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Nothing: the gaps alone decide.
    #[default]
    Nothing,
    /// That its slow start is over, as a loss ends one: nothing is divided from then on until a later block,
    /// in which nothing was missing, shows a slow start.
    CongestionAvoidance,
}

/// The common receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Otherwise {
    /// Delayed ACKs of Linux, which the document's client used.
    #[default]
    #[serde(rename = "linux-2000")]
    Linux2000,
    /// An ACK for every second segment.
    Delayed,
    /// An ACK for every segment.
    EverySegment,
}

impl Otherwise {
    fn policy(self) -> Box<dyn AckPolicy> {
        match self {
            Self::Linux2000 => linux_2000::with_quick_acks(QUICK),
            Self::Delayed => delayed::standard(),
            Self::EverySegment => every_segment::policy(),
        }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            factor: vec![Stage { at: Duration::ZERO, after: Segments(0), parts: 2 }],
            amplifies: Amplifies::default(),
            block: Segments(20),
            sample: Sampled::default(),
            alpha: 7.0 / 8.0,
            beta: 0.6,
            missing: Missing::default(),
            otherwise: Otherwise::default(),
        }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        if self.block.0 < 2 {
            let wrong = format!("block is {} segments, and needs two gaps to compare", self.block.0);
            return Err(refusal(wrong, "\"2 segments\" or more; the document has 20"));
        }
        if !share(self.alpha) || !share(self.beta) {
            let wrong = format!("alpha is {} and beta {}, and not both are shares", self.alpha, self.beta);
            return Err(refusal(wrong, "from 0 to 1; the document has 0.875 and 0.6"));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Taba {
    parameters: Parameters,
    detector: Detector,
    common: Box<dyn AckPolicy>,
    first: Option<Instant>,
    segments: u64,
}

impl Taba {
    fn new(parameters: Parameters) -> Self {
        let common = parameters.otherwise.policy();
        Self { detector: Detector::default(), common, first: None, segments: 0, parameters }
    }

    /// The parts of the stage that holds now.
    fn parts(&self, now: Instant) -> Option<NonZeroU32> {
        let age = now - self.first?;
        let begun = |stage: &&Stage| age >= stage.at && self.segments > stage.after.0;
        NonZeroU32::new(self.parameters.factor.iter().rev().find(begun)?.parts)
            .filter(|parts| parts.get() > 1)
    }
}

impl AckPolicy for Taba {
    fn on_data(&mut self, data: &Data) -> When {
        self.first.get_or_insert(data.now);
        self.segments += 1;
        self.detector.on_segment(data, &self.parameters);
        let common = self.common.on_data(data);
        let amplifies = self.parameters.amplifies == Amplifies::Always || self.detector.in_slow_start;
        match self.parts(data.now) {
            Some(parts) if amplifies && !data.around_a_gap() => {
                When::Series(Series::Divided { parts: parts.get() })
            }
            _ => common,
        }
    }

    fn on_ack_sent(&mut self) {
        self.common.on_ack_sent();
    }
}

/// Detects a sender's slow start by the gaps between its segments.
#[derive(Debug)]
struct Detector {
    last: Option<Instant>,
    /// Gaps in this block so far, the least and the greatest.
    gaps: u64,
    least: Duration,
    greatest: Duration,
    /// Their sum.
    sum: Duration,
    /// Whether something was missing while they were counted, and that decides.
    missing: bool,
    /// The smoothed round trip, in nanoseconds.
    round_trip: Option<f64>,
    in_slow_start: bool,
}

impl Default for Detector {
    /// A connection begins with a slow start, whatever the first block will show.
    fn default() -> Self {
        Self {
            last: None,
            gaps: 0,
            least: Duration::MAX,
            greatest: Duration::ZERO,
            sum: Duration::ZERO,
            missing: false,
            round_trip: None,
            in_slow_start: true,
        }
    }
}

impl Detector {
    fn on_segment(&mut self, data: &Data, parameters: &Parameters) {
        if parameters.sample == Sampled::RoundTrip {
            self.smooth(data.rtt, parameters.alpha);
        }
        if parameters.missing == Missing::CongestionAvoidance && data.around_a_gap() {
            self.missing = true;
            self.in_slow_start = false;
        }
        let Some(last) = self.last.replace(data.now) else { return };
        let gap = data.now - last;
        self.gaps += 1;
        self.sum += gap;
        self.least = self.least.min(gap);
        self.greatest = self.greatest.max(gap);
        if self.gaps == parameters.block.0 {
            match parameters.sample {
                Sampled::RoundTrip => {}
                Sampled::GreatestGap => self.smooth(Some(self.greatest), parameters.alpha),
                Sampled::SumOfGaps => self.smooth(Some(self.sum), parameters.alpha),
            }
            self.judge(parameters.beta);
            *self = Self {
                last: self.last,
                round_trip: self.round_trip,
                in_slow_start: self.in_slow_start,
                ..Self::default()
            };
        }
    }

    fn smooth(&mut self, sample: Option<Duration>, alpha: f64) {
        let Some(sample) = sample.map(|rtt| rtt.as_nanos() as f64) else { return };
        self.round_trip = Some(self.round_trip.map_or(sample, |old| alpha * old + (1.0 - alpha) * sample));
    }

    /// Cheskis 2006 §2.4.
    fn judge(&mut self, beta: f64) {
        let (least, greatest) = (self.least.as_nanos() as f64, self.greatest.as_nanos() as f64);
        let even = least >= beta * greatest;
        let waited = self.round_trip.is_some_and(|round_trip| greatest >= beta * round_trip);
        self.in_slow_start = !even && waited && !self.missing;
    }
}

/// Linux 2.4 opens with as many quick ACKs as half the window has segments, at most 16 (`TCP_MAX_QUICKACKS`).
const QUICK: Segments = Segments(16);

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "taba",
    "several ACKs for the parts of each segment while the sender seems to be in slow start",
    "Cheskis 2006, chapter 2",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Taba::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::reassembly::Arrival;

    fn taba(parameters: Parameters) -> Taba {
        Taba { common: every_segment::policy(), ..Taba::new(parameters) }
    }

    /// The answers to segments with these gaps, in milliseconds, at a round trip of 100 ms.
    fn answers(policy: &mut Taba, gaps: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let mut now = Instant::START;
        gaps.into_iter()
            .map(|gap| {
                now += Duration::from_millis(gap);
                let data = Data {
                    now,
                    len: Bytes(1000),
                    arrival: Arrival::InOrder,
                    gap: false,
                    scattered: false,
                    full: Bytes(1000),
                    polled: false,
                    rtt: Some(Duration::from_millis(100)),
                };
                policy.on_data(&data) == When::Series(Series::Divided { parts: 2 })
            })
            .collect()
    }

    /// Bursts of ten segments a millisecond apart, each a round trip after the one before.
    fn bursts() -> impl Iterator<Item = u64> {
        (0..).map(|number| if number % 10 == 0 { 91 } else { 1 })
    }

    #[test]
    fn bursts_with_a_silence_between_them_are_a_slow_start() {
        assert!(
            answers(&mut taba(Parameters::default()), bursts().take(100)).into_iter().all(|divided| divided)
        );
    }

    #[test]
    fn even_gaps_end_it_after_a_block_and_bursts_bring_it_back() {
        let gaps = std::iter::repeat_n(5, 41).chain(bursts().take(60));
        let divided = answers(&mut taba(Parameters::default()), gaps);
        assert_eq!(divided[..41].iter().filter(|divided| **divided).count(), 20, "one block, then none");
        assert!(divided[100]);
    }

    #[test]
    fn uneven_gaps_far_below_the_round_trip_are_none() {
        let mut policy = taba(Parameters::default());
        let gaps = (0..60).map(|number| if number % 10 == 0 { 50 } else { 1 });
        assert!(!answers(&mut policy, gaps).last().unwrap());
    }

    #[test]
    fn where_a_loss_decides_a_block_with_a_hole_is_no_slow_start() {
        let parameters = Parameters { missing: Missing::CongestionAvoidance, ..Parameters::default() };
        let (mut policy, mut now) = (taba(parameters), Instant::START);
        let divided: Vec<bool> = (1..=81)
            .zip(bursts())
            .map(|(number, gap)| {
                now += Duration::from_millis(gap);
                let data = Data {
                    now,
                    len: Bytes(1000),
                    arrival: Arrival::InOrder,
                    gap: number == 25,
                    scattered: false,
                    full: Bytes(1000),
                    polled: false,
                    rtt: Some(Duration::from_millis(100)),
                };
                policy.on_data(&data) == When::Series(Series::Divided { parts: 2 })
            })
            .collect();
        let off: Vec<usize> = (1..=81).filter(|number| !divided[number - 1]).collect();
        assert_eq!(off, (25..61).collect::<Vec<_>>(), "from the hole to the end of the first whole block");
    }

    #[test]
    fn it_may_be_on_whatever_the_sender_does() {
        let mut policy = taba(Parameters { amplifies: Amplifies::Always, ..Parameters::default() });
        assert!(answers(&mut policy, std::iter::repeat_n(5, 60)).into_iter().all(|divided| divided));
    }

    #[test]
    fn the_factor_changes_by_time_and_by_segments() {
        let stage = |ms, after, parts| Stage { at: Duration::from_millis(ms), after: Segments(after), parts };
        let factor = vec![stage(0, 3, 2), stage(10, 0, 0), stage(12, 0, 2)];
        let mut policy = taba(Parameters { factor, amplifies: Amplifies::Always, ..Parameters::default() });
        let divided = answers(&mut policy, std::iter::repeat_n(1, 14));
        let expected =
            [false, false, false, true, true, true, true, true, true, true, false, false, true, true];
        assert_eq!(divided, expected);
    }
}

//! Pacing: the window decides how much is in flight, a rate when the next segment may leave (Aggarwal, Savage and
//! Anderson 2000).
//!
//! The profile's key `pacing` sets the rate, in windows per round trip, or a congestion control does
//! ([`CongestionControl::pace`](crate::congestion::CongestionControl::pace)). Segments then leave in portions as in
//! Linux: one quantum at once, as a host hands it to its network card, then a pause of the quantum's length.
//!
//! Pacing is window-controlled: a segment leaves only if the window has room for it, too, so that a pause of the ACKs
//! is a pause of the sender. With `rate_based` the rate alone decides, up to a number of windows in flight.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use units::{Bytes, Duration, Instant, Rate};

use crate::congestion::{Pace, quantum};

/// Rate at which segments are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Pacing {
    /// Windows per smoothed round trip, segment by segment.
    Windows(f64),
    /// By the phase, as Linux with the queue discipline `fq`.
    Phased(PhasedPacing),
    /// By the rate alone, segment by segment.
    RateBased(RateBasedPacing),
}

/// Pacing that does not wait for room in the window.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateBasedPacing {
    /// Windows per smoothed round trip.
    #[schemars(range(min = 0.1, max = 100.0))]
    pub rate_based: f64,
    /// Number of windows that may be in flight. Default: 2, so that a sender without ACKs stops after two round trips;
    /// outside of loss recovery only, in which the window decides.
    #[serde(default = "RateBasedPacing::most")]
    #[schemars(range(min = 1.0, max = 10.0))]
    pub most: f64,
}

impl RateBasedPacing {
    const fn most() -> f64 {
        2.0
    }
}

/// Pacing by the phase of congestion control; the defaults are Linux'.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhasedPacing {
    /// Windows in a round trip while cwnd is below half of ssthresh: 2 (`net.ipv4.tcp_pacing_ss_ratio`, 200 %).
    #[schemars(range(min = 0.1, max = 100.0))]
    pub slow_start: f64,
    /// Windows in a round trip after that: 1.2 (`net.ipv4.tcp_pacing_ca_ratio`, 120 %).
    #[schemars(range(min = 0.1, max = 100.0))]
    pub avoidance: f64,
    /// Fewest segments that leave at once: 2 (`net.ipv4.tcp_min_tso_segs`). At rates that carry more than that in
    /// 1/1024 of a second, the data of 1/1024 of a second leave at once (`tcp_tso_autosize`).
    pub least_quantum: u64,
}

impl Default for PhasedPacing {
    fn default() -> Self {
        Self { slow_start: 2.0, avoidance: 1.2, least_quantum: 2 }
    }
}

impl Pacing {
    /// Its ratios of windows to round trips.
    #[must_use]
    pub fn ratios(&self) -> Vec<f64> {
        match self {
            Self::Windows(gain) => vec![*gain],
            Self::Phased(phased) => vec![phased.slow_start, phased.avoidance],
            Self::RateBased(pacing) => vec![pacing.rate_based],
        }
    }
}

impl<'de> Deserialize<'de> for Pacing {
    /// Written by hand, as the error of an untagged enum does not name the wrong key of the table. The key `rate_based`
    /// distinguishes the tables.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            table @ Value::Object(_) if table.get(RATE_BASED).is_some() => {
                RateBasedPacing::deserialize(table).map(Self::RateBased).map_err(D::Error::custom)
            }
            table @ Value::Object(_) => {
                PhasedPacing::deserialize(table).map(Self::Phased).map_err(D::Error::custom)
            }
            number => f64::deserialize(number).map(Self::Windows).map_err(D::Error::custom),
        }
    }
}

/// The sender as pacing sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacedSender {
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// The congestion window.
    pub cwnd: Bytes,
    /// The window that limits the sender, with the changes of recovery.
    pub window: Bytes,
    /// The slow-start threshold.
    pub ssthresh: Bytes,
    /// FlightSize.
    pub flight: Bytes,
    /// The segment size.
    pub smss: Bytes,
    /// The rate that congestion control sets.
    pub pace: Option<Pace>,
}

/// The time at which the next segment may leave.
#[derive(Debug)]
pub(super) struct Pacer {
    source: Source,
    /// No segment leaves before this, but those of the present quantum.
    until: Instant,
    /// Time at which the present quantum began to leave, and the data that may still leave with it.
    quantum_at: Instant,
    quantum_left: Bytes,
    /// Delay of the present quantum beyond its time: up to half of its pause is made up for.
    credit: Duration,
    /// Number of segments that have left.
    segments: u64,
}

/// Where the rate comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Unpaced,
    Windows(f64),
    Phased(PhasedPacing),
    RateBased(RateBasedPacing),
    CongestionControl,
}

impl Pacer {
    pub(super) fn new(pacing: Option<&Pacing>, by_congestion_control: bool) -> Self {
        let source = match pacing {
            _ if by_congestion_control => Source::CongestionControl,
            None => Source::Unpaced,
            Some(Pacing::Windows(gain)) => Source::Windows(*gain),
            Some(Pacing::Phased(phased)) => Source::Phased(*phased),
            Some(Pacing::RateBased(pacing)) => Source::RateBased(*pacing),
        };
        let (until, quantum_at) = (Instant::START, Instant::START);
        Self { source, until, quantum_at, quantum_left: Bytes::ZERO, credit: Duration::ZERO, segments: 0 }
    }

    /// Whether segments are paced.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        !matches!(self.source, Source::Unpaced)
    }

    /// Whether the rate alone decides when a segment leaves.
    #[inline]
    pub(super) const fn is_rate_based(&self) -> bool {
        matches!(self.source, Source::RateBased(_))
    }

    /// The data that may be in flight where the window is `window`.
    pub(super) fn permitted(&self, window: Bytes) -> Bytes {
        match self.source {
            Source::RateBased(pacing) => Bytes((window.0 as f64 * pacing.most) as u64),
            _ => window,
        }
    }

    /// Time at which the next segment may leave, if it has to wait.
    #[inline]
    pub(super) fn holds_until(&self, now: Instant) -> Option<Instant> {
        let in_quantum = self.quantum_at == now && !self.quantum_left.is_zero();
        (self.until > now && !in_quantum).then_some(self.until)
    }

    /// A segment of `len` bytes has left: the next one waits its share of the time. Before the first round-trip sample
    /// nothing is paced.
    pub(super) fn on_sent(&mut self, now: Instant, len: Bytes, sender: &PacedSender) {
        match self.source {
            Source::Unpaced => {}
            Source::Windows(gain) => self.pause_evenly(now, len, gain, sender),
            Source::RateBased(pacing) => self.pause_evenly(now, len, pacing.rate_based, sender),
            Source::Phased(phased) => self.pause(now, len, phased.pace(sender)),
            Source::CongestionControl => self.pause(now, len, sender.pace),
        }
    }

    fn pause_evenly(&mut self, now: Instant, len: Bytes, gain: f64, sender: &PacedSender) {
        let Some(srtt) = sender.srtt else { return };
        let share = len.0 as f64 / (sender.window.0 as f64 * gain);
        let gap = Duration::from_nanos((srtt.as_nanos() as f64 * share) as u64);
        self.until = self.until.max(now) + gap;
    }

    fn pause(&mut self, now: Instant, len: Bytes, pace: Option<Pace>) {
        if let Some(pace) = pace.filter(|pace| pace.rate.bits_per_sec() > 0) {
            self.pause_by(now, len, pace);
        }
    }

    /// Pauses for a rate and a quantum as Linux does (`tcp_update_skb_after_send`).
    fn pause_by(&mut self, now: Instant, len: Bytes, pace: Pace) {
        self.segments += 1;
        if self.segments <= UNPACED_SEGMENTS {
            return;
        }
        if self.until <= now {
            self.credit = now.saturating_since(self.until);
            (self.until, self.quantum_at, self.quantum_left) = (now, now, pace.quantum);
        }
        self.quantum_left = self.quantum_left.saturating_sub(len);
        let gap = pace.rate.time_for(len).min(LONGEST_GAP);
        let made_up = (gap / 2).min(self.credit);
        self.credit = self.credit.saturating_sub(made_up);
        self.until += gap.saturating_sub(made_up);
    }
}

impl PhasedPacing {
    /// The rate and the quantum of a sender (`tcp_update_pacing_rate`, `tcp_tso_autosize`).
    pub(super) fn pace(&self, sender: &PacedSender) -> Option<Pace> {
        let slow_start = sender.cwnd < sender.ssthresh / 2;
        let ratio = if slow_start { self.slow_start } else { self.avoidance };
        let window = sender.cwnd.max(sender.flight);
        let bytes_per_sec = ratio * window.0 as f64 / sender.srtt?.as_secs_f64();
        let rate = Rate::from_bits_per_sec((bytes_per_sec * 8.0) as u64);
        Some(Pace { rate, quantum: quantum(rate, sender.smss * self.least_quantum) })
    }
}

/// The key of rate-based pacing.
const RATE_BASED: &str = "rate_based";
/// Linux, `tcp_update_skb_after_send`: the first segments, `TCP_INIT_CWND`, are not paced.
const UNPACED_SEGMENTS: u64 = 10;
/// Longest pause after a segment, as the rate may change meanwhile (Linux sch_fq.c, `fq_dequeue`). A congestion control
/// that measures the rate which its own pauses allow would slow down without end.
const LONGEST_GAP: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SMSS: Bytes = Bytes(1000);

    /// The times in microseconds at which `segments` segments leave that are always ready.
    fn departures(pacer: &mut Pacer, pace: Pace, segments: u32) -> Vec<u64> {
        let mut now = Instant::START;
        let mut times = vec![];
        for _ in 0..segments {
            now = pacer.holds_until(now).unwrap_or(now);
            pacer.pause_by(now, SMSS, pace);
            times.push(now.saturating_since(Instant::START).as_nanos() / 1000);
        }
        times
    }

    /// 1000 bytes in a millisecond.
    fn pace(segments: u64) -> Pace {
        Pace { rate: Rate::from_bits_per_sec(8_000_000), quantum: SMSS * segments }
    }

    #[test]
    fn the_first_ten_segments_leave_at_once_and_each_of_the_others_waits_for_the_one_before() {
        let mut pacer = Pacer::new(None, true);
        let times = departures(&mut pacer, pace(1), 13);
        assert!(times[..11].iter().all(|time| *time == 0), "{times:?}");
        assert_eq!(times[11..], [1000, 2000]);
    }

    #[test]
    fn a_quantum_leaves_at_once_and_its_pause_follows() {
        let mut pacer = Pacer::new(None, true);
        let times = departures(&mut pacer, pace(2), 16);
        assert_eq!(times[10..], [0, 0, 2000, 2000, 4000, 4000]);
    }

    #[test]
    fn however_low_the_rate_the_next_segment_waits_a_second_at_most() {
        let mut pacer = Pacer::new(None, true);
        let slow = Pace { rate: Rate::from_bits_per_sec(8), quantum: SMSS };
        let times = departures(&mut pacer, slow, 13);
        assert_eq!(times[11..], [1_000_000, 2_000_000]);
    }

    #[test]
    fn a_quantum_that_the_window_cuts_short_is_not_kept_for_later() {
        let mut pacer = Pacer::new(None, true);
        departures(&mut pacer, pace(4), 11);
        let later = Instant::START + Duration::from_micros(500);
        assert_eq!(pacer.holds_until(later), Some(Instant::START + Duration::from_millis(1)));
    }

    #[test]
    fn a_late_segment_makes_up_for_half_of_its_pause_at_most() {
        let mut pacer = Pacer::new(None, true);
        departures(&mut pacer, pace(1), 11);
        let late = Instant::START + Duration::from_millis(9);
        pacer.pause_by(late, SMSS, pace(1));
        assert_eq!(pacer.holds_until(late), Some(late + Duration::from_micros(500)));
    }

    #[test]
    fn the_key_is_a_number_or_a_table_whose_defaults_are_those_of_linux() {
        let read = |value: Value| serde_json::from_value::<Pacing>(value).map_err(|error| error.to_string());
        assert_eq!(read(json!(1.2)), Ok(Pacing::Windows(1.2)));
        assert_eq!(read(json!({})), Ok(Pacing::Phased(PhasedPacing::default())));
        let rate_based = RateBasedPacing { rate_based: 1.0, most: 2.0 };
        assert_eq!(read(json!({ "rate_based": 1.0 })), Ok(Pacing::RateBased(rate_based)));
        let wrong = read(json!({ "rate_based": 1.0, "slow_start": 2.0 })).expect_err("of another kind");
        assert!(wrong.contains("unknown field `slow_start`"), "{wrong}");
        let wrong = read(json!({ "fast": 2 })).expect_err("there is no such key");
        assert!(wrong.contains("unknown field `fast`"), "{wrong}");
    }
}

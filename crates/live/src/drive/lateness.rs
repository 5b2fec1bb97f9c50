//! Lateness of delivered packets, compared with the emulated link's schedule.

use hdrhistogram::Histogram;
use serde::Serialize;
use units::{Duration, Instant};

/// Default lateness of a delivery above which it taints the run. 10 ms is a tick of the clocks in the TCPs under test:
/// a longer delay by the emulator may move a retransmission timer.
pub const TAINTED_FROM: Duration = Duration::from_millis(10);

/// Records the lateness of every delivery of a run.
#[derive(Debug)]
pub(crate) struct LatenessRecorder {
    late_by: Histogram<u64>,
    /// Lateness above which a delivery taints the run.
    bound: Duration,
    misses: u64,
}

/// The lateness of a run's deliveries: the time from the link's scheduled delivery until the receiving kernel has the
/// packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// Number of packets delivered.
    pub releases: u64,
    /// Median, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// 99.9th percentile, in milliseconds.
    pub p999_ms: f64,
    /// Maximum, in milliseconds.
    pub max_ms: f64,
    /// The bound of a valid run, in milliseconds: [`TAINTED_FROM`] unless the scenario says otherwise.
    pub bound_ms: f64,
    /// Number of deliveries later than the bound.
    pub misses: u64,
    /// Whether a delivery was later than the bound.
    pub tainted: bool,
    /// The distribution of the lateness, without empty bins.
    pub histogram: Vec<LatenessBin>,
}

/// A bin: deliveries later than the upper bound of the previous bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatenessBin {
    /// The greatest lateness of the bin, in milliseconds.
    pub up_to_ms: f64,
    /// Number of deliveries.
    pub releases: u64,
}

impl LatenessRecorder {
    /// Makes an empty recorder.
    pub(crate) fn new(bound: Duration) -> Self {
        const SIGNIFICANT_DIGITS: u8 = 3;
        let late_by = Histogram::new_with_max(LONGEST.as_nanos(), SIGNIFICANT_DIGITS);
        let late_by = late_by.expect("3 digits and some minutes are in the histogram's range");
        Self { late_by, bound, misses: 0 }
    }

    /// Records a packet that was scheduled for one time and delivered at another.
    pub(crate) fn record(&mut self, planned: Instant, actual: Instant) {
        let late_by = actual.saturating_since(planned);
        self.late_by.saturating_record(late_by.as_nanos());
        self.misses += u64::from(late_by > self.bound);
    }

    /// Returns the figures so far; zeros where nothing was delivered.
    pub(crate) fn summary(&self) -> Lateness {
        Lateness {
            releases: self.late_by.len(),
            p50_ms: millis(self.late_by.value_at_quantile(0.50)),
            p99_ms: millis(self.late_by.value_at_quantile(0.99)),
            p999_ms: millis(self.late_by.value_at_quantile(0.999)),
            max_ms: millis(self.late_by.max()),
            bound_ms: millis(self.bound.as_nanos()),
            misses: self.misses,
            tainted: self.misses > 0,
            histogram: self.histogram(),
        }
    }

    /// Returns the 99th percentile and the maximum so far, in milliseconds.
    pub(crate) fn so_far(&self) -> (f64, f64) {
        (millis(self.late_by.value_at_quantile(0.99)), millis(self.late_by.max()))
    }

    fn histogram(&self) -> Vec<LatenessBin> {
        let mut bins = Vec::new();
        let mut from = 0;
        for up_to in BIN_BOUNDS_US.map(|micros| micros * 1_000).into_iter().chain([LONGEST.as_nanos()]) {
            let releases = self.late_by.count_between(from, up_to);
            if releases > 0 {
                bins.push(LatenessBin { up_to_ms: millis(up_to), releases });
            }
            from = self.late_by.next_non_equivalent(up_to);
        }
        bins
    }
}

/// The largest lateness that the histogram distinguishes; larger ones count as this.
const LONGEST: Duration = Duration::from_secs(600);

/// The bounds of the bins, in microseconds: three to a decade.
const BIN_BOUNDS_US: [u64; 13] =
    [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(late_by_micros: impl IntoIterator<Item = u64>) -> LatenessRecorder {
        let mut recorder = LatenessRecorder::new(TAINTED_FROM);
        let planned = Instant::from_nanos(5);
        for micros in late_by_micros {
            recorder.record(planned, planned + Duration::from_micros(micros));
        }
        recorder
    }

    #[test]
    fn quantiles_are_in_milliseconds() {
        let lateness = recorded(1..=1000).summary();
        assert!((lateness.p50_ms - 0.5).abs() < 0.002, "{lateness:?}");
        assert!((lateness.p99_ms - 0.99).abs() < 0.002, "{lateness:?}");
        assert!((lateness.max_ms - 1.0).abs() < 0.002, "{lateness:?}");
        assert_eq!(lateness.releases, 1000);
    }

    #[test]
    fn one_delivery_beyond_ten_milliseconds_taints_the_run() {
        assert!(!recorded([9_900]).summary().tainted);
        assert!(recorded([3, 10_100, 3]).summary().tainted);
    }

    #[test]
    fn every_delivery_is_in_one_bin_and_those_beyond_the_bound_are_misses() {
        let lateness = recorded((1..=1000).chain([30_000, 700_000])).summary();
        assert_eq!(lateness.histogram.iter().map(|bin| bin.releases).sum::<u64>(), 1002);
        assert_eq!(lateness.histogram[0], LatenessBin { up_to_ms: 0.01, releases: 10 });
        assert_eq!((lateness.misses, lateness.bound_ms), (2, 10.0));
    }

    #[test]
    fn a_delivery_before_its_schedule_is_not_late() {
        let mut recorder = LatenessRecorder::new(TAINTED_FROM);
        recorder.record(Instant::from_nanos(9), Instant::from_nanos(3));
        assert_eq!(recorder.summary().max_ms, 0.0);
    }

    #[test]
    fn a_run_without_packets_has_figures_too() {
        assert_eq!(LatenessRecorder::new(TAINTED_FROM).summary().p99_ms, 0.0);
    }
}

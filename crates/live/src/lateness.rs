//! How late packets are delivered, compared with the emulated link's schedule.

use hdrhistogram::Histogram;
use serde::Serialize;
use units::{Duration, Instant};

/// A delivery later than this taints the run. 10 ms is a tick of the clocks in the TCPs under test: a longer delay by
/// the emulator may move a retransmission timer.
pub const TAINTED_FROM: Duration = Duration::from_millis(10);

/// Records the lateness of every delivery of a run.
#[derive(Debug)]
pub(crate) struct LatenessRecorder {
    late_by: Histogram<u64>,
}

/// The lateness of a run's deliveries: the time from the link's scheduled delivery until the receiving kernel has the
/// packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// How many packets were delivered.
    pub releases: u64,
    /// Median, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// Maximum, in milliseconds.
    pub max_ms: f64,
    /// Whether any delivery was later than [`TAINTED_FROM`].
    pub tainted: bool,
}

impl LatenessRecorder {
    /// Makes an empty recorder.
    pub(crate) fn new() -> Self {
        const SIGNIFICANT_DIGITS: u8 = 3;
        let late_by = Histogram::new_with_max(LONGEST.as_nanos(), SIGNIFICANT_DIGITS);
        Self { late_by: late_by.expect("3 digits and some minutes are in the histogram's range") }
    }

    /// Records a packet that was scheduled for one time and delivered at another.
    pub(crate) fn record(&mut self, planned: Instant, actual: Instant) {
        self.late_by.saturating_record(actual.saturating_since(planned).as_nanos());
    }

    /// Returns the figures so far; zeros where nothing was delivered.
    pub(crate) fn summary(&self) -> Lateness {
        Lateness {
            releases: self.late_by.len(),
            p50_ms: millis(self.late_by.value_at_quantile(0.50)),
            p99_ms: millis(self.late_by.value_at_quantile(0.99)),
            max_ms: millis(self.late_by.max()),
            tainted: self.late_by.max() > TAINTED_FROM.as_nanos(),
        }
    }
}

/// The largest lateness that the histogram distinguishes; larger ones count as this.
const LONGEST: Duration = Duration::from_secs(600);

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(late_by_micros: impl IntoIterator<Item = u64>) -> LatenessRecorder {
        let mut recorder = LatenessRecorder::new();
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
    fn a_delivery_before_its_schedule_is_not_late() {
        let mut recorder = LatenessRecorder::new();
        recorder.record(Instant::from_nanos(9), Instant::from_nanos(3));
        assert_eq!(recorder.summary().max_ms, 0.0);
    }

    #[test]
    fn a_run_without_packets_has_figures_too() {
        assert_eq!(LatenessRecorder::new().summary().p99_ms, 0.0);
    }
}

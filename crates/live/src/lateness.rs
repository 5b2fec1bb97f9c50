//! How late packets left the emulated link, against the plan.

use hdrhistogram::Histogram;
use serde::Serialize;
use units::{Duration, Instant};

/// A release this late marks the run as tainted: 10 ms is a tick of the clocks in the TCPs under
/// test, so from here on the emulator and not the link may have moved a retransmission timer.
pub const TAINTED_FROM: Duration = Duration::from_millis(10);

/// The lateness of every release of a run.
#[derive(Debug)]
pub(crate) struct Releases {
    late_by: Histogram<u64>,
}

/// What a run tells about the lateness of its releases. A release is late by the time from the
/// link's planned delivery until the receiving kernel has the packet in hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// How many packets were released.
    pub releases: u64,
    /// Median, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// The worst one, in milliseconds.
    pub max_ms: f64,
    /// Whether any release was later than [`TAINTED_FROM`].
    pub tainted: bool,
}

impl Releases {
    /// No release yet.
    pub(crate) fn new() -> Self {
        const SIGNIFICANT_DIGITS: u8 = 3;
        let late_by = Histogram::new_with_max(LONGEST.as_nanos(), SIGNIFICANT_DIGITS);
        Self { late_by: late_by.expect("3 digits and some minutes are in the histogram's range") }
    }

    /// One packet, planned for one time, was with the receiving kernel at another.
    pub(crate) fn record(&mut self, planned: Instant, actual: Instant) {
        self.late_by.saturating_record(actual.saturating_since(planned).as_nanos());
    }

    /// The figures so far; zeros where nothing was released.
    pub(crate) fn lateness(&self) -> Lateness {
        Lateness {
            releases: self.late_by.len(),
            p50_ms: millis(self.late_by.value_at_quantile(0.50)),
            p99_ms: millis(self.late_by.value_at_quantile(0.99)),
            max_ms: millis(self.late_by.max()),
            tainted: self.late_by.max() > TAINTED_FROM.as_nanos(),
        }
    }
}

/// Longer than any run that makes sense is late; what is later counts as this.
const LONGEST: Duration = Duration::from_secs(600);

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases(late_by_micros: impl IntoIterator<Item = u64>) -> Releases {
        let mut releases = Releases::new();
        let planned = Instant::from_nanos(5);
        for micros in late_by_micros {
            releases.record(planned, planned + Duration::from_micros(micros));
        }
        releases
    }

    #[test]
    fn quantiles_are_told_in_milliseconds() {
        let lateness = releases(1..=1000).lateness();
        assert!((lateness.p50_ms - 0.5).abs() < 0.002, "{lateness:?}");
        assert!((lateness.p99_ms - 0.99).abs() < 0.002, "{lateness:?}");
        assert!((lateness.max_ms - 1.0).abs() < 0.002, "{lateness:?}");
        assert_eq!(lateness.releases, 1000);
    }

    #[test]
    fn one_release_beyond_ten_milliseconds_taints_the_run() {
        assert!(!releases([9_900]).lateness().tainted);
        assert!(releases([3, 10_100, 3]).lateness().tainted);
    }

    #[test]
    fn a_release_before_its_plan_is_not_late() {
        let mut releases = Releases::new();
        releases.record(Instant::from_nanos(9), Instant::from_nanos(3));
        assert_eq!(releases.lateness().max_ms, 0.0);
    }

    #[test]
    fn a_run_without_packets_has_figures_too() {
        assert_eq!(Releases::new().lateness().p99_ms, 0.0);
    }
}

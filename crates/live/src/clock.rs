//! The system's clock as the time of a run.

use std::time::{Duration as StdDuration, SystemTime, UNIX_EPOCH};

use units::Instant;

/// Nanoseconds since the run began, by the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// Starts a clock at zero.
    #[expect(clippy::disallowed_methods, reason = "this crate is where the system's clock may be read")]
    pub(crate) fn start() -> Self {
        Self { start: std::time::Instant::now() }
    }

    /// Returns the clock whose zero is `time` of this one. Until then it stands at zero.
    pub(crate) fn with_zero_at(&self, time: Instant) -> Self {
        Self { start: self.start + StdDuration::from_nanos(time.as_nanos()) }
    }

    /// Returns the time of the run.
    pub(crate) fn now(&self) -> Instant {
        let nanos = self.start.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).expect("a run is shorter than 584 years"))
    }

    /// Returns the date and time of day at which this clock stood at zero, in nanoseconds since 1970.
    #[expect(clippy::disallowed_methods, reason = "this crate is where the system's clock may be read")]
    pub(crate) fn date_of_zero(&self) -> u64 {
        let date = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(date.as_nanos()).unwrap_or(u64::MAX).saturating_sub(self.now().as_nanos())
    }
}

//! The system's clock as the time of a run.

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

    /// Returns the time of the run.
    pub(crate) fn now(&self) -> Instant {
        let nanos = self.start.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).expect("a run is shorter than 584 years"))
    }
}

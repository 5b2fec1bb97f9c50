//! quinn's times: `std::time::Instant`s, which we derive from one origin.

use std::sync::OnceLock;
use std::time::Duration as StdDuration;

use units::Instant;

/// The time of the run in quinn's type.
pub(super) fn to_quinn(time: Instant) -> std::time::Instant {
    origin() + StdDuration::from_nanos(time.as_nanos())
}

/// A time of quinn's in the run's own.
pub(super) fn from_quinn(time: std::time::Instant) -> Instant {
    let nanos = time.saturating_duration_since(origin()).as_nanos();
    Instant::from_nanos(u64::try_from(nanos).unwrap_or(Instant::NEVER.as_nanos()))
}

/// Origin of times. quinn only ever compares and subtracts times, so it does not matter which it is: a day from now,
/// that there is something before it to subtract from.
#[expect(
    clippy::disallowed_methods,
    reason = "std has no other way to make an Instant; differences alone are used, so no run depends on it"
)]
fn origin() -> std::time::Instant {
    static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
    *ORIGIN.get_or_init(|| std::time::Instant::now() + A_DAY)
}

const A_DAY: StdDuration = StdDuration::from_secs(86_400);

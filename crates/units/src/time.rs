//! Time as an argument: integer nanoseconds, counted from the start of the run.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use serde::{Deserialize, Serialize};

/// A point in time: nanoseconds since the run began. Reaches 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const START: Self = Self(0);
    /// Later than every other instant: the time of an event that never happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for people and pictures; arithmetic stays in nanoseconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time from `earlier` to here; zero if `earlier` is in fact later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest length of time.
    pub const MAX: Self = Self(u64::MAX);

    /// A length in nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A length in microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A length in milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A length in whole seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// A length from fractional seconds, rounded to the nearest nanosecond; negative and not-a-number become zero,
    /// longer times become [`Duration::MAX`].
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        // `as` saturates and maps NaN to 0, which is what the doc promises.
        Self((secs * 1e9).round() as u64)
    }

    /// The length in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The length in seconds, for people, pictures and ratios.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether the length is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, or zero where `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The distance between two lengths, whichever is longer.
    #[must_use]
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// The length times a non-negative factor, rounded to the nearest nanosecond.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }

    /// The length doubled `times` times, without overflow, as a back-off needs.
    #[must_use]
    pub const fn doubled(self, times: u32) -> Self {
        match 1_u64.checked_shl(times) {
            Some(factor) => Self(self.0.saturating_mul(factor)),
            None if self.0 == 0 => Self(0),
            None => Self(u64::MAX),
        }
    }

    /// The length rounded up to a whole number of `tick`s; unchanged for a tick of zero.
    #[must_use]
    pub const fn rounded_up_to(self, tick: Self) -> Self {
        if tick.0 == 0 { self } else { Self(self.0.div_ceil(tick.0).saturating_mul(tick.0)) }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    /// Saturates at [`Instant::NEVER`], so "never, plus a while" stays never.
    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, length: Duration) {
        *self = *self + length;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    /// Saturates at [`Instant::START`].
    fn sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(length.0))
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Time never runs back: in debug builds a negative difference is a panic.
    fn sub(self, earlier: Self) -> Duration {
        debug_assert!(self >= earlier, "time ran back: {self} is before {earlier}");
        self.saturating_since(earlier)
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER { f.write_str("never") } else { write!(f, "{:.6} s", self.as_secs_f64()) }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_plus_a_while_is_never() {
        assert_eq!(Instant::NEVER + Duration::from_secs(1), Instant::NEVER);
    }

    #[test]
    fn doubling_saturates_instead_of_wrapping() {
        assert_eq!(Duration::from_secs(1).doubled(3), Duration::from_secs(8));
        assert_eq!(Duration::from_secs(1).doubled(64), Duration::MAX);
        assert_eq!(Duration::ZERO.doubled(99), Duration::ZERO);
    }

    #[test]
    fn rounding_up_keeps_whole_ticks() {
        let tick = Duration::from_millis(10);
        assert_eq!(Duration::from_millis(20).rounded_up_to(tick), Duration::from_millis(20));
        assert_eq!(Duration::from_millis(21).rounded_up_to(tick), Duration::from_millis(30));
        assert_eq!(Duration::from_millis(21).rounded_up_to(Duration::ZERO), Duration::from_millis(21));
    }

    #[test]
    #[should_panic(expected = "time ran back")]
    #[cfg(debug_assertions)]
    fn a_negative_difference_is_a_bug() {
        let _ = Instant::START - Instant::from_nanos(1);
    }
}

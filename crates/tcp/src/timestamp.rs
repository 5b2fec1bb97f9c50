//! Values of the timestamp clock (RFC 7323 §5.4), ours or the peer's.

use units::{Duration, Instant};

/// A value of a clock that wraps: like a `Seq`, one is older or younger than another, never less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp(pub u32);

impl Timestamp {
    /// Reading of our clock at `now`: a millisecond a tick, inside the range of RFC 7323 §5.4. It wraps after 49 days,
    /// which §5.5 allows for.
    #[must_use]
    pub const fn at(now: Instant) -> Self {
        Self((now.as_nanos() / NANOS_PER_TICK) as u32)
    }

    /// Whether it is older than `other` (RFC 7323 §5.2).
    #[must_use]
    pub const fn is_older_than(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Time since our clock had this value; `None` for a value that it has not had yet.
    #[must_use]
    pub const fn age(self, now: Instant) -> Option<Duration> {
        let ticks = Self::at(now).0.wrapping_sub(self.0);
        if ticks > u32::MAX >> 1 { None } else { Some(Duration::from_nanos(ticks as u64 * NANOS_PER_TICK)) }
    }
}

/// Reading of the peer's clock at the acknowledgment, less the reading of ours at the transmission: the one-way delay,
/// and with it the difference of the two clocks, which is constant. Only differences of two of them mean anything (RFC
/// 6817 §2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWayDelay(i32);

impl OneWayDelay {
    /// The clock `value` of a peer that echoes our `echo`.
    #[must_use]
    pub const fn between(echo: u32, value: u32) -> Self {
        Self(value.wrapping_sub(echo) as i32)
    }

    /// In nanoseconds, of a peer whose clock has a tick of a millisecond as ours has (RFC 7323 §5.4 allows 1 ms to 1
    /// s).
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0 as i64 * NANOS_PER_TICK as i64
    }
}

const NANOS_PER_TICK: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_before_the_clock_wraps_is_older_than_one_after() {
        let [before, after] = [Timestamp(u32::MAX), Timestamp(1)];
        assert!(before.is_older_than(after) && !after.is_older_than(before) && !after.is_older_than(after));
    }

    #[test]
    fn delays_differ_by_what_the_path_differs_whatever_the_clocks_read() {
        let delay = |echo, value| OneWayDelay::between(echo, value).as_nanos();
        assert_eq!(delay(u32::MAX, 70) - delay(5, 46), 30_000_000);
        assert_eq!(delay(5_000_000, 60), -4_999_940_000_000);
    }

    #[test]
    fn the_age_of_a_reading_is_known_across_the_wrap_and_of_none_that_is_to_come() {
        let ticks = |count: u64| Instant::START + Duration::from_millis(count);
        let wrap = 1 << 32;
        assert_eq!(Timestamp::at(ticks(wrap - 5)).age(ticks(wrap + 20)), Some(Duration::from_millis(25)));
        assert_eq!(Timestamp::at(ticks(26)).age(ticks(25)), None);
    }
}

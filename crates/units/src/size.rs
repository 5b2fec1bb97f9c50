//! Sizes and speeds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use crate::Duration;

/// A number of bytes: a packet's size, a window, a queue's length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A speed in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than any queue or window holds: "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// Whether there are none.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, stopping at [`Bytes::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This size changed by a signed number of bytes, never below zero.
    #[must_use]
    pub const fn saturating_add_signed(self, change: i64) -> Self {
        Self(self.0.saturating_add_signed(change))
    }

    /// Number of whole `unit`s that fit; zero for a unit of zero.
    #[must_use]
    pub const fn whole(self, unit: Self) -> u64 {
        match self.0.checked_div(unit.0) {
            Some(units) => units,
            None => 0,
        }
    }
}

impl Rate {
    /// A rate in bits per second.
    #[must_use]
    pub const fn from_bits_per_sec(bits: u64) -> Self {
        Self(bits)
    }

    /// Bits per second.
    #[must_use]
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// Time that `size` takes at this rate, rounded up to a nanosecond, so that a link never
    /// runs faster than its rate. A rate of zero never finishes: [`Duration::MAX`].
    #[must_use]
    pub const fn time_for(self, size: Bytes) -> Duration {
        const NANOS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000;
        if self.0 == 0 {
            return Duration::MAX;
        }
        match size.0.checked_mul(NANOS_PER_BYTE_AT_1_BPS) {
            Some(scaled) => Duration::from_nanos(scaled.div_ceil(self.0)),
            None => {
                let nanos = (size.0 as u128 * NANOS_PER_BYTE_AT_1_BPS as u128).div_ceil(self.0 as u128);
                if nanos > u64::MAX as u128 { Duration::MAX } else { Duration::from_nanos(nanos as u64) }
            }
        }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Div<u64> for Bytes {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        Self(sizes.map(|size| size.0).sum())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_a_quarter_second_at_9600_bits() {
        // Sarolahti 2000, section 4.4: 303 bytes at 9600 bit/s, "about 250 ms".
        let rate = Rate::from_bits_per_sec(9600);
        assert_eq!(rate.time_for(Bytes(303)), Duration::from_micros(252_500));
    }

    #[test]
    fn a_link_is_never_faster_than_its_rate() {
        let rate = Rate::from_bits_per_sec(3);
        assert_eq!(rate.time_for(Bytes(1)), Duration::from_nanos(2_666_666_667));
    }

    #[test]
    fn huge_sizes_do_not_overflow() {
        assert_eq!(Rate::from_bits_per_sec(8_000_000_000).time_for(Bytes(1 << 40)).as_nanos(), 1 << 40);
        assert_eq!(Rate::from_bits_per_sec(0).time_for(Bytes(1)), Duration::MAX);
    }
}

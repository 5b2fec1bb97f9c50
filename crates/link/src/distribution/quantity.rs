//! The quantities that can vary: lengths of time, rates, and amounts of data.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use units::text::{UnitError, parse_bytes, parse_duration, parse_rate};
use units::{Bytes, Duration, Rate};

/// A quantity that a distribution can be of. As a number it counts its finest unit.
pub trait Quantity:
    Copy + Debug + PartialOrd + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// None of it.
    const ZERO: Self;

    /// The number nearest to it; exact up to 2⁵³.
    fn number(self) -> f64;

    /// The quantity nearest to a number; zero for a negative number and for not-a-number, the largest quantity for a
    /// number that is too large.
    fn nearest(number: f64) -> Self;

    /// Reads it as people write it.
    ///
    /// # Errors
    /// A missing or unknown unit, a negative number.
    fn parse(text: &str) -> Result<Self, UnitError>;
}

impl Quantity for Duration {
    const ZERO: Self = Self::ZERO;

    fn number(self) -> f64 {
        self.as_nanos() as f64
    }

    fn nearest(number: f64) -> Self {
        Self::from_nanos(number.round() as u64)
    }

    fn parse(text: &str) -> Result<Self, UnitError> {
        parse_duration(text)
    }
}

impl Quantity for Rate {
    const ZERO: Self = Self::from_bits_per_sec(0);

    fn number(self) -> f64 {
        self.bits_per_sec() as f64
    }

    fn nearest(number: f64) -> Self {
        Self::from_bits_per_sec(number.round() as u64)
    }

    fn parse(text: &str) -> Result<Self, UnitError> {
        parse_rate(text)
    }
}

impl Quantity for Bytes {
    const ZERO: Self = Self::ZERO;

    fn number(self) -> f64 {
        self.0 as f64
    }

    fn nearest(number: f64) -> Self {
        Self(number.round() as u64)
    }

    fn parse(text: &str) -> Result<Self, UnitError> {
        parse_bytes(text)
    }
}

//! Counts that must not be mixed up: packets on a link, segments of a TCP; and probabilities.

use std::fmt;

use super::quantity::{DURATION, PACKETS, Quantity, SEGMENTS};
use super::{
    UnitError, parse_bytes, parse_duration, parse_packets, parse_segments, write_bytes, write_duration,
};
use crate::{Bytes, Duration};

/// A number of packets: "7 packets".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packets(pub u64);

/// A number of segments: "2 segments".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segments(pub u64);

/// A length of a queue: "20 packets" or "32 KiB".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketsOrBytes {
    /// A number of packets, whatever their sizes.
    Packets(Packets),
    /// A number of bytes.
    Bytes(Bytes),
}

/// A limit on a queue: "20 packets", "32 KiB" or "500 ms".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueLimit {
    /// A number of packets, whatever their sizes.
    Packets(Packets),
    /// A number of bytes.
    Bytes(Bytes),
    /// The amount that the link transmits in this time.
    Time(Duration),
}

/// A window: "2 segments" or "4380 bytes".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentsOrBytes {
    /// A number of segments of the maximum size.
    Segments(Segments),
    /// A number of bytes.
    Bytes(Bytes),
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// The probability, if the number is one.
    #[must_use]
    pub fn new(number: f64) -> Option<Self> {
        (0.0..=1.0).contains(&number).then_some(Self(number))
    }

    /// The number, from 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl PacketsOrBytes {
    /// Reads either.
    ///
    /// # Errors
    /// A missing or unknown unit, a negative number, a part of a packet or byte.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        either(text, &PACKETS).map(|counts| {
            if counts {
                parse_packets(text).map(|count| Self::Packets(Packets(count)))
            } else {
                parse_bytes(text).map(Self::Bytes)
            }
        })?
    }
}

impl QueueLimit {
    /// Reads any of the three.
    ///
    /// # Errors
    /// A missing or unknown unit, a negative number, a part of a packet, byte or nanosecond.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        if unit(text, &PACKETS).is_ok_and(|unit| DURATION.speaks_of(unit)) {
            return parse_duration(text).map(Self::Time);
        }
        PacketsOrBytes::parse(text).map(Self::from)
    }

    /// Whether no packet may wait.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        match self {
            Self::Packets(packets) => packets.0 == 0,
            Self::Bytes(size) => size.is_zero(),
            Self::Time(time) => time.is_zero(),
        }
    }
}

impl From<PacketsOrBytes> for QueueLimit {
    fn from(length: PacketsOrBytes) -> Self {
        match length {
            PacketsOrBytes::Packets(packets) => Self::Packets(packets),
            PacketsOrBytes::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

impl SegmentsOrBytes {
    /// Reads either.
    ///
    /// # Errors
    /// A missing or unknown unit, a negative number, a part of a segment or byte.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        either(text, &SEGMENTS).map(|counts| {
            if counts {
                parse_segments(text).map(|count| Self::Segments(Segments(count)))
            } else {
                parse_bytes(text).map(Self::Bytes)
            }
        })?
    }

    /// The size in bytes, for segments of the length `segment`.
    #[must_use]
    pub const fn bytes(self, segment: Bytes) -> Bytes {
        match self {
            Self::Segments(count) => Bytes(count.0 * segment.0),
            Self::Bytes(size) => size,
        }
    }
}

/// Whether the text counts in the unit of `counting`; an error if it has no unit at all.
fn either(text: &str, counting: &Quantity) -> Result<bool, UnitError> {
    unit(text, counting).map(|unit| counting.has_unit(unit))
}

/// The text's unit; an error in the words of `counting` if it has none.
fn unit<'a>(text: &'a str, counting: &Quantity) -> Result<&'a str, UnitError> {
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || "-. ".contains(c));
    if unit.is_empty() { Err(counting.no_unit(text.trim())) } else { Ok(unit) }
}

fn plural(f: &mut fmt::Formatter<'_>, count: u64, one: &str) -> fmt::Result {
    write!(f, "{count} {one}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        plural(f, self.0, "packet")
    }
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        plural(f, self.0, "segment")
    }
}

impl fmt::Display for PacketsOrBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => count.fmt(f),
            Self::Bytes(size) => f.write_str(&write_bytes(*size)),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => count.fmt(f),
            Self::Bytes(size) => f.write_str(&write_bytes(*size)),
            Self::Time(time) => f.write_str(&write_duration(*time)),
        }
    }
}

impl fmt::Display for SegmentsOrBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segments(count) => count.fmt(f),
            Self::Bytes(size) => f.write_str(&write_bytes(*size)),
        }
    }
}

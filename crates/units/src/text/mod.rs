//! Quantities as people write them: "9600 bit/s", "200 ms", "7 packets", "32 KiB".
//!
//! Every value in a file carries its unit; a bare number is refused. Reading is exact (decimal digits,
//! never floating point), and each `write_*` gives the canonical text that reads back as the same value.
//! The quantities are `serde` and `schemars` types by this text, so a configuration only derives.
//!
//! A message is "what is wrong; what would be right", joined by [`REMEDY`].

mod count;
mod error;
mod quantity;
mod serial;

pub use count::{Packets, PacketsOrBytes, Probability, QueueLimit, Segments, SegmentsOrBytes};
pub use error::{REMEDY, UnitError};

use crate::{Bytes, Duration, Rate};
use quantity::{BYTES, BYTES_CANONICAL, DURATION, DURATION_CANONICAL, RATE, RATE_CANONICAL};

/// A length of time: ns, us, ms, s, min, h.
///
/// # Errors
/// A missing or unknown unit, a negative number, a part of a nanosecond, over 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    DURATION.parse(text).map(Duration::from_nanos)
}

/// A size: bytes (or B), kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024).
///
/// # Errors
/// A missing or unknown unit ("KB" is neither 1000 nor 1024), a negative number, a part of a byte.
pub fn parse_bytes(text: &str) -> Result<Bytes, UnitError> {
    BYTES.parse(text).map(Bytes)
}

/// A speed: bit/s, kbit/s, Mbit/s, Gbit/s (powers of 1000).
///
/// # Errors
/// A missing or unknown unit, a negative number, a part of a bit per second.
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    RATE.parse(text).map(Rate::from_bits_per_sec)
}

/// A number of packets: "7 packets", "1 packet".
///
/// # Errors
/// A missing or another unit, a negative number, a part of a packet.
pub fn parse_packets(text: &str) -> Result<u64, UnitError> {
    quantity::PACKETS.parse(text)
}

/// A number of segments: "2 segments", "1 segment".
///
/// # Errors
/// A missing or another unit, a negative number, a part of a segment.
pub fn parse_segments(text: &str) -> Result<u64, UnitError> {
    quantity::SEGMENTS.parse(text)
}

/// The canonical text: the largest of s, ms, us, ns in which the length is whole.
#[must_use]
pub fn write_duration(length: Duration) -> String {
    quantity::write(length.as_nanos(), DURATION_CANONICAL)
}

/// The canonical text: the unit in which the whole number is smallest.
#[must_use]
pub fn write_bytes(size: Bytes) -> String {
    quantity::write(size.0, BYTES_CANONICAL)
}

/// The canonical text: the largest unit in which the rate is whole.
#[must_use]
pub fn write_rate(rate: Rate) -> String {
    quantity::write(rate.bits_per_sec(), RATE_CANONICAL)
}

#[cfg(test)]
mod tests;

//! Rates at which segments leave.

use units::{Bytes, Rate};

/// A rate at which segments leave, and in what portions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The rate of the data.
    pub rate: Rate,
    /// Data that may leave at once, one segment at least; the pause after them makes up for it.
    pub quantum: Bytes,
}

/// The data that leave at once at a rate: those of 1/1024 of a second (Linux' `sk_pacing_shift`), at least `least`, and
/// at most one packet with segmentation offload.
#[must_use]
pub(crate) fn quantum(rate: Rate, least: Bytes) -> Bytes {
    Bytes(rate.bits_per_sec() / 8 / 1024).clamp(least, least.max(LARGEST_OFFLOAD))
}

/// `GSO_MAX_SIZE` of Linux.
pub(crate) const LARGEST_OFFLOAD: Bytes = Bytes(65_535);

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: Bytes = Bytes(1000);

    #[test]
    fn a_quantum_is_a_thousandth_of_a_second_between_the_least_and_an_offloaded_packet() {
        let of = |megabits: u64| quantum(Rate::from_bits_per_sec(megabits * 1_000_000), SMSS * 2);
        assert_eq!([of(1), of(100), of(10_000)], [SMSS * 2, Bytes(12_207), LARGEST_OFFLOAD]);
    }
}

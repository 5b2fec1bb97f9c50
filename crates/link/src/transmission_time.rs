//! The time that a packet's transmission takes at a rate.

use units::{Bytes, Duration, Rate};

/// Computes transmission times and keeps the last one: sizes repeat, and a division costs more than two comparisons.
#[derive(Debug)]
pub(crate) struct TransmissionTime {
    rate: Rate,
    size: Bytes,
    time: Duration,
}

impl TransmissionTime {
    pub(crate) const fn new() -> Self {
        Self { rate: Rate::from_bits_per_sec(0), size: Bytes::ZERO, time: Duration::MAX }
    }

    /// Duration of a transmission of `size` at `rate`.
    #[inline(always)]
    pub(crate) fn of(&mut self, rate: Rate, size: Bytes) -> Duration {
        if (self.rate, self.size) != (rate, size) {
            *self = Self { rate, size, time: rate.time_for(size) };
        }
        self.time
    }
}

//! Rates that are constant from one change to the next, and transmissions across the changes.

use units::{Bytes, Duration, Instant, Rate};

use super::TransmissionEnd;
use crate::distribution::Quantity;

/// A rate in pieces. It may be asked about a time again, and about earlier ones down to the start of
/// the last transmission.
pub(super) trait PiecewiseRate {
    /// The rate at `at`, and when it changes next; later than `at`.
    fn piece(&mut self, at: Instant) -> (Rate, Instant);

    /// The end of a transmission that starts at `now`: the integral of the rate reaches the size, to the next
    /// nanosecond.
    fn transmit(&mut self, now: Instant, size: Bytes) -> TransmissionEnd {
        let mut left = u128::from(size.0) * BIT_NANOS_PER_BYTE;
        let mut at = now;
        loop {
            let (rate, until) = self.piece(at);
            if rate == Rate::ZERO && at == now {
                return TransmissionEnd::NotBefore(until);
            }
            let per_nano = u128::from(rate.bits_per_sec());
            let able = per_nano * u128::from((until - at).as_nanos());
            if able >= left {
                let nanos = if per_nano == 0 { 0 } else { left.div_ceil(per_nano) };
                return TransmissionEnd::At(at + Duration::from_nanos(nanos as u64));
            }
            left -= able;
            at = until;
        }
    }
}

/// A bit takes a nanosecond at a rate of 10⁹ bit/s.
const BIT_NANOS_PER_BYTE: u128 = 8_000_000_000;

//! Common parts of the tests of acknowledgment policies.

use units::{Bytes, Duration, Instant};

use super::Data;
use crate::reassembly::Arrival;

/// Length of a full segment.
pub(super) const FULL: Bytes = Bytes(1000);

/// A full segment that arrives `ms` milliseconds after the start of the run, before the end has measured a round trip.
pub(super) fn data(ms: u64, arrival: Arrival) -> Data {
    Data {
        now: Instant::START + Duration::from_millis(ms),
        len: FULL,
        arrival,
        gap: arrival == Arrival::OutOfOrder,
        scattered: false,
        full: FULL,
        polled: false,
        rtt: None,
    }
}

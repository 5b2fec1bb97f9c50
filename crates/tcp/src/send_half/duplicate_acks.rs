//! Duplicate ACKs in a row.

use units::Bytes;

/// The duplicate ACKs since SND.UNA last advanced.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DuplicateAcks {
    count: u32,
    /// FlightSize and unsent data when the first of them arrived.
    at_first: (Bytes, Bytes),
}

impl DuplicateAcks {
    /// One more arrived, with this FlightSize and these unsent data.
    pub(super) const fn on_duplicate(&mut self, flight: Bytes, unsent: Bytes) {
        if self.count == 0 {
            self.at_first = (flight, unsent);
        }
        self.count += 1;
    }

    /// Ends the row; returns the number of them.
    pub(super) fn clear(&mut self) -> u32 {
        std::mem::take(&mut self.count)
    }

    /// Number of them.
    #[inline]
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// FlightSize and unsent data when the first of them arrived.
    pub(super) fn at_first(&self) -> Option<(Bytes, Bytes)> {
        (self.count > 0).then_some(self.at_first)
    }
}

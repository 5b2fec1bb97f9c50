//! Counting duplicate ACKs.

/// How many duplicate ACKs came in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Duplicates {
    count: u32,
    reached: bool,
}

impl Duplicates {
    /// None yet.
    pub(super) const NONE: Self = Self { count: 0, reached: false };

    /// One more; whether the threshold, which may have moved, is reached for the first time in this row.
    pub(super) fn reach(&mut self, threshold: u32) -> bool {
        self.count = self.count.saturating_add(1);
        let reached = self.count >= threshold;
        reached && !std::mem::replace(&mut self.reached, reached)
    }

    /// How many came.
    pub(super) const fn count(self) -> u32 {
        self.count
    }

    /// The row is broken.
    pub(super) fn clear(&mut self) {
        *self = Self::NONE;
    }
}

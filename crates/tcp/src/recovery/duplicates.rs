//! Counting duplicate ACKs.

/// How many duplicate ACKs came in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Duplicates(u32);

impl Duplicates {
    /// None yet.
    pub(super) const NONE: Self = Self(0);

    /// One more; whether the threshold is reached by just this one.
    pub(super) fn reach(&mut self, threshold: u32) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 == threshold
    }

    /// The row is broken.
    pub(super) fn clear(&mut self) {
        self.0 = 0;
    }
}

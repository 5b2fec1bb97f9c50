//! Partial segments: whether data that do not fill a segment leave at once or wait for more (RFC 9293 §3.7.4), and
//! whether they carry PSH.

/// The rules for the last, partial segment of the unsent data.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartialSegments {
    /// It waits while data are unacknowledged (Nagle).
    nagle: bool,
    /// It waits until it is full, or until the persist timer expires (`TCP_CORK` of Linux).
    corked: bool,
    /// The end of the unsent data is pushed: the user has not announced more.
    pushes: bool,
}

impl PartialSegments {
    pub(super) const fn new(nagle: bool) -> Self {
        Self { nagle, corked: false, pushes: true }
    }

    /// Turns the Nagle algorithm on or off.
    pub(super) const fn set_nagle(&mut self, on: bool) {
        self.nagle = on;
    }

    /// Turns corking on or off.
    pub(super) const fn set_corked(&mut self, on: bool) {
        self.corked = on;
    }

    /// Sets whether the end of the unsent data is pushed.
    pub(super) const fn set_push(&mut self, on: bool) {
        self.pushes = on;
    }

    /// Whether the segment that ends the unsent data carries PSH.
    #[inline]
    pub(super) const fn pushes(&self) -> bool {
        self.pushes
    }

    /// Whether a partial segment waits.
    pub(super) const fn waits(&self, unacknowledged: bool) -> bool {
        self.corked || (self.nagle && unacknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nagle_waits_for_an_acknowledgment_and_a_cork_for_more_data() {
        let mut partial = PartialSegments::new(true);
        assert!(partial.waits(true) && !partial.waits(false));
        partial.set_nagle(false);
        assert!(!partial.waits(true));
        partial.set_corked(true);
        assert!(partial.waits(false));
    }
}

//! The evidence of duplicate ACKs from a peer without SACK: which of them were caused by a segment that arrived twice.
//!
//! A receiver acknowledges at once a segment above a hole, and a segment that it has already (RFC 5681 §4.2). The
//! number of segments above a hole shows when the hole is filled: the acknowledgment then jumps over as many segments
//! as there were duplicate ACKs. A duplicate ACK that no jump has explained, when everything sent before it arrived is
//! acknowledged, was caused by a segment that the receiver had already.

use std::collections::VecDeque;

use units::Instant;

/// Duplicate ACKs that are not explained yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Duplicates {
    open: VecDeque<Duplicate>,
}

/// A duplicate ACK.
#[derive(Clone, Copy, Debug)]
struct Duplicate {
    at: Instant,
    /// The end of the data sent before it arrived.
    snd_max: u64,
}

impl Duplicates {
    /// A duplicate ACK arrived when everything up to `snd_max` was sent.
    pub(super) fn push(&mut self, at: Instant, snd_max: u64) {
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Duplicate { at, snd_max });
    }

    /// Everything before `position` was acknowledged, by a step over this many segments. Returns the times of the
    /// duplicate ACKs caused by segments that the receiver had already.
    pub(super) fn advance(&mut self, position: u64, segments: usize, again: bool) -> Vec<Instant> {
        // Two segments that were sent once may be acknowledged together without a hole (RFC 1122 §4.2.3.2).
        let filled_a_hole = segments > 2 || again;
        let explained = if filled_a_hole { segments.saturating_sub(1).min(self.open.len()) } else { 0 };
        self.open.drain(..explained);
        let over = self.open.iter().take_while(|duplicate| duplicate.snd_max <= position).count();
        self.open.drain(..over).map(|duplicate| duplicate.at).collect()
    }
}

/// Bounds the memory for any capture.
const MOST_OPEN: usize = 4096;

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn segments_above_a_hole_explain_as_many_duplicates_as_the_acknowledgment_jumps_over() {
        let mut duplicates = Duplicates::default();
        for millis in 0..3 {
            duplicates.push(at(millis), 500);
        }
        assert_eq!(duplicates.advance(400, 4, true), []);
        assert_eq!(duplicates.advance(500, 1, false), []);
    }

    #[test]
    fn what_no_jump_explains_was_there_already() {
        let mut duplicates = Duplicates::default();
        duplicates.push(at(1), 300);
        duplicates.push(at(2), 300);
        assert_eq!(duplicates.advance(200, 2, false), []);
        assert_eq!(duplicates.advance(300, 1, false), [at(1), at(2)]);
    }
}

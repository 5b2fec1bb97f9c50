//! Data that were seen for the first time after data above them.

use units::Instant;
use wire::Flags;

use crate::position::Span;

use super::super::Passing;
use super::super::order::{Marks, gap_since};
use super::HalfConnection;

impl HalfConnection {
    /// Whether a segment fills a gap and was sent before the data above it.
    pub(super) fn was_overtaken(&self, seen: &Passing, span: Span, marks: Marks) -> bool {
        if span.start < self.snd_una || span.end > self.snd_max || !self.outstanding.lacks(span) {
            return false;
        }
        let above = self.outstanding.above(span.end).or(self.ahead_at);
        let round_trip = self.shortest_round_trip().zip(seen.beyond).map(|(ahead, back)| ahead + back);
        marks.was_overtaken(self.latest, gap_since(above, seen.at), round_trip)
    }

    pub(super) fn fill_gap(&mut self, at: Instant, span: Span, flags: Flags) {
        let controls = u64::from(flags.contains(Flags::FIN));
        let bytes = span.len() - controls;
        self.counters.out_of_order += 1;
        self.counters.data_segments += u64::from(bytes > 0);
        self.counters.data_bytes += bytes;
        self.counters.unique_bytes += bytes;
        self.outstanding.fill(span, at);
    }
}

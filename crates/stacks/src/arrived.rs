//! The bytes of a peer's stream that have arrived, to detect duplicates.

use trace::Positions;
use wire::Segment;

/// Positions that have arrived, as ordered runs that do not touch.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    positions: Positions,
    runs: Vec<[u64; 2]>,
}

impl Arrived {
    /// Notes a segment. Returns whether it carries data and all of them had arrived before.
    pub(crate) fn note(&mut self, segment: &Segment) -> bool {
        if segment.payload.is_empty() {
            return false;
        }
        let start = self.positions.of(segment.seq);
        !self.add([start, start + u64::from(segment.payload.len())])
    }

    /// Adds a run. Returns whether anything in it is new.
    fn add(&mut self, [start, end]: [u64; 2]) -> bool {
        let from = self.runs.partition_point(|run| run[1] < start);
        let to = self.runs.partition_point(|run| run[0] <= end);
        let touched = &self.runs[from..to];
        let known: u64 = touched.iter().map(|run| run[1].min(end).saturating_sub(run[0].max(start))).sum();
        let merged = [
            touched.first().map_or(start, |run| run[0].min(start)),
            touched.last().map_or(end, |run| run[1].max(end)),
        ];
        self.runs.splice(from..to, [merged]);
        known < end - start
    }
}

#[cfg(test)]
mod tests {
    use units::Seq;
    use wire::Payload;

    use super::*;

    #[test]
    fn what_fills_a_gap_is_no_duplicate_and_what_is_known_is_one() {
        let mut arrived = Arrived::default();
        let mut note = |seq, len| {
            let payload = Payload::Pattern { offset: 0, len };
            arrived.note(&Segment { seq: Seq(seq), payload, ..Segment::default() })
        };
        assert!(!note(u32::MAX - 9, 10));
        assert!(!note(10, 10));
        assert!(note(12, 5));
        assert!(!note(0, 10));
        assert!(note(u32::MAX - 9, 30));
        assert!(!note(15, 10));
        assert!(!note(0, 0));
    }
}

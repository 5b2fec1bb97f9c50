//! The data that SACK blocks have reported.

use crate::position::Span;

/// Positions that were selectively acknowledged: runs in order that do not touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Sacked {
    runs: Vec<Span>,
}

impl Sacked {
    /// Adds a block; returns whether it reports new data.
    pub(super) fn add(&mut self, block: Span) -> bool {
        let from = self.runs.partition_point(|run| run.end < block.start);
        let to = self.runs.partition_point(|run| run.start <= block.end);
        let touched = &self.runs[from..to];
        let merged = Span {
            start: touched.first().map_or(block.start, |run| run.start.min(block.start)),
            end: touched.last().map_or(block.end, |run| run.end.max(block.end)),
        };
        let known: u64 = touched.iter().map(|run| run.len()).sum();
        self.runs.splice(from..to, [merged]);
        merged.len() > known
    }

    /// Removes the data before `position`.
    pub(super) fn forget_before(&mut self, position: u64) {
        self.runs.retain_mut(|run| {
            run.start = run.start.max(position);
            run.start < run.end
        });
    }

    /// Whether data at or after `position` were reported.
    pub(super) fn reaches_beyond(&self, position: u64) -> bool {
        self.runs.last().is_some_and(|run| run.end > position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_touch_become_one() {
        let mut sacked = Sacked::default();
        assert!(sacked.add(Span { start: 30, end: 40 }));
        assert!(sacked.add(Span { start: 10, end: 20 }));
        assert!(!sacked.add(Span { start: 12, end: 18 }));
        assert!(sacked.add(Span { start: 20, end: 30 }));
        assert_eq!(sacked.runs, [Span { start: 10, end: 40 }]);
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut sacked = Sacked::default();
        sacked.add(Span { start: 10, end: 20 });
        sacked.add(Span { start: 30, end: 40 });
        sacked.forget_before(35);
        assert_eq!(sacked.runs, [Span { start: 35, end: 40 }]);
        assert!(sacked.reaches_beyond(39) && !sacked.reaches_beyond(40));
    }
}

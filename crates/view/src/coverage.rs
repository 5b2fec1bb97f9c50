//! Bytes that are reported for the first time by ACKs with their SACK blocks.

/// A range of bytes: its start and its end.
pub(crate) type Block = (f64, f64);

/// A range that was reported: by which ACK, and whether by its number and not by a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Covered {
    pub(crate) row: usize,
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) by_ack: bool,
}

/// The bytes reported so far, as separate ranges in ascending order; the first begins at byte 0.
struct Coverage {
    starts: Vec<f64>,
    ends: Vec<f64>,
}

impl Coverage {
    /// Adds a range, and returns the parts of it that are new.
    fn add(&mut self, start: f64, end: f64) -> Vec<Block> {
        let first = self.ends.partition_point(|known| *known < start);
        if first < self.ends.len() && self.starts[first] <= start && end <= self.ends[first] {
            return Vec::new();
        }
        let (mut new, mut reached, mut last) = (Vec::new(), start, first);
        while last < self.starts.len() && self.starts[last] <= end {
            if self.starts[last] > reached {
                new.push((reached, self.starts[last]));
            }
            reached = reached.max(self.ends[last]);
            last += 1;
        }
        if reached < end {
            new.push((reached, end));
        }
        let low = if last > first { start.min(self.starts[first]) } else { start };
        self.starts.splice(first..last, [low]);
        self.ends.splice(first..last, [reached.max(end)]);
        new
    }
}

/// The data that each ACK, with its SACK blocks, is the first to report, in the order in which they were reported.
pub(crate) fn covered(acks: &[f64], blocks: &[Vec<Block>]) -> Vec<Covered> {
    let mut coverage = Coverage { starts: vec![0.0], ends: vec![0.0] };
    let mut found = Vec::new();
    for (row, (ack, blocks)) in acks.iter().zip(blocks).enumerate() {
        let without_gap = coverage.ends[0];
        if *ack > without_gap {
            let new = coverage.add(without_gap, *ack);
            found.extend(new.into_iter().map(|(start, end)| Covered { row, start, end, by_ack: true }));
        }
        for (start, end) in blocks {
            let new = coverage.add(*start, *end);
            found.extend(new.into_iter().map(|(start, end)| Covered { row, start, end, by_ack: false }));
        }
    }
    found
}

/// The number of bytes of each of many ranges, in order, that no earlier one has.
pub(crate) fn first_bytes(ranges: &[Block]) -> Vec<f64> {
    let mut known = Coverage { starts: Vec::new(), ends: Vec::new() };
    ranges
        .iter()
        .map(|(start, end)| known.add(*start, *end).iter().map(|(start, end)| end - start).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_reports_what_no_block_before_it_has() {
        let found = covered(&[100.0, 100.0, 500.0], &[vec![], vec![(200.0, 300.0)], vec![]]);
        let of = |row, start, end, by_ack| Covered { row, start, end, by_ack };
        let expected = [
            of(0, 0.0, 100.0, true),
            of(1, 200.0, 300.0, false),
            of(2, 100.0, 200.0, true),
            of(2, 300.0, 500.0, true),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn bytes_count_once() {
        assert_eq!(
            first_bytes(&[(10.0, 20.0), (0.0, 15.0), (5.0, 30.0), (10.0, 20.0)]),
            [10.0, 10.0, 10.0, 0.0]
        );
    }
}

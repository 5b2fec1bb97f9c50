//! The data of all streams of a sender as one sequence, in the order in which they were sent first.

use std::collections::BTreeMap;
use std::ops::Range;

/// The sequence of one sender.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// Data that were sent, by stream and first byte: the end in the stream, and the position of the first byte.
    places: BTreeMap<(u64, u64), (u64, u64)>,
    /// The position after the last.
    next: u64,
    /// The last packet that carried each range, by the range's start: its end, and the packet.
    carriers: BTreeMap<u64, (u64, usize)>,
    /// What was acknowledged: ranges that neither overlap nor touch.
    delivered: BTreeMap<u64, u64>,
}

/// Data of a packet that follow each other in the sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) range: Range<u64>,
    /// For data that were sent before, the last packet that carried the first byte.
    pub(crate) before: Option<usize>,
}

impl Sequence {
    /// A packet carries bytes of a stream. Returns them as pieces.
    pub(crate) fn send(&mut self, stream: u64, bytes: Range<u64>, packet: usize) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut from = bytes.start;
        while from < bytes.end && self.places.len() < MOST_PLACES {
            let (range, is_new) = match self.known(stream, from) {
                Some((end, position)) => (position..position + end.min(bytes.end) - from, false),
                None => (self.append(stream, from..self.end_of_gap(stream, from).min(bytes.end)), true),
            };
            from += range.end - range.start;
            let before = self.carry(range.clone(), packet);
            match pieces.last_mut() {
                Some(last) if last.range.end == range.start && last.before.is_none() == is_new => {
                    last.range.end = range.end;
                }
                _ => pieces.push(Piece { range, before: before.filter(|_| !is_new) }),
            }
        }
        pieces
    }

    /// A range is acknowledged. Returns the range without a gap around it.
    pub(crate) fn deliver(&mut self, range: &Range<u64>) -> Range<u64> {
        let (mut start, mut end) = (range.start, range.end);
        while let Some((&from, &to)) = self.delivered.range(..=end).next_back()
            && to >= start
        {
            self.delivered.remove(&from);
            start = start.min(from);
            end = end.max(to);
        }
        self.delivered.insert(start, end);
        start..end
    }

    /// The position up to which everything is acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.delivered.first_key_value().filter(|(start, _)| **start == 0).map_or(0, |(_, end)| *end)
    }

    /// The end in the stream of the known data around a byte, and the position of the byte.
    fn known(&self, stream: u64, byte: u64) -> Option<(u64, u64)> {
        let (&(of, start), &(end, position)) = self.places.range(..=(stream, byte)).next_back()?;
        (of == stream && byte < end).then(|| (end, position + byte - start))
    }

    /// The byte of a stream before which no data are known, after one that is not known.
    fn end_of_gap(&self, stream: u64, byte: u64) -> u64 {
        let next = self.places.range((stream, byte)..).next();
        next.filter(|((of, _), _)| *of == stream).map_or(u64::MAX, |((_, start), _)| *start)
    }

    /// Gives new data of a stream the next positions.
    fn append(&mut self, stream: u64, bytes: Range<u64>) -> Range<u64> {
        let range = self.next..self.next + (bytes.end - bytes.start);
        self.next = range.end;
        let before = self.places.range_mut(..(stream, bytes.start)).next_back();
        if let Some((&(of, start), (end, position))) = before
            && (of, *end, *position + *end - start) == (stream, bytes.start, range.start)
        {
            *end = bytes.end;
        } else {
            self.places.insert((stream, bytes.start), (bytes.end, range.start));
        }
        range
    }

    /// Notes the packet that carries a range, and returns the one that carried its first byte before.
    fn carry(&mut self, range: Range<u64>, packet: usize) -> Option<usize> {
        let mut before = None;
        if let Some((&from, &(to, other))) = self.carriers.range(..=range.start).next_back()
            && range.start < to
        {
            before = Some(other);
            self.carriers.insert(from, (range.start, other));
            if to > range.end {
                self.carriers.insert(range.end, (to, other));
            }
        }
        while let Some((&from, &(to, other))) = self.carriers.range(range.clone()).next() {
            self.carriers.remove(&from);
            if to > range.end {
                self.carriers.insert(range.end, (to, other));
            }
        }
        self.carriers.insert(range.start, (range.end, packet));
        before
    }
}

/// Ranges of streams that a sequence remembers: its memory is bounded, and later data are left out of the rows.
const MOST_PLACES: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn new(range: Range<u64>) -> Piece {
        Piece { range, before: None }
    }

    #[test]
    fn data_of_streams_follow_each_other_as_they_were_sent() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.send(0, 0..100, 0), [new(0..100)]);
        assert_eq!(sequence.send(4, 0..50, 1), [new(100..150)]);
        assert_eq!(sequence.send(0, 100..200, 2), [new(150..250)]);
        let again = sequence.send(0, 50..250, 3);
        let of = |range, packet| Piece { range, before: Some(packet) };
        assert_eq!(again, [of(50..100, 0), of(150..250, 2), new(250..300)]);
        assert_eq!(sequence.send(0, 60..70, 4), [of(60..70, 3)]);
        assert_eq!(sequence.send(0, 90..95, 5), [of(90..95, 3)]);
    }

    #[test]
    fn acknowledged_ranges_grow_together() {
        let mut sequence = Sequence::default();
        sequence.send(0, 0..300, 0);
        assert_eq!((sequence.deliver(&(100..200)), sequence.acknowledged()), (100..200, 0));
        assert_eq!((sequence.deliver(&(0..50)), sequence.acknowledged()), (0..50, 50));
        assert_eq!((sequence.deliver(&(50..120)), sequence.acknowledged()), (0..200, 200));
    }
}

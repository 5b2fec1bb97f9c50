//! Segments that have entered a link and are not acknowledged yet.

use std::collections::VecDeque;

use units::{Bytes, Instant, Seq, SeqRange};
use wire::Segment;

/// The segments of one connection, in the order of their sequence numbers; no two overlap.
#[derive(Debug)]
pub(crate) struct Cache {
    segments: VecDeque<Cached>,
    bytes: Bytes,
}

/// A segment that is kept.
#[derive(Debug)]
pub(crate) struct Cached {
    pub(crate) segment: Segment,
    /// Time at which it entered the link last.
    pub(crate) at: Instant,
    /// Its place among all segments of the connection that entered the link: that of its latest copy.
    pub(crate) ordinal: u64,
    /// Whether it entered the link more than once.
    pub(crate) again: bool,
    /// Whether the sender repairs its loss: it came to the node late or a second time.
    pub(crate) by_sender: bool,
}

impl Cached {
    pub(crate) fn range(&self) -> SeqRange {
        self.segment.seq_range()
    }
}

impl Cache {
    pub(crate) const EMPTY: Self = Self { segments: VecDeque::new(), bytes: Bytes::ZERO };

    /// Where the first segment begins.
    pub(crate) fn first(&self) -> Option<Seq> {
        self.segments.front().map(|head| head.segment.seq)
    }

    pub(crate) fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    pub(crate) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The segment that begins at `seq`, if that is the first one.
    pub(crate) fn head(&mut self, seq: Seq) -> Option<&mut Cached> {
        self.segments.front_mut().filter(|head| head.segment.seq == seq)
    }

    /// The segment with these numbers.
    pub(crate) fn get(&mut self, range: SeqRange) -> Option<&mut Cached> {
        let place = self.place(range.start);
        self.segments.get_mut(place).filter(|known| known.range() == range)
    }

    /// Whether some of these numbers are kept.
    pub(crate) fn overlaps(&self, range: SeqRange) -> bool {
        self.segments.iter().any(|known| known.range().overlaps(range))
    }

    /// Adds a segment of which no number is kept.
    pub(crate) fn insert(&mut self, cached: Cached) {
        self.bytes = self.bytes.saturating_add(size(&cached));
        let place = self.place(cached.segment.seq);
        self.segments.insert(place, cached);
    }

    /// Removes the first segment if it ends at `ack` or before.
    pub(crate) fn take_acked(&mut self, ack: Seq) -> Option<Cached> {
        self.segments.front().filter(|head| head.range().end.at_or_before(ack))?;
        let head = self.segments.pop_front()?;
        self.bytes = self.bytes.saturating_sub(size(&head));
        Some(head)
    }

    /// The place of the first segment that does not begin before `seq`. New segments come last nearly always.
    fn place(&self, seq: Seq) -> usize {
        let later = self.segments.iter().rev().take_while(|known| known.segment.seq.at_or_after(seq));
        self.segments.len() - later.count()
    }
}

/// Bytes of memory for which the cache counts a segment: those of header and payload.
fn size(cached: &Cached) -> Bytes {
    Bytes(u64::from(cached.segment.wire_len()))
}

#[cfg(test)]
mod tests {
    use wire::Payload;

    use super::*;

    fn cached(seq: Seq) -> Cached {
        let segment =
            Segment { seq, payload: Payload::Pattern { offset: 0, len: 100 }, ..Segment::default() };
        Cached { segment, at: Instant::START, ordinal: 0, again: false, by_sender: false }
    }

    #[test]
    fn segments_stand_in_order_across_the_wrap_and_leave_from_the_front() {
        let start = Seq(u32::MAX - 149);
        let mut cache = Cache::EMPTY;
        for step in [1, 0, 2] {
            cache.insert(cached(start + 100 * step));
        }
        assert!(cache.head(start).is_some() && cache.head(start + 100).is_none());
        assert!(
            cache.overlaps(SeqRange::new(start + 150, 10)) && !cache.overlaps(SeqRange::new(start + 300, 10))
        );
        assert!(cache.get(SeqRange::new(start + 200, 100)).is_some());
        assert!(cache.take_acked(start + 99).is_none());
        assert_eq!(cache.take_acked(start + 200).map(|head| head.segment.seq), Some(start));
        assert_eq!(cache.take_acked(start + 200).map(|head| head.segment.seq), Some(start + 100));
        assert!(cache.take_acked(start + 200).is_none());
        assert_eq!((cache.len(), cache.bytes()), (1, Bytes(120)));
    }
}

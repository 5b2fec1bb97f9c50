//! Data that a sender has sent and that are not acknowledged.

use std::collections::VecDeque;

use units::Instant;

use crate::position::Span;

/// Segments in the order of their numbers, as they were first sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    segments: VecDeque<Sent>,
}

/// A segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) span: Span,
    /// Time at which it was last sent.
    pub(super) at: Instant,
    /// The sender's phase in which it was last sent again, if it was.
    pub(super) resent_in: Option<u32>,
}

/// The segments that an acknowledgment covered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    /// Time at which the last of the segments was sent, if none of them was sent twice: the basis of a round-trip
    /// sample (Karn; RFC 6298 §3).
    pub(super) timed: Option<Instant>,
    /// Whether this phase had not sent one of them again.
    pub(super) untouched: bool,
    /// Number of segments on the wire.
    pub(super) segments: usize,
    /// Whether one of them was sent again.
    pub(super) resent: bool,
}

impl Outstanding {
    /// New numbers were sent.
    pub(super) fn push(&mut self, span: Span, at: Instant) {
        self.segments.push_back(Sent { span, at, resent_in: None });
    }

    /// The data in `span` filled a gap: the point of observation had seen data above them only.
    pub(super) fn fill(&mut self, span: Span, at: Instant) {
        let index = self.segments.partition_point(|sent| sent.span.start < span.start);
        self.segments.insert(index, Sent { span, at, resent_in: None });
    }

    /// Whether nothing of `span` has been seen.
    pub(super) fn lacks(&self, span: Span) -> bool {
        let index = self.segments.partition_point(|sent| sent.span.end <= span.start);
        self.segments.get(index).is_none_or(|sent| !sent.span.overlaps(span))
    }

    /// Time at which the data above `position` were sent, unless they were sent again.
    pub(super) fn above(&self, position: u64) -> Option<Instant> {
        let index = self.segments.partition_point(|sent| sent.span.start < position);
        self.segments.get(index).filter(|sent| sent.resent_in.is_none()).map(|sent| sent.at)
    }

    /// The data in `span` were retransmitted, in the sender's phase with this number. Segments are cut at its edges: a
    /// copy may hold a part of what was sent as one.
    pub(super) fn resend(&mut self, span: Span, at: Instant, phase: u32) {
        self.cut(span.start);
        self.cut(span.end);
        let from = self.segments.partition_point(|sent| sent.span.end <= span.start);
        let again = Sent { span, at, resent_in: Some(phase) };
        if self.lacks(span) {
            self.segments.insert(from, again);
        }
        for sent in self.segments.range_mut(from..).take_while(|sent| sent.span.overlaps(span)) {
            *sent = Sent { span: sent.span, ..again };
        }
    }

    /// Cuts the segment that holds `position` inside.
    fn cut(&mut self, position: u64) {
        let index = self.segments.partition_point(|sent| sent.span.end <= position);
        let Some(sent) = self.segments.get_mut(index).filter(|sent| sent.span.start < position) else {
            return;
        };
        let rest = Sent { span: Span { start: position, ..sent.span }, ..*sent };
        sent.span.end = position;
        self.segments.insert(index + 1, rest);
    }

    /// Everything before `position` was acknowledged. An acknowledgment inside a segment times the part before it. What
    /// was captured as one is several segments on the wire if it is longer than `largest`, the largest of them.
    pub(super) fn acknowledge(&mut self, position: u64, phase: u32, largest: Option<u64>) -> Acknowledged {
        self.cut(position);
        let covered = self.segments.partition_point(|sent| sent.span.end <= position);
        let none = Acknowledged { timed: None, untouched: false, segments: 0, resent: false };
        self.segments.drain(..covered).fold(none, |all, sent| {
            let resent = all.resent || sent.resent_in.is_some();
            Acknowledged {
                timed: (!resent).then_some(sent.at),
                untouched: all.untouched || sent.resent_in != Some(phase),
                segments: all.segments + largest.map_or(1, |largest| sent.span.on_wire(largest)),
                resent,
            }
        })
    }

    /// The first segment.
    pub(super) fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The segment that holds `position`.
    pub(super) fn at(&self, position: u64) -> Option<&Sent> {
        let index = self.segments.partition_point(|sent| sent.span.end <= position);
        self.segments.get(index).filter(|sent| sent.span.start <= position)
    }

    /// The last segment.
    pub(super) fn tail(&self) -> Option<&Sent> {
        self.segments.back()
    }
}

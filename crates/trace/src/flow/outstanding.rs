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
    /// When it was last sent.
    pub(super) at: Instant,
    /// The sender's phase in which it was last sent again, if it was.
    pub(super) resent_in: Option<u32>,
}

/// The segments that an acknowledgment covered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    /// When the last of the segments was sent, if none of them was sent twice: the basis of a round-trip sample (Karn;
    /// RFC 6298 §3).
    pub(super) timed: Option<Instant>,
    /// Whether this phase had not sent one of them again.
    pub(super) untouched: bool,
    /// How many there were.
    pub(super) segments: usize,
    /// Whether one of them was sent again.
    pub(super) resent: bool,
}

impl Outstanding {
    /// New numbers were sent.
    pub(super) fn push(&mut self, span: Span, at: Instant) {
        self.segments.push_back(Sent { span, at, resent_in: None });
    }

    /// The data in `span` were retransmitted, in the sender's phase with this number.
    pub(super) fn resend(&mut self, span: Span, at: Instant, phase: u32) {
        let from = self.segments.partition_point(|sent| sent.span.end <= span.start);
        for sent in self.segments.range_mut(from..).take_while(|sent| sent.span.overlaps(span)) {
            *sent = Sent { at, resent_in: Some(phase), ..*sent };
        }
    }

    /// Everything before `position` was acknowledged.
    pub(super) fn acknowledge(&mut self, position: u64, phase: u32) -> Acknowledged {
        let covered = self.segments.partition_point(|sent| sent.span.end <= position);
        let none = Acknowledged { timed: None, untouched: false, segments: covered, resent: false };
        self.segments.drain(..covered).fold(none, |all, sent| {
            let resent = all.resent || sent.resent_in.is_some();
            Acknowledged {
                timed: (!resent).then_some(sent.at),
                untouched: all.untouched || sent.resent_in != Some(phase),
                resent,
                ..all
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

//! The evidence for the cause of a retransmission, as its sender had it.

use units::{Duration, Instant};
use wire::{Flags, Segment};

use crate::position::Span;

use super::super::Passing;
use super::super::cause::{Evidence, SenderPhase};
use super::super::clock::Waited;
use super::super::heard::Passed;
use super::super::place::Place;
use super::HalfConnection;

impl HalfConnection {
    pub(super) fn evidence(
        &self,
        at: Instant,
        again: Span,
        segment: &Segment,
        heard: Option<(Passed, Waited)>,
    ) -> Evidence {
        let at_point = self.evidence_at_point(at, again, segment.flags);
        match heard {
            Some((heard, waited)) => self.evidence_as_heard(at_point, again, heard, waited),
            None => at_point,
        }
    }

    /// Acknowledgments that a distant sender had received when it sent the data from `start`, and the time that it then
    /// waited.
    pub(super) fn waited(
        &mut self,
        seen: &Passing,
        start: u64,
        segment: &Segment,
    ) -> Option<(Passed, Waited)> {
        let distance = self.distance(seen.beyond)?;
        let stamp = segment.options.timestamps.map(|stamps| stamps.value);
        if let Some(value) = stamp {
            self.clock.observe(seen.at, value);
        }
        let heard = self.heard.when_sent(seen.at, segment, start, distance)?;
        let by_clock = stamp.and_then(|value| self.clock.waited(seen.at, value, heard.at));
        // The queues towards the point are not known without a clock, those on the way back never.
        let waited = by_clock.map_or_else(
            || Waited {
                time: seen.at.saturating_since(heard.at).saturating_sub(distance),
                exact_to: distance / 2,
            },
            |one| Waited { exact_to: one.exact_to + distance / 4, ..one },
        );
        Some((heard, waited))
    }

    /// The phase of the sender. A distant one has not heard the acknowledgments that are under way, and continues a
    /// repair until it sends new data.
    pub(super) fn phase_as_heard(&self, heard: Option<(Passed, Waited)>) -> SenderPhase {
        match (heard, self.ended) {
            (Some(_), _) if self.phase != SenderPhase::Open => self.phase,
            (Some((heard, _)), Some(ended)) if heard.at < ended.at => ended.phase,
            (Some(_), _) => self.repairing,
            (None, _) => self.phase,
        }
    }

    /// The evidence where the point is near the sender: what has passed was heard.
    fn evidence_at_point(&self, at: Instant, again: Span, flags: Flags) -> Evidence {
        let sent = self.outstanding.at(again.start).or(self.outstanding.head());
        let since = sent.map(|sent| sent.at).max(self.progress_at);
        let idle = since.map_or(Duration::MAX, |since| at.saturating_since(since));
        let just = |earlier: Option<Instant>| {
            earlier.is_some_and(|earlier| at.saturating_since(earlier) <= REACTION)
        };
        let head = again.start <= self.snd_una;
        Evidence {
            opening: flags.contains(Flags::SYN),
            prompted: just(self.unanswered_since),
            head,
            advanced: head && just(self.progress_at),
            tail: self.outstanding.tail().is_none_or(|tail| again.end >= tail.span.end),
            resent: sent.is_some_and(|sent| sent.resent_in == Some(self.phase_number)),
            moved_on: self.originals_acked
                && matches!(self.phase, SenderPhase::AfterTimeout(until) if self.snd_max > until),
            duplicates: self.duplicates,
            sacked_above: self.sacked.reaches_beyond(again.start),
            sack_news: self.sack_news,
            sack_seen: self.sack_seen,
            overdue: idle >= self.rtt.shortest_timer(),
        }
    }

    /// The evidence where the sender is far away, had `heard` this when it sent, and `waited` then.
    fn evidence_as_heard(&self, at_point: Evidence, again: Span, heard: Passed, waited: Waited) -> Evidence {
        let prompted = waited.time <= REACTION + waited.exact_to;
        let head = again.start <= heard.snd_una;
        Evidence {
            prompted,
            head,
            advanced: head && prompted && heard.advanced,
            duplicates: heard.duplicates,
            sacked_above: heard.sacked,
            sack_news: heard.sack_news,
            overdue: waited.time >= LEAST_TIMER && !prompted,
            ..at_point
        }
    }

    /// Keeps an acknowledgment that the sender, `beyond` the point, hears later.
    pub(super) fn note_heard(
        &mut self,
        at: Instant,
        segment: &Segment,
        advanced: bool,
        beyond: Option<Duration>,
    ) {
        if self.distance(beyond).is_some() {
            self.heard.push(Passed {
                at,
                timestamp: segment.options.timestamps.map(|stamps| stamps.value),
                snd_una: self.snd_una,
                duplicates: self.duplicates,
                sacked: self.sacked.reaches_beyond(self.snd_una),
                sack_news: self.sack_news,
                advanced,
            });
        }
    }

    /// The round trip to the sender, if it is far from the point.
    fn distance(&self, beyond: Option<Duration>) -> Option<Duration> {
        let (ahead, back) = (self.shortest_round_trip()?, beyond?);
        (Place::by_round_trips(ahead, back) == Place::Receiver).then_some(back)
    }
}

/// Maximum time from an arrival to the sender's reaction: kernels take some microseconds, and a driver in between may
/// add some hundred.
const REACTION: Duration = Duration::from_millis(1);
/// A timer is not shorter, whatever the round trip: Linux has 200 ms (TCP_RTO_MIN), a fifth less as in `rtt.rs`.
const LEAST_TIMER: Duration = Duration::from_millis(160);

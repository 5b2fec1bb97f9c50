//! Whether a retransmission was needed, as far as the acknowledgments at the sender's end show.
//!
//! Four signs indicate a needless copy: a duplicate SACK block reports its data as received twice (RFC 2883, RFC 3708);
//! the timestamp that the acknowledgment of its data echoes is older than its own (the Eifel detection, RFC 3522); that
//! acknowledgment comes sooner than any round trip; or, from a peer without SACK, a duplicate ACK arrives that no hole
//! explains (`duplicates.rs`). Without any of them the copy was needed; this is certain if the peer has reported other
//! duplicates or echoes timestamps. A copy that is several segments on the wire (segmentation offload) is needless only
//! if all of them are: the acknowledgments of each, or as many duplicate ACKs, have to show it. A duplicate SACK block
//! speaks of one of them: if an acknowledgment with this copy's timestamp was the first one of another, it was needed.

use std::collections::VecDeque;

use units::{Duration, Instant, PacketId};
use wire::Segment;

use crate::position::Span;

/// The evidence of the acknowledgments on one retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The packet that carried it.
    pub packet: PacketId,
    /// Whether it was needed; `None` if no acknowledgment of its data was seen.
    pub needed: Option<bool>,
    /// The sign on which the judgement rests.
    pub sign: Sign,
    /// Confidence.
    pub confidence: Confidence,
}

/// A sign that a retransmission was needed or needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A duplicate SACK block reported its data.
    DuplicateSack,
    /// The first acknowledgment of its data echoed an older timestamp.
    OlderTimestamp,
    /// The first acknowledgment of its data came sooner than any round trip.
    TooSoon,
    /// A duplicate ACK came that no hole explains: it was for a second copy.
    DuplicateAck,
    /// No sign of the original: its data were acknowledged a round trip after it.
    NoSignOfOriginal,
    /// Its data were not acknowledged in the capture.
    NotAcknowledged,
}

/// Confidence of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// The protocol proves it.
    Certain,
    /// It fits best.
    Likely,
    /// There is no evidence.
    Unknown,
}

/// The judging of one sender's retransmissions.
#[derive(Clone, Debug, Default)]
pub(super) struct Inference {
    open: VecDeque<Copy>,
    /// Number of the first open copy, counted from 0.
    first_open: usize,
    /// The numbers of the open copies that are not wholly acknowledged.
    unacknowledged: Vec<usize>,
    judged: Vec<Judgement>,
    shortest_round_trip: Option<Duration>,
    duplicates_reported: bool,
    timestamps_echoed: bool,
}

/// A retransmission that is not judged yet.
#[derive(Clone, Copy, Debug)]
struct Copy {
    packet: PacketId,
    span: Span,
    at: Instant,
    timestamp: Option<u32>,
    /// Whether the point of observation has seen its data before.
    seen_before: bool,
    /// Number of segments on the wire.
    segments: usize,
    /// The position before which its data are acknowledged; at first its start.
    acknowledged: u64,
    /// Time from this copy to the last acknowledgment that covered more of its data.
    took: Duration,
    /// Acknowledgments of its data that may have been for this copy: they began with a byte of it, and came in time.
    advances: usize,
    /// Time of the first of them.
    answered: Option<Instant>,
    /// Duplicate ACKs that are taken to be for it.
    reports: usize,
    /// A position that its timestamp says it brought first, and that no duplicate SACK block has reported.
    brought: Option<u64>,
    sign: Option<Sign>,
}

/// An acknowledgment, and what is known when it comes.
#[derive(Clone, Copy, Debug)]
struct Ack {
    at: Instant,
    /// The timestamp that it echoes.
    echo: Option<u32>,
    /// Everything before this position was acknowledged already.
    before: u64,
    /// Everything before this one is.
    position: u64,
    /// The span of its duplicate SACK block.
    duplicate: Option<Span>,
    shortest: Option<Duration>,
}

impl Inference {
    /// A round trip was measured, by a segment that was sent once.
    pub(super) fn on_round_trip(&mut self, round_trip: Duration) {
        let shortest = self.shortest_round_trip.get_or_insert(round_trip);
        *shortest = (*shortest).min(round_trip);
    }

    /// The bytes of `span` were sent again.
    pub(super) fn on_retransmission(
        &mut self,
        at: Instant,
        packet: PacketId,
        span: Span,
        segment: &Segment,
        segments: usize,
        seen_before: bool,
    ) {
        if self.open.len() == MOST_OPEN {
            self.judge_first();
        }
        let timestamp = segment.options.timestamps.map(|stamps| stamps.value);
        let copy = Copy {
            packet,
            span,
            at,
            timestamp,
            seen_before,
            segments,
            acknowledged: span.start,
            took: Duration::ZERO,
            advances: 0,
            answered: None,
            reports: 0,
            brought: None,
            sign: None,
        };
        self.unacknowledged.push(self.first_open + self.open.len());
        self.open.push_back(copy);
    }

    /// An acknowledgment came that covers everything before `position`, where those `before` it had come to less;
    /// `duplicate` is the span of its duplicate SACK block, if it has one.
    pub(super) fn on_ack(
        &mut self,
        at: Instant,
        segment: &Segment,
        before: u64,
        position: u64,
        duplicate: Option<Span>,
    ) {
        let echo = segment.options.timestamps.map(|stamps| stamps.echo);
        self.timestamps_echoed |= echo.is_some();
        if let Some(reported) = duplicate {
            self.duplicates_reported = true;
            // Of several copies the last is needless, whichever of them is reported: two of all had arrived.
            let sent = self.sent_in_time(at);
            let unreported = |copy: &&mut Copy| {
                copy.at <= sent && copy.span.overlaps(reported) && copy.sign != Some(Sign::DuplicateSack)
            };
            if let Some(copy) = self.open.iter_mut().rev().find(unreported) {
                copy.sign = Some(Sign::DuplicateSack);
            }
            for copy in &mut self.open {
                copy.brought = copy.brought.filter(|position| !reported.contains(*position));
            }
        }
        let Self { open, first_open, unacknowledged, shortest_round_trip, .. } = self;
        let ack = Ack { at, echo, before, position, duplicate, shortest: *shortest_round_trip };
        unacknowledged.retain(|number| {
            let copy = &mut open[number - *first_open];
            copy.on_ack(&ack);
            copy.acknowledged < copy.span.end
        });
    }

    /// A duplicate ACK came for a segment that the peer had already; `longest` is the longest round trip so far.
    ///
    /// Each segment of a copy is answered, the copies in the order of sending: by an acknowledgment that begins with
    /// it, or by a duplicate ACK. The duplicate ACK is therefore for a copy that was sent a round trip before, of
    /// which more segments than the acknowledged ones may have been there, and for none that was sent before a copy
    /// which has been answered. Otherwise the original of a copy arrived late, after the last copy before that.
    pub(super) fn on_duplicate_arrival(&mut self, at: Instant, longest: Duration) {
        let sent = self.sent_in_time(at);
        let known = |copy: &Copy| copy.is_acknowledged() && copy.reports < copy.segments && copy.at <= sent;
        let recent = |copy: &Copy| known(copy) && at.saturating_since(copy.at) <= longest * 5 / 4;
        let expected = |copy: &Copy| recent(copy) && copy.reports + copy.advances < copy.segments;
        let open = &self.open;
        let answered = open.iter().rposition(|copy| copy.answered.is_some_and(|answered| answered <= at));
        let first = answered.unwrap_or(0);
        let found = position_from(open, first, expected)
            .or_else(|| position_from(open, first, recent))
            .or_else(|| open.iter().rposition(known));
        if let Some(place) = found {
            let copy = &mut self.open[place];
            copy.reports += 1;
            if copy.is_reported() {
                copy.sign = copy.sign.or(Some(Sign::DuplicateAck));
            }
        }
    }

    /// The last time at which a copy can have been sent that is answered `at` this time.
    fn sent_in_time(&self, at: Instant) -> Instant {
        at - self.shortest_round_trip.unwrap_or_default() * 3 / 4
    }

    /// Everything that is judged, in the order of sending.
    pub(super) fn judgements(&self) -> Vec<Judgement> {
        let open = self.open.iter().map(|copy| self.judgement(copy));
        self.judged.iter().copied().chain(open).collect()
    }

    /// Judges the oldest copy for good: a report of a duplicate that comes still later is missed.
    fn judge_first(&mut self) {
        if let Some(copy) = self.open.pop_front() {
            let judgement = self.judgement(&copy);
            self.judged.push(judgement);
            self.unacknowledged.retain(|number| *number != self.first_open);
            self.first_open += 1;
        }
    }

    fn judgement(&self, copy: &Copy) -> Judgement {
        let sure = self.duplicates_reported || (self.timestamps_echoed && copy.timestamp.is_some());
        let (needed, sign, confidence) = match self.sign(copy) {
            Some(sign @ (Sign::TooSoon | Sign::DuplicateAck)) => (Some(false), sign, Confidence::Likely),
            Some(sign) => (Some(false), sign, Confidence::Certain),
            None if !copy.is_acknowledged() => (None, Sign::NotAcknowledged, Confidence::Unknown),
            // It may be the original, which came late.
            None if sure && copy.seen_before => (Some(true), Sign::NoSignOfOriginal, Confidence::Certain),
            None => (Some(true), Sign::NoSignOfOriginal, Confidence::Likely),
        };
        Judgement { packet: copy.packet, needed, sign, confidence }
    }

    /// The sign by everything that is known now: the round trips after a copy, too.
    fn sign(&self, copy: &Copy) -> Option<Sign> {
        match copy.sign? {
            Sign::DuplicateSack if copy.brought.is_some() => None,
            Sign::TooSoon if !is_too_soon(copy.took, self.shortest_round_trip) => {
                copy.is_reported().then_some(Sign::DuplicateAck)
            }
            sign => Some(sign),
        }
    }
}

impl Copy {
    /// An acknowledgment came, before which these data were not wholly acknowledged.
    fn on_ack(&mut self, ack: &Ack) {
        if ack.position <= self.acknowledged {
            return;
        }
        let sign = self.sign_of_first_ack(ack);
        let is_head = self.acknowledged <= ack.before && ack.before < self.span.end;
        let is_stamped = ack.echo.is_some() && self.timestamp.is_some();
        if sign.is_none() && is_head && is_stamped && self.segments > 1 && self.brought.is_none() {
            self.brought =
                Some(ack.before).filter(|place| ack.duplicate.is_none_or(|one| !one.contains(*place)));
        }
        if sign.is_none() && is_head {
            self.advances += 1;
            self.answered.get_or_insert(ack.at);
        }
        if !self.is_acknowledged() {
            self.sign = self.sign.or(sign);
        } else if sign.is_none() && matches!(self.sign, Some(Sign::OlderTimestamp | Sign::TooSoon)) {
            self.sign = None;
        }
        self.took = ack.at.saturating_since(self.at);
        self.acknowledged = ack.position;
    }

    /// Whether a duplicate ACK came for each of its segments.
    const fn is_reported(&self) -> bool {
        self.reports == self.segments
    }

    /// Whether some of its data are acknowledged.
    const fn is_acknowledged(&self) -> bool {
        self.acknowledged > self.span.start
    }

    /// The sign of the first acknowledgment of its data.
    fn sign_of_first_ack(&self, ack: &Ack) -> Option<Sign> {
        // RFC 3522 §3.2 step 4: older, on the circle of timestamps.
        let older = |echo: u32, own: u32| (own.wrapping_sub(echo) as i32) > 0;
        if let (Some(echo), Some(own)) = (ack.echo, self.timestamp)
            && older(echo, own)
        {
            return Some(Sign::OlderTimestamp);
        }
        let took = ack.at.saturating_since(self.at);
        is_too_soon(took, ack.shortest).then_some(Sign::TooSoon)
    }
}

/// The place of the first copy from `first` on that is so.
fn position_from(open: &VecDeque<Copy>, first: usize, is_so: impl Fn(&Copy) -> bool) -> Option<usize> {
    open.range(first..).position(is_so).map(|place| first + place)
}

/// Whether an acknowledgment came sooner than the shortest round trip, of which a quarter is left for jitter.
fn is_too_soon(took: Duration, shortest: Option<Duration>) -> bool {
    shortest.is_some_and(|shortest| took < shortest * 3 / 4)
}

impl Judgement {
    /// The sign, as a sentence.
    #[must_use]
    pub const fn explanation(&self) -> &'static str {
        match self.sign {
            Sign::DuplicateSack => "a duplicate SACK block reports its data as received twice",
            Sign::OlderTimestamp => {
                "the first acknowledgment of its data echoes a timestamp from before it was sent"
            }
            Sign::TooSoon => "the first acknowledgment of its data came sooner after it than any round trip",
            Sign::DuplicateAck => "a duplicate ACK followed that no hole explains: its data had come already",
            Sign::NoSignOfOriginal => {
                "its data were acknowledged a round trip after it, with no sign of an earlier copy"
            }
            Sign::NotAcknowledged => "the capture has no acknowledgment of its data",
        }
    }
}

impl Sign {
    /// The name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::DuplicateSack => "duplicate_sack",
            Self::OlderTimestamp => "older_timestamp",
            Self::TooSoon => "too_soon",
            Self::DuplicateAck => "duplicate_ack",
            Self::NoSignOfOriginal => "no_sign_of_original",
            Self::NotAcknowledged => "not_acknowledged",
        }
    }
}

impl Confidence {
    /// The name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Unknown => "unknown",
        }
    }
}

/// Copies that are kept open for a report of a duplicate: memory stays bounded whatever a capture holds.
const MOST_OPEN: usize = 4096;

#[cfg(test)]
mod tests {
    use units::Seq;
    use wire::{Ecn, Flags, Options, Payload};

    use super::*;

    const MSS: u64 = 100;

    fn ms(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn segment() -> Segment {
        Segment {
            source_port: 1,
            destination_port: 2,
            seq: Seq(0),
            ack: Seq(0),
            flags: Flags::ACK,
            window: 8000,
            options: Options::default(),
            ecn: Ecn::NotCapable,
            payload: Payload::EMPTY,
        }
    }

    /// Retransmissions to a peer without SACK and timestamps, 160 ms away. Positions are counted in segments.
    fn judging() -> Inference {
        let mut inference = Inference::default();
        inference.on_round_trip(Duration::from_millis(160));
        inference
    }

    fn copy(inference: &mut Inference, millis: u64, start: u64, segments: u64) {
        let span = Span { start: start * MSS, end: (start + segments) * MSS };
        let packet = PacketId(millis);
        inference.on_retransmission(ms(millis), packet, span, &segment(), segments as usize, true);
    }

    fn ack(inference: &mut Inference, millis: u64, before: u64, position: u64) {
        inference.on_ack(ms(millis), &segment(), before * MSS, position * MSS, None);
    }

    fn duplicate(inference: &mut Inference, millis: u64) {
        inference.on_duplicate_arrival(ms(millis), Duration::from_millis(200));
    }

    fn needed(inference: &Inference) -> Vec<Option<bool>> {
        inference.judgements().iter().map(|judgement| judgement.needed).collect()
    }

    #[test]
    fn a_copy_of_which_one_segment_was_missing_is_needed_although_duplicates_answer_the_others() {
        // Each third segment was lost; the copies go back over all.
        let mut inference = judging();
        copy(&mut inference, 1000, 0, 2);
        ack(&mut inference, 1160, 0, 3);
        copy(&mut inference, 1160, 3, 4);
        duplicate(&mut inference, 1166);
        ack(&mut inference, 1320, 3, 6);
        duplicate(&mut inference, 1326);
        duplicate(&mut inference, 1332);
        ack(&mut inference, 1338, 6, 9);
        assert_eq!(needed(&inference), [Some(true); 2]);
    }

    #[test]
    fn a_copy_is_needless_when_a_duplicate_answers_each_of_its_segments() {
        let mut inference = judging();
        copy(&mut inference, 1000, 0, 1);
        copy(&mut inference, 1001, 1, 2);
        ack(&mut inference, 1160, 0, 3);
        duplicate(&mut inference, 1161);
        assert_eq!(needed(&inference), [Some(true), Some(true)]);
        duplicate(&mut inference, 1162);
        assert_eq!(needed(&inference), [Some(true), Some(false)]);
    }

    #[test]
    fn an_acknowledgment_is_not_too_soon_if_a_later_round_trip_is_as_short() {
        let mut inference = judging();
        copy(&mut inference, 1000, 0, 1);
        ack(&mut inference, 1110, 0, 1);
        assert_eq!(needed(&inference), [Some(false)]);
        inference.on_round_trip(Duration::from_millis(112));
        assert_eq!(needed(&inference), [Some(true)]);
    }
}

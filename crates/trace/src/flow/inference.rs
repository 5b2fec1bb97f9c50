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
    /// Whether the acknowledgment of its data began with them: then it may have been for this copy.
    was_head: bool,
    /// Duplicate ACKs that are taken to be for it.
    reports: usize,
    /// A position that its timestamp says it brought first, and that no duplicate SACK block has reported.
    brought: Option<u64>,
    sign: Option<Sign>,
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
            was_head: false,
            reports: 0,
            brought: None,
            sign: None,
        };
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
        let shortest = self.shortest_round_trip;
        for copy in self.open.iter_mut().filter(|copy| copy.acknowledged < position.min(copy.span.end)) {
            let sign = copy.sign_of_first_ack(at, echo, shortest);
            let is_head = copy.acknowledged <= before && before < copy.span.end;
            let is_stamped = echo.is_some() && copy.timestamp.is_some();
            if sign.is_none() && is_head && is_stamped && copy.segments > 1 && copy.brought.is_none() {
                copy.brought = Some(before).filter(|place| duplicate.is_none_or(|one| !one.contains(*place)));
            }
            if !copy.is_acknowledged() {
                copy.was_head = copy.span.start <= before;
                copy.sign = copy.sign.or(sign);
            } else if sign.is_none() && matches!(copy.sign, Some(Sign::OlderTimestamp | Sign::TooSoon)) {
                copy.sign = None;
            }
            copy.acknowledged = position;
        }
    }

    /// A duplicate ACK came for a segment that the peer had already; `longest` is the longest round trip so far.
    ///
    /// The duplicate ACK answers a copy that was sent a round trip before: preferably a copy whose data were
    /// acknowledged too soon, or passed over, rather than one that may have caused that acknowledgment. Otherwise the
    /// original arrived late, after the last copy before that.
    pub(super) fn on_duplicate_arrival(&mut self, at: Instant, longest: Duration) {
        let sent = self.sent_in_time(at);
        let known = |copy: &Copy| copy.is_acknowledged() && copy.reports < copy.segments && copy.at <= sent;
        let recent = |copy: &Copy| known(copy) && at.saturating_since(copy.at) <= longest * 5 / 4;
        let passed_over = |copy: &Copy| recent(copy) && (copy.sign.is_some() || !copy.was_head);
        let open = &self.open;
        let found = open
            .iter()
            .position(passed_over)
            .or_else(|| open.iter().position(recent))
            .or_else(|| open.iter().rposition(known));
        if let Some(place) = found {
            let copy = &mut self.open[place];
            copy.reports += 1;
            if copy.reports == copy.segments {
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
        }
    }

    fn judgement(&self, copy: &Copy) -> Judgement {
        let sure = self.duplicates_reported || (self.timestamps_echoed && copy.timestamp.is_some());
        let reported = copy.sign.filter(|sign| *sign != Sign::DuplicateSack || copy.brought.is_none());
        let (needed, sign, confidence) = match reported {
            Some(sign @ (Sign::TooSoon | Sign::DuplicateAck)) => (Some(false), sign, Confidence::Likely),
            Some(sign) => (Some(false), sign, Confidence::Certain),
            None if !copy.is_acknowledged() => (None, Sign::NotAcknowledged, Confidence::Unknown),
            // It may be the original, which came late.
            None if sure && copy.seen_before => (Some(true), Sign::NoSignOfOriginal, Confidence::Certain),
            None => (Some(true), Sign::NoSignOfOriginal, Confidence::Likely),
        };
        Judgement { packet: copy.packet, needed, sign, confidence }
    }
}

impl Copy {
    /// Whether some of its data are acknowledged.
    const fn is_acknowledged(&self) -> bool {
        self.acknowledged > self.span.start
    }

    /// The sign of the first acknowledgment of its data.
    fn sign_of_first_ack(&self, at: Instant, echo: Option<u32>, shortest: Option<Duration>) -> Option<Sign> {
        // RFC 3522 §3.2 step 4: older, on the circle of timestamps.
        let older = |echo: u32, own: u32| (own.wrapping_sub(echo) as i32) > 0;
        if let (Some(echo), Some(own)) = (echo, self.timestamp)
            && older(echo, own)
        {
            return Some(Sign::OlderTimestamp);
        }
        let took = at.saturating_since(self.at);
        shortest.is_some_and(|shortest| took < shortest * 3 / 4).then_some(Sign::TooSoon)
    }
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

//! A half-connection (RFC 4340 §4.2): the data that one side of a flow sent, and their acknowledgments.

mod evidence;
mod gaps;
mod seen;

use units::{Bytes, Duration, Instant, PacketId, Seq, SeqRange};
use wire::{Flags, Segment};

use crate::ledger::{Ledger, Retransmission};
use crate::position::{Positions, Span};

use super::cause::SenderPhase;
use super::clock::{SenderClock, Waited};
use super::duplicates::Duplicates;
use super::heard::{Heard, Passed};
use super::inference::Inference;
use super::order::Marks;
use super::outstanding::Outstanding;
use super::rtt::Rtt;
use super::sacked::Sacked;
use super::{Cause, Passing, SegmentKind};

pub use seen::Repair;

/// One side of a flow, as a sender.
#[derive(Clone, Debug, Default)]
pub struct HalfConnection {
    positions: Positions,
    /// Place of the SYN.
    first: Option<u64>,
    fin: Option<u64>,
    snd_una: u64,
    snd_max: u64,
    outstanding: Outstanding,
    sacked: Sacked,
    sack_seen: bool,
    /// Whether the last arrival brought a new SACK block.
    sack_news: bool,
    rtt: Rtt,
    phase: SenderPhase,
    /// Grows with each change of phase.
    phase_number: u32,
    /// Acknowledgments of something new in this phase.
    advances: u32,
    /// Whether something was acknowledged that this phase has not sent again, by its second acknowledgment of something
    /// new or a later one (RFC 5682 §2.1 step 3).
    originals_acked: bool,
    duplicates: u32,
    /// Without SACK, the duplicate ACKs that no hole has explained.
    unexplained: Duplicates,
    /// Arrival of the peer's last packet, until it is answered with new data.
    unanswered_since: Option<Instant>,
    progress_at: Option<Instant>,
    /// The shortest time from an acknowledgment to new data.
    reaction: Option<Duration>,
    /// The marks of the latest data sent for the first time.
    latest: Marks,
    /// Time at which an acknowledgment of this side's passed whose number lies above all data seen.
    ahead_at: Option<Instant>,
    /// Where the point is far from this side, the acknowledgments that it hears later, and its clock.
    heard: Heard,
    clock: SenderClock,
    /// The last phase that an acknowledgment ended.
    ended: Option<EndedPhase>,
    /// The phase in which the latest retransmission was sent, until new data are sent.
    repairing: SenderPhase,
    window_scale: Option<u8>,
    /// The smaller MSS of the two SYNs, and the bytes of it that the timestamps option takes.
    mss: Option<u16>,
    option_bytes: u16,
    /// The peer's window at its last segment.
    peer_window: Bytes,
    counters: Counters,
    milestones: Vec<Milestone>,
    ledger: Ledger,
    inference: Inference,
}

/// A phase, and when the acknowledgment that ended it passed.
#[derive(Clone, Copy, Debug)]
struct EndedPhase {
    at: Instant,
    phase: SenderPhase,
}

/// Counts of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments that carry data, retransmissions included.
    pub data_segments: u64,
    /// Bytes of data sent, retransmissions included.
    pub data_bytes: u64,
    /// Bytes of data sent for the first time.
    pub unique_bytes: u64,
    /// Data sent for the first time that later data have overtaken.
    pub out_of_order: u64,
    /// Segments that carry numbers (SYN, FIN or data) sent before.
    pub retransmissions: u64,
    /// Those of them that carry data.
    pub data_retransmissions: u64,
    /// Timeouts, as far as they show: each that led to a retransmission.
    pub timeouts: u64,
    /// Times that fast recovery was entered.
    pub fast_retransmits: u64,
    /// Retransmissions that look like tail loss probes.
    pub tail_loss_probes: u64,
    /// Keep-alives, and probes of a closed window.
    pub probes: u64,
    /// Duplicate ACKs that came to this side.
    pub duplicate_acks: u64,
    /// SACK blocks received that report data received twice (RFC 2883).
    pub duplicate_sacks: u64,
    /// Acknowledgments of data that were not seen: the capture missed packets.
    pub unseen: u64,
    /// Bytes of sequence numbers that they covered and that were not seen by then.
    pub unseen_bytes: u64,
}

/// A place in the stream, and when its acknowledgment came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// The number of bytes.
    pub bytes: Bytes,
    /// Time at which all before it was acknowledged, if it was.
    pub at: Option<Instant>,
    /// Retransmissions by then.
    pub retransmissions: u64,
}

impl HalfConnection {
    pub(super) fn new(milestones: &[Bytes]) -> Self {
        let milestones = milestones.iter().map(|&bytes| Milestone { bytes, at: None, retransmissions: 0 });
        Self { milestones: milestones.collect(), ..Self::default() }
    }

    /// Whether it began with another number than `iss`.
    pub(super) fn began_otherwise(&self, iss: Seq) -> bool {
        self.first.is_some_and(|first| first != self.positions.place(iss))
    }

    pub(super) fn note_window_scale(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.window_scale = segment.options.window_scale;
            self.note_mss(segment);
        }
    }

    /// A SYN of either side announced its MSS.
    fn note_mss(&mut self, syn: &Segment) {
        self.mss = [self.mss, syn.options.mss].into_iter().flatten().min();
    }

    /// Bytes of data in the largest segment on the wire. With segmentation offload a captured segment is longer.
    fn largest_on_wire(&self) -> Option<u64> {
        self.mss.map(|mss| u64::from(mss.saturating_sub(self.option_bytes)).max(1))
    }

    /// The window that a segment of this side's advertises. RFC 7323 §2.2: that of a SYN is never
    /// scaled, and the others are if both SYNs had the option.
    pub(super) fn window_of(&self, segment: &Segment, peer: &Self) -> Bytes {
        let scaled = !segment.flags.contains(Flags::SYN) && peer.window_scale.is_some();
        let shift = self.window_scale.filter(|_| scaled).unwrap_or(0).min(MAX_WINDOW_SHIFT);
        Bytes(u64::from(segment.window) << shift)
    }

    /// A segment of the peer's arrived.
    pub(super) fn handle_arrival(
        &mut self,
        at: Instant,
        segment: &Segment,
        carries_data: bool,
        window: Bytes,
        beyond: Option<Duration>,
    ) {
        let same_window = window == std::mem::replace(&mut self.peer_window, window);
        self.unanswered_since = Some(at);
        if segment.flags.contains(Flags::SYN) {
            self.note_mss(segment);
        }
        if self.first.is_none() || !segment.flags.contains(Flags::ACK) {
            return;
        }
        let position = self.positions.place(segment.ack);
        let duplicate = self.duplicate_sack(segment, position);
        self.inference.on_ack(at, segment, self.snd_una, position, duplicate);
        self.sack_news = self.take_sack_blocks(segment);
        let had_all = self.snd_max <= self.snd_una;
        let bare = !carries_data && !segment.flags.intersects(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        let advanced = position > self.snd_una;
        if advanced {
            self.advance(at, position);
        } else if position == self.snd_una
            && self.snd_max > self.snd_una
            && bare
            && (same_window || self.sack_news)
        {
            self.duplicates += 1;
            self.counters.duplicate_acks += 1;
            if !self.sack_seen {
                self.unexplained.push(at, self.snd_max);
            }
        } else if position == self.snd_una && had_all && bare && same_window && !self.sack_seen {
            self.inference.on_duplicate_arrival(at, self.rtt.samples().longest);
        }
        self.note_heard(at, segment, advanced, beyond);
    }

    /// A segment of this side's was sent.
    pub(super) fn handle_sent(&mut self, seen: Passing, segment: &Segment) -> SegmentKind {
        let range = SeqRange::new(segment.seq, segment.seq_len() + seen.missing);
        if segment.flags.contains(Flags::RST) {
            return SegmentKind::Reset;
        }
        if range.is_empty() {
            return self.bare_ack(seen.at, segment);
        }
        self.option_bytes = if segment.options.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let span = self.positions.span(range);
        self.begin(span, segment.flags);
        let waited = self.waited(&seen, span.start, segment);
        if self.is_probe(span, segment.flags) {
            self.counters.probes += 1;
            return SegmentKind::Probe;
        }
        let marks = Marks::of(segment, seen.identification);
        if self.was_overtaken(&seen, span, marks) {
            self.fill_gap(seen.at, span, segment.flags);
            return SegmentKind::OutOfOrder;
        }
        let again = Span { start: span.start, end: span.end.min(self.snd_max) };
        self.count_data(span, again, segment.flags);
        if again.len() > 0 {
            let cause = self.resend(&seen, again, segment, waited);
            self.send_new(Span { start: again.end, end: span.end }, seen.at);
            return SegmentKind::Retransmission(cause);
        }
        self.note_reaction(seen.at);
        self.send_new(span, seen.at);
        self.latest = marks;
        match segment.flags {
            flags if flags.contains(Flags::SYN) => SegmentKind::Syn,
            flags if flags.contains(Flags::FIN) => SegmentKind::Fin,
            _ => SegmentKind::Data,
        }
    }

    /// New data followed an acknowledgment of something new.
    fn note_reaction(&mut self, at: Instant) {
        if let (Some(progress), Some(_)) = (self.progress_at, self.unanswered_since) {
            let took = at.saturating_since(progress);
            self.reaction = Some(self.reaction.map_or(took, |shortest| shortest.min(took)));
        }
    }

    pub(super) fn handle_loss(
        &mut self,
        at: Instant,
        packet: PacketId,
        segment: &Segment,
        missing: u32,
        rule: &'static str,
    ) {
        let range = SeqRange::new(segment.seq, segment.seq_len() + missing);
        self.ledger.on_drop(packet, range, at, rule);
    }

    /// An acknowledgment of `ack` to this side was lost.
    pub(super) fn handle_ack_loss(&mut self, at: Instant, ack: Seq) {
        self.ledger.on_ack_drop(at, ack);
    }

    pub(super) fn handle_delay(&mut self, at: Instant, by: Duration, cause: &'static str) {
        self.ledger.on_delay(at, by, cause);
    }

    /// Notes the stream's beginning and end.
    fn begin(&mut self, span: Span, flags: Flags) {
        if self.first.is_none() {
            let first = span.start - u64::from(!flags.contains(Flags::SYN));
            self.first = Some(first);
            self.snd_una = span.start;
            self.snd_max = span.start;
        }
        if flags.contains(Flags::FIN) {
            self.fin = Some(span.end - 1);
        }
    }

    /// A segment without sequence numbers: a keep-alive or a window probe if its number lies below the acknowledged
    /// ones (RFC 9293 §3.8.4; Linux probes windows so too), or else an acknowledgment.
    fn bare_ack(&mut self, at: Instant, segment: &Segment) -> SegmentKind {
        let begun = self.first.is_some();
        let position = self.positions.place(segment.seq);
        if begun && position + 1 == self.snd_una && self.snd_max <= self.snd_una {
            self.counters.probes += 1;
            return SegmentKind::Probe;
        }
        // Everything below its number was sent before it, seen or not (RFC 9293 §3.4: it has the number SND.NXT).
        if begun && position > self.snd_max {
            self.snd_max = self.positions.of(segment.seq);
            self.ahead_at = Some(at);
        }
        SegmentKind::Ack
    }

    /// Whether a byte is retransmitted only as a probe: of an idle peer, or of a peer whose window is closed.
    fn is_probe(&self, span: Span, flags: Flags) -> bool {
        let one_byte = span.len() == 1 && !flags.intersects(Flags::SYN.with(Flags::FIN));
        let idle = self.snd_una == self.snd_max && span.end == self.snd_una;
        let closed = self.peer_window.is_zero() && span.start == self.snd_una && span.start < self.snd_max;
        one_byte && (idle || closed)
    }

    fn count_data(&mut self, span: Span, again: Span, flags: Flags) {
        let controls = u64::from(flags.contains(Flags::SYN)) + u64::from(flags.contains(Flags::FIN));
        let bytes = span.len() - controls;
        let resent = again.len() > 0;
        self.counters.retransmissions += u64::from(resent);
        if bytes > 0 {
            self.counters.data_segments += 1;
            self.counters.data_bytes += bytes;
            self.counters.data_retransmissions += u64::from(resent);
            let new = span.end.saturating_sub(self.snd_max.max(span.start));
            self.counters.unique_bytes += new.saturating_sub(controls);
        }
    }

    fn send_new(&mut self, span: Span, at: Instant) {
        if span.len() > 0 {
            self.unanswered_since = None;
            self.repairing = SenderPhase::Open;
            self.snd_max = span.end;
            if span.end > self.snd_una {
                self.outstanding.push(span, at);
            }
            self.ledger.advance_to(Seq(span.end as u32));
        }
    }

    /// Judges and books a retransmission.
    fn resend(
        &mut self,
        seen: &Passing,
        again: Span,
        segment: &Segment,
        heard: Option<(Passed, Waited)>,
    ) -> Cause {
        let Passing { at, packet, .. } = *seen;
        let evidence = self.evidence(seen.at, again, segment, heard);
        self.repairing = self.phase_as_heard(heard);
        let cause = evidence.cause(self.repairing);
        let range = SeqRange::new(segment.seq, again.len() as u32);
        match cause {
            Cause::Timeout => {
                self.counters.timeouts += 1;
                self.change_phase(SenderPhase::AfterTimeout(self.snd_max));
                self.ledger.on_timeout(at, range);
            }
            Cause::FastRetransmit => {
                self.counters.fast_retransmits += 1;
                self.change_phase(SenderPhase::Recovery(self.snd_max));
            }
            Cause::TailLossProbe => self.counters.tail_loss_probes += 1,
            Cause::AfterTimeout if matches!(self.phase, SenderPhase::Recovery(_)) => {
                self.change_phase(SenderPhase::AfterTimeout(self.snd_max));
            }
            _ => {}
        }
        let snd_max = Seq(self.snd_max.max(again.end) as u32);
        self.ledger.on_retransmission(Retransmission { packet, at, range, cause: cause.id(), snd_max });
        let seen_before = again.start < self.snd_una || !self.outstanding.lacks(again);
        let segments = self.largest_on_wire().map_or(1, |largest| again.on_wire(largest));
        self.inference.on_retransmission(at, packet, again, segment, segments, seen_before);
        self.outstanding.resend(again, at, self.phase_number);
        cause
    }

    fn change_phase(&mut self, phase: SenderPhase) {
        self.phase = phase;
        self.phase_number += 1;
        self.advances = 0;
        self.originals_acked = false;
    }

    /// Everything before `position` is acknowledged.
    fn advance(&mut self, at: Instant, position: u64) {
        if position > self.snd_max {
            // Its data are missing, or pass after it: then they are no copies.
            self.counters.unseen += 1;
            self.counters.unseen_bytes += position - self.snd_max;
        }
        let covered = self.outstanding.acknowledge(position, self.phase_number, self.largest_on_wire());
        if let Some(sent_at) = covered.timed {
            let sample = at.saturating_since(sent_at);
            self.rtt.measure(sample);
            self.inference.on_round_trip(sample);
        }
        for duplicate in self.unexplained.advance(position, covered.segments, covered.resent) {
            self.inference.on_duplicate_arrival(duplicate, self.rtt.samples().longest);
        }
        self.originals_acked |= covered.untouched && self.advances > 0;
        self.advances += 1;
        self.snd_una = position;
        self.progress_at = Some(at);
        self.duplicates = 0;
        self.sacked.forget_before(position);
        if let SenderPhase::Recovery(until) | SenderPhase::AfterTimeout(until) = self.phase
            && position >= until
        {
            self.ended = Some(EndedPhase { at, phase: self.phase });
            self.change_phase(SenderPhase::Open);
        }
        self.reach_milestones(at);
    }

    fn reach_milestones(&mut self, at: Instant) {
        let acked = self.acked();
        let retransmissions = self.counters.retransmissions;
        for milestone in self.milestones.iter_mut().filter(|milestone| milestone.at.is_none()) {
            if acked >= milestone.bytes {
                *milestone = Milestone { at: Some(at), retransmissions, ..*milestone };
            }
        }
    }

    /// The span of a duplicate SACK block: the first, if it lies below the acknowledgment number or inside the second
    /// (RFC 2883 §4).
    fn duplicate_sack(&self, segment: &Segment, position: u64) -> Option<Span> {
        let spans = segment.options.sack.as_slice().iter().map(|block| {
            let start = self.positions.place(block.start);
            Span { start, end: start + u64::from(block.len()) }
        });
        let mut first_two = spans.take(2);
        let first = first_two.next()?;
        let inside =
            first_two.next().is_some_and(|second| second.start <= first.start && first.end <= second.end);
        (first.end <= position || inside).then_some(first)
    }

    /// Takes SACK blocks; returns whether they reported new data.
    fn take_sack_blocks(&mut self, segment: &Segment) -> bool {
        let mut news = false;
        for block in segment.options.sack.as_slice() {
            let start = self.positions.place(block.start);
            let span = Span { start, end: start + u64::from(block.len()) };
            if span.end <= self.snd_una {
                self.counters.duplicate_sacks += 1;
            } else if span.end <= self.snd_max && span.start >= self.snd_una {
                news |= self.sacked.add(span);
            }
        }
        self.sack_seen |= news;
        news
    }
}

/// RFC 7323 appendix A: the option with its padding.
const TIMESTAMPS: u16 = 12;
/// RFC 7323 §2.3: a larger shift counts as 14.
const MAX_WINDOW_SHIFT: u8 = 14;

//! The scoreboard (RFC 6675 §3): every segment sent and not yet acknowledged, with its state.
//!
//! The recovery algorithms mark segments as lost ([`Scoreboard::mark_lost`]); the endpoint reports what was
//! sent, acknowledged and SACKed. From the marks follows the *pipe*, the estimate of the data in the
//! network (RFC 6675 §2): everything outstanding, less what is SACKed, less what is marked lost and
//! not sent again, plus what was sent again without being marked lost. With no marks the pipe is
//! the FlightSize of RFC 5681.
//!
//! No operation walks the window. Segments are found by arithmetic ([`Scoreboard::index_of`]), and the
//! sequence numbers that are SACKed or marked lost are kept as runs besides: a block that tells nothing new
//! is recognised, and the first lost segment is found, in constant time; a block that extends a run touches
//! its new segments only.

pub mod delivery_rate;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use units::{Bytes, Instant, Seq, SeqRange};
use wire::Payload;

use crate::ranges::RangeSet;
use crate::scoreboard::delivery_rate::DeliveryRate;

/// One segment that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its sequence numbers, those of SYN and FIN included.
    pub range: SeqRange,
    /// Its data.
    pub payload: Payload,
    /// Whether it carries our SYN.
    pub syn: bool,
    /// Whether it carries our FIN.
    pub fin: bool,
    /// When it was first sent.
    pub first_sent: Instant,
    /// When it was last sent.
    pub last_sent: Instant,
    /// How often it was sent.
    pub transmissions: u32,
    /// The congestion window when it was last sent.
    pub cwnd: Bytes,
    /// The state of its last copy.
    pub mark: Mark,
    /// Whether a copy of it was SACKed.
    pub sacked: bool,
    /// Whether two copies of it count in the pipe.
    pub twice: bool,
}

/// The state of the last copy of a segment, as the sender takes it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// In the network, or SACKed.
    InFlight,
    /// Lost, and to be sent again for this reason.
    Lost(crate::Cause),
}

/// The segments from `snd_una` to `snd_nxt`, in order, without gaps.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    sent: VecDeque<Sent>,
    /// The most sequence numbers that any segment on the board takes, or has taken since the board was empty.
    longest: u32,
    /// Data from `snd_una` to `snd_nxt`.
    outstanding: Bytes,
    /// Data of the segments that are SACKed, marked lost, in the network twice.
    sacked: Bytes,
    lost: Bytes,
    twice: Bytes,
    /// The sequence numbers of the segments that are SACKed.
    sacked_runs: RangeSet,
    /// Those of the segments that are marked lost.
    lost_runs: RangeSet,
    /// What congestion control wants to know of the network's speed, if it does.
    delivery_rate: Option<Box<DeliveryRate>>,
    /// How many segments are SACKed.
    sacked_segments: usize,
    /// What the ACK at hand has delivered, while anything is unusual.
    delivered: Delivered,
    /// End of what was outstanding when a segment was last SACKed or sent again: until it is acknowledged, deliveries
    /// are not simply the oldest segments in their order.
    unusual_until: Option<Seq>,
}

/// What an ACK delivers, cumulatively or selectively, as far as time and order say something of losses. It is kept while
/// segments are SACKed or were sent again; else an ACK delivers the oldest segments, each sent once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Of the segments that were sent once, the one sent last.
    pub once: Option<Newest>,
    /// Of the segments that were sent more than once, the one sent last.
    pub again: Option<Newest>,
    /// The lowest of the segments that were sent once.
    pub lowest_once: Option<SeqRange>,
    /// End of the highest SACKed segment before the ACK.
    pub fack: Option<Seq>,
}

/// When a delivered segment was last sent, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Its last transmission.
    pub sent: Instant,
    /// The number behind it.
    pub end: Seq,
}

/// A segment that is sent for the first time.
#[derive(Clone, Debug)]
pub struct New {
    /// Its sequence numbers, those of SYN and FIN included.
    pub range: SeqRange,
    /// Its data.
    pub payload: Payload,
    /// Whether it carries our SYN.
    pub syn: bool,
    /// Whether it carries our FIN.
    pub fin: bool,
}

/// What a cumulative acknowledgment took off the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Data acknowledged.
    pub bytes: Bytes,
    /// Of them, those that were not SACKed before.
    pub newly: Bytes,
    /// When the last segment that was taken off was sent; `None` where a segment that was sent more
    /// than once is among them, as its round trip is ambiguous (Karn's rule, RFC 6298 §3).
    pub sample: Option<Instant>,
    /// When the first segment that was taken off was sent, on the same condition.
    pub first_sample: Option<Instant>,
    /// The same of the last of them that no SACK has told of before.
    pub newest_sample: Option<Instant>,
    /// When the last segment that was taken off was sent, if it was sent once, whatever became of those before it.
    pub last_sample: Option<Instant>,
    /// How many segments were taken off whole.
    pub segments: u32,
    /// Whether our SYN is among them.
    pub syn: bool,
    /// Whether our FIN is among them.
    pub fin: bool,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Scoreboard {
    /// A board without segments.
    pub const EMPTY: Self = Self {
        sent: VecDeque::new(),
        longest: 1,
        outstanding: Bytes::ZERO,
        sacked: Bytes::ZERO,
        lost: Bytes::ZERO,
        twice: Bytes::ZERO,
        sacked_runs: RangeSet::EMPTY,
        lost_runs: RangeSet::EMPTY,
        delivery_rate: None,
        sacked_segments: 0,
        delivered: Delivered { once: None, again: None, lowest_once: None, fack: None },
        unusual_until: None,
    };

    /// A board without segments, which keeps account of the delivery rate or does not.
    #[must_use]
    pub fn with_delivery_rate(kept: bool) -> Self {
        Self { delivery_rate: kept.then(Box::default), ..Self::EMPTY }
    }

    /// The account of the delivery rate, where it is kept.
    #[must_use]
    pub fn delivery_rate(&self) -> Option<&DeliveryRate> {
        self.delivery_rate.as_deref()
    }

    /// The same, to be asked for samples.
    pub(crate) fn delivery_rate_mut(&mut self) -> Option<&mut DeliveryRate> {
        self.delivery_rate.as_deref_mut()
    }

    /// An ACK is about to be entered.
    #[inline]
    pub fn begin_ack(&mut self) {
        if let Some(until) = self.unusual_until {
            self.delivered = Delivered { fack: self.highest_sacked(), ..Delivered::default() };
            let over = self.sent.front().is_none_or(|first| first.range.start.at_or_after(until));
            self.unusual_until = self.unusual_until.filter(|_| !over);
        }
    }

    /// What the ACK that was entered last has delivered, while anything is unusual.
    #[must_use]
    pub const fn delivered(&self) -> &Delivered {
        &self.delivered
    }

    /// How many segments are SACKed.
    #[must_use]
    pub const fn sacked_segments(&self) -> usize {
        self.sacked_segments
    }

    /// Deliveries are unusual until all that is outstanding now is acknowledged.
    fn become_unusual(&mut self) {
        self.unusual_until = self.sent.back().map(|last| last.range.end);
    }

    /// A new segment is sent, at `now` and under the congestion window `cwnd`.
    #[inline]
    pub fn push(&mut self, new: New, now: Instant, cwnd: Bytes) {
        let New { range, payload, syn, fin } = new;
        debug_assert!(
            self.sent.back().is_none_or(|last| last.range.end == range.start),
            "a gap on the board"
        );
        self.longest = range.len().max(if self.sent.is_empty() { 1 } else { self.longest });
        self.outstanding += Bytes(u64::from(payload.len()));
        self.sent.push_back(Sent {
            range,
            payload,
            syn,
            fin,
            first_sent: now,
            last_sent: now,
            transmissions: 1,
            cwnd,
            mark: Mark::InFlight,
            sacked: false,
            twice: false,
        });
        let pipe = self.pipe();
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_new(now, pipe);
        }
    }

    /// The segment at `index` is sent again, at `now` and under the congestion window `cwnd`.
    pub fn on_retransmitted(&mut self, index: usize, now: Instant, cwnd: Bytes) {
        self.become_unusual();
        let sent = &mut self.sent[index];
        sent.last_sent = now;
        sent.cwnd = cwnd;
        sent.transmissions += 1;
        if sent.mark == Mark::InFlight {
            self.twice += if sent.sacked || sent.twice { Bytes::ZERO } else { sent.size() };
            sent.twice = !sent.sacked;
        } else {
            sent.mark = Mark::InFlight;
            self.lost -= sent.size();
            self.lost_runs.remove(sent.range);
        }
        let pipe = self.pipe();
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_retransmitted(index, pipe);
        }
    }

    /// Takes off everything before `ack`. A segment acknowledged in part stays, shortened.
    pub fn acknowledge(&mut self, ack: Seq) -> Acked {
        let is_usual = self.unusual_until.is_none() && self.delivery_rate.is_none() && !self.has_marks();
        if is_usual { self.acknowledge_usual(ack) } else { self.acknowledge_any(ack) }
    }

    /// The same, where every segment was sent once and none is marked.
    fn acknowledge_usual(&mut self, ack: Seq) -> Acked {
        let mut acked = Acked::default();
        let first_sent = self.sent.front().map(|first| first.last_sent);
        while let Some(front) = self.sent.front().filter(|front| front.range.end.at_or_before(ack)) {
            acked.sample = Some(front.last_sent);
            acked.bytes += front.size();
            acked.segments += 1;
            acked.syn |= front.syn;
            acked.fin |= front.fin;
            self.sent.pop_front();
        }
        acked.newly = acked.bytes;
        acked.first_sample = acked.sample.and(first_sent);
        (acked.newest_sample, acked.last_sample) = (acked.sample, acked.sample);
        if self.sent.front().is_some_and(|front| front.range.start.before(ack)) {
            self.shorten_front(ack, &mut acked);
        }
        self.outstanding -= acked.bytes;
        acked
    }

    fn acknowledge_any(&mut self, ack: Seq) -> Acked {
        let mut acked = Acked::default();
        let mut sent_once = true;
        let mut last_sent = None;
        let first_sent = self.sent.front().map(|first| first.last_sent);
        let mut newest = None;
        while let Some(front) = self.sent.front() {
            if front.range.start.at_or_after(ack) {
                break;
            }
            sent_once &= front.transmissions == 1;
            if front.range.end.after(ack) {
                self.shorten_front(ack, &mut acked);
                break;
            }
            last_sent = Some(front.last_sent);
            acked.last_sample = last_sent.filter(|_| front.transmissions == 1);
            newest = if front.sacked { newest } else { last_sent };
            if self.unusual_until.is_some() {
                self.delivered.count(front);
                self.sacked_segments -= usize::from(front.sacked);
            }
            acked.segments += 1;
            acked.syn |= front.syn;
            acked.fin |= front.fin;
            let (size, share) = (front.size(), front.share());
            if let Some(rate) = &mut self.delivery_rate {
                rate.on_acknowledged(front);
            }
            self.sent.pop_front();
            self.uncount(size, share, &mut acked);
        }
        self.outstanding -= acked.bytes;
        if self.has_marks() {
            self.sacked_runs.remove_before(ack);
            self.lost_runs.remove_before(ack);
        }
        acked.sample = last_sent.filter(|_| sent_once);
        acked.first_sample = acked.sample.and(first_sent);
        acked.newest_sample = acked.sample.and(newest);
        acked
    }

    #[inline]
    fn has_marks(&self) -> bool {
        !(self.sacked_runs.is_empty() && self.lost_runs.is_empty())
    }

    /// Takes what lies before `ack` off the first segment, of which a part stays.
    fn shorten_front(&mut self, ack: Seq, acked: &mut Acked) {
        let Some(front) = self.sent.front_mut() else { return };
        let before = front.size();
        acked.syn |= front.take_front(ack.since(front.range.start));
        let (part, share) = (before - front.size(), front.share());
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_shortened(part);
        }
        self.uncount(part, share, acked);
    }

    /// Counts data of a segment as acknowledged.
    #[inline]
    fn uncount(&mut self, bytes: Bytes, share: PipeShare, acked: &mut Acked) {
        acked.bytes += bytes;
        match share {
            PipeShare::Sacked => return self.sacked -= bytes,
            PipeShare::Lost => self.lost -= bytes,
            PipeShare::Twice => self.twice -= bytes,
            PipeShare::Once => {}
        }
        acked.newly += bytes;
    }

    /// Marks the segments as SACKed that lie wholly inside `block`; returns their data, as far as it was not SACKed
    /// before.
    pub fn sack(&mut self, block: SeqRange) -> Bytes {
        if self.sacked_runs.containing(block.start).is_some_and(|run| run.covers(block)) {
            return Bytes::ZERO;
        }
        let before = self.sacked;
        let first = self.index_of(block.start);
        let mut index = first;
        let mut end = block.start;
        while let Some(sent) = self.sent.get(index).filter(|sent| sent.range.end.at_or_before(block.end)) {
            if sent.sacked {
                let run = self.sacked_runs.containing(sent.range.start);
                end = run.map_or(sent.range.end, |run| run.end);
                index = self.index_of(end);
            } else {
                end = sent.range.end;
                self.sack_segment(index);
                index += 1;
            }
        }
        if index > first {
            self.sacked_runs.insert(SeqRange { start: self.sent[first].range.start, end }, ());
        }
        self.sacked - before
    }

    /// A segment is SACKed that was not before.
    fn sack_segment(&mut self, index: usize) {
        self.forget_first_copy(index);
        self.become_unusual();
        self.sacked_segments += 1;
        let sent = &mut self.sent[index];
        self.delivered.count(sent);
        sent.sacked = true;
        self.sacked += sent.size();
        if sent.mark != Mark::InFlight {
            sent.mark = Mark::InFlight;
            self.lost -= sent.size();
            self.lost_runs.remove(sent.range);
        }
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_sacked(index, &self.sent[index]);
        }
    }

    /// Forgets all SACK marks: after a timeout the receiver may have reneged (RFC 2018 §8).
    pub fn forget_sacks(&mut self) {
        let runs = std::mem::take(&mut self.sacked_runs);
        self.for_each_in(&runs, |sent| sent.sacked = false);
        self.sacked = Bytes::ZERO;
        self.sacked_segments = 0;
    }

    /// Takes the SACK mark off the segment at `index`.
    pub fn forget_sack(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        if std::mem::take(&mut sent.sacked) {
            self.sacked -= sent.size();
            self.sacked_segments -= 1;
            self.sacked_runs.remove(sent.range);
        }
    }

    /// Marks the segment at `index` as lost, unless it is SACKed or marked already.
    pub fn mark_lost(&mut self, index: usize, cause: crate::Cause) {
        self.forget_first_copy(index);
        let sent = &mut self.sent[index];
        if sent.sacked || sent.mark != Mark::InFlight {
            return;
        }
        sent.mark = Mark::Lost(cause);
        self.lost += sent.size();
        self.lost_runs.insert(sent.range, ());
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_lost(index, sent.size());
        }
    }

    /// Of two copies of the segment at `index` that count in the pipe, takes one out.
    #[inline]
    pub fn forget_first_copy(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        self.twice -= if std::mem::take(&mut sent.twice) { sent.size() } else { Bytes::ZERO };
    }

    /// Marks everything as lost that is not SACKed: the first segment because its timer ran out, the
    /// others because they lie behind it.
    pub fn mark_all_lost(&mut self) {
        for index in 0..self.sent.len() {
            let cause = if index == 0 { crate::Cause::Timeout } else { crate::Cause::AfterTimeout };
            self.mark_lost(index, cause);
        }
    }

    /// Changes the reason for which the first segment is lost.
    pub fn blame_first(&mut self, cause: crate::Cause) {
        if let Some(Sent { mark: Mark::Lost(reason), .. }) = self.sent.front_mut() {
            *reason = cause;
        }
    }

    /// Takes all marks of loss away, and counts each segment once in the pipe.
    pub fn clear_lost(&mut self) {
        let runs = std::mem::take(&mut self.lost_runs);
        self.for_each_in(&runs, |sent| sent.mark = Mark::InFlight);
        self.lost = Bytes::ZERO;
        if !self.twice.is_zero() {
            self.sent.iter_mut().for_each(|sent| sent.twice = false);
            self.twice = Bytes::ZERO;
        }
    }

    /// Changes the segments that `runs` consist of.
    fn for_each_in(&mut self, runs: &RangeSet, change: impl Fn(&mut Sent)) {
        for run in runs.iter() {
            let inside = self.index_of(run.start)..self.index_of(run.end);
            self.sent.range_mut(inside).for_each(&change);
        }
    }

    /// Whether any segment is marked lost.
    #[must_use]
    #[inline]
    pub fn has_lost(&self) -> bool {
        !self.lost_runs.is_empty()
    }

    /// The first segment that waits to be sent again, and why.
    #[must_use]
    #[inline]
    pub fn first_lost(&self) -> Option<(usize, crate::Cause)> {
        let index = self.index_of(self.lost_runs.first()?.start);
        match self.sent[index].mark {
            Mark::Lost(cause) => Some((index, cause)),
            Mark::InFlight => unreachable!("a lost run begins with a segment that is marked"),
        }
    }

    /// Of the segments that were sent for the first time before `newest`, the last that is not SACKed.
    #[must_use]
    pub fn last_hole_before(&self, newest: &Newest) -> Option<&Sent> {
        let before = |sent: &Sent| newest.is_after(sent.first_sent, sent.range.end);
        let last = self.sent.partition_point(before).checked_sub(1)?;
        let run = self.sacked_runs.containing(self.sent[last].range.start);
        match run {
            Some(run) => self.sent.get(self.index_of(run.start).checked_sub(1)?),
            None => self.sent.get(last),
        }
    }

    /// Index of the first segment in `among` that is not SACKed.
    #[must_use]
    pub fn first_hole(&self, among: std::ops::Range<usize>) -> Option<usize> {
        let first = self.sent.get(among.start)?;
        let run = if first.sacked { self.sacked_runs.containing(first.range.start) } else { None };
        let index = run.map_or(among.start, |run| self.index_of(run.end));
        (index < among.end).then_some(index)
    }

    /// IsLost() of RFC 3517 and RFC 6675 §4, turned round: every segment before this number is lost unless it is
    /// SACKed. At it and above lie `dupthresh` runs of SACKed segments, or SACKed data of at least `enough`, in which
    /// the two RFCs differ. `None` where there is less.
    #[must_use]
    pub fn lost_edge(&self, dupthresh: u32, enough: Bytes) -> Option<Seq> {
        if self.sacked_runs.len() < dupthresh as usize && self.sacked < enough {
            return None;
        }
        let mut missing = enough;
        for (sequences, run) in (1..).zip(self.sacked_runs.iter().rev()) {
            if sequences >= dupthresh || missing.is_zero() {
                return self.last_before(run.end).map(|top| top.range.start);
            }
            let data = self.data_in(run);
            let len = Bytes(u64::from(data.len()));
            if len >= missing {
                let from = data.start + (len - missing).0 as u32;
                return self.last_before(from + 1).map(|sent| sent.range.start);
            }
            missing -= len;
        }
        None
    }

    /// The last segment that starts before `seq`.
    fn last_before(&self, seq: Seq) -> Option<&Sent> {
        self.sent.get(self.index_of(seq).checked_sub(1)?)
    }

    /// The data in a run of segments: its sequence numbers without those of SYN and FIN.
    fn data_in(&self, run: SeqRange) -> SeqRange {
        let syn = self.sent.front().is_some_and(|first| first.syn && first.range.start == run.start);
        let fin = self.sent.back().is_some_and(|last| last.fin && last.range.end == run.end);
        SeqRange { start: run.start + u32::from(syn), end: run.end - u32::from(fin) }
    }

    /// Data sent and not cumulatively acknowledged: FlightSize (RFC 5681 §2).
    #[must_use]
    pub const fn outstanding(&self) -> Bytes {
        self.outstanding
    }

    /// The estimate of the data in the network (RFC 6675 §4).
    #[must_use]
    #[inline]
    pub fn pipe(&self) -> Bytes {
        self.outstanding - self.sacked - self.lost + self.twice
    }

    /// Data SACKed above the cumulative acknowledgment.
    #[must_use]
    pub const fn sacked(&self) -> Bytes {
        self.sacked
    }

    /// End of the highest SACKed segment.
    #[must_use]
    #[inline]
    pub fn highest_sacked(&self) -> Option<Seq> {
        self.sacked_runs.last().map(|run| run.end)
    }

    /// The segment at `index`, counted from the oldest.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Sent> {
        self.sent.get(index)
    }

    /// The oldest segment.
    #[must_use]
    #[inline]
    pub fn front(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// The newest segment.
    #[must_use]
    #[inline]
    pub fn back(&self) -> Option<&Sent> {
        self.sent.back()
    }

    /// How many segments are on the board.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Whether nothing is outstanding.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Index of the first segment that starts at or after `seq`.
    ///
    /// No segment is longer than `longest`, so that at least so many lie before `seq` as fit; in a bulk transfer, whose
    /// segments are of one length, that is the answer. Else a binary search goes on from there.
    #[must_use]
    #[inline]
    pub fn index_of(&self, seq: Seq) -> usize {
        let Some(first) = self.sent.front().filter(|first| first.range.start.before(seq)) else { return 0 };
        let least = (seq.since(first.range.start) / self.longest) as usize;
        match self.sent.get(least) {
            Some(sent) if sent.range.start.before(seq) => self.index_beyond(least, seq),
            Some(_) => least,
            None => self.sent.len(),
        }
    }

    /// The same, where the segment at `before` starts before `seq`.
    fn index_beyond(&self, before: usize, seq: Seq) -> usize {
        let next = before + 1;
        if self.sent.get(next).is_none_or(|sent| !sent.range.start.before(seq)) {
            return next;
        }
        let (mut low, mut high) = (next, self.sent.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.sent[middle].range.start.before(seq) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl Delivered {
    /// A segment is delivered that was not SACKed before.
    fn count(&mut self, sent: &Sent) {
        if sent.sacked {
            return;
        }
        let this = Newest { sent: sent.last_sent, end: sent.range.end };
        let newest = if sent.transmissions > 1 { &mut self.again } else { &mut self.once };
        *newest = Some(newest.map_or(this, |other| other.max(this)));
        if sent.transmissions == 1 {
            let lowest = self.lowest_once.filter(|lowest| lowest.start.before(sent.range.start));
            self.lowest_once = Some(lowest.unwrap_or(sent.range));
        }
    }

    /// A segment below one that was delivered before it, though neither was sent again: the network has reordered them.
    #[must_use]
    pub fn overtaken(&self) -> Option<SeqRange> {
        let fack = self.fack?;
        self.lowest_once.filter(|lowest| lowest.end.before(fack))
    }
}

impl Newest {
    /// Whether it was sent after a segment that was sent `at` and ends at `end` (`RACK_sent_after()` of RFC 8985 §6.2).
    #[must_use]
    pub fn is_after(&self, at: Instant, end: Seq) -> bool {
        self.sent > at || (self.sent == at && self.end.after(end))
    }

    /// The one that was sent later.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if other.is_after(self.sent, self.end) { other } else { self }
    }
}

/// How a segment counts in the pipe.
#[derive(Clone, Copy)]
enum PipeShare {
    Once,
    Twice,
    Sacked,
    Lost,
}

impl Sent {
    /// The length of its data, which FlightSize and the windows count; SYN and FIN count nothing.
    #[must_use]
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(self.payload.len()))
    }

    /// How it counts in the pipe. What is SACKed or marked lost is not in the network twice.
    #[inline]
    fn share(&self) -> PipeShare {
        match self.mark {
            Mark::Lost(_) => PipeShare::Lost,
            Mark::InFlight if self.sacked => PipeShare::Sacked,
            Mark::InFlight if self.twice => PipeShare::Twice,
            Mark::InFlight => PipeShare::Once,
        }
    }

    /// Takes `count` numbers off the front; returns whether the SYN was among them.
    fn take_front(&mut self, count: u32) -> bool {
        let syn = u32::from(self.syn);
        let bytes = count - syn;
        self.payload = self.payload.slice(bytes, self.payload.len() - bytes);
        self.range.start += count;
        std::mem::take(&mut self.syn)
    }
}

//! The scoreboard (RFC 6675 §3): every segment sent and not yet acknowledged, with its state.
//!
//! The recovery algorithms mark segments as lost ([`Scoreboard::mark_lost`]); the endpoint reports which segments were
//! sent, acknowledged and SACKed. From the marks follows the *pipe*, the estimate of the data in the network (RFC 6675
//! §2): everything outstanding, less the SACKed data, less the data marked lost and not sent again, plus the data sent
//! again without being marked lost. With no marks the pipe is the FlightSize of RFC 5681.
//!
//! No operation walks the window. Segments are found by arithmetic ([`Scoreboard::index_of`]), and the sequence numbers
//! that are SACKed or marked lost are also kept as runs: a block without news is recognised, and the first lost segment
//! is found, in constant time; a block that extends a run touches its new segments only.

mod acknowledge;
mod delivered;
pub mod delivery_rate;
mod holes;
#[cfg(test)]
mod oracle;
mod sent;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use units::{Bytes, Instant, Seq, SeqRange};

use crate::ranges::RangeSet;
pub use delivered::{Delivered, Newest};
use delivery_rate::DeliveryRate;
pub use sent::{Acked, Mark, New, Sent};

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
    /// Segments that are marked lost.
    lost_runs: RangeSet,
    /// The delivery rate, where congestion control observes it.
    delivery_rate: Option<Box<DeliveryRate>>,
    /// Number of SACKed segments.
    sacked_segments: usize,
    /// Number of segments that were acknowledged or SACKed, each once.
    delivered_segments: u64,
    /// The segments that the present ACK has delivered, while anything is unusual.
    delivered: Delivered,
    /// End of the outstanding data when a segment was last SACKed or sent again: until it is acknowledged, deliveries
    /// are not simply the oldest segments in their order.
    unusual_until: Option<Seq>,
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
        delivered_segments: 0,
        delivered: Delivered::NONE,
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

    /// Data delivered by the latest ACK, while anything is unusual.
    #[must_use]
    pub const fn delivered(&self) -> &Delivered {
        &self.delivered
    }

    /// Number of SACKed segments.
    #[must_use]
    pub const fn sacked_segments(&self) -> usize {
        self.sacked_segments
    }

    /// Number of segments that were acknowledged or SACKed, each once.
    #[must_use]
    pub const fn delivered_segments(&self) -> u64 {
        self.delivered_segments
    }

    /// Cuts the only segment on the board, sent once, into segments of `len` bytes at most. A board that keeps account
    /// of the delivery rate leaves it whole.
    pub(crate) fn cut(&mut self, len: Bytes) {
        if self.sent.len() != 1 || self.delivery_rate.is_some() {
            return;
        }
        let len = u32::try_from(len.0).unwrap_or(u32::MAX);
        while let Some(last) = self.sent.back_mut().filter(|last| last.payload.len() > len) {
            let mut rest = last.clone();
            rest.take_front(len);
            last.range.end = rest.range.start;
            last.payload = last.payload.slice(0, len);
            self.sent.push_back(rest);
        }
    }

    /// Cuts every segment that is not SACKed into segments of `len` bytes at most.
    pub(crate) fn split_all(&mut self, len: Bytes) {
        let mut index = 0;
        while index < self.sent.len() {
            index = self.split(index, len);
        }
    }

    /// Cuts the segment at `index` into segments of `len` bytes at most, unless it is SACKed; returns the index after
    /// the last of them.
    pub(crate) fn split(&mut self, index: usize, len: Bytes) -> usize {
        let len = u32::try_from(len.0).unwrap_or(u32::MAX);
        let mut next = index + 1;
        while let Some(last) = self.sent.get_mut(next - 1).filter(|last| last.is_longer(len)) {
            let mut rest = last.clone();
            rest.take_front(len);
            last.range.end = rest.range.start;
            last.payload = last.payload.slice(0, len);
            last.fin = false;
            self.sent.insert(next, rest);
            if let Some(rate) = &mut self.delivery_rate {
                rate.on_split(next - 1);
            }
            next += 1;
        }
        next
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
        self.delivered_segments += 1;
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
    /// others because they lie after it.
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

    /// Number of segments on the board.
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
    /// No segment is longer than `longest`, so that at least `(seq - first) / longest` of them lie before `seq`; in a
    /// bulk transfer, whose segments are of one length, that is the answer. Else a binary search continues from there.
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

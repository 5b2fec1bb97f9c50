//! Cumulative acknowledgments: what they take off the board.

use units::{Bytes, Seq};

use super::Scoreboard;
use super::sent::{Acked, PipeShare};

impl Scoreboard {
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
        self.delivered_segments += u64::from(acked.segments);
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
            self.delivered_segments += u64::from(!front.sacked);
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
}

//! The scoreboard as plainly as it can be written: a list of segments that is walked for every question. The real one
//! must answer the same.

use units::{Bytes, Instant, Seq, SeqRange};

use super::{Acked, Mark, New, Sent};
use crate::Cause;

#[derive(Clone, Debug, Default)]
pub(super) struct PlainScoreboard {
    pub(super) sent: Vec<Sent>,
}

impl PlainScoreboard {
    pub(super) fn push(&mut self, new: New, now: Instant, cwnd: Bytes) {
        let New { range, payload, syn, fin } = new;
        self.sent.push(Sent {
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
    }

    pub(super) fn on_retransmitted(&mut self, index: usize, now: Instant, cwnd: Bytes) {
        let sent = &mut self.sent[index];
        (sent.last_sent, sent.cwnd) = (now, cwnd);
        sent.transmissions += 1;
        sent.twice |= !is_lost(sent) && !sent.sacked;
        sent.mark = Mark::InFlight;
    }

    pub(super) fn split(&mut self, index: usize, len: u32) {
        let mut rest = self.sent[index].clone();
        if rest.syn || rest.sacked {
            return;
        }
        let mut pieces = Vec::new();
        while rest.payload.len() > len {
            let mut piece = rest.clone();
            rest.take_front(len);
            (piece.payload, piece.range.end, piece.fin) =
                (piece.payload.slice(0, len), rest.range.start, false);
            pieces.push(piece);
        }
        pieces.push(rest);
        self.sent.splice(index..=index, pieces);
    }

    pub(super) fn acknowledge(&mut self, ack: Seq) -> Acked {
        let mut acked = Acked::default();
        let mut ambiguous = false;
        let mut newest = None;
        let oldest = self.sent.first().map(|first| first.last_sent);
        while let Some(first) = self.sent.first_mut().filter(|first| first.range.start.before(ack)) {
            ambiguous |= first.transmissions > 1;
            let whole = first.range.end.at_or_before(ack);
            let (before, sacked) = (first.size(), first.sacked);
            acked.syn |= first.syn;
            let mut taken = before;
            if whole {
                acked.fin |= first.fin;
                acked.sample = Some(first.last_sent);
                acked.last_sample = if first.transmissions == 1 { acked.sample } else { None };
                newest = if sacked { newest } else { acked.sample };
                acked.segments += 1;
                self.sent.remove(0);
            } else {
                first.take_front(ack.since(first.range.start));
                taken = before - first.size();
            }
            acked.bytes += taken;
            acked.newly += if sacked { Bytes::ZERO } else { taken };
        }
        acked.sample = acked.sample.filter(|_| !ambiguous);
        acked.first_sample = acked.sample.and(oldest);
        acked.newest_sample = acked.sample.and(newest);
        acked
    }

    pub(super) fn sack(&mut self, block: SeqRange) -> Bytes {
        let mut newly = Bytes::ZERO;
        let from = self.index_of(block.start);
        for sent in self.sent[from..].iter_mut().take_while(|sent| sent.range.end.at_or_before(block.end)) {
            newly += if sent.sacked { Bytes::ZERO } else { sent.size() };
            (sent.sacked, sent.mark, sent.twice) = (true, Mark::InFlight, false);
        }
        newly
    }

    pub(super) fn forget_sacks(&mut self) {
        self.sent.iter_mut().for_each(|sent| sent.sacked = false);
    }

    pub(super) fn mark_lost(&mut self, index: usize, cause: Cause) {
        let sent = &mut self.sent[index];
        sent.twice = false;
        if !sent.sacked && !is_lost(sent) {
            sent.mark = Mark::Lost(cause);
        }
    }

    pub(super) fn forget_first_copy(&mut self, index: usize) {
        self.sent[index].twice = false;
    }

    pub(super) fn mark_all_lost(&mut self) {
        for index in 0..self.sent.len() {
            self.mark_lost(index, if index == 0 { Cause::Timeout } else { Cause::AfterTimeout });
        }
    }

    pub(super) fn blame_first(&mut self, cause: Cause) {
        for first in self.sent.first_mut().into_iter().filter(|first| is_lost(first)) {
            first.mark = Mark::Lost(cause);
        }
    }

    pub(super) fn clear_lost(&mut self) {
        self.sent.iter_mut().for_each(|sent| (sent.mark, sent.twice) = (Mark::InFlight, false));
    }

    pub(super) fn first_lost(&self) -> Option<(usize, Cause)> {
        self.sent.iter().enumerate().find_map(|(index, sent)| match sent.mark {
            Mark::Lost(cause) => Some((index, cause)),
            Mark::InFlight => None,
        })
    }

    pub(super) fn first_hole(&self, among: std::ops::Range<usize>) -> Option<usize> {
        among.into_iter().find(|index| self.sent.get(*index).is_some_and(|sent| !sent.sacked))
    }

    /// From the highest segment downwards, as the RFCs count.
    pub(super) fn lost_edge(&self, dupthresh: u32, enough: Bytes) -> Option<Seq> {
        let (mut sequences, mut bytes, mut within) = (0, Bytes::ZERO, false);
        for sent in self.sent.iter().rev() {
            if sent.sacked {
                sequences += u32::from(!within);
                bytes += sent.size();
                if sequences >= dupthresh || bytes >= enough {
                    return Some(sent.range.start);
                }
            }
            within = sent.sacked;
        }
        None
    }

    pub(super) fn sum(&self, counts: impl Fn(&Sent) -> bool) -> Bytes {
        self.sent.iter().filter(|sent| counts(sent)).map(Sent::size).sum()
    }

    pub(super) fn pipe(&self) -> Bytes {
        self.sum(|sent| !sent.sacked && !is_lost(sent)) + self.sum(|sent| sent.twice)
    }

    pub(super) fn highest_sacked(&self) -> Option<Seq> {
        self.sent.iter().rev().find(|sent| sent.sacked).map(|sent| sent.range.end)
    }

    pub(super) fn index_of(&self, seq: Seq) -> usize {
        self.sent.iter().take_while(|sent| sent.range.start.before(seq)).count()
    }
}

fn is_lost(sent: &Sent) -> bool {
    sent.mark != Mark::InFlight
}

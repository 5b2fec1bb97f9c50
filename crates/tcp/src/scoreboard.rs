//! What is on its way: every segment sent and not yet acknowledged, with what is known of it.
//!
//! The recovery algorithms write the marks ([`Scoreboard::mark_lost`]), the endpoint reports what was
//! sent and acknowledged. From the marks follows the *pipe*, the estimate of what is still in the
//! network (RFC 6675 §2): everything outstanding, less what is SACKed, less what is taken for lost and
//! not sent again, and twice what was sent again without being taken for lost. With no marks the pipe is
//! the FlightSize of RFC 5681.

use std::collections::VecDeque;

use units::{Bytes, Instant, Seq, SeqRange};
use wire::Payload;

/// One segment that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its sequence numbers, SYN and FIN included.
    pub range: SeqRange,
    /// Its bytes.
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
    /// What is believed of its last copy.
    pub mark: Mark,
    /// Whether a copy of it was SACKed.
    pub sacked: bool,
    /// Whether two copies of it are believed to be on their way.
    pub twice: bool,
}

/// What the sender believes of the last copy of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is on its way.
    InFlight,
    /// It is lost and waits to be sent again, for this reason.
    Lost(crate::Cause),
}

/// The segments from `snd_una` to `snd_nxt`, in order, without gaps.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    sent: VecDeque<Sent>,
    outstanding: Bytes,
    sacked: Bytes,
    lost: Bytes,
    twice: Bytes,
    /// How many segments are marked lost: a FIN alone has no bytes to count.
    lost_segments: usize,
    /// Index of the first segment marked lost, if there is one: keeps "what next?" short.
    first_lost: Option<usize>,
    /// End of the highest SACKed segment.
    highest_sacked: Option<Seq>,
}

/// What a cumulative acknowledgment took off the board.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Data acknowledged.
    pub bytes: Bytes,
    /// Of them, those that were not SACKed before.
    pub newly: Bytes,
    /// When the last segment that was taken off was sent; `None` where a segment that was sent more
    /// than once is among them, as its round trip is ambiguous (Karn's rule, RFC 6298 §3).
    pub sample: Option<Instant>,
    /// How many segments were taken off whole.
    pub segments: u32,
    /// Whether our SYN is among them.
    pub syn: bool,
    /// Whether our FIN is among them.
    pub fin: bool,
}

impl Scoreboard {
    /// A new segment went out.
    pub fn push(&mut self, range: SeqRange, payload: Payload, syn: bool, fin: bool, now: Instant) {
        debug_assert!(
            self.sent.back().is_none_or(|last| last.range.end == range.start),
            "a gap on the board"
        );
        self.outstanding += Bytes(u64::from(payload.len()));
        self.sent.push_back(Sent {
            range,
            payload,
            syn,
            fin,
            first_sent: now,
            last_sent: now,
            transmissions: 1,
            cwnd: Bytes::ZERO,
            mark: Mark::InFlight,
            sacked: false,
            twice: false,
        });
    }

    /// The segment at `index` went out again.
    pub fn on_retransmitted(&mut self, index: usize, now: Instant) {
        let sent = &mut self.sent[index];
        sent.last_sent = now;
        sent.transmissions += 1;
        if sent.mark == Mark::InFlight {
            self.twice += if sent.sacked || sent.twice { Bytes::ZERO } else { sent.size() };
            sent.twice = !sent.sacked;
        } else {
            sent.mark = Mark::InFlight;
            self.lost -= sent.size();
            self.lost_segments -= 1;
            if self.first_lost == Some(index) {
                self.find_first_lost(index + 1);
            }
        }
    }

    /// The segment at `index` was last sent under this congestion window.
    pub fn sent_under(&mut self, index: usize, cwnd: Bytes) {
        self.sent[index].cwnd = cwnd;
    }

    /// Takes off everything before `ack`. A segment acknowledged in part stays, shortened.
    pub fn acknowledge(&mut self, ack: Seq) -> Acked {
        let mut acked = Acked::default();
        let mut ambiguous = false;
        let mut last_sent = None;
        while let Some(front) = self.sent.front_mut() {
            if front.range.start.at_or_after(ack) {
                break;
            }
            if front.range.end.after(ack) {
                let before = front.size();
                acked.syn |= front.take_front(ack.since(front.range.start));
                ambiguous |= front.transmissions > 1;
                let part = before - front.size();
                let (sacked, lost, twice) = (front.sacked, front.mark != Mark::InFlight, front.twice);
                self.twice -= if twice { part } else { Bytes::ZERO };
                self.uncount(part, sacked, lost, &mut acked);
                break;
            }
            ambiguous |= front.transmissions > 1;
            last_sent = Some(front.last_sent);
            acked.segments += 1;
            acked.syn |= front.syn;
            acked.fin |= front.fin;
            let (size, sacked, was_lost) = (front.size(), front.sacked, front.mark != Mark::InFlight);
            self.twice -= if front.twice { size } else { Bytes::ZERO };
            self.sent.pop_front();
            self.first_lost = self.first_lost.and_then(|index| index.checked_sub(1));
            self.uncount(size, sacked, was_lost, &mut acked);
            if was_lost {
                self.lost_segments -= 1;
                self.find_first_lost(0);
            }
        }
        if self.highest_sacked.is_some_and(|seq| seq.at_or_before(ack)) {
            self.highest_sacked = None;
        }
        acked.sample = if ambiguous { None } else { last_sent };
        acked
    }

    /// Marks as SACKed what lies wholly inside `block`; returns the bytes that are new.
    pub fn sack(&mut self, block: SeqRange) -> Bytes {
        let mut newly = Bytes::ZERO;
        for index in self.index_of(block.start)..self.sent.len() {
            let sent = &mut self.sent[index];
            if sent.range.end.after(block.end) {
                break;
            }
            if sent.sacked {
                continue;
            }
            self.twice -= if std::mem::take(&mut sent.twice) { sent.size() } else { Bytes::ZERO };
            sent.sacked = true;
            newly += sent.size();
            self.sacked += sent.size();
            self.highest_sacked =
                Some(self.highest_sacked.map_or(sent.range.end, |seq| seq.max(sent.range.end)));
            if sent.mark != Mark::InFlight {
                sent.mark = Mark::InFlight;
                self.lost -= sent.size();
                self.lost_segments -= 1;
                if self.first_lost == Some(index) {
                    self.find_first_lost(index + 1);
                }
            }
        }
        newly
    }

    /// Forgets all SACK marks: after a timeout the receiver may have reneged (RFC 2018 §8).
    pub fn forget_sacks(&mut self) {
        self.sent.iter_mut().for_each(|sent| sent.sacked = false);
        self.sacked = Bytes::ZERO;
        self.highest_sacked = None;
    }

    /// Takes the segment at `index` for lost, unless it is SACKed or marked already.
    pub fn mark_lost(&mut self, index: usize, cause: crate::Cause) {
        self.forget_first_copy(index);
        let sent = &mut self.sent[index];
        if sent.sacked || sent.mark != Mark::InFlight {
            return;
        }
        sent.mark = Mark::Lost(cause);
        self.lost += sent.size();
        self.lost_segments += 1;
        self.first_lost = Some(self.first_lost.map_or(index, |first| first.min(index)));
    }

    /// Of two copies of the segment at `index` that are on their way, takes the first for lost.
    pub fn forget_first_copy(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        self.twice -= if std::mem::take(&mut sent.twice) { sent.size() } else { Bytes::ZERO };
    }

    /// Takes everything that is not SACKed for lost: the first segment because its timer ran out, the
    /// others because they lie behind it.
    pub fn mark_all_lost(&mut self) {
        for index in 0..self.sent.len() {
            let cause = if index == 0 { crate::Cause::Timeout } else { crate::Cause::AfterTimeout };
            self.mark_lost(index, cause);
        }
    }

    /// Changes the reason why the first segment is lost.
    pub fn blame_first(&mut self, cause: crate::Cause) {
        if let Some(Sent { mark: Mark::Lost(reason), .. }) = self.sent.front_mut() {
            *reason = cause;
        }
    }

    /// Takes nothing for lost any more.
    pub fn clear_lost(&mut self) {
        for sent in &mut self.sent {
            (sent.mark, sent.twice) = (Mark::InFlight, false);
        }
        self.lost = Bytes::ZERO;
        self.twice = Bytes::ZERO;
        self.lost_segments = 0;
        self.first_lost = None;
    }

    /// The first segment that waits to be sent again, and why.
    #[must_use]
    pub fn first_lost(&self) -> Option<(usize, crate::Cause)> {
        let index = self.first_lost?;
        match self.sent[index].mark {
            Mark::Lost(cause) => Some((index, cause)),
            Mark::InFlight => unreachable!("first_lost points at a segment that is marked"),
        }
    }

    /// Data sent and not cumulatively acknowledged: FlightSize (RFC 5681 §2).
    #[must_use]
    pub const fn outstanding(&self) -> Bytes {
        self.outstanding
    }

    /// The estimate of what is in the network (RFC 6675 §4).
    #[must_use]
    pub fn pipe(&self) -> Bytes {
        self.outstanding - self.sacked - self.lost + self.twice
    }

    /// Bytes SACKed above the cumulative acknowledgment.
    #[must_use]
    pub const fn sacked(&self) -> Bytes {
        self.sacked
    }

    /// End of the highest SACKed segment.
    #[must_use]
    pub const fn highest_sacked(&self) -> Option<Seq> {
        self.highest_sacked
    }

    /// The segment at `index`, counted from the oldest.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Sent> {
        self.sent.get(index)
    }

    /// The oldest segment.
    #[must_use]
    pub fn front(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// The newest segment.
    #[must_use]
    pub fn back(&self) -> Option<&Sent> {
        self.sent.back()
    }

    /// How many segments are on the board.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Whether nothing is outstanding.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Index of the first segment that starts at or after `seq`.
    #[must_use]
    pub fn index_of(&self, seq: Seq) -> usize {
        self.sent.partition_point(|sent| sent.range.start.before(seq))
    }

    fn uncount(&mut self, bytes: Bytes, sacked: bool, lost: bool, acked: &mut Acked) {
        self.outstanding -= bytes;
        acked.bytes += bytes;
        if sacked {
            self.sacked -= bytes;
        } else {
            acked.newly += bytes;
        }
        if lost {
            self.lost -= bytes;
        }
    }

    fn find_first_lost(&mut self, from: usize) {
        self.first_lost = if self.lost_segments == 0 {
            None
        } else {
            (from..self.sent.len()).find(|&index| self.sent[index].mark != Mark::InFlight)
        };
    }
}

impl Sent {
    /// Its data: what FlightSize and the windows count. SYN and FIN weigh nothing.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(self.payload.len()))
    }

    /// Cuts `count` numbers off the front; returns whether the SYN was among them.
    fn take_front(&mut self, count: u32) -> bool {
        let syn = u32::from(self.syn);
        let bytes = count - syn;
        self.payload = self.payload.slice(bytes, self.payload.len() - bytes);
        self.range.start += count;
        std::mem::take(&mut self.syn)
    }
}

#[cfg(test)]
mod tests;

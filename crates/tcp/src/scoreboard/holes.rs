//! The holes between SACKed segments, in which losses are looked for.

use units::{Bytes, Seq, SeqRange};

use super::{Newest, Scoreboard, Sent};

impl Scoreboard {
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
    /// SACKed. At and above it lie `dupthresh` runs of SACKed segments, or SACKed data of at least `enough`, in which
    /// the two RFCs differ. `None` where there are fewer.
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
}

//! Records of the sender's decisions, with the state on which each was based.

use units::{Instant, Seq};

use super::SendHalf;
use crate::{Decision, ModelRecord, Record, VariableRecord};

impl SendHalf {
    /// Whether records are kept; off at first.
    pub(crate) fn set_recording(&mut self, on: bool) {
        self.records = on.then(Vec::new);
    }

    /// The records since the last call, oldest first.
    pub(crate) fn take_records(&mut self) -> Vec<Record> {
        self.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The changes of the congestion control's variables since the last call, where records are kept.
    pub(crate) fn take_variables(&mut self) -> Vec<VariableRecord> {
        self.variables.take()
    }

    /// Records a decision of the sender and its reason, where records are kept.
    #[inline]
    pub(crate) fn note(&mut self, now: Instant, event: Decision, reason: &'static str, seq: Seq, len: u32) {
        if self.records.is_some() {
            self.record(now, event, reason, seq, len);
        }
    }

    #[cold]
    fn record(&mut self, now: Instant, event: Decision, reason: &'static str, seq: Seq, len: u32) {
        let estimate = self.rto.estimate();
        let record = Record {
            at: now,
            event,
            reason,
            seq,
            len,
            cwnd: self.window(),
            ssthresh: self.ssthresh(),
            flight: self.board.outstanding(),
            advertised: self.peer_window.size(),
            srtt: estimate.map(|estimate| estimate.srtt),
            rttvar: estimate.map(|estimate| estimate.rttvar),
            rto: self.rto.length(),
            phase: self.phase(),
            pipe: self.window_and_pipe().1,
            model: self.congestion.path_model().map(|model| ModelRecord::of(&*model)),
        };
        if let Some(records) = &mut self.records {
            records.push(record);
        }
        self.variables.note(now, self.congestion.variables());
    }
}

//! A sender's decisions, as rows of the table `tcp`, and its counters.

use tcp::{Decision, Record};
use units::{Bytes, Instant, Seq};
use workload::{Counters, ObservedRecord};

use super::ccid::{Event, SenderState};

/// The rows and counters of an end.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Whether rows are kept.
    keeps: bool,
    records: Vec<ObservedRecord>,
    /// Data packets that were acknowledged.
    delivered: u64,
    counters: Counters,
}

impl Log {
    pub(super) fn new(keeps: bool) -> Self {
        Self { keeps, ..Self::default() }
    }

    pub(super) const fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn take(&mut self) -> Vec<ObservedRecord> {
        std::mem::take(&mut self.records)
    }

    /// The connection is open.
    pub(super) fn on_open(&mut self, now: Instant, state: Option<SenderState>) {
        let event = Event { decision: Decision::Established, reason: "", packets: 0, delivered: 0 };
        self.note(now, event, state);
    }

    /// A packet is sent.
    pub(super) fn on_sent(&mut self, now: Instant, has_data: bool) {
        self.counters.first_sent.get_or_insert(now);
        self.counters.packets += u64::from(has_data);
    }

    /// Something acknowledged data, or closed the connection.
    pub(super) const fn on_heard(&mut self, now: Instant) {
        self.counters.last_heard = Some(now);
    }

    /// A decision of the congestion control.
    pub(super) fn on_event(&mut self, now: Instant, event: Event, state: Option<SenderState>) {
        self.delivered += event.delivered;
        match event.decision {
            Decision::Congestion => {
                self.counters.congestion_events += 1;
                self.counters.lost += event.packets;
            }
            Decision::Mark => self.counters.congestion_events += 1,
            Decision::Timeout => self.counters.probe_timeouts += 1,
            _ => {}
        }
        self.note(now, event, state);
    }

    /// Writes a row. Its place is the number of data packets that were acknowledged: packets have no bytes of a stream.
    fn note(&mut self, at: Instant, event: Event, state: Option<SenderState>) {
        let Some(state) = state.filter(|_| self.keeps) else { return };
        let record = Record {
            at,
            event: event.decision,
            reason: event.reason,
            seq: Seq(self.delivered as u32),
            len: u32::try_from(event.packets).unwrap_or(u32::MAX),
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            flight: state.flight,
            advertised: Bytes::ZERO,
            srtt: state.srtt,
            rttvar: state.rttvar,
            rto: state.timer,
            phase: state.phase,
            pipe: state.flight,
            model: state.model,
        };
        self.records.push(ObservedRecord { place: self.delivered as i64, record });
    }
}

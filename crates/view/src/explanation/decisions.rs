//! The decisions of one connection's sender, as columns; single ones are read on demand.

use crate::flow::STATE;
use crate::table::{Rows, places};

/// A row of the table `tcp`: a decision of the sender, and its windows after it. Its time is in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision<'a> {
    pub(crate) time: f64,
    pub(crate) reason: &'a str,
    pub(crate) cwnd: f64,
    /// NaN where there is none, or a model of the path that does not go by it.
    pub(crate) ssthresh: f64,
    pub(crate) phase: &'a str,
}

/// The rows of one connection in the table `tcp`, in the order of time.
#[derive(Default)]
pub(crate) struct Decisions<'a> {
    rows: Option<Rows<'a>>,
    /// Times in seconds.
    pub(crate) time: Vec<f64>,
    /// Congestion windows in bytes.
    pub(crate) cwnd: Vec<f64>,
    ssthresh: Vec<f64>,
    /// Bytes sent and not yet acknowledged.
    pub(crate) flight: Vec<f64>,
    /// The peer's window in bytes.
    pub(crate) advertised: Vec<f64>,
    /// The phases of the sender.
    pub(crate) phase: Vec<&'a str>,
    reason: Vec<&'a str>,
}

impl<'a> Decisions<'a> {
    pub(crate) fn new(rows: Rows<'a>) -> Self {
        let by_model = rows.known(STATE);
        let threshold = rows.numbers("ssthresh").into_iter().zip(by_model);
        Self {
            time: rows.seconds("time_ns"),
            cwnd: rows.numbers("cwnd"),
            ssthresh: threshold
                .map(|(threshold, by_model)| if by_model { f64::NAN } else { threshold })
                .collect(),
            flight: rows.numbers("flight"),
            advertised: rows.numbers("advertised"),
            phase: rows.texts("phase"),
            reason: rows.texts("reason"),
            rows: Some(rows),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.time.len()
    }

    pub(crate) fn get(&self, row: usize) -> Decision<'a> {
        Decision {
            time: self.time[row],
            reason: self.reason[row],
            cwnd: self.cwnd[row],
            ssthresh: self.ssthresh[row],
            phase: self.phase[row],
        }
    }

    /// The number of bytes that a row concerns.
    pub(crate) fn length(&self, row: usize) -> f64 {
        self.rows.as_ref().map_or(f64::NAN, |rows| rows.numbers("len")[row])
    }

    /// The rows of an event.
    pub(crate) fn of(&self, event: &str) -> Vec<usize> {
        self.rows.as_ref().map(|rows| places(&rows.among("event", &[event]))).unwrap_or_default()
    }

    /// The end of the phase that starts at a row: the time of the first decision in another phase.
    pub(crate) fn end_of_phase(&self, row: usize, phase: &str) -> f64 {
        let ends = self
            .rows
            .as_ref()
            .map(|rows| rows.among("event", &["timeout", "fast_retransmit"]))
            .unwrap_or_default();
        let later = (row + 1..self.len()).find(|later| self.phase[*later] != phase || ends[*later]);
        self.time[later.unwrap_or(self.len() - 1)]
    }

    /// The last decision at an earlier time.
    pub(crate) fn before(&self, row: usize) -> Option<Decision<'a>> {
        let place = self.time.partition_point(|time| *time < self.time[row]);
        Some(self.get(place.checked_sub(1)?))
    }

    /// The periods in which the peer's window was closed: begin, and end if there is one.
    pub(crate) fn stalls(&self) -> Vec<(f64, Option<f64>)> {
        let heard =
            self.rows.as_ref().map(|rows| rows.among("event", &["ack", "duplicate_ack"])).unwrap_or_default();
        let closed: Vec<bool> =
            heard.iter().zip(&self.advertised).map(|(heard, window)| *heard && *window == 0.0).collect();
        let mut found = Vec::new();
        let mut row = 0;
        while row < closed.len() {
            let length = closed[row..].iter().take_while(|closed| **closed).count();
            if length > 0 {
                let last = self.time[row + length - 1];
                let later = self.time.partition_point(|time| *time <= last);
                found.push((self.time[row], self.time.get(later).copied()));
            }
            row += length.max(1);
        }
        found
    }
}

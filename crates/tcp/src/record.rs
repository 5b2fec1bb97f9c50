//! The segments and records that an endpoint gives out.

use std::sync::Arc;

use units::{Bytes, Duration, Instant, Rate, Seq};
use wire::Segment;

use crate::congestion::PathModel;

/// A segment to be sent, and why.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Transmit {
    /// Purpose of the segment.
    pub kind: Kind,
    /// The segment.
    pub segment: Segment,
}

/// Purpose of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// First SYN or SYN-ACK.
    Syn,
    /// New data.
    Data,
    /// First FIN (perhaps with new data).
    Fin,
    /// Sequence numbers sent before.
    Retransmission {
        /// Cause of the retransmission.
        cause: Cause,
        /// Number of earlier transmissions of these sequence numbers.
        earlier_copies: u32,
    },
    /// Nothing but an acknowledgment.
    Ack,
    /// An acknowledgment that only opens the window.
    WindowUpdate,
    /// A probe of a closed window.
    ZeroWindowProbe,
    /// A keep-alive probe.
    KeepAlive,
    /// A segment that only probes the capacity of the path (TCP Peach).
    Dummy,
    /// A reset.
    Reset,
}

/// Why a segment was retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its own retransmission timer has expired.
    Timeout,
    /// It lay after a segment whose timer expired.
    AfterTimeout,
    /// Enough duplicate ACKs came.
    FastRetransmit,
    /// A partial ACK pointed at it.
    PartialAck,
    /// The scoreboard says that it is lost.
    Scoreboard,
    /// The peer's window was closed to it.
    Probe,
    /// It was the last of a flight, and no ACK came (RFC 8985 §7).
    TailLossProbe,
    /// It went with the SYN, and the SYN-ACK did not acknowledge it (RFC 7413 §4.2.2).
    Handshake,
}

impl Cause {
    /// The name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after_timeout",
            Self::FastRetransmit => "fast_retransmit",
            Self::PartialAck => "partial_ack",
            Self::Scoreboard => "scoreboard",
            Self::Probe => "probe",
            Self::TailLossProbe => "tail_loss_probe",
            Self::Handshake => "handshake",
        }
    }
}

/// Subject of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// An ACK came that advanced, or reported nothing new.
    Ack,
    /// A duplicate ACK came (RFC 5681 §2).
    DuplicateAck,
    /// A segment went out again.
    Retransmit,
    /// A loss was found without the timer.
    FastRetransmit,
    /// The retransmission timer has expired.
    Timeout,
    /// Loss recovery is over.
    Recovered,
    /// A loss was answered as a timeout would be.
    Collapse,
    /// A suspected loss was real.
    Confirmed,
    /// A suspected loss was none.
    Refuted,
    /// A loss signal was false, and its reduction is taken back.
    Undo,
    /// The recovery algorithm has set the window anew.
    Resize,
    /// The peer echoed a congestion mark (RFC 3168).
    Mark,
    /// The connection begins with what is known from earlier ones.
    Inherit,
    /// The handshake is done.
    Established,
    /// The connection continues from another address (RFC 9000 §9).
    Migrate,
    /// A sender of unreliable datagrams lowered its window or its rate for losses, and sends nothing again (RFC 4341
    /// §5, RFC 4342 §5).
    Congestion,
    /// The size of segments has changed, or a probe of a larger one was lost (RFC 4821).
    SegmentSize,
    /// The peer does not understand what the profile asks for.
    Fallback,
}

impl Decision {
    /// All of them, in the order of the enumeration.
    pub const ALL: [Self; 18] = [
        Self::Ack,
        Self::DuplicateAck,
        Self::Retransmit,
        Self::FastRetransmit,
        Self::Timeout,
        Self::Recovered,
        Self::Collapse,
        Self::Confirmed,
        Self::Refuted,
        Self::Undo,
        Self::Resize,
        Self::Mark,
        Self::Inherit,
        Self::Established,
        Self::Migrate,
        Self::Congestion,
        Self::SegmentSize,
        Self::Fallback,
    ];

    /// The name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::DuplicateAck => "duplicate_ack",
            Self::Retransmit => "retransmit",
            Self::FastRetransmit => "fast_retransmit",
            Self::Timeout => "timeout",
            Self::Recovered => "recovered",
            Self::Collapse => "collapse",
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Undo => "undo",
            Self::Resize => "resize",
            Self::Mark => "mark",
            Self::Inherit => "inherit",
            Self::Established => "established",
            Self::Migrate => "migrate",
            Self::Congestion => "congestion",
            Self::SegmentSize => "segment_size",
            Self::Fallback => "fallback",
        }
    }
}

/// One decision of the sender, with what it was made on.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When.
    pub at: Instant,
    /// Kind of event.
    pub event: Decision,
    /// Why, or empty.
    pub reason: &'static str,
    /// The sequence number that it is about.
    pub seq: Seq,
    /// Number of sequence numbers concerned.
    pub len: u32,
    /// Congestion window, with what recovery adds to it.
    pub cwnd: Bytes,
    /// Slow-start threshold; `Bytes::MAX` while unset.
    pub ssthresh: Bytes,
    /// Sent and not yet acknowledged.
    pub flight: Bytes,
    /// The peer's window.
    pub advertised: Bytes,
    /// Smoothed round-trip time, once there is one.
    pub srtt: Option<Duration>,
    /// Round-trip time variation.
    pub rttvar: Option<Duration>,
    /// The retransmission timer's present length.
    pub rto: Duration,
    /// Phase of the sender, as [`crate::Endpoint::phase`] names it.
    pub phase: &'static str,
    /// The sender's estimate of the data in the network: without what was selectively acknowledged or marked as lost.
    pub pipe: Bytes,
    /// The model of the path, where the congestion control has one (BBR).
    pub model: Option<ModelRecord>,
}

/// Estimates of a model of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelRecord {
    /// The state of its state machine.
    pub state: &'static str,
    /// The bandwidth that it has measured.
    pub bandwidth: Rate,
    /// The rate at which it sends.
    pub pacing_rate: Rate,
}

impl ModelRecord {
    pub(crate) fn of(model: &dyn PathModel) -> Self {
        Self { state: model.state(), bandwidth: model.bandwidth(), pacing_rate: model.pace().rate }
    }
}

/// A variable of a congestion control's own state, when it was first seen or found changed.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableRecord {
    /// When.
    pub at: Instant,
    /// Its name.
    pub name: Arc<str>,
    /// Its value from then on.
    pub value: f64,
}

/// The variables of a congestion control as they were last seen, and their changes.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    values: Vec<u64>,
    changes: Vec<VariableRecord>,
}

impl Variables {
    /// Compares the variables with those seen last: the same ones in the same order.
    pub(crate) fn note(&mut self, at: Instant, variables: Vec<(Arc<str>, f64)>) {
        self.values.resize(variables.len(), UNSEEN);
        for (known, (name, value)) in self.values.iter_mut().zip(variables) {
            if std::mem::replace(known, value.to_bits()) != value.to_bits() {
                self.changes.push(VariableRecord { at, name, value });
            }
        }
    }

    /// The changes since the last call, oldest first.
    pub(crate) fn take(&mut self) -> Vec<VariableRecord> {
        std::mem::take(&mut self.changes)
    }
}

/// Bits of a NaN that no calculation gives.
const UNSEEN: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_variable_is_recorded_when_it_is_first_seen_and_when_it_changes() {
        let mut variables = Variables::default();
        let seen = |count: f64| vec![(Arc::from("count"), count), (Arc::from("fixed"), 0.0)];
        let names = |changes: Vec<VariableRecord>| {
            changes.iter().map(|change| (change.name.to_string(), change.value)).collect::<Vec<_>>()
        };
        variables.note(Instant::START, seen(1.0));
        assert_eq!(names(variables.take()), [("count".to_owned(), 1.0), ("fixed".to_owned(), 0.0)]);
        variables.note(Instant::START, seen(1.0));
        assert_eq!(variables.take(), []);
        variables.note(Instant::START, seen(2.0));
        assert_eq!(names(variables.take()), [("count".to_owned(), 2.0)]);
    }

    #[test]
    fn the_list_is_complete() {
        assert!(Decision::ALL.iter().enumerate().all(|(place, decision)| *decision as usize == place));
        assert_eq!(Decision::ALL.last(), Some(&Decision::Fallback), "a new variant goes before the last");
    }

    #[test]
    fn the_page_of_results_names_every_event() {
        let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.md")).unwrap();
        let row = page.lines().find(|line| line.starts_with("| `event`")).expect("a row for the column");
        let events = row.split('|').nth(2).expect("a cell that explains the column");
        let named: Vec<_> = events.split('`').skip(1).step_by(2).collect();
        assert_eq!(named, Decision::ALL.map(Decision::id));
    }
}

//! A reading: the totals of every flow and link at one time.

use std::ops::AddAssign;

use units::{Duration, Instant};

use super::DelayHistogram;
use crate::ids::{DirectionId, Id};

/// Everything at one time.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) at: Instant,
    pub(crate) flows: Vec<FlowReading>,
    /// Directions of links.
    pub(crate) links: Vec<LinkReading>,
    /// The one-way delays of each flow, where a window opens or closes.
    pub(crate) delays: Vec<DelayHistogram>,
    pub(crate) cells: Vec<CellReading>,
}

/// The totals of one shared channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellReading {
    pub(crate) sectors: Vec<cell::SectorCounters>,
    pub(crate) users: Vec<cell::UserCounters>,
}

impl Reading {
    /// Before anything has happened.
    pub(crate) const fn at_start() -> Self {
        Self {
            at: Instant::START,
            flows: Vec::new(),
            links: Vec::new(),
            delays: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// One direction of a link; all zero where the reading is from before the start.
    pub(crate) fn link(&self, direction: DirectionId) -> LinkReading {
        self.links.get(direction.index()).cloned().unwrap_or_default()
    }
}

/// The totals of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowReading {
    /// Bytes of payload in all segments sent, copies among them.
    pub sent: u64,
    /// Bytes that the sender knows to have arrived.
    pub acked: u64,
    /// Bytes that the receiving program has read.
    pub received: u64,
    /// Segments with data, copies among them.
    pub segments: u64,
    /// Segments that were sent again: data, a SYN or a FIN.
    pub retransmissions: u64,
    /// Retransmission timeouts; of QUIC, probe timeouts.
    pub timeouts: u64,
    /// Packets that the receiving end sent.
    pub acks: u64,
    /// Their bytes, IP header included.
    pub ack_bytes: u64,
    /// Datagrams that arrived.
    pub datagrams_received: u64,
    /// Those of them that were late.
    pub datagrams_late: u64,
    /// Datagrams that did not arrive.
    pub datagrams_lost: u64,
    /// Runs of consecutive datagrams that were lost or late.
    pub loss_bursts: u64,
    /// The sum of the differences of the one-way delays of packets that arrived one after the other.
    pub jitter_sum: Duration,
    /// The number of these differences.
    pub jitter_count: u64,
}

impl AddAssign for FlowReading {
    fn add_assign(&mut self, more: Self) {
        *self = self.with(more, |a, b| a + b, |a, b| a + b);
    }
}

impl FlowReading {
    /// The larger of each count of two readings.
    pub(crate) fn max(self, other: Self) -> Self {
        self.with(other, u64::max, Duration::max)
    }

    /// Difference from an earlier reading.
    pub(crate) fn since(self, before: Self) -> Self {
        self.with(before, |a, b| a - b, Duration::saturating_sub)
    }

    fn with(
        self,
        other: Self,
        count: impl Fn(u64, u64) -> u64,
        time: impl Fn(Duration, Duration) -> Duration,
    ) -> Self {
        let of = |pick: fn(&Self) -> u64| count(pick(&self), pick(&other));
        Self {
            sent: of(|totals| totals.sent),
            acked: of(|totals| totals.acked),
            received: of(|totals| totals.received),
            segments: of(|totals| totals.segments),
            retransmissions: of(|totals| totals.retransmissions),
            timeouts: of(|totals| totals.timeouts),
            acks: of(|totals| totals.acks),
            ack_bytes: of(|totals| totals.ack_bytes),
            datagrams_received: of(|totals| totals.datagrams_received),
            datagrams_late: of(|totals| totals.datagrams_late),
            datagrams_lost: of(|totals| totals.datagrams_lost),
            loss_bursts: of(|totals| totals.loss_bursts),
            jitter_sum: time(self.jitter_sum, other.jitter_sum),
            jitter_count: of(|totals| totals.jitter_count),
        }
    }
}

/// The totals of one direction of a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkReading {
    pub(crate) counters: link::Counters,
    /// Packets that were longer than its MTU: the link itself never sees them.
    pub(crate) oversize_drops: u64,
    /// Nothing where links are not metered.
    pub(crate) times: Option<LinkTimes>,
}

impl LinkReading {
    /// Packets that arrived at it, those among them that were too long to be let in.
    pub(crate) const fn packets_in(&self) -> u64 {
        self.counters.packets_in + self.oversize_drops
    }
}

/// Use of time by one direction of a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkTimes {
    /// Time for which the transmitter has sent.
    pub(crate) busy: Duration,
    /// For how long the queue has had each length, in packets from 0 on.
    pub(crate) at_length: Vec<Duration>,
}

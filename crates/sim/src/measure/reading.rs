//! A reading: the totals of every flow and link at one time.

use units::{Duration, Instant};

/// Everything at one time.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) at: Instant,
    pub(crate) flows: Vec<FlowReading>,
    /// Directions of links.
    pub(crate) links: Vec<LinkReading>,
}

impl Reading {
    /// Before anything has happened.
    pub(crate) const fn at_start() -> Self {
        Self { at: Instant::START, flows: Vec::new(), links: Vec::new() }
    }

    /// Direction `index` of the links; nothing where the reading is from before the start.
    pub(crate) fn link(&self, index: usize) -> LinkReading {
        self.links.get(index).cloned().unwrap_or_default()
    }
}

/// The totals of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowReading {
    /// Bytes of payload in all segments sent, copies among them.
    pub(crate) sent: u64,
    /// Bytes that the sender knows to have arrived.
    pub(crate) acked: u64,
    /// Bytes that the receiving program has read.
    pub(crate) received: u64,
    /// Segments with data, and segments that were sent again.
    pub(crate) segments: u64,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    /// Packets that the receiving end sent, and their bytes, IP header included.
    pub(crate) acks: u64,
    pub(crate) ack_bytes: u64,
}

/// The totals of one direction of a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkReading {
    pub(crate) counters: link::Counters,
    /// Nothing where links are not metered.
    pub(crate) times: Option<LinkTimes>,
}

/// What one direction of a link spent its time on.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkTimes {
    /// How long the transmitter has sent.
    pub(crate) busy: Duration,
    /// For how long the queue has had each length, in packets from 0 on.
    pub(crate) at_length: Vec<Duration>,
}

//! Rows that wait to be taken, and which of them are complete.

use trace::ledger::Verdict;
use units::{Bytes, Instant, PacketId};

use crate::ids::{ConversationId, DirectionId, ProxyId, Side};

/// Rows of a table in one part: some megabytes of a table in memory, and a row group of a Parquet file.
pub const ROWS: usize = 16_384;

/// Gives the verdict on a packet of a conversation, if it is a retransmission.
pub(crate) type Verdicts<'a> = dyn FnMut(ConversationId, PacketId) -> Option<Verdict> + 'a;

/// A row of the table `segments`: a packet as its sender or its receiver saw it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) at: Instant,
    /// Number of the packet's row.
    pub(super) packet: u32,
    /// Whether the receiver saw it, not the sender.
    pub(super) received: bool,
}

/// A row of the table `tcp`: a decision of an endpoint.
#[derive(Debug)]
pub(super) struct DecisionRow {
    pub(super) conversation: ConversationId,
    /// The endpoint's side of the conversation.
    pub(super) side: Side,
    /// Position in the stream that the decision is about; none before the stream has begun.
    pub(super) position: Option<i64>,
    pub(super) record: tcp::Record,
}

/// A row of the table `variables`: a variable of a sender's congestion control has changed.
#[derive(Debug)]
pub(super) struct VariableRow {
    pub(super) conversation: ConversationId,
    /// The sender's side of the conversation.
    pub(super) side: Side,
    pub(super) record: tcp::VariableRecord,
}

/// A row of the table `queue`: the length of a queue after a packet entered it or left it.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueLength {
    pub(super) at: Instant,
    pub(super) direction: DirectionId,
    pub(super) packets: u32,
    pub(super) bytes: Bytes,
    /// Average length as the discipline estimates it, in packets or bytes, if it keeps one.
    pub(super) average: Option<f64>,
}

/// A row of the table `proxies`: something that a proxy did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProxyRow {
    pub(crate) proxy: ProxyId,
    pub(crate) conversation: ConversationId,
    /// The side whose stream it is about.
    pub(crate) side: Side,
    /// Position in that stream, where the event has not its number.
    pub(crate) position: Option<i64>,
    pub(crate) event: proxy::Event,
}

/// Up to which packet rows are complete.
#[derive(Clone, Copy)]
pub(super) enum Horizon {
    /// Packets whose rows have smaller numbers than this.
    Settled(u32),
    /// All packets: the run is over.
    End,
}

impl Horizon {
    /// Whether the rows of a packet are complete.
    pub(super) fn covers(self, packet: u32) -> bool {
        match self {
            Self::Settled(first_open) => packet < first_open,
            Self::End => true,
        }
    }

    /// Number of rows that come out now, given the number of complete ones: full batches before the end, all at the
    /// end.
    pub(super) fn batches(self, complete: usize) -> usize {
        match self {
            Self::Settled(_) => complete - complete % ROWS,
            Self::End => complete,
        }
    }
}

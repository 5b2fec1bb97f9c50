//! Events of packets on a link, for an observer.

use units::{Bytes, Duration, Instant, PacketId};

use crate::compression::HeaderKind;

/// Sees every event of a link, in order of time; `()` sees nothing and costs nothing.
///
/// A link works out what happened inside it when it is next called, so `now` may be earlier than
/// the caller's time; never later, and never earlier than this link's event before.
pub trait Observer<P> {
    /// `event` happened to `packet` at `now`.
    fn on_event(&mut self, now: Instant, packet: &P, event: Event);
}

impl<P> Observer<P> for () {
    #[inline]
    fn on_event(&mut self, _: Instant, _: &P, _: Event) {}
}

/// One step in a packet's life on the link. Lengths of the queue are those of the input queue
/// alone: packets that wait for the send buffer, without the packet of the event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Let into the input queue.
    Queued {
        /// Packets that it met there.
        behind: u32,
        /// Their bytes, framing included.
        behind_bytes: Bytes,
        /// The discipline's moving average in packets, if it keeps one.
        average: Option<f64>,
    },
    /// Refused by the input queue, or dropped from it.
    QueueDropped {
        /// Why.
        rule: DropRule,
        /// Packets in the queue.
        behind: u32,
        /// Their bytes, framing included.
        behind_bytes: Bytes,
        /// The discipline's moving average in packets, if it keeps one.
        average: Option<f64>,
    },
    /// Moved from the input queue into the send buffer.
    LeftQueue {
        /// Time that it spent in the queue.
        waited: Duration,
        /// Packets left in the queue.
        left: u32,
        /// Their bytes, framing included.
        left_bytes: Bytes,
    },
    /// Its headers were compressed, or its octets stuffed: it takes up other room from here on.
    Encoded {
        /// Its size on the wire, framing included.
        bytes: Bytes,
        /// The form of its headers.
        headers: HeaderKind,
    },
    /// Its ECN field was set to "congestion experienced" by the input queue.
    Marked {
        /// Why.
        rule: DropRule,
    },
    /// Its first bit goes out.
    TransmissionStarted,
    /// Its last bit is out: it begins to propagate.
    TransmissionEnded,
    /// It was being sent as the link layer lost it: the rest of it never goes out.
    TransmissionAborted,
    /// A transport block that carries it or a part of it goes out: on a shared channel, which sends in blocks.
    BlockSent {
        /// Size of the block in bits.
        bits: u32,
        /// 1 for a new block, 2 for its first repetition, and so on.
        attempt: u32,
    },
    /// Held by the allocation of the channel or beyond the transmitter.
    Delayed {
        /// Length of the delay.
        by: Duration,
        /// By what.
        cause: DelayCause,
    },
    /// Lost beyond the input queue.
    ErrorDropped {
        /// By what.
        cause: ErrorCause,
    },
    /// Damaged in the error stage; the packet continues.
    Corrupted {
        /// By what.
        cause: ErrorCause,
    },
    /// A copy was made, which continues with the same identity.
    Duplicated,
    /// Taken by the output dropper.
    DropperDropped,
    /// Left the link at the other end.
    Delivered,
}

impl Event {
    /// The event's name in tables.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Queued { .. } => "queued",
            Self::QueueDropped { .. } => "queue_drop",
            Self::LeftQueue { .. } => "left_queue",
            Self::Encoded { .. } => "encoded",
            Self::Marked { .. } => "marked",
            Self::TransmissionStarted => "transmission_started",
            Self::TransmissionEnded => "transmission_ended",
            Self::TransmissionAborted => "transmission_aborted",
            Self::BlockSent { .. } => "block_sent",
            Self::Delayed { .. } => "delayed",
            Self::ErrorDropped { .. } => "error_drop",
            Self::Corrupted { .. } => "corrupted",
            Self::Duplicated => "duplicated",
            Self::DropperDropped => "dropper_drop",
            Self::Delivered => "delivered",
        }
    }
}

/// Why the input queue dropped a packet; each discipline names its own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropRule(&'static str);

impl DropRule {
    /// The queue was at its limit.
    pub const OVERFLOW: Self = Self("overflow");
    /// The packet was older than the link's packet lifetime.
    pub const EXPIRED: Self = Self("expired");

    /// A discipline's own rule.
    #[must_use]
    pub const fn named(id: &'static str) -> Self {
        Self(id)
    }

    /// The rule's name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.0
    }
}

/// The cause of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayCause {
    /// The channel had to be allocated.
    Allocation,
    /// The error stage.
    Error(ErrorCause),
    /// The link layer had to send it again.
    Arq,
    /// The stage that puts packets out of order.
    Reordering,
    /// A delay spike.
    Spike,
    /// Traffic of a higher priority.
    Preemption,
    /// A handover.
    Handover,
}

impl DelayCause {
    /// The cause's name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Allocation => "allocation",
            Self::Error(cause) => cause.id(),
            Self::Arq => "arq",
            Self::Reordering => "reordering",
            Self::Spike => "spike",
            Self::Preemption => "preemption",
            Self::Handover => "handover",
        }
    }
}

/// The cause of a loss or damage after the input queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCause {
    /// The random error process.
    Random,
    /// A scripted event of the configuration.
    Scripted,
    /// A periodic outage.
    Outage,
    /// The link layer gave it up after its last attempt.
    ArqLimit,
    /// It was older than the link's packet lifetime, and would have had to wait.
    Expired,
    /// The link layer was reset.
    Reset,
    /// A handover lost the link's packets.
    Handover,
    /// The decompressor of headers was out of step and restored a wrong one.
    Decompressor {
        /// The packet whose loss put it out of step.
        since: PacketId,
    },
}

impl ErrorCause {
    /// The cause's name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Random => "error",
            Self::Scripted => "scripted",
            Self::Outage => "outage",
            Self::ArqLimit => "arq_limit",
            Self::Expired => "expired",
            Self::Reset => "reset",
            Self::Handover => "handover",
            Self::Decompressor { .. } => "decompressor",
        }
    }

    /// The packet whose loss is the cause of this one, if another's is.
    #[must_use]
    pub const fn since(self) -> Option<PacketId> {
        match self {
            Self::Decompressor { since } => Some(since),
            _ => None,
        }
    }
}

/// Why the link stopped: the input queue overflowed where that was to stop the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopReason {
    /// When.
    pub at: Instant,
    /// The packet that found no place.
    pub packet: PacketId,
    /// Packets that were waiting.
    pub waiting: u32,
    /// Their bytes, framing included.
    pub waiting_bytes: Bytes,
}

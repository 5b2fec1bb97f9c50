//! The contract of a proxy that looks at segments and does not end connections.
//!
//! Order of calls: [`Agent::handle_segment`] for each segment that comes to the node, [`Agent::handle_timeout`] at
//! [`Agent::poll_timeout`]. After either, the caller carries out [`Output::actions`] in order, and then the verdict on
//! the segment.

use std::fmt::Debug;

use units::{Bytes, Duration, Instant, Seq};
use wire::{Flags, Segment};

/// Looks at the segments of all connections through a node.
pub trait Agent: Debug + Send {
    /// A segment has come to the node, to enter the link or out of the link.
    fn handle_segment(&mut self, now: Instant, passing: Passing<'_>, output: &mut Output) -> Verdict;

    /// Something is due.
    fn handle_timeout(&mut self, now: Instant, output: &mut Output);

    /// Time at which something is due next, or never.
    fn poll_timeout(&self) -> Instant;

    /// Totals by name, in the order in which summaries show them.
    fn counts(&self) -> Vec<(&'static str, u64)>;
}

/// Direction of a segment past the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// It enters the link.
    In,
    /// It has left the link.
    Out,
}

/// A segment at the node.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// Number of its connection, the same for both directions.
    pub connection: u32,
    /// Direction.
    pub heading: Heading,
    /// The segment.
    pub segment: &'a Segment,
}

/// What is done with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passes.
    Forward,
    /// It passes without its SACK blocks, whose place padding takes.
    ForwardWithoutSack,
    /// It ends here.
    Discard,
    /// The caller keeps it under this ticket.
    Hold(Ticket),
}

/// Name of a segment that the caller keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What an agent wants done besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A copy of an earlier segment enters the link.
    Resend {
        /// Its connection.
        connection: u32,
        /// The copy.
        segment: Segment,
    },
    /// A segment that was held passes.
    Release(Ticket),
    /// A segment that was held ends here.
    Drop(Ticket),
}

/// What an agent puts out.
#[derive(Debug, Default)]
pub struct Output {
    /// To be carried out in order.
    pub actions: Vec<Action>,
    /// What has happened, for records; empty unless recording is on.
    pub events: Vec<Event>,
    recording: bool,
    tickets: u64,
}

/// An event at a proxy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Time.
    pub at: Instant,
    /// Connection.
    pub connection: u32,
    /// What happened.
    pub what: What,
    /// The first number of the data, or the acknowledgment number; both in the stream that enters the link.
    pub seq: Seq,
    /// Bytes of data.
    pub len: u32,
    /// Segments that the proxy keeps for the connection afterwards.
    pub packets: u32,
    /// Their bytes.
    pub bytes: Bytes,
    /// Smoothed round-trip time over the link, if it is measured.
    pub srtt: Option<Duration>,
    /// Length of the local retransmission timer, if there is one.
    pub timer: Option<Duration>,
}

/// What has happened at a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A duplicate ACK or a partial ACK showed a loss, and a copy was sent again.
    LocalRetransmission,
    /// The local timer expired, and a copy was sent again.
    LocalTimeout,
    /// A duplicate ACK was discarded.
    Suppressed,
    /// A duplicate ACK passed, because the missing segment is the sender's to repair.
    DuplicatePassed,
    /// The sender sent again what the proxy keeps.
    SenderRetransmission,
    /// There was no room for a segment, which passed without being kept.
    NotKept,
    /// A connection was forgotten to make room for another, or because it was idle.
    Forgotten,
    /// An ACK was discarded because a later one says the same.
    Thinned,
    /// An ACK that was held passed.
    Released,
    /// Bytes went from one connection to the other.
    Relayed,
    /// There was no room for more bytes: the window towards their sender closes.
    Full,
    /// The end of a stream was passed on.
    Ended,
    /// A reset was passed on; bytes that the proxy had acknowledged are lost.
    Reset,
}

impl What {
    /// Its name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::LocalRetransmission => "local_retransmission",
            Self::LocalTimeout => "local_timeout",
            Self::Suppressed => "suppressed",
            Self::DuplicatePassed => "duplicate_passed",
            Self::SenderRetransmission => "sender_retransmission",
            Self::NotKept => "not_kept",
            Self::Forgotten => "forgotten",
            Self::Thinned => "thinned",
            Self::Released => "released",
            Self::Relayed => "relayed",
            Self::Full => "full",
            Self::Ended => "ended",
            Self::Reset => "reset",
        }
    }
}

impl Output {
    /// An output that keeps events if `recording`.
    #[must_use]
    pub fn new(recording: bool) -> Self {
        Self { recording, ..Self::default() }
    }

    /// Notes an event, if events are kept.
    pub fn note(&mut self, event: impl FnOnce() -> Event) {
        if self.recording {
            self.events.push(event());
        }
    }

    pub(crate) const fn next_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }
}

/// Whether a segment is nothing but an acknowledgment, without SACK blocks.
pub(crate) fn is_plain_ack(segment: &Segment) -> bool {
    is_ack(segment) && segment.options.sack.is_empty()
}

/// Whether a segment is nothing but an acknowledgment.
pub(crate) fn is_ack(segment: &Segment) -> bool {
    segment.payload.is_empty() && segment.flags.contains(Flags::ACK) && !segment.flags.intersects(BOUNDS)
}

/// Control bits that begin or end a stream.
pub(crate) const BOUNDS: Flags = Flags::SYN.with(Flags::FIN).with(Flags::RST);

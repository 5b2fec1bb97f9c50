//! One TCP connection as it is seen from outside.
//!
//! Read [`Flow`], then [`HalfConnection`]: the segments of one side, with the causes of its retransmissions
//! (`cause.rs`).

mod cause;
mod clock;
mod duplicates;
mod half_connection;
mod heard;
mod inference;
mod order;
mod outstanding;
mod place;
mod rtt;
mod sacked;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use units::{Bytes, Duration, Instant, PacketId};
use wire::{Flags, Segment};

pub use cause::Cause;
pub use half_connection::{Counters, HalfConnection, Milestone, Repair};
pub use inference::{Confidence, Judgement, Sign};
pub use place::{Place, Placed};
pub use rtt::RoundTrips;

/// A connection: two ends, and what each of them sent.
#[derive(Clone, Debug)]
pub struct Flow {
    ends: [SocketAddr; 2],
    halves: [HalfConnection; 2],
    first_seen: Instant,
    syn_at: Option<Instant>,
    connected_at: Option<Instant>,
    reset: bool,
}

/// One of the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The side that sent the first SYN or, if none was seen, the first packet.
    Opener,
    /// The other.
    Answerer,
}

/// One segment of a flow, put into its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedSegment {
    /// The sending side.
    pub sender: Side,
    /// Its number, counted from the sender's SYN (0): the first byte is 1.
    pub seq: u64,
    /// Bytes of data.
    pub len: u32,
    /// The acknowledgment, counted from the peer's SYN; `None` without the ACK flag.
    pub ack: Option<u64>,
    /// The window that it advertises, in bytes.
    pub window: Bytes,
    /// The kind of the segment.
    pub kind: SegmentKind,
}

/// The kind of a segment, inferred from the packets before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// The first SYN, or SYN-ACK.
    Syn,
    /// Data for the first time.
    Data,
    /// The first FIN, perhaps with data.
    Fin,
    /// Numbers that were sent before.
    Retransmission(Cause),
    /// Data for the first time that data sent after them have overtaken.
    OutOfOrder,
    /// Nothing but an acknowledgment.
    Ack,
    /// A keep-alive, or a probe of a closed window.
    Probe,
    /// A reset.
    Reset,
}

/// One packet at the point of observation.
#[derive(Clone, Copy, Debug)]
struct Passing {
    at: Instant,
    packet: PacketId,
    /// Bytes of its payload that are not there.
    missing: u32,
    identification: Option<u16>,
    /// The shortest round trip from the point to its sender.
    beyond: Option<Duration>,
}

impl Flow {
    /// A flow whose first segment goes from `source` to `destination`.
    pub(crate) fn new(
        at: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        flags: Flags,
        milestones: &[Bytes],
    ) -> Self {
        let answer = flags.contains(Flags::SYN.with(Flags::ACK));
        let ends = if answer { [destination, source] } else { [source, destination] };
        let half = HalfConnection::new(milestones);
        Self {
            ends,
            halves: [half.clone(), half],
            first_seen: at,
            syn_at: None,
            connected_at: None,
            reset: false,
        }
    }

    /// A segment passed the point of observation. `missing` bytes of its payload are not there.
    pub(crate) fn handle_segment(
        &mut self,
        at: Instant,
        packet: PacketId,
        sender: Side,
        segment: &Segment,
        missing: u32,
        identification: Option<u16>,
    ) -> ObservedSegment {
        self.note_handshake(at, sender, segment);
        let [opener, answerer] = &mut self.halves;
        let (own, other) = match sender {
            Side::Opener => (opener, answerer),
            Side::Answerer => (answerer, opener),
        };
        own.note_window_scale(segment);
        let window = own.window_of(segment, other);
        let carries_data = !segment.payload.is_empty() || missing > 0;
        let beyond = own.shortest_round_trip();
        other.handle_arrival(at, segment, carries_data, window, beyond);
        let seen = Passing { at, packet, missing, identification, beyond: other.shortest_round_trip() };
        let kind = own.handle_sent(seen, segment);
        ObservedSegment {
            sender,
            seq: own.relative(segment.seq),
            len: segment.payload.len() + missing,
            ack: segment.flags.contains(Flags::ACK).then(|| other.relative(segment.ack)),
            window,
            kind,
        }
    }

    /// A packet of the flow was lost after the point of observation.
    pub(crate) fn handle_loss(
        &mut self,
        at: Instant,
        packet: PacketId,
        sender: Side,
        segment: &Segment,
        missing: u32,
        rule: &'static str,
    ) {
        self.half_mut(sender).handle_loss(at, packet, segment, missing, rule);
        if segment.flags.contains(Flags::ACK) {
            self.half_mut(sender.peer()).handle_ack_loss(at, segment.ack);
        }
    }

    /// A link held a packet of the flow, whichever way it went.
    pub(crate) fn handle_delay(&mut self, at: Instant, by: Duration, cause: &'static str) {
        for half in &mut self.halves {
            half.handle_delay(at, by, cause);
        }
    }

    /// Where the point of observation lies on the path of the data that `sender` sent.
    #[must_use]
    pub fn place(&self, sender: Side) -> Placed {
        let [ahead, back] = [sender, sender.peer()].map(|side| self.half(side).shortest_round_trip());
        let handshake = self.connected_at.is_some();
        Placed::between(ahead, back, self.half(sender).shortest_reaction(), handshake)
    }

    /// The ends: first the opener's, then the answerer's.
    #[must_use]
    pub const fn ends(&self) -> [SocketAddr; 2] {
        self.ends
    }

    /// The data that `side` sent.
    #[must_use]
    pub const fn half(&self, side: Side) -> &HalfConnection {
        &self.halves[side as usize]
    }

    /// The side that sent more data: the sender of a bulk transfer.
    #[must_use]
    pub fn bulk_sender(&self) -> Side {
        let [opener, answerer] = self.halves.each_ref().map(|half| half.counters().unique_bytes);
        if answerer > opener { Side::Answerer } else { Side::Opener }
    }

    /// Time at which the first packet was seen.
    #[must_use]
    pub const fn first_seen(&self) -> Instant {
        self.first_seen
    }

    /// Time at which the first SYN was seen.
    #[must_use]
    pub const fn syn_at(&self) -> Option<Instant> {
        self.syn_at
    }

    /// Time at which the opener's acknowledgment of the SYN-ACK was seen.
    #[must_use]
    pub const fn connected_at(&self) -> Option<Instant> {
        self.connected_at
    }

    /// Whether a reset was seen.
    #[must_use]
    pub const fn is_reset(&self) -> bool {
        self.reset
    }

    /// Time from the first SYN (or the first packet, where none was seen) to the last
    /// acknowledgment of something new that `sender` got: for a whole transfer, that of its FIN.
    #[must_use]
    pub fn elapsed(&self, sender: Side) -> Option<Duration> {
        let until = self.half(sender).last_progress()?;
        Some(until.saturating_since(self.syn_at.unwrap_or(self.first_seen)))
    }

    /// Whether `sender` sent its FIN and got it acknowledged.
    #[must_use]
    pub fn completed(&self, sender: Side) -> bool {
        self.half(sender).fin_acked()
    }

    /// The side that an address is.
    pub(crate) fn side(&self, end: SocketAddr) -> Side {
        if end == self.ends[0] { Side::Opener } else { Side::Answerer }
    }

    /// Whether `segment` of `sender` opens another connection between the same ends.
    pub(crate) fn is_succeeded_by(&self, sender: Side, segment: &Segment) -> bool {
        segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::ACK)
            && self.half(sender).began_otherwise(segment.seq)
    }

    fn half_mut(&mut self, side: Side) -> &mut HalfConnection {
        &mut self.halves[side as usize]
    }

    fn note_handshake(&mut self, at: Instant, sender: Side, segment: &Segment) {
        let flags = segment.flags;
        if flags.contains(Flags::SYN) {
            self.syn_at.get_or_insert(at);
        } else if self.connected_at.is_none() && sender == Side::Opener && flags.contains(Flags::ACK) {
            self.connected_at = self.syn_at.map(|_| at);
        }
        self.reset |= flags.contains(Flags::RST);
    }
}

impl Side {
    /// The other side.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Opener => Self::Answerer,
            Self::Answerer => Self::Opener,
        }
    }
}

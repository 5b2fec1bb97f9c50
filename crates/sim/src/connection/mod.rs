//! One connection of a flow: what it sends, how far it got, and whether what arrived is what was sent.
//!
//! A connection's place, with its two ends, belongs to its flow for the whole run; when one connection
//! is over and the flow opens another, the new one takes the place.

mod milestones;
mod socket;

use tcp::{Endpoint, Kind, Transmit};
use trace::ledger::{Diagnosis, DropCause, Ledger, Retransmission};
use units::{Bytes, Instant, PacketId, Seq, SeqRange};
use wire::{Payload, Segment};
use workload::{SocketCall, SocketId};

use milestones::Milestones;
use socket::Socket;

use crate::ids::{ConversationId, DirectionId, FlowId, PerSide, Side};
use crate::measure::FlowReading;
use crate::packet::IpHeader;
use crate::route::NextHop;
use crate::split::Beyond;
use crate::summary::MilestoneSummary;

/// A connection between two ends.
pub(crate) struct Connection {
    /// The flow that it belongs to.
    pub(crate) flow: FlowId,
    pub(crate) stage: Stage,
    /// The number that the flow's program gave it.
    pub(crate) socket: SocketId,
    /// Name in tables.
    pub(crate) conversation: ConversationId,
    /// The side that opened it.
    opener: Side,
    /// The first of its packets: those before it belong to a connection that had the place earlier.
    pub(crate) first_packet: PacketId,
    series: u32,
    packets_born: u64,
    pub(crate) ends: PerSide<End>,
    write_mode: WriteMode,
    sender: SenderStats,
    receiver: ReceiverStats,
    pub(crate) ledger: Ledger,
    pub(crate) ports: Option<tcp::Ports>,
    /// The second connection, where a proxy splits this one.
    pub(crate) beyond: Option<Box<Beyond>>,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing has been opened yet, or the last connection is counted.
    Idle,
    /// Connecting, sending or closing.
    Open,
    /// Closed at both ends, or lost.
    Over,
}

/// One end of a connection.
pub(crate) struct End {
    /// None until the connection is opened, and while the endpoint is being polled: it is in a box, so that
    /// taking it out costs nothing.
    pub(crate) endpoint: Option<Box<Endpoint>>,
    pub(crate) egress: Egress,
    /// Whether the endpoint has closed, or was reset.
    pub(crate) is_over: bool,
    /// Whether flow control keeps the end from sending over its first link.
    pub(crate) is_blocked: bool,
    socket: Socket,
}

/// The way out of an end: the same for all packets that it sends.
#[derive(Clone, Copy)]
pub(crate) struct Egress {
    /// The first link, as a hop of the route and as a link.
    pub(crate) first_hop: NextHop,
    pub(crate) first_link: DirectionId,
    pub(crate) header: IpHeader,
}

/// Data that the sending program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMode {
    /// As many bytes as its commands say.
    OnCommand,
    /// As fast as TCP takes it.
    Unlimited,
}

/// State of the sending end.
#[derive(Default)]
struct SenderStats {
    first_syn: Option<Instant>,
    last_ack: Option<Instant>,
    fin_acked: bool,
    segments: u64,
    /// Bytes of payload, copies among them.
    bytes: u64,
    retransmissions: u64,
    snd_max: Option<Seq>,
    milestones: Milestones,
}

/// State of the receiving end.
#[derive(Default)]
struct ReceiverStats {
    stream_ended: bool,
    /// Packets that the receiving end sent, and their bytes.
    acks: u64,
    ack_bytes: u64,
}

/// The results of a connection.
pub(crate) struct Result {
    pub(crate) reading: FlowReading,
    pub(crate) first_syn: Option<Instant>,
    pub(crate) last_ack: Option<Instant>,
    pub(crate) fast_retransmits: u64,
    pub(crate) complete: bool,
    pub(crate) diagnosis: Diagnosis,
}

impl End {
    pub(crate) const fn new(egress: Egress) -> Self {
        Self { endpoint: None, egress, is_over: false, is_blocked: false, socket: Socket::NEW }
    }
}

impl Connection {
    /// A place for connections of `flow`, whose packets are of this series.
    pub(crate) fn new(flow: FlowId, series: u32, egress: PerSide<Egress>, milestones: &[Bytes]) -> Self {
        Self {
            flow,
            stage: Stage::Idle,
            socket: SocketId::FIRST,
            conversation: ConversationId::first_of(flow),
            opener: Side::From,
            first_packet: PacketId::in_series(series, 0),
            series,
            packets_born: 0,
            ends: egress.map(End::new),
            write_mode: WriteMode::OnCommand,
            sender: SenderStats { milestones: Milestones::new(milestones), ..SenderStats::default() },
            receiver: ReceiverStats::default(),
            ledger: Ledger::new(),
            ports: None,
            beyond: None,
        }
    }

    /// A new connection takes the place; the last one has been counted.
    pub(crate) fn reopen(&mut self, socket: SocketId, conversation: ConversationId, opener: Side) {
        self.stage = Stage::Open;
        self.socket = socket;
        self.conversation = conversation;
        self.opener = opener;
        self.first_packet = PacketId::in_series(self.series, self.packets_born + 1);
        self.ends.iter_mut().for_each(|end| (end.is_over, end.socket) = (false, Socket::NEW));
        self.write_mode = WriteMode::OnCommand;
        // Milestones are those of the flow's first connection, which has sent nothing before it is opened.
        if self.sender.first_syn.is_some() {
            self.sender = SenderStats::default();
        }
        self.receiver = ReceiverStats::default();
        self.ledger = Ledger::new();
        self.ports = None;
        self.beyond = None;
    }

    /// The identity of the next packet, in either direction.
    #[inline]
    pub(crate) fn next_packet(&mut self) -> PacketId {
        self.packets_born += 1;
        PacketId::in_series(self.series, self.packets_born)
    }

    /// Whether a packet is this connection's, and not of an earlier connection in its place.
    #[inline]
    pub(crate) fn owns(&self, packet: PacketId) -> bool {
        packet >= self.first_packet
    }

    /// The program makes a call at `side`, other than to be notified.
    pub(crate) fn call(&mut self, side: Side, endpoint: &mut Endpoint, call: SocketCall) {
        match call {
            SocketCall::Write(bytes) => self.ends[side].socket.write(endpoint, bytes),
            SocketCall::WriteUnlimited => self.write_unlimited(endpoint),
            SocketCall::Close => self.close(side, endpoint),
            SocketCall::NotifyRead(_) => {}
        }
    }

    /// The sender writes as fast as TCP takes it, from now on.
    fn write_unlimited(&mut self, endpoint: &mut Endpoint) {
        self.write_mode = WriteMode::Unlimited;
        self.refill(Side::From, endpoint);
    }

    /// The program closes `side`.
    pub(crate) fn close(&mut self, side: Side, endpoint: &mut Endpoint) {
        if side == Side::From {
            self.write_mode = WriteMode::OnCommand;
        }
        self.ends[side].socket.close(endpoint);
    }

    /// The program is to be notified when `side` has read up to `position`; whether it has already.
    pub(crate) fn notify_at(&mut self, side: Side, position: u64) -> bool {
        self.ends[side].socket.notify_at(position)
    }

    /// Position up to which `side` has read, for a notification; there is no other until the program asks again.
    pub(crate) fn take_notification(&mut self, side: Side) -> u64 {
        self.ends[side].socket.take_notification()
    }

    /// Whether a reset at `side` ends the connection. After a reset, an end that only listened may be connected to
    /// again.
    pub(crate) fn ends_by_reset_at(&self, side: Side) -> bool {
        side == self.opener || side == Side::From
    }

    /// The handshake is done at `side`.
    pub(crate) fn on_connected(&mut self, side: Side, endpoint: &mut Endpoint) {
        self.ends[side].socket.on_connected(endpoint);
    }

    /// Gives TCP more of what the program at `side` has written, and of unlimited data.
    #[inline]
    pub(crate) fn refill(&mut self, side: Side, endpoint: &mut Endpoint) {
        let socket = &mut self.ends[side].socket;
        if socket.has_unwritten() {
            socket.continue_writing(endpoint);
        } else if side == Side::From && self.write_mode == WriteMode::Unlimited && endpoint.unsent() < BACKLOG
        {
            socket.write(endpoint, BACKLOG);
        }
    }

    /// The sending end sent a segment.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, packet: PacketId, sent: &Transmit) {
        let segment = &sent.segment;
        let sender = &mut self.sender;
        sender.segments += u64::from(!segment.payload.is_empty());
        sender.bytes += u64::from(segment.payload.len());
        let before = sender.snd_max.unwrap_or(segment.seq);
        let end = segment.seq + segment.seq_len();
        let snd_max = before.max(end);
        sender.snd_max = Some(snd_max);
        if let Kind::Retransmission { cause, .. } = sent.kind {
            let range = SeqRange { start: segment.seq, end: end.min(before) };
            self.on_retransmission(now, packet, range, cause);
        } else if (before.0 ^ snd_max.0) >> 31 != 0 {
            self.ledger.advance_to(snd_max);
        }
        self.sender.first_syn.get_or_insert(now);
    }

    /// The receiving end sent a packet of `size` bytes.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self, size: u32) {
        self.receiver.acks += 1;
        self.receiver.ack_bytes += u64::from(size);
    }

    #[cold]
    fn on_retransmission(&mut self, at: Instant, packet: PacketId, range: SeqRange, cause: tcp::Cause) {
        self.sender.retransmissions += 1;
        if cause == tcp::Cause::Timeout {
            self.ledger.on_timeout(at, range);
        }
        let snd_max = self.sender.snd_max.unwrap_or(range.end);
        self.ledger.on_retransmission(Retransmission { packet, at, range, cause: cause.id(), snd_max });
    }

    /// The sending end has processed a segment from its peer.
    #[inline]
    pub(crate) fn on_ack_received(&mut self, now: Instant, endpoint: &Endpoint) {
        let sender = &mut self.sender;
        if sender.fin_acked {
            return;
        }
        sender.last_ack = Some(now);
        sender.fin_acked = endpoint.fin_acked();
        sender.milestones.on_ack(now, endpoint, sender.retransmissions);
    }

    /// The program at `side` has read `payload`: whether it is to be notified, or the position of the first byte that
    /// differs from what was sent.
    #[inline]
    pub(crate) fn on_read(&mut self, side: Side, payload: &Payload) -> std::result::Result<bool, u64> {
        self.ends[side].socket.on_read(payload)
    }

    /// The stream has ended at the receiver.
    pub(crate) fn on_end_of_stream(&mut self) {
        self.receiver.stream_ended = true;
    }

    /// A packet with this segment was lost. It was for the end at side `to`, or for the proxy's end that stands for it,
    /// and perhaps of the connection beyond a proxy.
    #[cold]
    pub(crate) fn on_lost(
        &mut self,
        at: Instant,
        id: PacketId,
        segment: &Segment,
        (to, beyond): (Side, bool),
        cause: impl Into<DropCause>,
    ) {
        if !self.owns(id) {
            return;
        }
        let ledger = self.ledger_beyond(beyond);
        match to {
            Side::To => ledger.on_drop(id, segment.seq_range(), at, cause),
            Side::From if segment.flags.contains(wire::Flags::ACK) => ledger.on_ack_drop(at, segment.ack),
            Side::From => {}
        }
    }

    /// A proxy sends a copy of a packet for the end at side `to` again.
    #[cold]
    pub(crate) fn on_local_copy(&mut self, packet: PacketId, segment: &Segment, (to, beyond): (Side, bool)) {
        if to == Side::To {
            self.ledger_beyond(beyond).on_local_copy(packet, segment.seq_range());
        }
    }

    /// The ledger of the connection, or of the second one beyond a proxy.
    pub(crate) fn ledger_beyond(&mut self, beyond: bool) -> &mut Ledger {
        match &mut self.beyond {
            Some(second) if beyond => &mut second.ledger,
            _ => &mut self.ledger,
        }
    }

    /// The ledger of the connection that has this name in tables.
    pub(crate) fn ledger_of(&mut self, conversation: ConversationId) -> &mut Ledger {
        self.ledger_beyond(conversation != self.conversation)
    }

    /// Its names in tables: two where a proxy splits it.
    pub(crate) fn conversations(&self) -> impl Iterator<Item = ConversationId> + use<> {
        [Some(self.conversation), self.beyond.as_ref().map(|second| second.conversation)]
            .into_iter()
            .flatten()
    }

    /// The name in tables of the part that is next to `side`.
    #[inline]
    pub(crate) fn conversation_at(&self, side: Side) -> ConversationId {
        match &self.beyond {
            Some(second) if side == Side::To => second.conversation,
            _ => self.conversation,
        }
    }

    /// The totals so far.
    pub(crate) fn reading(&self) -> FlowReading {
        let endpoint = self.ends[Side::From].endpoint.as_deref();
        FlowReading {
            sent: self.sender.bytes,
            acked: endpoint.map_or(0, |endpoint| endpoint.acked().0),
            received: self.ends[Side::To].socket.received(),
            segments: self.sender.segments,
            retransmissions: self.sender.retransmissions,
            timeouts: endpoint.map_or(0, Endpoint::timeouts),
            acks: self.receiver.acks,
            ack_bytes: self.receiver.ack_bytes,
            ..FlowReading::default()
        }
    }

    /// The results of the connection; its place is then free.
    pub(crate) fn finish(&mut self) -> Result {
        let reading = self.reading();
        let endpoint = self.ends[Side::From].endpoint.as_deref();
        self.stage = Stage::Idle;
        Result {
            reading,
            first_syn: self.sender.first_syn,
            last_ack: self.sender.last_ack,
            fast_retransmits: endpoint.map_or(0, Endpoint::fast_retransmits),
            complete: self.sender.fin_acked
                && self.receiver.stream_ended
                && reading.received == reading.acked,
            diagnosis: std::mem::take(&mut self.ledger).finish(),
        }
    }

    /// Time at which the milestones were reached, in the order of the specification.
    pub(crate) fn milestones(&self) -> Vec<MilestoneSummary> {
        self.sender.milestones.summaries(self.sender.first_syn, self.sender.retransmissions)
    }
}

/// Unlimited data keep at least this much unsent, as a program does that fills its socket's buffer.
const BACKLOG: Bytes = tcp::SOCKET_BUFFER;

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        let egress = Egress {
            first_hop: NextHop::default(),
            first_link: DirectionId::default(),
            header: IpHeader::default(),
        };
        Connection::new(FlowId::default(), 3, PerSide::new(egress, egress), &[])
    }

    #[test]
    fn a_close_of_the_sender_ends_an_unlimited_write_and_one_of_the_receiver_does_not() {
        let ports = tcp::Ports { local: 1, remote: 2 };
        let config = tcp::Config::from_profile(&serde_json::json!({})).expect("a profile");
        let mut endpoint = Endpoint::connect(&config.into(), ports, Seq(1));
        let mut connection = connection();
        connection.write_mode = WriteMode::Unlimited;
        connection.close(Side::To, &mut endpoint);
        assert!(connection.write_mode == WriteMode::Unlimited);
        connection.close(Side::From, &mut endpoint);
        connection.refill(Side::From, &mut endpoint);
        assert_eq!(endpoint.unsent(), Bytes::ZERO);
    }

    #[test]
    fn packets_of_a_place_are_a_series_and_a_new_connection_owns_only_its_own() {
        let mut connection = connection();
        let old = [connection.next_packet(), connection.next_packet()];
        assert_eq!(old.map(|id| (id.series(), id.number())), [(3, 1), (3, 2)]);
        connection.reopen(SocketId(1), ConversationId::default(), Side::From);
        let new = connection.next_packet();
        assert_eq!(new.number(), 3);
        assert!(connection.owns(new) && !connection.owns(old[1]));
    }
}

//! One connection of a flow: what it sends, how far it got, and whether what arrived is what was sent.
//!
//! A connection's place, with its two ends, belongs to its flow for the whole run; when one connection
//! is over and the flow opens another, that takes the place.

use tcp::{Endpoint, Kind, Transmit};
use trace::ledger::{Diagnosis, Ledger, Retransmission};
use units::{Bytes, Duration, Instant, PacketId, Seq, SeqRange};
use wire::{Payload, Segment};

use crate::flow::place_of;
use crate::measure::FlowReading;
use crate::summary::MilestoneSummary;
use crate::workload::Side;

/// A connection between two ends.
pub(crate) struct Connection {
    /// Whose it is.
    pub(crate) flow: u32,
    pub(crate) stage: Stage,
    /// The flow's own number for it.
    pub(crate) line: u32,
    /// What tables call it: each connection is a conversation of its own.
    pub(crate) conversation: u32,
    /// Which side opened it, and by which ports.
    opener: usize,
    pub(crate) ports: Option<tcp::Ports>,
    pub(crate) ledger: Ledger,
    /// The first series and number of its packets.
    pub(crate) first_packet: PacketId,
    series: u32,
    packets_born: u64,
    pub(crate) sides: [Half; 2],
    source: Source,
    sending: Sending,
    receiving: Receiving,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing was opened yet, or what was is counted and gone.
    Idle,
    /// Connecting, sending or closing.
    Open,
    /// Closed at both ends, or lost.
    Over,
}

/// What the program does at one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    connected: bool,
    /// Whether it has no more to say.
    closing: bool,
    /// What TCP was given, and what it is yet to get.
    written: u64,
    owed: u64,
    /// What it has read, and from where on the program wants to hear of it.
    read: u64,
    expected: u64,
}

/// What the sending program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// What it is told to.
    Orders,
    /// Whatever goes.
    Endless,
}

/// What is known at the sending end.
#[derive(Default)]
struct Sending {
    first_syn: Option<Instant>,
    last_ack: Option<Instant>,
    fin_acked: bool,
    segments: u64,
    /// Bytes of payload, copies among them.
    bytes: u64,
    retransmissions: u64,
    snd_max: Option<Seq>,
    milestones: Vec<Milestone>,
    /// How many milestones are behind us, and the amount of the next one.
    passed: usize,
    next_milestone: Option<Bytes>,
}

#[derive(Clone, Copy)]
struct Milestone {
    amount: Bytes,
    /// Place in the specification.
    place: usize,
    reached: Option<(Instant, u64)>,
}

/// What is known at the receiving end.
#[derive(Default)]
struct Receiving {
    ended: bool,
    /// Packets that the receiving end sent, and their bytes.
    acks: u64,
    ack_bytes: u64,
}

/// What came of a connection.
pub(crate) struct Result {
    pub(crate) reading: FlowReading,
    pub(crate) first_syn: Option<Instant>,
    pub(crate) last_ack: Option<Instant>,
    pub(crate) fast_retransmits: u64,
    pub(crate) complete: bool,
    pub(crate) diagnosis: Diagnosis,
}

impl Half {
    const NEW: Self =
        Self { connected: false, closing: false, written: 0, owed: 0, read: 0, expected: u64::MAX };

    /// Gives TCP the next piece of what is owed, if it has less than a piece.
    fn hand_over(&mut self, endpoint: &mut Endpoint) {
        if self.owed > 0 && endpoint.unsent().0 < LONGEST_WRITE {
            let len = self.owed.min(LONGEST_WRITE) as u32;
            endpoint.write(Payload::Pattern { offset: self.written, len });
            self.written += u64::from(len);
            self.owed -= u64::from(len);
        }
    }

    fn close_if_done(&self, endpoint: &mut Endpoint) {
        if self.connected && self.closing && self.owed == 0 {
            endpoint.close();
        }
    }

    /// `so_far` has been read: the program wants to hear of it.
    #[inline]
    fn takes(&mut self, len: u64) -> bool {
        self.read += len;
        self.read >= self.expected
    }
}

impl Connection {
    /// A place for connections of `flow`, whose packets are of this series.
    pub(crate) fn new(flow: u32, series: u32, milestones: &[Bytes]) -> Self {
        Self {
            flow,
            stage: Stage::Idle,
            line: 0,
            conversation: flow,
            opener: 0,
            ports: None,
            ledger: Ledger::new(),
            first_packet: PacketId::in_series(series, 0),
            series,
            packets_born: 0,
            sides: [Half::NEW; 2],
            source: Source::Orders,
            sending: Sending::new(milestones),
            receiving: Receiving::default(),
        }
    }

    /// A new connection takes the place; the last one has been counted.
    pub(crate) fn reopen(&mut self, line: u32, conversation: u32, by: Side) {
        let fresh = Self::new(self.flow, self.series, &[]);
        let first_packet = PacketId::in_series(self.series, self.packets_born + 1);
        let sending = std::mem::take(&mut self.sending);
        // Milestones are those of the flow's first connection, which has sent nothing before it is opened.
        let sending = if sending.first_syn.is_none() { sending } else { Sending::default() };
        let packets_born = self.packets_born;
        let opener = place_of(by);
        *self = Self {
            stage: Stage::Open,
            line,
            conversation,
            opener,
            first_packet,
            packets_born,
            sending,
            ..fresh
        };
    }

    /// The identity of the next packet, in either direction.
    #[inline]
    pub(crate) fn next_packet(&mut self) -> PacketId {
        self.packets_born += 1;
        PacketId::in_series(self.series, self.packets_born)
    }

    /// Whether a packet is this connection's, and not one's that had the place before.
    #[inline]
    pub(crate) fn owns(&self, packet: PacketId) -> bool {
        packet >= self.first_packet
    }

    /// `side` writes so much more.
    pub(crate) fn write(&mut self, side: usize, endpoint: &mut Endpoint, bytes: Bytes) {
        let half = &mut self.sides[side];
        half.owed = half.owed.saturating_add(bytes.0);
        half.hand_over(endpoint);
    }

    /// The sender writes whatever goes.
    pub(crate) fn pour(&mut self, endpoint: &mut Endpoint) {
        self.source = Source::Endless;
        self.feed(0, endpoint);
    }

    /// `side` has no more to say. In SYN-SENT, closing would give the connection up (RFC 9293
    /// §3.10.4), so that it waits for the handshake.
    pub(crate) fn close(&mut self, side: usize, endpoint: &mut Endpoint) {
        if side == 0 {
            self.source = Source::Orders;
        }
        let half = &mut self.sides[side];
        half.closing = true;
        half.close_if_done(endpoint);
    }

    /// The program wants to hear when `side` has read so much; whether it has already.
    pub(crate) fn expect(&mut self, side: usize, position: u64) -> bool {
        self.sides[side].expected = position;
        self.sides[side].read >= position
    }

    /// How much `side` has read; nothing more is expected until the program says so.
    pub(crate) fn told(&mut self, side: usize) -> u64 {
        self.sides[side].expected = u64::MAX;
        self.sides[side].read
    }

    /// Whether a reset at `side` ends the connection. One that only listened may be asked again.
    pub(crate) const fn dies_with(&self, side: usize) -> bool {
        side == self.opener || side == 0
    }

    /// The handshake is done at `side`.
    pub(crate) fn on_connected(&mut self, side: usize, endpoint: &mut Endpoint) {
        let half = &mut self.sides[side];
        half.connected = true;
        half.close_if_done(endpoint);
    }

    /// Keeps TCP supplied from what `side` has yet to give it, and from an endless source.
    #[inline]
    pub(crate) fn feed(&mut self, side: usize, endpoint: &mut Endpoint) {
        if self.sides[side].owed > 0 {
            self.sides[side].hand_over(endpoint);
            self.sides[side].close_if_done(endpoint);
        } else if side == 0 && self.source == Source::Endless && endpoint.unsent() < BACKLOG {
            self.write(0, endpoint, BACKLOG);
        }
    }

    /// The sending end sent a segment.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, packet: PacketId, sent: &Transmit) {
        let segment = &sent.segment;
        let sending = &mut self.sending;
        sending.segments += u64::from(!segment.payload.is_empty());
        sending.bytes += u64::from(segment.payload.len());
        let before = sending.snd_max.unwrap_or(segment.seq);
        let end = segment.seq + segment.seq_len();
        let snd_max = before.max(end);
        sending.snd_max = Some(snd_max);
        if let Kind::Retransmission { cause, .. } = sent.kind {
            let range = SeqRange { start: segment.seq, end: end.min(before) };
            self.on_resent(now, packet, range, cause);
        } else if (before.0 ^ snd_max.0) >> 31 != 0 {
            self.ledger.advance_to(snd_max);
        }
        self.sending.first_syn.get_or_insert(now);
    }

    /// The receiving end sent a packet of `size` bytes.
    #[inline]
    pub(crate) fn on_acknowledging(&mut self, size: u32) {
        self.receiving.acks += 1;
        self.receiving.ack_bytes += u64::from(size);
    }

    #[cold]
    fn on_resent(&mut self, at: Instant, packet: PacketId, range: SeqRange, cause: tcp::Cause) {
        self.sending.retransmissions += 1;
        if cause == tcp::Cause::Timeout {
            self.ledger.on_timeout(at, range);
        }
        let snd_max = self.sending.snd_max.unwrap_or(range.end);
        self.ledger.on_retransmission(Retransmission { packet, at, range, cause: cause.id(), snd_max });
    }

    /// The sending end has dealt with a segment from its peer.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, now: Instant, endpoint: &Endpoint) {
        let sending = &mut self.sending;
        if sending.fin_acked {
            return;
        }
        sending.last_ack = Some(now);
        sending.fin_acked = endpoint.fin_acked();
        while let Some(amount) = sending.next_milestone
            && endpoint.acked() >= amount
        {
            sending.milestones[sending.passed].reached = Some((now, sending.retransmissions));
            sending.passed += 1;
            sending.next_milestone = sending.milestones.get(sending.passed).map(|next| next.amount);
        }
    }

    /// `side` has read `payload`: whether the program wants to hear of it, or where it differs from what was sent.
    #[inline]
    pub(crate) fn on_read(&mut self, side: usize, payload: &Payload) -> std::result::Result<bool, u64> {
        let half = &mut self.sides[side];
        let position = half.read;
        let wanted = half.takes(u64::from(payload.len()));
        match payload {
            Payload::Pattern { offset, .. } if *offset == position => Ok(wanted),
            Payload::Pattern { .. } => Err(position),
            Payload::Data(data) => (position..)
                .zip(data)
                .find(|(place, byte)| Payload::pattern_byte(*place) != **byte)
                .map_or(Ok(wanted), |(place, _)| Err(place)),
        }
    }

    /// The stream has ended at the receiver.
    pub(crate) fn on_end_of_stream(&mut self) {
        self.receiving.ended = true;
    }

    /// A packet of this flow was lost on its way. `to_receiver`: it carried the sender's segment.
    #[cold]
    pub(crate) fn on_lost(
        &mut self,
        at: Instant,
        id: PacketId,
        segment: &Segment,
        to_receiver: bool,
        rule: &'static str,
    ) {
        if !self.owns(id) {
            return;
        }
        if to_receiver {
            self.ledger.on_drop(id, segment.seq_range(), at, rule);
        } else if segment.flags.contains(wire::Flags::ACK) {
            self.ledger.on_ack_drop(at, segment.ack);
        }
    }

    /// The totals so far.
    pub(crate) fn reading(&self, endpoint: Option<&Endpoint>) -> FlowReading {
        FlowReading {
            sent: self.sending.bytes,
            acked: endpoint.map_or(0, |endpoint| endpoint.acked().0),
            received: self.sides[1].read,
            segments: self.sending.segments,
            retransmissions: self.sending.retransmissions,
            timeouts: endpoint.map_or(0, Endpoint::timeouts),
            acks: self.receiving.acks,
            ack_bytes: self.receiving.ack_bytes,
            ..FlowReading::default()
        }
    }

    /// What came of the connection; its place is empty then.
    pub(crate) fn finish(&mut self, endpoint: Option<&Endpoint>) -> Result {
        let reading = self.reading(endpoint);
        self.stage = Stage::Idle;
        Result {
            reading,
            first_syn: self.sending.first_syn,
            last_ack: self.sending.last_ack,
            fast_retransmits: endpoint.map_or(0, Endpoint::fast_retransmits),
            complete: self.sending.fin_acked && self.receiving.ended && reading.received == reading.acked,
            diagnosis: std::mem::take(&mut self.ledger).finish(),
        }
    }

    /// When the milestones were reached, in the order of the specification.
    pub(crate) fn milestones(&self) -> Vec<MilestoneSummary> {
        self.sending.milestone_summaries()
    }
}

impl Sending {
    fn new(amounts: &[Bytes]) -> Self {
        let numbered = amounts.iter().enumerate();
        let mut milestones: Vec<Milestone> =
            numbered.map(|(place, amount)| Milestone { amount: *amount, place, reached: None }).collect();
        milestones.sort_by_key(|milestone| milestone.amount);
        let next_milestone = milestones.first().map(|first| first.amount);
        Self { milestones, next_milestone, ..Self::default() }
    }

    fn elapsed(&self, until: Option<Instant>) -> Option<Duration> {
        Some(until? - self.first_syn?)
    }

    /// In the order of the specification.
    fn milestone_summaries(&self) -> Vec<MilestoneSummary> {
        let mut milestones = self.milestones.clone();
        milestones.sort_by_key(|milestone| milestone.place);
        let summary = |milestone: Milestone| MilestoneSummary {
            bytes: milestone.amount.0,
            elapsed_s: self.elapsed(milestone.reached.map(|(at, _)| at)).map(Duration::as_secs_f64),
            retransmissions: milestone.reached.map_or(self.retransmissions, |(_, so_far)| so_far),
        };
        milestones.into_iter().map(summary).collect()
    }
}

/// An endless source keeps at least this much unsent, as a program does that fills its socket's buffer.
const BACKLOG: Bytes = tcp::SOCKET_BUFFER;

/// The most that TCP is given at once, and has yet to send before it is given more: no window is larger (RFC 7323 §2.3),
/// so that it never runs short.
const LONGEST_WRITE: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        Connection::new(0, 3, &[])
    }

    fn data(from: u64, len: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        Payload::Pattern { offset: from, len }.write_to(&mut bytes);
        bytes
    }

    #[test]
    fn the_pattern_in_order_is_what_was_sent_by_name_or_byte_for_byte() {
        let mut connection = connection();
        assert_eq!(connection.on_read(1, &Payload::Pattern { offset: 0, len: 100 }), Ok(false));
        assert_eq!(connection.on_read(1, &Payload::Data(data(100, 50).into())), Ok(false));
        assert_eq!(connection.on_read(1, &Payload::Pattern { offset: 150, len: 10 }), Ok(false));
    }

    #[test]
    fn a_misplaced_repeated_or_changed_byte_is_found_where_it_is() {
        let mut skipped = connection();
        assert_eq!(skipped.on_read(1, &Payload::Pattern { offset: 10, len: 100 }), Err(0));
        let mut repeated = connection();
        assert_eq!(repeated.on_read(1, &Payload::Pattern { offset: 0, len: 100 }), Ok(false));
        assert_eq!(repeated.on_read(1, &Payload::Pattern { offset: 0, len: 100 }), Err(100));
        let mut changed = data(0, 100);
        changed[42] ^= 1;
        assert_eq!(connection().on_read(1, &Payload::Data(changed.into())), Err(42));
    }

    #[test]
    fn a_bulk_of_any_length_is_given_in_pieces_and_closed_behind_the_last() {
        let ports = tcp::Ports { local: 1, remote: 2 };
        let config = tcp::Config::from_profile(&serde_json::json!({})).expect("a profile");
        let mut endpoint = Endpoint::connect(&config.into(), ports, Seq(1));
        let mut connection = connection();
        connection.write(0, &mut endpoint, Bytes(u64::MAX));
        connection.close(0, &mut endpoint);
        connection.feed(0, &mut endpoint);
        assert_eq!(endpoint.unsent(), Bytes(LONGEST_WRITE));
        assert_eq!(connection.sides[0].owed, u64::MAX - LONGEST_WRITE);
        connection.on_connected(0, &mut endpoint);
        endpoint.write(Payload::Pattern { offset: LONGEST_WRITE, len: 1 });
        assert_eq!(endpoint.unsent(), Bytes(LONGEST_WRITE + 1), "it is not closed");
    }

    #[test]
    fn packets_of_a_place_are_a_series_and_a_new_connection_owns_only_its_own() {
        let mut connection = connection();
        let old = [connection.next_packet(), connection.next_packet()];
        assert_eq!(old.map(|id| (id.series(), id.number())), [(3, 1), (3, 2)]);
        connection.reopen(1, 9, Side::From);
        let new = connection.next_packet();
        assert_eq!(new.number(), 3);
        assert!(connection.owns(new) && !connection.owns(old[1]));
    }

    #[test]
    fn the_program_hears_of_what_it_expects_and_of_nothing_else() {
        let mut connection = connection();
        assert!(!connection.expect(1, 150));
        assert_eq!(connection.on_read(1, &Payload::Pattern { offset: 0, len: 100 }), Ok(false));
        assert_eq!(connection.on_read(1, &Payload::Pattern { offset: 100, len: 100 }), Ok(true));
        assert_eq!(connection.told(1), 200);
        assert_eq!(connection.on_read(1, &Payload::Pattern { offset: 200, len: 100 }), Ok(false));
        assert!(connection.expect(1, 250), "that has been read already");
    }
}

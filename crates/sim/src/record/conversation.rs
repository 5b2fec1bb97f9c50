//! A connection as tables number it, and the state of the sequence numbers of its two directions.

use std::net::IpAddr;

use trace::Positions;
use units::{Seq, SeqRange};
use wire::{Flags, Segment};

use super::packet_row::PacketRow;
use crate::ids::{FlowId, NodeId, PerSide, Side};

/// A connection of one of our flows, or an observed connection between external nodes. Of the latter, the side `From`
/// is the end with the smaller address and port.
pub(super) struct Conversation {
    pub(super) name: String,
    /// The scenario's flow that it belongs to, if any.
    pub(super) flow: Option<FlowId>,
    /// Its number among the connections of its flow, from 1.
    pub(super) number: u32,
    /// Addresses and ports of a connection from outside.
    pub(super) key: Option<Key>,
    /// The side whose end is at a proxy that splits the connection, and the proxy's node.
    pub(super) proxy: Option<(Side, NodeId)>,
    /// Hosts of an observed flow, its `from` first.
    pub(super) hosts: Option<[String; 2]>,
    /// Number of datagrams that each side has sent.
    datagrams: PerSide<u64>,
    /// Sequence numbers of what each side has sent.
    directions: PerSide<DirectionState>,
}

/// Addresses and ports of both ends, the smaller first.
pub(super) type Key = [(IpAddr, u16); 2];

/// Sequence numbers of one direction, as far as segments have shown them.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionState {
    positions: Positions,
    /// Position of the SYN.
    iss: Option<u64>,
    /// Shift of the window scale option on the SYN.
    window_scale: Option<u8>,
}

impl DirectionState {
    /// Takes a SYN: the stream begins here. A SYN with another number begins a new stream.
    fn on_syn(&mut self, syn: &Segment) {
        if self.iss != Some(self.positions.place(syn.seq)) {
            self.positions = Positions::default();
            self.iss = Some(self.positions.of(syn.seq));
        }
        self.window_scale = syn.options.window_scale;
    }

    /// Takes a segment that was sent in this direction.
    fn on_segment(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.on_syn(segment);
        }
        // A capture may begin in the middle: count from the first number that is seen.
        let start = self.positions.of(segment.seq);
        self.iss.get_or_insert(start - 1);
        self.positions.of(segment.seq + segment.seq_len());
    }

    /// Position of `seq` in the stream.
    fn relative(&self, seq: Seq) -> i64 {
        self.iss.map_or(0, |iss| self.positions.place(seq) as i64 - iss as i64)
    }
}

impl Conversation {
    /// Connection `number` of a flow of the scenario.
    pub(super) fn of_flow(flow: FlowId, name: String, number: u32) -> Self {
        Self { flow: Some(flow), number, ..Self::new(name, None) }
    }

    /// A connection from outside, named after its addresses until its flow is known.
    pub(super) fn of_key(key: Key) -> Self {
        Self::new(format!("{}:{}-{}:{}", key[0].0, key[0].1, key[1].0, key[1].1), Some(key))
    }

    pub(super) fn new(name: String, key: Option<Key>) -> Self {
        let (datagrams, directions) = (PerSide::default(), PerSide::default());
        Self { name, flow: None, number: 1, key, proxy: None, hosts: None, datagrams, directions }
    }

    /// Whether the first sequence number of `segment` was sent before.
    pub(super) fn has_sent(&self, segment: &Segment, sender: Side) -> bool {
        let sent = self.directions[sender].positions;
        segment.seq_len() > 0 && sent.highest().is_some_and(|highest| sent.place(segment.seq) < highest)
    }

    /// The nodes between which a packet to `to` goes, of the hosts of its header: the proxy is one of them where it
    /// ends the connection.
    pub(super) fn nodes_of(&self, to: Side, [source, destination]: [NodeId; 2]) -> [NodeId; 2] {
        match self.proxy {
            Some((end, proxy)) if end == to => [source, proxy],
            Some((_, proxy)) => [proxy, destination],
            None => [source, destination],
        }
    }

    /// Counts a datagram and returns its number in its direction.
    pub(super) fn next_datagram(&mut self, sender: Side) -> u64 {
        let number = self.datagrams[sender];
        self.datagrams[sender] += 1;
        number
    }

    /// Position of `seq` in the stream of `sender`, if that has begun.
    pub(super) fn position(&self, sender: Side, seq: Seq) -> Option<i64> {
        let direction = &self.directions[sender];
        direction.iss.map(|_| direction.relative(seq))
    }

    /// The row of a segment that is sent now.
    pub(super) fn describe(&mut self, segment: &Segment, sender: Side) -> PacketRow {
        self.directions[sender].on_segment(segment);
        let own = self.directions[sender];
        let mut peer = self.directions[sender.other()];
        // Where nothing was seen the other way, the ACK is of its first byte.
        peer.iss.get_or_insert_with(|| peer.positions.of(segment.ack - 1));
        let acked = segment.flags.contains(Flags::ACK);
        PacketRow {
            seq: own.relative(segment.seq),
            len: segment.payload.len(),
            ack: if acked { peer.relative(segment.ack) } else { 0 },
            flags: segment.flags,
            window: u32::from(segment.window) << shift(segment, own, peer),
            sack: sack(segment, &peer),
            ..PacketRow::other()
        }
    }
}

/// RFC 7323 §2.2: scaling needs the option on both SYNs, and a SYN's own window is never scaled.
fn shift(segment: &Segment, own: DirectionState, peer: DirectionState) -> u8 {
    match (own.window_scale, peer.window_scale) {
        (Some(shift), Some(_)) if !segment.flags.contains(Flags::SYN) => shift.min(MAX_WINDOW_SHIFT),
        _ => 0,
    }
}

fn sack(segment: &Segment, peer: &DirectionState) -> Option<Box<str>> {
    let block = |block: &SeqRange| format!("{}-{}", peer.relative(block.start), peer.relative(block.end));
    let blocks: Vec<String> = segment.options.sack.as_slice().iter().map(block).collect();
    (!blocks.is_empty()).then(|| blocks.join(" ").into())
}

/// RFC 7323 §2.3: a larger shift counts as 14.
const MAX_WINDOW_SHIFT: u8 = 14;

#[cfg(test)]
mod tests {
    use wire::{Ecn, Options, Payload};

    use super::*;

    /// A little less than half of all sequence numbers: the largest step that counts as forward.
    const STEP: u32 = (1 << 31) - 2;

    fn segment(seq: Seq, ack: Seq, flags: Flags, len: u32) -> Segment {
        Segment {
            source_port: 1,
            destination_port: 2,
            seq,
            ack,
            flags,
            window: 1,
            options: Options::default(),
            ecn: Ecn::NotCapable,
            payload: Payload::Pattern { offset: 0, len },
        }
    }

    #[test]
    fn positions_in_a_stream_grow_beyond_the_last_sequence_number() {
        let mut conversation = Conversation::new("long".to_owned(), None);
        let iss = Seq(u32::MAX - 5);
        let syn = conversation.describe(&segment(iss, Seq(0), Flags::SYN, 0), Side::From);
        assert_eq!((syn.seq, syn.ack), (0, 0));
        for turn in 0..5 {
            let start = iss + 1 + STEP.wrapping_mul(turn);
            let position = 1 + i64::from(STEP) * i64::from(turn);
            let sent = conversation.describe(&segment(start, Seq(8), Flags::ACK, STEP), Side::From);
            assert_eq!((sent.seq, sent.ack), (position, 1));
            assert!(conversation.has_sent(&segment(start, Seq(8), Flags::ACK, 9), Side::From));
            let heard = conversation.describe(&segment(Seq(8), start + STEP, Flags::ACK, 0), Side::To);
            assert_eq!(heard.ack, position + i64::from(STEP));
        }
    }

    #[test]
    fn a_number_before_the_first_that_was_seen_is_negative() {
        let mut conversation = Conversation::new("late".to_owned(), None);
        let first = conversation.describe(&segment(Seq(100), Seq(7), Flags::ACK, 10), Side::From);
        let before = conversation.describe(&segment(Seq(90), Seq(7), Flags::ACK, 10), Side::From);
        assert_eq!((first.seq, before.seq), (1, -9));
    }

    #[test]
    fn blocks_of_sack_are_positions_in_the_other_stream() {
        let mut conversation = Conversation::new("holes".to_owned(), None);
        conversation.describe(&segment(Seq(1000), Seq(0), Flags::SYN, 0), Side::From);
        let mut ack = segment(Seq(8), Seq(1001), Flags::ACK, 0);
        assert_eq!(conversation.describe(&ack, Side::To).sack, None);
        for range in
            [[1101, 1201], [1301, 1501]].map(|[start, end]| SeqRange { start: Seq(start), end: Seq(end) })
        {
            ack.options.sack.push(range);
        }
        assert_eq!(conversation.describe(&ack, Side::To).sack.as_deref(), Some("101-201 301-501"));
    }

    #[test]
    fn datagrams_have_numbers_in_each_direction() {
        let mut conversation = Conversation::new("datagrams".to_owned(), None);
        let sides = [Side::From, Side::From, Side::To, Side::From];
        assert_eq!(sides.map(|side| conversation.next_datagram(side)), [0, 1, 0, 2]);
    }

    #[test]
    fn a_connection_on_the_same_ports_begins_anew() {
        let mut conversation = Conversation::new("again".to_owned(), None);
        conversation.describe(&segment(Seq(100), Seq(0), Flags::SYN, 0), Side::From);
        conversation.describe(&segment(Seq(101), Seq(0), Flags::ACK, 50), Side::From);
        let syn = conversation.describe(&segment(Seq(9_000), Seq(0), Flags::SYN, 0), Side::From);
        let data = conversation.describe(&segment(Seq(9_001), Seq(0), Flags::ACK, 50), Side::From);
        assert_eq!((syn.seq, data.seq), (0, 1));
    }
}

//! Packets as they were sent: each is described once, and everything else refers to that.

use std::collections::VecDeque;
use std::net::IpAddr;

use tcp::{Kind, Transmit};
use trace::Positions;
use trace::ledger::Diagnosis;
use units::{PacketId, Seq, SeqRange};
use wire::udp::Datagram;
use wire::{Flags, Parsed, Segment, Transport, ip};

use crate::external::{ObservedConnection, ObservedFlow};
use crate::ids::Side;
use crate::packet::{Body, Packet};
use crate::spec::Spec;

/// A packet as it was sent. Sequence numbers are places in the stream, which does not wrap: a direction's SYN is 0, its
/// first byte 1.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) id: PacketId,
    pub(super) flow: u32,
    /// The nodes that it goes between.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Its traffic class; one from outside has it in its content.
    pub(super) class: u8,
    pub(super) kind: &'static str,
    pub(super) retransmission: bool,
    pub(super) cause: Option<&'static str>,
    pub(super) seq: i64,
    pub(super) len: u32,
    pub(super) ack: i64,
    pub(super) flags: Flags,
    /// In bytes: scaled.
    pub(super) window: u32,
    /// "5-9 12-14", the first byte of each block and the one behind it.
    pub(super) sack: Option<Box<str>>,
    /// Kept for captures only.
    pub(super) content: Option<Box<Content>>,
    /// How many of it are under way: links may copy it.
    under_way: u32,
}

/// What a packet carried.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Segment(Segment),
    Datagram {
        size: u32,
    },
    /// As much of a packet from outside as is captured, and its size.
    Raw {
        start: Vec<u8>,
        size: u32,
    },
}

/// How much of a packet a capture keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Headers,
    Packet,
}

/// What was sent, and what is known of the connections that it belongs to. Descriptions are numbered in the order of
/// sending; the first ones are forgotten when nothing waits for them.
pub(super) struct Register {
    packets: VecDeque<Described>,
    forgotten: u32,
    /// Every description before this one is of a packet that is no longer under way.
    settled: u32,
    conversations: Vec<Conversation>,
    /// Connections of each flow so far.
    opened: Vec<u32>,
}

/// A connection: one of our flows, or one that was seen between external nodes.
struct Conversation {
    name: String,
    /// The flow of the scenario, and which of its connections it is, from 1 on.
    flow: Option<u32>,
    number: u32,
    /// Whose it is, for connections from outside.
    key: Option<Key>,
    /// The hosts of an observed flow.
    hosts: Option<[String; 2]>,
    /// Datagrams that each direction has sent.
    datagrams: [u64; 2],
    /// What each direction has shown: that of the one that sent first (or `from`), then the other.
    directions: [Shown; 2],
}

type Key = [(IpAddr, u16); 2];

/// What a direction has shown of its numbers: `iss` is the position of its SYN.
#[derive(Clone, Copy, Default)]
struct Shown {
    positions: Positions,
    iss: Option<u64>,
    window_scale: Option<u8>,
}

impl Shown {
    /// A SYN of this direction's: it begins here, and anew if it began with another number before.
    fn begins(&mut self, syn: &Segment) {
        if self.iss != Some(self.positions.place(syn.seq)) {
            self.positions = Positions::default();
            self.iss = Some(self.positions.of(syn.seq));
        }
        self.window_scale = syn.options.window_scale;
    }

    /// A segment of this direction's was sent.
    fn sends(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.begins(segment);
        }
        // A capture may begin in the middle: count from what is seen first.
        let start = self.positions.of(segment.seq);
        self.iss.get_or_insert(start - 1);
        self.positions.of(segment.seq + segment.seq_len());
    }

    /// The place of a number in the stream.
    fn relative(&self, seq: Seq) -> i64 {
        self.iss.map_or(0, |iss| self.positions.place(seq) as i64 - iss as i64)
    }
}

impl Register {
    pub(super) fn new(spec: &Spec) -> Self {
        let conversation = |(index, flow): (u32, &crate::spec::FlowSpec)| Conversation {
            flow: Some(index),
            ..Conversation::new(flow.name.clone(), None)
        };
        let opened = vec![1; spec.flows.len()];
        Self {
            packets: VecDeque::new(),
            forgotten: 0,
            settled: 0,
            conversations: (0..).zip(&spec.flows).map(conversation).collect(),
            opened,
        }
    }

    /// A flow has opened one more connection.
    pub(super) fn open(&mut self, flow: u32) -> u32 {
        self.opened[flow as usize] += 1;
        let (name, number) = (self.conversations[flow as usize].name.clone(), self.opened[flow as usize]);
        self.conversations.push(Conversation { flow: Some(flow), number, ..Conversation::new(name, None) });
        (self.conversations.len() - 1) as u32
    }

    /// Describes a packet when it is sent, and gives the number of the description. Without an extent, the content is
    /// not kept.
    pub(super) fn enter(&mut self, packet: &Packet, conversation: u32, extent: Option<Extent>) -> u32 {
        let mut described = match &packet.body {
            Body::Segment(Transmit { segment, kind }) => {
                let backward = packet.destination.side() == Side::From;
                let mut described = self.conversations[conversation as usize].describe(segment, backward);
                (described.kind, described.cause) = kind_and_cause(*kind);
                described.retransmission = matches!(kind, Kind::Retransmission { .. });
                described.flow = conversation;
                described
            }
            Body::Datagram(datagram) => Described {
                flow: conversation,
                kind: "datagram",
                seq: datagram.number as i64,
                len: packet.size.saturating_sub(DATAGRAM_HEADERS),
                ..Described::other()
            },
            Body::Raw(raw) => self.describe_raw(&raw.to_bytes()),
        };
        described.id = packet.id;
        (described.from, described.to) =
            (packet.header.source.index() as u32, packet.header.destination.index() as u32);
        described.class = packet.header.class;
        described.content = extent.map(|extent| Box::new(Content::of(packet, extent)));
        described.under_way = 1;
        self.packets.push_back(described);
        self.forgotten + self.packets.len() as u32 - 1
    }

    pub(super) fn described(&self, number: u32) -> &Described {
        &self.packets[(number - self.forgotten) as usize]
    }

    /// A link has copied the packet.
    pub(super) fn copied(&mut self, number: u32) {
        self.packets[(number - self.forgotten) as usize].under_way += 1;
    }

    /// The packet, or a copy of it, has arrived or is lost.
    pub(super) fn gone(&mut self, number: u32) {
        self.packets[(number - self.forgotten) as usize].under_way -= 1;
    }

    /// The number of the first packet that is under way: all before it have arrived or are lost.
    pub(super) fn settled(&mut self) -> u32 {
        let later = self.packets.range((self.settled - self.forgotten) as usize..);
        self.settled += later.take_while(|packet| packet.under_way == 0).count() as u32;
        self.settled
    }

    /// Forgets the packets that are no longer under way, up to `first`, which is still waited for.
    pub(super) fn forget_before(&mut self, first: Option<u32>) {
        let end = first.map_or(self.settled, |first| first.min(self.settled));
        self.packets.drain(..(end - self.forgotten) as usize);
        self.forgotten = end;
    }

    /// The name of a flow.
    pub(super) fn flow_name(&self, flow: u32) -> &str {
        &self.conversations[flow as usize].name
    }

    /// The place of a conversation's flow in the scenario, if it is one of the scenario's.
    pub(super) fn flow_of(&self, conversation: u32) -> Option<u32> {
        self.conversations[conversation as usize].flow
    }

    /// Which of its flow's connections a conversation is, from 1 on.
    pub(super) fn number(&self, conversation: u32) -> u32 {
        self.conversations[conversation as usize].number
    }

    /// The place of `seq` in the stream of `end`'s direction, if that has begun.
    pub(super) fn relative(&self, end: u32, seq: Seq) -> Option<i64> {
        let shown = self.conversations[end as usize / 2].directions[end as usize % 2];
        shown.iss.map(|_| shown.relative(seq))
    }

    /// Gives conversations that were seen from outside their names, and their packets the causes
    /// that the verdicts tell.
    pub(super) fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>) {
        diagnoses.resize(self.conversations.len(), Diagnosis::default());
        for flow in observed {
            for (number, connection) in (1..).zip(&flow.connections) {
                let Some(index) = self.conversation_of(connection) else { continue };
                let conversation = &mut self.conversations[index as usize];
                conversation.name.clone_from(&flow.summary.flow);
                conversation.hosts = Some([flow.summary.from.clone(), flow.summary.to.clone()]);
                conversation.number = number;
                diagnoses[index as usize] = connection.diagnosis.clone();
            }
        }
        for packet in self.packets.iter_mut().filter(|packet| packet.retransmission && packet.cause.is_none())
        {
            let verdict = diagnoses[packet.flow as usize].verdict(packet.id);
            packet.cause = verdict.map(|verdict| verdict.cause);
        }
    }

    /// The conversation of a connection that was observed, if it sent anything.
    pub(super) fn conversation_of(&self, connection: &ObservedConnection) -> Option<u32> {
        let mut key = connection.ends.map(|end| (end.ip(), end.port()));
        key.sort_unstable();
        let found = self.conversations.iter().position(|conversation| conversation.key == Some(key));
        found.map(|index| index as u32)
    }

    /// The host at one end of an observed flow, by the end's number.
    pub(super) fn observed_host(&self, end: u32) -> Option<&str> {
        let hosts = self.conversations[end as usize / 2].hosts.as_ref()?;
        Some(&hosts[end as usize % 2])
    }

    fn describe_raw(&mut self, bytes: &[u8]) -> Described {
        let parsed = wire::parse(bytes).ok();
        if let Some(Parsed { header, transport: Transport::Udp(datagram), .. }) = &parsed {
            return self.describe_datagram(header, datagram);
        }
        let addressed = parsed.as_ref().and_then(|parsed| {
            let segment = parsed.segment()?;
            let header = &parsed.header;
            let source = (header.source(), segment.source_port);
            Some((segment, source, (header.destination(), segment.destination_port)))
        });
        let Some((segment, source, destination)) = addressed else {
            return Described { flow: self.find([NOBODY; 2], || "other".to_owned()), ..Described::other() };
        };
        let backward = source > destination;
        let key = if backward { [destination, source] } else { [source, destination] };
        let flow = self.find(key, || name_of(key));
        let conversation = &mut self.conversations[flow as usize];
        let again = conversation.has_sent(segment, backward);
        let mut described = conversation.describe(segment, backward);
        described.kind = if again { "retransmission" } else { raw_kind(segment) };
        described.retransmission = again;
        described.flow = flow;
        described
    }

    /// A datagram from outside, which has no number but that of its order.
    fn describe_datagram(&mut self, header: &ip::Header, datagram: &Datagram) -> Described {
        let source = (header.source(), datagram.source_port);
        let destination = (header.destination(), datagram.destination_port);
        let backward = source > destination;
        let key = if backward { [destination, source] } else { [source, destination] };
        let flow = self.find(key, || name_of(key));
        let sent = &mut self.conversations[flow as usize].datagrams[usize::from(backward)];
        let (seq, len) = (*sent as i64, datagram.payload.len());
        *sent += 1;
        Described { flow, kind: "datagram", seq, len, ..Described::other() }
    }

    /// The connection of `key`, entered now if it is new.
    fn find(&mut self, key: Key, name: impl Fn() -> String) -> u32 {
        let found = self.conversations.iter().position(|conversation| conversation.key == Some(key));
        let index = found.unwrap_or_else(|| {
            self.conversations.push(Conversation::new(name(), Some(key)));
            self.conversations.len() - 1
        });
        index as u32
    }
}

impl Conversation {
    fn new(name: String, key: Option<Key>) -> Self {
        let directions = [Shown::default(); 2];
        Self { name, flow: None, number: 1, key, hosts: None, datagrams: [0; 2], directions }
    }

    /// Whether the first sequence number that `segment` takes was sent before.
    fn has_sent(&self, segment: &Segment, backward: bool) -> bool {
        let sent = self.directions[usize::from(backward)].positions;
        segment.seq_len() > 0 && sent.highest().is_some_and(|highest| sent.place(segment.seq) < highest)
    }

    fn describe(&mut self, segment: &Segment, backward: bool) -> Described {
        self.directions[usize::from(backward)].sends(segment);
        let own = self.directions[usize::from(backward)];
        let mut peer = self.directions[usize::from(!backward)];
        // Where nothing was seen the other way, the ACK is of its first byte.
        peer.iss.get_or_insert_with(|| peer.positions.of(segment.ack - 1));
        let acked = segment.flags.contains(Flags::ACK);
        Described {
            seq: own.relative(segment.seq),
            len: segment.payload.len(),
            ack: if acked { peer.relative(segment.ack) } else { 0 },
            flags: segment.flags,
            window: u32::from(segment.window) << shift(segment, own, peer),
            sack: sack(segment, &peer),
            ..Described::other()
        }
    }
}

impl Described {
    fn other() -> Self {
        Self {
            id: PacketId(0),
            flow: 0,
            from: 0,
            to: 0,
            class: 0,
            kind: "other",
            retransmission: false,
            cause: None,
            seq: 0,
            len: 0,
            ack: 0,
            flags: Flags::empty(),
            window: 0,
            sack: None,
            content: None,
            under_way: 0,
        }
    }
}

impl Content {
    fn of(packet: &Packet, extent: Extent) -> Self {
        match &packet.body {
            Body::Segment(sent) => Self::Segment(sent.segment.clone()),
            Body::Datagram(_) => Self::Datagram { size: packet.size },
            Body::Raw(raw) => {
                let bytes = raw.to_bytes();
                Self::Raw { start: bytes[..captured_len(&bytes, extent)].to_vec(), size: packet.size }
            }
        }
    }
}

/// How many of a packet's first bytes a capture keeps.
pub(super) fn captured_len(bytes: &[u8], extent: Extent) -> usize {
    match extent {
        Extent::Packet => bytes.len(),
        Extent::Headers => headers_len(bytes).unwrap_or(LONGEST_HEADERS as usize).min(bytes.len()),
    }
}

/// The length of the headers, of packets with TCP or UDP.
fn headers_len(bytes: &[u8]) -> Option<usize> {
    let payload = match wire::parse(bytes).ok()?.transport {
        Transport::Tcp(segment) => segment.payload.len(),
        Transport::Udp(datagram) => datagram.payload.len(),
        Transport::Fragment(_) | Transport::Other(_) => return None,
    };
    Some(bytes.len() - payload as usize)
}

/// The longest headers: IPv6 (RFC 8200 §3, without extension headers) and TCP with all its options (RFC 9293 §3.1).
pub(super) const LONGEST_HEADERS: u32 = 40 + 60;

/// RFC 7323 §2.2: scaling needs the option on both SYNs, and a SYN's own window is never scaled.
fn shift(segment: &Segment, own: Shown, peer: Shown) -> u8 {
    match (own.window_scale, peer.window_scale) {
        (Some(shift), Some(_)) if !segment.flags.contains(Flags::SYN) => shift.min(MAX_WINDOW_SHIFT),
        _ => 0,
    }
}

fn sack(segment: &Segment, peer: &Shown) -> Option<Box<str>> {
    let block = |block: &SeqRange| format!("{}-{}", peer.relative(block.start), peer.relative(block.end));
    let blocks: Vec<String> = segment.options.sack.as_slice().iter().map(block).collect();
    (!blocks.is_empty()).then(|| blocks.join(" ").into())
}

fn kind_and_cause(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::Syn => ("syn", None),
        Kind::Data => ("data", None),
        Kind::Fin => ("fin", None),
        Kind::Retransmission { cause, .. } => ("retransmission", Some(cause.id())),
        Kind::Ack => ("ack", None),
        Kind::WindowUpdate => ("window_update", None),
        Kind::ZeroWindowProbe => ("zero_window_probe", None),
        Kind::KeepAlive => ("keep_alive", None),
        Kind::Reset => ("reset", None),
    }
}

fn raw_kind(segment: &Segment) -> &'static str {
    let flags = segment.flags;
    match () {
        () if flags.contains(Flags::RST) => "reset",
        () if flags.contains(Flags::SYN) => "syn",
        () if flags.contains(Flags::FIN) => "fin",
        () if !segment.payload.is_empty() => "data",
        () => "ack",
    }
}

/// What a connection from outside is called until a flow of the scenario is known for it.
fn name_of(key: Key) -> String {
    format!("{}:{}-{}:{}", key[0].0, key[0].1, key[1].0, key[1].1)
}

/// IPv4 (RFC 791) and UDP (RFC 768).
pub(super) const DATAGRAM_HEADERS: u32 = 20 + 8;

/// The key under which everything that is not TCP is kept.
const NOBODY: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);

/// RFC 7323 §2.3: a larger shift is taken for 14.
const MAX_WINDOW_SHIFT: u8 = 14;

#[cfg(test)]
mod tests {
    use wire::{Ecn, Options, Payload};

    use super::*;

    /// Half of the numbers that there are less a little: the largest step that is known for one forward.
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
    fn places_in_a_stream_go_on_beyond_the_last_number() {
        let mut conversation = Conversation::new("long".to_owned(), None);
        let iss = Seq(u32::MAX - 5);
        let syn = conversation.describe(&segment(iss, Seq(0), Flags::SYN, 0), false);
        assert_eq!((syn.seq, syn.ack), (0, 0));
        for turn in 0..5 {
            let start = iss + 1 + STEP.wrapping_mul(turn);
            let place = 1 + i64::from(STEP) * i64::from(turn);
            let sent = conversation.describe(&segment(start, Seq(8), Flags::ACK, STEP), false);
            assert_eq!((sent.seq, sent.ack), (place, 1));
            assert!(conversation.has_sent(&segment(start, Seq(8), Flags::ACK, 9), false));
            let heard = conversation.describe(&segment(Seq(8), start + STEP, Flags::ACK, 0), true);
            assert_eq!(heard.ack, place + i64::from(STEP));
        }
    }

    #[test]
    fn a_number_before_the_first_that_was_seen_is_negative() {
        let mut conversation = Conversation::new("late".to_owned(), None);
        let first = conversation.describe(&segment(Seq(100), Seq(7), Flags::ACK, 10), false);
        let before = conversation.describe(&segment(Seq(90), Seq(7), Flags::ACK, 10), false);
        assert_eq!((first.seq, before.seq), (1, -9));
    }

    #[test]
    fn a_connection_on_the_same_ports_begins_anew() {
        let mut conversation = Conversation::new("again".to_owned(), None);
        conversation.describe(&segment(Seq(100), Seq(0), Flags::SYN, 0), false);
        conversation.describe(&segment(Seq(101), Seq(0), Flags::ACK, 50), false);
        let syn = conversation.describe(&segment(Seq(9_000), Seq(0), Flags::SYN, 0), false);
        let data = conversation.describe(&segment(Seq(9_001), Seq(0), Flags::ACK, 50), false);
        assert_eq!((syn.seq, data.seq), (0, 1));
    }
}

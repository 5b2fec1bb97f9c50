//! Packets as they were sent: each is described once, and everything else refers to that.

use std::collections::VecDeque;
use std::net::IpAddr;

use tcp::{Kind, Transmit};
use trace::ledger::Diagnosis;
use units::{PacketId, Seq, SeqRange};
use wire::{Flags, Segment, Transport};

use crate::external::ObservedFlow;
use crate::ids::{Id, Side};
use crate::packet::{Body, Packet};
use crate::spec::Spec;

/// A packet as it was sent. Sequence numbers are relative: a direction's SYN is 0, its first byte 1.
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
    pub(super) seq: u32,
    pub(super) len: u32,
    pub(super) ack: u32,
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
    /// What each direction has shown: that of the one that sent first (or `from`), then the other.
    directions: [Shown; 2],
}

type Key = [(IpAddr, u16); 2];

#[derive(Clone, Copy, Default)]
struct Shown {
    iss: Option<Seq>,
    window_scale: Option<u8>,
    snd_max: Option<Seq>,
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
                seq: datagram.number as u32,
                len: packet.size.saturating_sub(DATAGRAM_HEADERS),
                ..Described::other()
            },
            Body::Raw(bytes) => self.describe_raw(bytes),
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

    /// `seq` of `end`'s direction, relative.
    pub(super) fn relative(&self, end: u32, seq: Seq) -> u32 {
        let shown = self.conversations[end as usize / 2].directions[end as usize % 2];
        shown.iss.map_or(0, |iss| seq.since(iss))
    }

    /// Gives conversations that were seen from outside their names, and their packets the causes
    /// that the verdicts tell.
    pub(super) fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>) {
        diagnoses.resize(self.conversations.len(), Diagnosis::default());
        for flow in observed {
            let mut key = flow.ends.map(|end| (end.ip(), end.port()));
            key.sort_unstable();
            let found = self.conversations.iter().position(|conversation| conversation.key == Some(key));
            if let Some(index) = found {
                self.conversations[index].name.clone_from(&flow.summary.flow);
                diagnoses[index] = flow.diagnosis.clone();
            }
        }
        for packet in self.packets.iter_mut().filter(|packet| packet.retransmission && packet.cause.is_none())
        {
            let verdict = diagnoses[packet.flow as usize].verdict(packet.id);
            packet.cause = verdict.map(|verdict| verdict.cause);
        }
    }

    fn describe_raw(&mut self, bytes: &[u8]) -> Described {
        let parsed = wire::parse(bytes).ok();
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
        let name = || format!("{}:{}-{}:{}", key[0].0, key[0].1, key[1].0, key[1].1);
        let flow = self.find(key, name);
        let conversation = &mut self.conversations[flow as usize];
        let again = conversation.has_sent(segment, backward);
        let mut described = conversation.describe(segment, backward);
        described.kind = if again { "retransmission" } else { raw_kind(segment) };
        described.retransmission = again;
        described.flow = flow;
        described
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
        Self { name, flow: None, number: 1, key, directions: [Shown::default(); 2] }
    }

    /// Whether the first sequence number that `segment` takes was sent before.
    fn has_sent(&self, segment: &Segment, backward: bool) -> bool {
        let shown = self.directions[usize::from(backward)];
        segment.seq_len() > 0 && shown.snd_max.is_some_and(|snd_max| segment.seq.before(snd_max))
    }

    fn describe(&mut self, segment: &Segment, backward: bool) -> Described {
        let own = &mut self.directions[usize::from(backward)];
        let end = segment.seq + segment.seq_len();
        own.snd_max = Some(own.snd_max.map_or(end, |snd_max| snd_max.max(end)));
        if segment.flags.contains(Flags::SYN) {
            own.iss = Some(segment.seq);
            own.window_scale = segment.options.window_scale;
        }
        // A capture may begin in the middle: count from what is seen first.
        let iss = *own.iss.get_or_insert(segment.seq - 1);
        let own = *own;
        let peer = self.directions[usize::from(!backward)];
        let acked = segment.flags.contains(Flags::ACK);
        let peer_iss = peer.iss.unwrap_or(segment.ack - 1);
        Described {
            seq: segment.seq.since(iss),
            len: segment.payload.len(),
            ack: if acked { segment.ack.since(peer_iss) } else { 0 },
            flags: segment.flags,
            window: u32::from(segment.window) << shift(segment, own, peer),
            sack: sack(segment, peer_iss),
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
            Body::Raw(bytes) => {
                Self::Raw { start: bytes[..captured_len(bytes, extent)].to_vec(), size: packet.size }
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

fn sack(segment: &Segment, iss: Seq) -> Option<Box<str>> {
    let block = |block: &SeqRange| format!("{}-{}", block.start.since(iss), block.end.since(iss));
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

/// IPv4 (RFC 791) and UDP (RFC 768).
pub(super) const DATAGRAM_HEADERS: u32 = 20 + 8;

/// The key under which everything that is not TCP is kept.
const NOBODY: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);

/// RFC 7323 §2.3: a larger shift is taken for 14.
const MAX_WINDOW_SHIFT: u8 = 14;

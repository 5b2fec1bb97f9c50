//! The packets that were sent: each has one row, to which the other tables refer by number.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use tcp::{Kind, Transmit};
use trace::ledger::Diagnosis;
use units::Seq;
use wire::{Parsed, Segment, Transport, dccp, ip};

use super::conversation::{Conversation, Key};
use super::packet_row::{
    Content, DATAGRAM_HEADERS, PacketRow, SnapLength, dccp_kind, kind_and_cause, raw_kind,
};
use crate::external::{ObservedConnection, ObservedFlow};
use crate::ids::{ConversationId, FlowId, Id, IdVec, NodeId, Side};
use crate::packet::{Body, Packet};
use crate::spec::Spec;

/// The packets that were sent, and the connections that they belong to. Rows are numbered in the order of sending; the
/// oldest are removed when nothing refers to them any more.
pub(super) struct PacketTable {
    rows: VecDeque<PacketRow>,
    /// Number of rows removed so far: the number of the first row.
    removed: u32,
    /// Every row before this one is of a packet that is no longer in flight.
    settled: u32,
    conversations: IdVec<ConversationId, Conversation>,
    /// Number of connections that each flow has opened.
    opened: IdVec<FlowId, u32>,
}

impl PacketTable {
    pub(super) fn new(spec: &Spec) -> Self {
        let flows = spec.flows.iter().enumerate();
        let conversation = |(flow, spec): (usize, &crate::spec::FlowSpec)| {
            Conversation::of_flow(FlowId::from_index(flow), spec.name.clone(), 1)
        };
        Self {
            rows: VecDeque::new(),
            removed: 0,
            settled: 0,
            conversations: flows.map(conversation).collect(),
            opened: spec.flows.iter().map(|_| 1).collect(),
        }
    }

    /// Adds one more connection of a flow.
    pub(super) fn open(&mut self, flow: FlowId) -> ConversationId {
        self.opened[flow] += 1;
        let number = self.opened[flow];
        let name = self.conversations[ConversationId::first_of(flow)].name.clone();
        self.conversations.push(Conversation::of_flow(flow, name, number))
    }

    /// A proxy has split a connection: the first of these conversations ends there, and the second begins.
    /// The second is a flow of its own in tables, "download@agent", with the numbers of the first one's connections.
    pub(super) fn split(&mut self, [first, second]: [ConversationId; 2], (node, proxy): (NodeId, &str)) {
        self.conversations[first].proxy = Some((Side::To, node));
        let (name, number) = (format!("{}@{proxy}", self.conversations[first].name), self.number(first));
        let beyond = &mut self.conversations[second];
        (beyond.proxy, beyond.name, beyond.number) = (Some((Side::From, node)), name, number);
        if let Some(flow) = beyond.flow {
            self.opened[flow] -= 1;
        }
    }

    /// The proxy that is the end of a conversation at `side`, if one is.
    pub(super) fn proxy_at(&self, conversation: ConversationId, side: Side) -> Option<NodeId> {
        self.conversations[conversation].proxy.filter(|(end, _)| *end == side).map(|(_, node)| node)
    }

    /// Names the row of a packet that a proxy sends again.
    pub(super) fn name_local(&mut self, number: u32) {
        let row = self.row_mut(number);
        (row.kind, row.retransmission, row.cause) = ("local_retransmission", false, None);
    }

    /// Adds the row of a packet that is sent now, and returns its number. Without a snap length the content is not
    /// kept.
    pub(super) fn insert(
        &mut self,
        packet: &Packet,
        conversation: ConversationId,
        snap_length: Option<SnapLength>,
    ) -> u32 {
        let row = match &packet.body {
            Body::Segment(sent) => self.row_of_segment(sent, packet.destination.side().other(), conversation),
            Body::Datagram(datagram) => PacketRow {
                conversation,
                kind: "datagram",
                seq: datagram.number as i64,
                len: packet.size.saturating_sub(DATAGRAM_HEADERS),
                ..PacketRow::other()
            },
            Body::Raw(raw) => self.row_of_raw(&raw.to_bytes()),
        };
        let addresses = [packet.header.source, packet.header.destination];
        let [from, to] = self.conversations[row.conversation].nodes_of(packet.destination.side(), addresses);
        self.rows.push_back(PacketRow {
            id: packet.id,
            from,
            to,
            addresses,
            class: packet.header.class,
            content: snap_length.map(|snap_length| Box::new(Content::of(packet, snap_length))),
            in_flight: 1,
            ..row
        });
        self.removed + self.rows.len() as u32 - 1
    }

    pub(super) fn row(&self, number: u32) -> &PacketRow {
        &self.rows[(number - self.removed) as usize]
    }

    fn row_mut(&mut self, number: u32) -> &mut PacketRow {
        &mut self.rows[(number - self.removed) as usize]
    }

    /// A link has duplicated the packet.
    pub(super) fn on_duplicated(&mut self, number: u32) {
        self.row_mut(number).in_flight += 1;
    }

    /// The packet, or a copy of it, has arrived or is lost.
    pub(super) fn on_settled(&mut self, number: u32) {
        self.row_mut(number).in_flight -= 1;
    }

    /// Number of the first packet that is in flight: all before it have arrived or are lost.
    pub(super) fn settled(&mut self) -> u32 {
        let later = self.rows.range((self.settled - self.removed) as usize..);
        self.settled += later.take_while(|packet| packet.in_flight == 0).count() as u32;
        self.settled
    }

    /// Removes the rows of packets that are no longer in flight, up to `first`, to which a row still refers.
    pub(super) fn remove_before(&mut self, first: Option<u32>) {
        let end = first.map_or(self.settled, |first| first.min(self.settled));
        self.rows.drain(..(end - self.removed) as usize);
        self.removed = end;
    }

    /// Name of a conversation's flow.
    pub(super) fn flow_name(&self, conversation: ConversationId) -> &str {
        &self.conversations[conversation].name
    }

    /// The scenario's flow that a conversation belongs to, if any.
    pub(super) fn flow_of(&self, conversation: ConversationId) -> Option<FlowId> {
        self.conversations[conversation].flow
    }

    /// Number of a conversation among the connections of its flow, from 1.
    pub(super) fn number(&self, conversation: ConversationId) -> u32 {
        self.conversations[conversation].number
    }

    /// Position of `seq` in the stream of a conversation's side, if that has begun.
    pub(super) fn position(&self, conversation: ConversationId, side: Side, seq: Seq) -> Option<i64> {
        self.conversations[conversation].position(side, seq)
    }

    /// Gives conversations from outside the names of their flows, and their packets the causes of the verdicts.
    pub(super) fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>) {
        diagnoses.resize(self.conversations.len(), Diagnosis::default());
        for flow in observed {
            for (number, connection) in (1..).zip(&flow.connections) {
                let Some(id) = self.conversation_of(connection) else { continue };
                let conversation = &mut self.conversations[id];
                conversation.name.clone_from(&flow.summary.flow);
                conversation.hosts = Some([flow.summary.from.clone(), flow.summary.to.clone()]);
                conversation.number = number;
                diagnoses[id.index()] = connection.diagnosis.clone();
            }
        }
        let unexplained = |row: &&mut PacketRow| row.retransmission && row.cause.is_none();
        for row in self.rows.iter_mut().filter(unexplained) {
            let verdict = diagnoses[row.conversation.index()].verdict(row.id);
            row.cause = verdict.map(|verdict| verdict.cause);
        }
    }

    /// The conversation of an observed connection, if it sent anything.
    pub(super) fn conversation_of(&self, connection: &ObservedConnection) -> Option<ConversationId> {
        let mut key = connection.ends.map(|end| (end.ip(), end.port()));
        key.sort_unstable();
        self.find(key)
    }

    /// The host on one side of an observed flow.
    pub(super) fn observed_host(&self, conversation: ConversationId, side: Side) -> Option<&str> {
        let hosts = self.conversations[conversation].hosts.as_ref()?;
        Some(&hosts[side as usize])
    }

    fn row_of_segment(&mut self, sent: &Transmit, sender: Side, conversation: ConversationId) -> PacketRow {
        let (kind, cause) = kind_and_cause(sent.kind);
        let retransmission = matches!(sent.kind, Kind::Retransmission { .. });
        let row = self.conversations[conversation].describe(&sent.segment, sender);
        PacketRow { conversation, kind, cause, retransmission, ..row }
    }

    fn row_of_raw(&mut self, bytes: &[u8]) -> PacketRow {
        let parsed = wire::parse(bytes).ok();
        match &parsed {
            Some(Parsed { header, transport: Transport::Udp(datagram), .. }) => {
                let ports = [datagram.source_port, datagram.destination_port];
                self.row_of_raw_datagram(header, ports, datagram.payload.len())
            }
            Some(Parsed { header, transport: Transport::Dccp(packet), .. }) => {
                self.row_of_dccp(header, packet)
            }
            Some(packet) => match packet.segment() {
                Some(segment) => self.row_of_raw_segment(&packet.header, segment),
                None => self.row_of_other(),
            },
            None => self.row_of_other(),
        }
    }

    fn row_of_raw_segment(&mut self, header: &ip::Header, segment: &Segment) -> PacketRow {
        let (key, sender) = key_and_sender(header, segment.source_port, segment.destination_port);
        let id = self.find_or_insert(key, || Conversation::of_key(key));
        let conversation = &mut self.conversations[id];
        let retransmission = conversation.has_sent(segment, sender);
        let row = conversation.describe(segment, sender);
        let kind = if retransmission { "retransmission" } else { raw_kind(segment) };
        PacketRow { conversation: id, kind, retransmission, ..row }
    }

    /// A datagram from outside carries no number: it gets that of its order.
    fn row_of_raw_datagram(&mut self, header: &ip::Header, ports: [u16; 2], len: u32) -> PacketRow {
        let (key, sender) = key_and_sender(header, ports[0], ports[1]);
        let conversation = self.find_or_insert(key, || Conversation::of_key(key));
        let seq = self.conversations[conversation].next_datagram(sender) as i64;
        PacketRow { conversation, kind: "datagram", seq, len, ..PacketRow::other() }
    }

    /// A packet of DCCP: with data it is a datagram, and others belong to the same conversation.
    fn row_of_dccp(&mut self, header: &ip::Header, packet: &dccp::Packet) -> PacketRow {
        let ports = [packet.source_port, packet.destination_port];
        if packet.kind.has_data() {
            return self.row_of_raw_datagram(header, ports, packet.payload.len());
        }
        let (key, _) = key_and_sender(header, ports[0], ports[1]);
        let conversation = self.find_or_insert(key, || Conversation::of_key(key));
        PacketRow { conversation, kind: dccp_kind(packet.kind), ..PacketRow::other() }
    }

    /// Packets of all other protocols share one conversation.
    fn row_of_other(&mut self) -> PacketRow {
        let other = || Conversation::new("other".to_owned(), Some(UNSPECIFIED));
        PacketRow { conversation: self.find_or_insert(UNSPECIFIED, other), ..PacketRow::other() }
    }

    fn find(&self, key: Key) -> Option<ConversationId> {
        self.conversations.ids().find(|id| self.conversations[*id].key == Some(key))
    }

    fn find_or_insert(&mut self, key: Key, new: impl FnOnce() -> Conversation) -> ConversationId {
        self.find(key).unwrap_or_else(|| self.conversations.push(new()))
    }
}

/// The key of a packet's connection, and which of its ends sent the packet.
fn key_and_sender(header: &ip::Header, source_port: u16, destination_port: u16) -> (Key, Side) {
    let source = (header.source(), source_port);
    let destination = (header.destination(), destination_port);
    if source > destination { ([destination, source], Side::To) } else { ([source, destination], Side::From) }
}

/// Key of the conversation of everything that is neither TCP nor UDP.
const UNSPECIFIED: Key = [(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0); 2];

//! Captures: what passed a point, as a pcapng file.
//!
//! A capture keeps the headers of each packet, or the whole packet where the specification asks for the payload. A
//! packet that was dropped, damaged or held on the link that it entered or left, or that is a retransmission, has its
//! identity and a comment with the reason.
//!
//! One point is one interface. At a node, packets are outbound or inbound; at a link, `down` is outbound and `up`
//! inbound. (libpcap, and with it tcptrace, refuses a file of raw IP packets with two interfaces, one for each
//! direction, because it takes their link types to be different.)

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use units::Instant;
use wire::Payload;
use wire::capture::{Direction, Frame, Interface, VIRTUAL_EPOCH};
use wire::ip::{Protocol, v4};
use wire::pcapng::{Section, Writer};
use wire::udp::Datagram;

use super::packet_row::{Content, DATAGRAM_HEADERS, LONGEST_HEADERS, PacketRow, SnapLength, captured_len};
use super::packet_table::PacketTable;
use super::passage::{Blocks, Fate, Passage, Passages};
use super::rows::{Horizon, ROWS, Verdicts};
use crate::ids::{DirectionId, Heading, Id, LinkId, NodeId};
use crate::packet::Packet;
use crate::spec::{CapturePoint, Spec};

/// RFC 3551 §8: RTP's port. The datagrams of workloads have no port of their own; any would do.
const DATAGRAM_PORT: u16 = 5004;

/// Writes the packets that pass one point.
pub(super) struct CaptureWriter {
    point: CapturePoint,
    name: String,
    snap_length: SnapLength,
    /// The directions of links that begin at the point.
    leaving: Vec<DirectionId>,
    /// Packets that are not written yet, in order of time.
    waiting: VecDeque<CapturedPacket>,
    file: Writer<Vec<u8>>,
}

/// Context of packets to be written.
pub(super) struct Recorded<'a> {
    pub(super) packet_table: &'a PacketTable,
    pub(super) passages: &'a Passages,
    pub(super) spec: &'a Spec,
}

/// A packet that passed a point.
#[derive(Clone, Copy)]
pub(super) struct CapturedPacket {
    at: Instant,
    direction: Direction,
    /// Number of its row.
    pub(super) packet: u32,
    /// Number of its passage over the link that it entered or left.
    pub(super) passage: u32,
}

impl CaptureWriter {
    pub(super) fn new(point: CapturePoint, spec: &Spec) -> Self {
        let leaving = match point {
            CapturePoint::Link(link) => DirectionId::both(link).to_vec(),
            CapturePoint::Node(node) => (0..spec.links.len())
                .flat_map(|link| {
                    DirectionId::both(LinkId::from_index(link)).into_iter().zip(spec.links[link].ends)
                })
                .filter_map(|(direction, end)| (end == node).then_some(direction))
                .collect(),
        };
        let name = match point {
            CapturePoint::Node(node) => spec.node(node).name.clone(),
            CapturePoint::Link(link) => spec.link(link).name.clone(),
        };
        let snap_length = if spec.record.payload { SnapLength::Whole } else { SnapLength::Headers };
        let file = begin(&name, snap_length, spec).expect("memory takes every byte");
        Self { point, name, snap_length, leaving, waiting: VecDeque::new(), file }
    }

    /// A packet enters a link: it leaves a node.
    pub(super) fn on_entered(&mut self, at: Instant, link: DirectionId, packet: &Packet) {
        if self.leaving.contains(&link) {
            let up = matches!(self.point, CapturePoint::Link(_)) && link.heading() == Heading::Up;
            self.push(at, if up { Direction::Inbound } else { Direction::Outbound }, packet);
        }
    }

    /// A packet has arrived at its destination, the node `to`.
    pub(super) fn on_received(&mut self, at: Instant, to: NodeId, packet: &Packet) {
        if self.point == CapturePoint::Node(to) {
            self.push(at, Direction::Inbound, packet);
        }
    }

    fn push(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        let (packet, passage) = (packet.row, packet.passage);
        self.waiting.push_back(CapturedPacket { at, direction, packet, passage });
    }

    /// Whether a full batch of packets is waiting to be written.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= ROWS
    }

    /// The packets that are not written yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &CapturedPacket> {
        self.waiting.iter()
    }

    /// The point's name, and the bytes added to its file since the last call.
    pub(super) fn take(
        &mut self,
        horizon: Horizon,
        recorded: &Recorded<'_>,
        verdicts: &mut Verdicts<'_>,
    ) -> (String, Vec<u8>) {
        let complete = self.waiting.iter().take_while(|captured| horizon.covers(captured.packet)).count();
        for captured in self.waiting.drain(..complete) {
            let frame = captured.frame(self.snap_length, recorded, verdicts);
            self.file.write(&frame).expect("memory takes every byte");
        }
        (self.name.clone(), std::mem::take(self.file.get_mut()))
    }
}

/// A file without packets.
fn begin(name: &str, snap_length: SnapLength, spec: &Spec) -> std::io::Result<Writer<Vec<u8>>> {
    let section = Section {
        application: concat!("lasthop ", env!("CARGO_PKG_VERSION")).to_owned(),
        comment: format!("scenario {}, seed {}", spec.name, spec.seed),
        ..Section::default()
    };
    let mut writer = Writer::new(Vec::new(), &section)?;
    let snap_len = if snap_length == SnapLength::Headers { LONGEST_HEADERS } else { 0 };
    writer.add_interface(&Interface { snap_len, ..Interface::raw_ip(name) })?;
    Ok(writer)
}

impl CapturedPacket {
    fn frame(&self, snap_length: SnapLength, recorded: &Recorded<'_>, verdicts: &mut Verdicts<'_>) -> Frame {
        let packet = recorded.packet_table.row(self.packet);
        let at = VIRTUAL_EPOCH + self.at.saturating_since(Instant::START);
        let (mut data, original_len) = bytes(packet, recorded.spec);
        data.truncate(captured_len(&data, snap_length));
        let comment = self.comment(packet, recorded, verdicts);
        Frame {
            direction: Some(self.direction),
            packet: comment.as_ref().map(|_| packet.id),
            comment,
            original_len,
            ..Frame::new(0, at, data)
        }
    }

    /// The packet's kind, its fate on the link, and the verdict on a retransmission; none for a packet that was queued
    /// and delivered.
    fn comment(
        &self,
        packet: &PacketRow,
        recorded: &Recorded<'_>,
        verdicts: &mut Verdicts<'_>,
    ) -> Option<String> {
        let passage = recorded.passages.get(self.passage);
        let verdict = verdicts(packet.conversation, packet.id);
        if verdict.is_none() && passage.is_uneventful() {
            return None;
        }
        let link = &recorded.spec.links[passage.direction.link().index()].name;
        let mut parts = vec![
            format!(
                "{} {} of {}",
                packet.id,
                packet.kind,
                recorded.packet_table.flow_name(packet.conversation)
            ),
            format!("{link}.{}: {}", passage.direction.heading().name(), fate(passage)),
        ];
        if let Some(verdict) = verdict {
            let word = if verdict.necessary { "necessary" } else { "needless" };
            parts.push(format!("sent again ({}), {word}: {}", verdict.cause, verdict.why));
        }
        Some(parts.join("; "))
    }
}

/// A packet's fate on a link, in words.
fn fate(passage: &Passage) -> String {
    let rule = passage.rule.unwrap_or_default();
    let mut text = match (passage.fate, passage.behind) {
        (Fate::QueueDrop, behind) => return format!("dropped by the queue ({rule}), {behind} waiting"),
        (Fate::OversizeDrop, _) => return "dropped: longer than the MTU".to_owned(),
        (_, 0) => "no queue".to_owned(),
        (_, behind) => format!("queued behind {behind}"),
    };
    if passage.blocks.attempts > 0 {
        let Blocks { new, attempts, bits } = passage.blocks;
        text += &format!(
            ", {new} {} in {attempts} {}, the last of {bits} bits",
            counted(new, "block"),
            counted(attempts, "attempt")
        );
    }
    if let Some(cause) = passage.delay_cause {
        text += &format!(", held {} ({cause})", passage.delay);
    }
    text += &match (passage.fate, passage.delivered) {
        (Fate::ErrorDrop, _) => format!(", lost ({rule})"),
        (Fate::DropperDrop, _) => ", taken by the output dropper".to_owned(),
        (Fate::Corrupted, Some(at)) => format!(", damaged ({rule}), out after {}", at - passage.entered),
        (_, Some(at)) => format!(", delivered after {}", at - passage.entered),
        (_, None) => ", still on the link at the end".to_owned(),
    };
    text
}

/// A noun in the singular or plural.
fn counted(count: u16, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// The IP packet as it would be seen on a wire, and its length; of a packet from outside, the bytes that were kept.
fn bytes(packet: &PacketRow, spec: &Spec) -> (Vec<u8>, u32) {
    let address = |node: NodeId| spec.nodes[node.index()].kind.address().unwrap_or(Ipv4Addr::UNSPECIFIED);
    let [from, to] = packet.addresses;
    let header = |protocol| v4::Header {
        traffic_class: packet.class << v4::PRECEDENCE_SHIFT,
        ..v4::Header::new(address(from), address(to), protocol, packet.id.number() as u16)
    };
    let whole = match packet.content.as_deref() {
        Some(Content::Raw { start, size }) => return (start.clone(), *size),
        Some(Content::Datagram { size }) => {
            let len = size.saturating_sub(DATAGRAM_HEADERS);
            let payload = Payload::Pattern { offset: 0, len };
            // A header that a link compresses is written out: no capture could hold less.
            let datagram = Datagram { source_port: DATAGRAM_PORT, destination_port: DATAGRAM_PORT, payload };
            wire::emit_udp_ipv4_behind(header(Protocol::UDP), &datagram)
        }
        Some(Content::Segment(segment)) => wire::emit_ipv4_behind(header(Protocol::TCP), segment),
        None => Vec::new(),
    };
    let len = whole.len() as u32;
    (whole, len)
}

//! Captures: what passed a point, as a pcapng file.
//!
//! Of each packet a capture keeps the headers, or all of it where the specification asks for the payload. A packet has a
//! comment, and its identity, where there is more to say than that it was queued and delivered: it was dropped, damaged
//! or held on the link that it entered or came from, or it was sent again.
//!
//! One point is one interface. For a node, packets go out or come in; at a link, what goes down is
//! outbound and what goes up is inbound. (Two interfaces in a file of raw IP packets, one for each
//! direction, are refused by libpcap, and with it by tcptrace: it takes their link types for different.)

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use units::Instant;
use wire::Payload;
use wire::capture::{Direction, Frame, Interface, VIRTUAL_EPOCH};
use wire::ip::{Protocol, v4};
use wire::pcapng::{Section, Writer};
use wire::udp::Datagram;

use super::passage::{Blocks, Fate, Passage};
use super::sent::{Content, DATAGRAM_HEADERS, Described, Extent, LONGEST_HEADERS, captured_len};
use super::tables::direction;
use super::{Kept, ROWS, Until, Verdicts};
use crate::ids::{ConversationId, DirectionId, Heading, Id, LinkId, NodeId};
use crate::packet::Packet;
use crate::spec::{CapturePoint, Spec};

/// RFC 3551 §8: RTP's port. One is as good as another for datagrams of any workload.
const DATAGRAM_PORT: u16 = 5004;

/// A point of observation, and what passed it.
pub(super) struct Tap {
    point: CapturePoint,
    name: String,
    extent: Extent,
    /// The directions of links that begin at the point.
    leaving: Vec<DirectionId>,
    /// What is not written yet, in order of time.
    waiting: VecDeque<Caught>,
    file: Writer<Vec<u8>>,
}

/// A packet that passed a point.
#[derive(Clone, Copy)]
pub(super) struct Caught {
    at: Instant,
    direction: Direction,
    pub(super) packet: u32,
    pub(super) passage: u32,
}

impl Tap {
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
        let extent = if spec.record.payload { Extent::Packet } else { Extent::Headers };
        let file = begin(&name, extent, spec).expect("memory takes every byte");
        Self { point, name, extent, leaving, waiting: VecDeque::new(), file }
    }

    /// A packet enters a link: it leaves a node.
    pub(super) fn on_entered(&mut self, at: Instant, link: DirectionId, packet: &Packet) {
        if self.leaving.contains(&link) {
            let up = matches!(self.point, CapturePoint::Link(_)) && link.heading() == Heading::Up;
            self.catch(at, if up { Direction::Inbound } else { Direction::Outbound }, packet);
        }
    }

    /// A packet has come to its end, the node `to`.
    pub(super) fn on_received(&mut self, at: Instant, to: u32, packet: &Packet) {
        if self.point == CapturePoint::Node(NodeId::new(to as usize)) {
            self.catch(at, Direction::Inbound, packet);
        }
    }

    fn catch(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        let (packet, passage) = (packet.described, packet.passage);
        self.waiting.push_back(Caught { at, direction, packet, passage });
    }

    /// Whether so much waits that it should be written.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= ROWS
    }

    /// What is not written yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Caught> {
        self.waiting.iter()
    }

    /// The point's name, and the bytes of its file since they were last taken.
    pub(super) fn take(
        &mut self,
        until: Until,
        kept: &Kept<'_>,
        verdicts: &mut Verdicts<'_>,
    ) -> (String, Vec<u8>) {
        let complete = self.waiting.iter().take_while(|caught| until.covers(caught.packet)).count();
        for caught in self.waiting.drain(..complete) {
            let frame = caught.frame(self.extent, kept, verdicts);
            self.file.write(&frame).expect("memory takes every byte");
        }
        (self.name.clone(), std::mem::take(self.file.get_mut()))
    }
}

/// A file without packets.
fn begin(name: &str, extent: Extent, spec: &Spec) -> std::io::Result<Writer<Vec<u8>>> {
    let section = Section {
        application: concat!("lasthop ", env!("CARGO_PKG_VERSION")).to_owned(),
        comment: format!("scenario {}, seed {}", spec.name, spec.seed),
        ..Section::default()
    };
    let mut writer = Writer::new(Vec::new(), &section)?;
    let snap_len = if extent == Extent::Headers { LONGEST_HEADERS } else { 0 };
    writer.add_interface(&Interface { snap_len, ..Interface::raw_ip(name) })?;
    Ok(writer)
}

impl Caught {
    fn frame(&self, extent: Extent, kept: &Kept<'_>, verdicts: &mut Verdicts<'_>) -> Frame {
        let packet = kept.register.described(self.packet);
        let at = VIRTUAL_EPOCH + self.at.saturating_since(Instant::START);
        let (mut data, original_len) = bytes(packet, kept.spec);
        data.truncate(captured_len(&data, extent));
        let comment = self.comment(packet, kept, verdicts);
        Frame {
            direction: Some(self.direction),
            packet: comment.as_ref().map(|_| packet.id),
            comment,
            original_len,
            ..Frame::new(0, at, data)
        }
    }

    /// What the packet is, what became of it on the link, and the verdict if it was sent again; nothing for a packet
    /// that was queued and delivered.
    fn comment(&self, packet: &Described, kept: &Kept<'_>, verdicts: &mut Verdicts<'_>) -> Option<String> {
        let passage = kept.passages.get(self.passage);
        let verdict = verdicts(ConversationId::from_index(packet.flow as usize), packet.id);
        if verdict.is_none() && passage.is_uneventful() {
            return None;
        }
        let link = &kept.spec.links[passage.link as usize / 2].name;
        let mut parts = vec![
            format!("{} {} of {}", packet.id, packet.kind, kept.register.flow_name(packet.flow)),
            format!("{link}.{}: {}", direction(passage.link), fate(passage)),
        ];
        if let Some(verdict) = verdict {
            let word = if verdict.necessary { "necessary" } else { "needless" };
            parts.push(format!("sent again ({}), {word}: {}", verdict.cause, verdict.why));
        }
        Some(parts.join("; "))
    }
}

/// What became of a packet on a link, in words.
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

/// A noun in the number that it has.
fn counted(count: u16, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// The IP packet as it would be seen on a wire, and its length; of one from outside, as much as was kept.
fn bytes(packet: &Described, spec: &Spec) -> (Vec<u8>, u32) {
    let address = |node: u32| spec.nodes[node as usize].kind.address().unwrap_or(Ipv4Addr::UNSPECIFIED);
    let header = |protocol| v4::Header {
        traffic_class: packet.class << v4::PRECEDENCE_SHIFT,
        ..v4::Header::new(address(packet.from), address(packet.to), protocol, packet.id.number() as u16)
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

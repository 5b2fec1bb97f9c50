//! Captures: what passed a point, as a pcapng file with each packet's fate in its comment.
//!
//! One point is one interface. For a node, packets go out or come in; at a link, what goes down is
//! outbound and what goes up is inbound. (Two interfaces in a file of raw IP packets, one for each
//! direction, are refused by libpcap, and with it by tcptrace: it takes their link types for different.)

use std::net::Ipv4Addr;

use trace::ledger::Diagnosis;
use units::Instant;
use wire::Payload;
use wire::capture::{Direction, Frame, Interface, VIRTUAL_EPOCH};
use wire::ip::{Protocol, v4};
use wire::pcapng::{Section, Writer};
use wire::udp::Datagram;

use super::passage::{Fate, Passage};
use super::sent::{Content, DATAGRAM_HEADERS, Described};
use super::tables::direction;
use super::{Recording, verdict};
use crate::packet::Packet;
use crate::spec::{CapturePoint, Spec};

/// RFC 3551 §8: RTP's port. One is as good as another for datagrams of any workload.
const DATAGRAM_PORT: u16 = 5004;

/// A point of observation, and what passed it.
pub(super) struct Tap {
    point: CapturePoint,
    /// The directions of links that begin at the point.
    leaving: Vec<u32>,
    caught: Vec<Caught>,
}

#[derive(Clone, Copy)]
struct Caught {
    at: Instant,
    direction: Direction,
    packet: u32,
    passage: u32,
}

impl Tap {
    pub(super) fn new(point: CapturePoint, spec: &Spec) -> Self {
        let leaving = match point {
            CapturePoint::Link(link) => vec![2 * link as u32, 2 * link as u32 + 1],
            CapturePoint::Node(node) => (0..2 * spec.links.len())
                .filter(|direction| spec.links[direction / 2].ends[direction % 2] == node)
                .map(|direction| direction as u32)
                .collect(),
        };
        Self { point, leaving, caught: Vec::new() }
    }

    /// A packet enters a link: it leaves a node.
    pub(super) fn on_entered(&mut self, at: Instant, link: usize, packet: &Packet) {
        if self.leaving.contains(&(link as u32)) {
            let up = matches!(self.point, CapturePoint::Link(_)) && link % 2 == 1;
            self.catch(at, if up { Direction::Inbound } else { Direction::Outbound }, packet);
        }
    }

    /// A packet has come to its end, the node `to`.
    pub(super) fn on_received(&mut self, at: Instant, to: u32, packet: &Packet) {
        if self.point == CapturePoint::Node(to as usize) {
            self.catch(at, Direction::Inbound, packet);
        }
    }

    fn catch(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        let (packet, passage) = (packet.described, packet.passage);
        self.caught.push(Caught { at, direction, packet, passage });
    }

    /// The point's name and its file.
    pub(super) fn finish(self, kept: &Recording, spec: &Spec, diagnoses: &[Diagnosis]) -> (String, Vec<u8>) {
        let name = match self.point {
            CapturePoint::Node(node) => spec.nodes[node].name.clone(),
            CapturePoint::Link(link) => spec.links[link].name.clone(),
        };
        let file = self.write(&name, kept, spec, diagnoses).expect("memory takes every byte");
        (name, file)
    }

    fn write(
        &self,
        name: &str,
        kept: &Recording,
        spec: &Spec,
        diagnoses: &[Diagnosis],
    ) -> std::io::Result<Vec<u8>> {
        let section = Section {
            application: concat!("lasthop ", env!("CARGO_PKG_VERSION")).to_owned(),
            comment: format!("scenario {}, seed {}", spec.name, spec.seed),
            ..Section::default()
        };
        let mut writer = Writer::new(Vec::new(), &section)?;
        writer.add_interface(&Interface::raw_ip(name))?;
        for caught in &self.caught {
            writer.write(&caught.frame(kept, spec, diagnoses))?;
        }
        writer.finish()
    }
}

impl Caught {
    fn frame(&self, kept: &Recording, spec: &Spec, diagnoses: &[Diagnosis]) -> Frame {
        let packet = kept.register.described(self.packet);
        let at = VIRTUAL_EPOCH + self.at.saturating_since(Instant::START);
        Frame {
            direction: Some(self.direction),
            packet: Some(packet.id),
            comment: Some(self.comment(packet, kept, spec, diagnoses)),
            ..Frame::new(0, at, bytes(packet, spec))
        }
    }

    /// Who the packet is, what became of it on the link, and the verdict if it was sent again.
    fn comment(&self, packet: &Described, kept: &Recording, spec: &Spec, diagnoses: &[Diagnosis]) -> String {
        let passage = &kept.passages[self.passage as usize];
        let link = &spec.links[passage.link as usize / 2].name;
        let mut parts = vec![
            format!("{} {} of {}", packet.id, packet.kind, kept.register.flow_name(packet.flow)),
            format!("{link}.{}: {}", direction(passage.link), fate(passage)),
        ];
        if let Some(verdict) = verdict(diagnoses, packet) {
            let word = if verdict.necessary { "necessary" } else { "needless" };
            parts.push(format!("sent again ({}), {word}: {}", verdict.cause, verdict.why));
        }
        parts.join("; ")
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

/// The IP packet, as it would be seen on a wire.
fn bytes(packet: &Described, spec: &Spec) -> Vec<u8> {
    let address = |node: u32| spec.nodes[node as usize].kind.address().unwrap_or(Ipv4Addr::UNSPECIFIED);
    let header = |protocol| v4::Header {
        traffic_class: packet.class << v4::PRECEDENCE_SHIFT,
        ..v4::Header::new(address(packet.from), address(packet.to), protocol, packet.id.number() as u16)
    };
    match packet.content.as_deref() {
        Some(Content::Raw(bytes)) => bytes.clone(),
        Some(Content::Datagram { size }) => {
            let len = size.saturating_sub(DATAGRAM_HEADERS);
            let payload = Payload::Pattern { offset: 0, len };
            // A header that a link compresses is written out: no capture could hold less.
            let datagram = Datagram { source_port: DATAGRAM_PORT, destination_port: DATAGRAM_PORT, payload };
            wire::emit_udp_ipv4_behind(header(Protocol::UDP), &datagram)
        }
        Some(Content::Segment(segment)) => wire::emit_ipv4_behind(header(Protocol::TCP), segment),
        None => Vec::new(),
    }
}

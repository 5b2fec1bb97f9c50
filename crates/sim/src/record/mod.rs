//! What is kept of a run: tables for Arrow, captures for Wireshark.
//!
//! The engine is written once for any [`Recorder`]. [`Off`] does nothing, so that a run without
//! records pays nothing for them; [`Metering`] only has links metered; [`Recording`] keeps what the specification asks for.
//!
//! Read first: [`Recording`], then `sent.rs` (a packet as it was sent) and `passage.rs` (what
//! became of it on one link). The tables themselves are put together at the end, in `tables.rs`.

mod capture;
mod columns;
mod passage;
mod sent;
mod tables;

pub(crate) use tables::{progress, queue_lengths, transfers};

use arrow_array::RecordBatch;
use link::Event;
use tcp::{Decision, Endpoint};
use trace::ledger::Diagnosis;
use units::{Bytes, Instant};

use crate::external::ObservedFlow;
use crate::packet::Packet;
use crate::spec::{RecordSpec, Spec};
use crate::summary::Summary;
use capture::Tap;
use passage::Passage;
use sent::{Described, Register};

/// What the engine tells of packets, in order of time.
pub(crate) trait Recorder {
    /// Whether there is anything to tell: the engine asks before it prepares arguments.
    const ON: bool;
    /// Whether links are metered: how long they sent, and how long their queues were.
    const METERS: bool;

    /// An end has sent a packet; `conversation` is its connection. For packets from outside the
    /// recorder looks itself.
    fn on_sent(&mut self, now: Instant, packet: &mut Packet, conversation: u32);
    /// A flow has opened one more connection; the answer is what that is called from now on.
    fn on_opened(&mut self, flow: u32) -> u32;
    /// A packet has come to a link.
    fn on_entered(&mut self, now: Instant, link: usize, packet: &mut Packet);
    /// Something has happened to a packet on a link.
    fn on_link_event(&mut self, now: Instant, link: usize, packet: &Packet, event: Event);
    /// A link has refused a packet that is longer than its MTU.
    fn on_oversize(&mut self, packet: &Packet);
    /// A packet has come to its end.
    fn on_received(&mut self, now: Instant, packet: &Packet);
    /// An endpoint may have made decisions.
    fn on_decisions(&mut self, conversation: u32, end: usize, endpoint: &mut Endpoint);
    /// Flows between external nodes have names and verdicts; the verdicts are put where those of
    /// the packets' flows are looked for.
    fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>);
    /// The tables and captures.
    fn finish(self, spec: &Spec, summary: &Summary, diagnoses: &[Diagnosis]) -> (Tables, Captures);
}

/// Tables by name.
pub(crate) type Tables = Vec<(&'static str, RecordBatch)>;
/// pcapng files by the name of their point.
pub(crate) type Captures = Vec<(String, Vec<u8>)>;

/// Keeps nothing.
pub(crate) type Off = Nothing<false>;
/// Keeps nothing of packets, but has links metered.
pub(crate) type Metering = Nothing<true>;

/// Keeps nothing of packets.
pub(crate) struct Nothing<const METERS: bool>;

impl<const METERS: bool> Recorder for Nothing<METERS> {
    const ON: bool = false;
    const METERS: bool = METERS;

    fn on_sent(&mut self, _: Instant, _: &mut Packet, _: u32) {}
    fn on_opened(&mut self, flow: u32) -> u32 {
        flow
    }
    fn on_entered(&mut self, _: Instant, _: usize, _: &mut Packet) {}
    fn on_link_event(&mut self, _: Instant, _: usize, _: &Packet, _: Event) {}
    fn on_oversize(&mut self, _: &Packet) {}
    fn on_received(&mut self, _: Instant, _: &Packet) {}
    fn on_decisions(&mut self, _: u32, _: usize, _: &mut Endpoint) {}
    fn identify(&mut self, _: &[ObservedFlow], _: &mut Vec<Diagnosis>) {}

    fn finish(self, _: &Spec, summary: &Summary, _: &[Diagnosis]) -> (Tables, Captures) {
        (vec![tables::flows(summary)], Vec::new())
    }
}

/// Keeps what was asked for.
pub(crate) struct Recording {
    wanted: RecordSpec,
    register: Register,
    passages: Vec<Passage>,
    sightings: Vec<Sighting>,
    /// By twice the conversation, and one more for its receiver.
    decisions: Vec<(u32, tcp::Record)>,
    queue_lengths: Vec<QueueLength>,
    /// Framing of each direction of each link.
    framings: Vec<Bytes>,
    taps: Vec<Tap>,
}

/// An end saw a packet.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    at: Instant,
    packet: u32,
    /// Whether it was its receiver that saw it, not its sender.
    received: bool,
}

/// How long a queue was after a packet had come to it or left it.
#[derive(Clone, Copy, Debug)]
struct QueueLength {
    at: Instant,
    link: u32,
    packets: u32,
    bytes: Bytes,
    average: Option<f64>,
}

impl Recording {
    pub(crate) fn new(spec: &Spec) -> Self {
        let directions = spec.links.iter().flat_map(|link| [&link.down, &link.up]);
        Self {
            wanted: spec.record.clone(),
            register: Register::new(spec),
            passages: Vec::new(),
            sightings: Vec::new(),
            decisions: Vec::new(),
            queue_lengths: Vec::new(),
            framings: directions.map(|config| config.framing).collect(),
            taps: spec.record.captures.iter().map(|point| Tap::new(*point, spec)).collect(),
        }
    }

    fn on_queue_event(&mut self, at: Instant, link: usize, size: Bytes, event: Event) {
        let (packets, bytes, average) = match event {
            Event::Queued { behind, behind_bytes, average } => {
                (behind + 1, behind_bytes + size + self.framings[link], average)
            }
            Event::QueueDropped { behind, behind_bytes, average, .. } => (behind, behind_bytes, average),
            Event::LeftQueue { left, left_bytes, .. } => (left, left_bytes, None),
            _ => return,
        };
        self.queue_lengths.push(QueueLength { at, link: link as u32, packets, bytes, average });
    }
}

impl Recorder for Recording {
    const ON: bool = true;
    const METERS: bool = true;

    fn on_opened(&mut self, flow: u32) -> u32 {
        self.register.open(flow)
    }

    fn on_sent(&mut self, now: Instant, packet: &mut Packet, conversation: u32) {
        packet.described = self.register.enter(packet, conversation, !self.taps.is_empty());
        if self.wanted.segments {
            self.sightings.push(Sighting { at: now, packet: packet.described, received: false });
        }
    }

    fn on_entered(&mut self, now: Instant, link: usize, packet: &mut Packet) {
        packet.passage = self.passages.len() as u32;
        self.passages.push(Passage::new(packet.described, link, packet.size, now));
        for tap in &mut self.taps {
            tap.on_entered(now, link, packet);
        }
    }

    fn on_link_event(&mut self, now: Instant, link: usize, packet: &Packet, event: Event) {
        let passage = &mut self.passages[packet.passage as usize];
        passage.on_event(now, event);
        if self.wanted.queue {
            let size = Bytes(u64::from(passage.size));
            self.on_queue_event(now, link, size, event);
        }
    }

    fn on_oversize(&mut self, packet: &Packet) {
        self.passages[packet.passage as usize].on_oversize();
    }

    fn on_received(&mut self, now: Instant, packet: &Packet) {
        if self.wanted.segments {
            self.sightings.push(Sighting { at: now, packet: packet.described, received: true });
        }
        let node = self.register.described(packet.described).to;
        for tap in &mut self.taps {
            tap.on_received(now, node, packet);
        }
    }

    fn on_decisions(&mut self, conversation: u32, end: usize, endpoint: &mut Endpoint) {
        let records = endpoint.take_records();
        if self.wanted.tcp {
            let key = 2 * conversation + end as u32 % 2;
            // Of a receiver only what it has agreed to do without: the rest is the sender's story.
            let tells = |record: &tcp::Record| end.is_multiple_of(2) || record.event == Decision::Fallback;
            self.decisions.extend(records.into_iter().filter(tells).map(|record| (key, record)));
        }
    }

    fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>) {
        self.register.identify(observed, diagnoses);
    }

    fn finish(mut self, spec: &Spec, summary: &Summary, diagnoses: &[Diagnosis]) -> (Tables, Captures) {
        let taps = std::mem::take(&mut self.taps);
        let captures = taps.into_iter().map(|tap| tap.finish(&self, spec, diagnoses)).collect();
        (tables::all(&self, spec, summary, diagnoses), captures)
    }
}

/// The verdict on a packet that was a retransmission.
fn verdict<'a>(diagnoses: &'a [Diagnosis], packet: &Described) -> Option<&'a trace::ledger::Verdict> {
    diagnoses.get(packet.flow as usize).and_then(|diagnosis| diagnosis.verdict(packet.id))
}

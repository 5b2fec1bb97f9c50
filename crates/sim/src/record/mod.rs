//! What is recorded of a run: tables for Arrow, captures for Wireshark.
//!
//! The engine is written once for any [`Recorder`]. [`Off`] does nothing, so that a run without
//! records pays nothing for them; [`Metering`] only has links metered; [`Recording`] keeps what the specification asks for.
//!
//! Records come out in parts ([`Records`]) while the run goes on, so that a long run needs no more memory than a short one.
//! A row comes out when nothing can change it any more: when its packet has met its fate on every link, and with it
//! every packet that was sent before (verdicts on retransmissions depend on those).
//!
//! Read first: [`Recording`], then `sent.rs` (a packet as it was sent) and `passage.rs` (what
//! became of it on one link). Rows become tables in `tables.rs`, and pcapng in `capture.rs`.

mod capture;
mod passage;
mod sent;
mod tables;

pub(crate) use tables::{cell_users, progress, queue_lengths, transfers};

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use cell::BlockRecord;
use link::Event;
use tcp::{Decision, Endpoint};
use trace::ledger::{Diagnosis, Verdict};
use units::{Bytes, Instant, PacketId};

use crate::external::ObservedFlow;
use crate::ids::{CellId, ConversationId, DirectionId, FlowId, Id, Side};
use crate::packet::Packet;
use crate::spec::{NodeKind, RecordSpec, Spec};
use crate::summary::Summary;
use capture::Tap;
use passage::{Passage, Passages};
use sent::{Extent, Register};
use workload::ObservedRecord;

/// Rows and bytes that are recorded of a run: those that became complete since they were last taken. Of each table and
/// capture, all that was taken, in order, is the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// Rows of tables, by the table's name.
    pub tables: Tables,
    /// Bytes of pcapng files, by the name of the node or link whose packets they are.
    pub captures: Captures,
}

/// Gives the verdict on a packet of a conversation, if it is a retransmission.
pub(crate) type Verdicts<'a> = dyn FnMut(ConversationId, PacketId) -> Option<Verdict> + 'a;

/// What the engine tells of packets, in order of time.
pub(crate) trait Recorder {
    /// Whether there is anything to tell: the engine asks before it prepares arguments.
    const ON: bool;
    /// Whether links are metered: how long they sent, and how long their queues were.
    const METERS: bool;

    /// An end has sent a packet; `conversation` is its connection. For packets from outside the
    /// recorder looks itself.
    fn on_sent(&mut self, now: Instant, packet: &mut Packet, conversation: ConversationId);
    /// A flow has opened one more connection; the answer is what that is called from now on.
    fn on_opened(&mut self, flow: FlowId) -> ConversationId;
    /// A packet has come to a link.
    fn on_entered(&mut self, now: Instant, direction: DirectionId, packet: &mut Packet);
    /// Something has happened to a packet on a link.
    fn on_link_event(&mut self, now: Instant, direction: DirectionId, packet: &Packet, event: Event);
    /// A shared channel knows the fate of blocks.
    fn on_blocks(&mut self, cell: CellId, blocks: Vec<BlockRecord>);
    /// A link has refused a packet that is longer than its MTU.
    fn on_oversize(&mut self, packet: &Packet);
    /// A packet has come to its end.
    fn on_received(&mut self, now: Instant, packet: &Packet);
    /// An endpoint may have made decisions.
    fn on_decisions(&mut self, conversation: ConversationId, side: Side, endpoint: &mut Endpoint);
    /// Flows between external nodes have names and verdicts; the verdicts are put where those of
    /// the packets' flows are looked for.
    fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>);
    /// Whether so much is kept that it should be taken.
    fn is_full(&self) -> bool;
    /// What is complete by now.
    fn take(&mut self, spec: &Spec, verdicts: &mut Verdicts<'_>) -> Records;
    /// What is left of each table and capture.
    fn finish(self, spec: &Spec, summary: &Summary, diagnoses: &[Diagnosis]) -> Records;
}

/// Tables by name.
pub type Tables = Vec<(&'static str, RecordBatch)>;
/// pcapng files by the name of their point.
pub type Captures = Vec<(String, Vec<u8>)>;

/// Keeps nothing.
pub(crate) type Off = Nothing<false>;
/// Keeps nothing of packets, but has links metered.
pub(crate) type Metering = Nothing<true>;

/// Keeps nothing of packets.
pub(crate) struct Nothing<const METERS: bool>;

impl<const METERS: bool> Recorder for Nothing<METERS> {
    const ON: bool = false;
    const METERS: bool = METERS;

    fn on_sent(&mut self, _: Instant, _: &mut Packet, _: ConversationId) {}
    fn on_opened(&mut self, flow: FlowId) -> ConversationId {
        ConversationId::first_of(flow)
    }
    fn on_entered(&mut self, _: Instant, _: DirectionId, _: &mut Packet) {}
    fn on_link_event(&mut self, _: Instant, _: DirectionId, _: &Packet, _: Event) {}
    fn on_blocks(&mut self, _: CellId, _: Vec<BlockRecord>) {}
    fn on_oversize(&mut self, _: &Packet) {}
    fn on_received(&mut self, _: Instant, _: &Packet) {}
    fn on_decisions(&mut self, _: ConversationId, _: Side, _: &mut Endpoint) {}
    fn identify(&mut self, _: &[ObservedFlow], _: &mut Vec<Diagnosis>) {}
    fn is_full(&self) -> bool {
        false
    }
    fn take(&mut self, _: &Spec, _: &mut Verdicts<'_>) -> Records {
        Records::default()
    }

    fn finish(self, _: &Spec, summary: &Summary, _: &[Diagnosis]) -> Records {
        Records { tables: vec![tables::flows(summary)], captures: Vec::new() }
    }
}

/// Keeps what was asked for, until it is taken.
pub(crate) struct Recording {
    wanted: RecordSpec,
    /// Whether rows may be taken before the end. Not where packets come from outside: the flows that they belong to get
    /// their names and verdicts at the end.
    in_parts: bool,
    register: Register,
    passages: Passages,
    sightings: VecDeque<Sighting>,
    decisions: Vec<Decided>,
    queue_lengths: Vec<QueueLength>,
    blocks: Vec<(CellId, BlockRecord)>,
    /// Framing of each direction of each link.
    framings: Vec<Bytes>,
    taps: Vec<Tap>,
}

/// Rows of a table in one part: some megabytes of a table in memory, and a row group of a Parquet file.
pub const ROWS: usize = 16_384;

/// An end saw a packet.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    at: Instant,
    packet: u32,
    /// Whether it was its receiver that saw it, not its sender.
    received: bool,
}

/// An endpoint has decided something.
#[derive(Debug)]
struct Decided {
    /// Twice the conversation, and one more for its receiver.
    end: u32,
    /// What it is about, as a place in the stream; none before the stream has begun.
    place: Option<i64>,
    record: tcp::Record,
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
            in_parts: !spec.nodes.iter().any(|node| matches!(node.kind, NodeKind::External { .. })),
            register: Register::new(spec),
            passages: Passages::default(),
            sightings: VecDeque::new(),
            decisions: Vec::new(),
            queue_lengths: Vec::new(),
            blocks: Vec::new(),
            framings: directions.map(|config| config.framing).collect(),
            taps: spec.record.captures.iter().map(|point| Tap::new(*point, spec)).collect(),
        }
    }

    /// What is kept of a packet's content.
    fn content(&self) -> Option<Extent> {
        let extent = if self.wanted.payload { Extent::Packet } else { Extent::Headers };
        (!self.taps.is_empty()).then_some(extent)
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

    fn on_opened(&mut self, flow: FlowId) -> ConversationId {
        ConversationId::from_index(self.register.open(flow.index() as u32) as usize)
    }

    fn on_sent(&mut self, now: Instant, packet: &mut Packet, conversation: ConversationId) {
        let conversation = conversation.index() as u32;
        packet.described = self.register.enter(packet, conversation, self.content());
        if self.wanted.segments {
            self.sightings.push_back(Sighting { at: now, packet: packet.described, received: false });
        }
    }

    fn on_entered(&mut self, now: Instant, direction: DirectionId, packet: &mut Packet) {
        packet.passage =
            self.passages.push(Passage::new(packet.described, direction.index(), packet.size, now));
        for tap in &mut self.taps {
            tap.on_entered(now, direction, packet);
        }
    }

    fn on_link_event(&mut self, now: Instant, direction: DirectionId, packet: &Packet, event: Event) {
        let passage = self.passages.get_mut(packet.passage);
        passage.on_event(now, event);
        match event {
            Event::Duplicated => self.register.copied(packet.described),
            Event::QueueDropped { .. } | Event::ErrorDropped { .. } | Event::DropperDropped => {
                self.register.gone(packet.described);
            }
            _ => {}
        }
        if self.wanted.queue {
            let size = Bytes(u64::from(packet.size));
            self.on_queue_event(now, direction.index(), size, event);
        }
    }

    fn on_blocks(&mut self, cell: CellId, blocks: Vec<BlockRecord>) {
        self.blocks.extend(blocks.into_iter().map(|block| (cell, block)));
    }

    fn on_oversize(&mut self, packet: &Packet) {
        self.passages.get_mut(packet.passage).on_oversize();
        self.register.gone(packet.described);
    }

    fn on_received(&mut self, now: Instant, packet: &Packet) {
        if self.wanted.segments {
            self.sightings.push_back(Sighting { at: now, packet: packet.described, received: true });
        }
        let node = self.register.described(packet.described).to;
        for tap in &mut self.taps {
            tap.on_received(now, node, packet);
        }
        self.register.gone(packet.described);
    }

    fn on_decisions(&mut self, conversation: ConversationId, side: Side, endpoint: &mut Endpoint) {
        let records = endpoint.take_records();
        if self.wanted.tcp {
            let end = 2 * conversation.index() as u32 + side as u32;
            // Of a receiver only what it has agreed to do without: the rest is the sender's story.
            let tells = |record: &tcp::Record| side == Side::From || record.event == Decision::Fallback;
            let register = &self.register;
            let decided = |record: tcp::Record| {
                let place = register.relative(end, record.seq);
                Decided { end, place, record }
            };
            self.decisions.extend(records.into_iter().filter(tells).map(decided));
        }
    }

    fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>) {
        self.register.identify(observed, diagnoses);
        if !self.wanted.tcp {
            return;
        }
        for connection in observed.iter().flat_map(|flow| &flow.connections) {
            let Some(conversation) = self.register.conversation_of(connection) else { continue };
            for (side, records) in (0..).zip(&connection.records) {
                let end = 2 * conversation + side;
                let decided = |observed: &ObservedRecord| Decided {
                    end,
                    place: Some(observed.place),
                    record: observed.record,
                };
                self.decisions.extend(records.iter().map(decided));
            }
        }
        self.decisions.sort_by_key(|decided| decided.record.at);
    }

    fn is_full(&self) -> bool {
        let kept = [
            self.passages.len(),
            self.sightings.len(),
            self.decisions.len(),
            self.queue_lengths.len(),
            self.blocks.len(),
        ];
        self.in_parts && (kept.into_iter().any(|rows| rows >= ROWS) || self.taps.iter().any(Tap::is_full))
    }

    fn take(&mut self, spec: &Spec, verdicts: &mut Verdicts<'_>) -> Records {
        let settled = Until::Settled(self.register.settled());
        self.drain(settled, spec, verdicts)
    }

    fn finish(mut self, spec: &Spec, summary: &Summary, diagnoses: &[Diagnosis]) -> Records {
        let mut verdicts = |flow: ConversationId, packet| {
            diagnoses.get(flow.index()).and_then(|found| found.verdict(packet)).copied()
        };
        let mut records = self.drain(Until::End, spec, &mut verdicts);
        records.tables.push(tables::flows(summary));
        records
    }
}

/// Which rows are complete.
#[derive(Clone, Copy)]
enum Until {
    /// Those of packets that were described before this one.
    Settled(u32),
    /// All.
    End,
}

impl Until {
    /// Whether the rows of a packet are complete.
    fn covers(self, packet: u32) -> bool {
        match self {
            Self::Settled(first_open) => packet < first_open,
            Self::End => true,
        }
    }

    /// How many of so many complete rows of a table come out now: before the end, full batches.
    fn batches(self, complete: usize) -> usize {
        match self {
            Self::Settled(_) => complete - complete % ROWS,
            Self::End => complete,
        }
    }
}

impl Recording {
    /// Takes out the rows that are complete, and forgets the packets that no other row is about.
    fn drain(&mut self, until: Until, spec: &Spec, verdicts: &mut Verdicts<'_>) -> Records {
        let mut tables = Vec::new();
        let passages = self.passages.complete(until);
        let open_since = self.passages.entered(passages);
        if self.wanted.packets {
            let rows = self.passages.pass(until.batches(passages));
            put(&mut tables, until, rows, |rows| tables::packets(rows, &self.register, spec));
        } else {
            self.passages.pass(passages);
        }
        if self.wanted.tcp {
            let rows: Vec<_> = self.decisions.drain(..until.batches(self.decisions.len())).collect();
            put(&mut tables, until, &rows, |rows| tables::tcp(rows, &self.register, spec));
        }
        if self.wanted.queue {
            let rows = self.take_queue_lengths(until, open_since);
            put(&mut tables, until, &rows, |rows| tables::queue(rows, spec));
        }
        if self.wanted.cell {
            let rows: Vec<_> = self.blocks.drain(..until.batches(self.blocks.len())).collect();
            put(&mut tables, until, &rows, |rows| tables::cell(rows, spec));
        }
        if self.wanted.segments {
            let complete = self.sightings.iter().take_while(|row| until.covers(row.packet)).count();
            let rows: Vec<_> = self.sightings.drain(..until.batches(complete)).collect();
            put(&mut tables, until, &rows, |rows| tables::segments(rows, &self.register, spec, verdicts));
        }
        let kept = Kept { register: &self.register, passages: &self.passages, spec };
        let captures = self.taps.iter_mut().map(|tap| tap.take(until, &kept, verdicts)).collect();
        self.forget();
        Records { tables, captures }
    }

    /// The lengths before `open_since`, in order of time. A link tells of the past when it is next called, so they come
    /// out of order among links; but it tells nothing older than the packets that are on it.
    fn take_queue_lengths(&mut self, until: Until, open_since: Option<Instant>) -> Vec<QueueLength> {
        self.queue_lengths.sort_by_key(|row| row.at);
        let complete = match (until, open_since) {
            (Until::Settled(_), Some(open)) => self.queue_lengths.partition_point(|row| row.at < open),
            _ => self.queue_lengths.len(),
        };
        self.queue_lengths.drain(..until.batches(complete)).collect()
    }

    /// Forgets the passages and packets that are over and that no row is waiting for.
    fn forget(&mut self) {
        let caught = || self.taps.iter().flat_map(Tap::waiting);
        self.passages.forget_before(caught().map(|caught| caught.passage).min());
        let packets = self.sightings.iter().map(|row| row.packet).chain(caught().map(|caught| caught.packet));
        self.register.forget_before(packets.chain(self.passages.packets()).min());
    }
}

/// Puts a table of `rows` to the others; an empty one only at the end, where each table must be known.
fn put<T>(tables: &mut Tables, until: Until, rows: &[T], table: impl FnOnce(&[T]) -> tables::Table) {
    if !rows.is_empty() || matches!(until, Until::End) {
        tables.push(table(rows));
    }
}

/// What rows of captures are put together from.
struct Kept<'a> {
    register: &'a Register,
    passages: &'a Passages,
    spec: &'a Spec,
}

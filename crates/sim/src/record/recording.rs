//! The recorder that keeps what the specification asks for.

use std::collections::VecDeque;

use cell::BlockRecord;
use link::Event;
use tcp::{Decision, Endpoint};
use trace::ledger::Diagnosis;
use units::{Bytes, Instant};
use workload::ObservedRecord;

use super::capture::{CaptureWriter, Recorded};
use super::packet_row::SnapLength;
use super::packet_table::PacketTable;
use super::passage::{Passage, Passages};
use super::recorder::{Recorder, Records, Tables};
use super::rows::{DecisionRow, Horizon, Observation, ProxyRow, QueueLength, ROWS, VariableRow, Verdicts};
use super::tables;
use crate::external::ObservedFlow;
use crate::ids::{CellId, ConversationId, DirectionId, FlowId, Id, NodeId, ProxyId, Side};
use crate::packet::Packet;
use crate::spec::{NodeKind, RecordSpec, Spec};
use crate::summary::Summary;

/// Keeps what was asked for, until it is taken.
pub(crate) struct Recording {
    wanted: RecordSpec,
    /// Whether rows may be taken before the end. They may not where packets come from outside, because their flows get
    /// names and verdicts at the end.
    in_parts: bool,
    packet_table: PacketTable,
    passages: Passages,
    observations: VecDeque<Observation>,
    decisions: Vec<DecisionRow>,
    variables: Vec<VariableRow>,
    queue_lengths: Vec<QueueLength>,
    blocks: Vec<(CellId, BlockRecord)>,
    proxy_rows: Vec<ProxyRow>,
    /// The node and the name of each proxy.
    proxies: Vec<(NodeId, String)>,
    /// Framing of each direction of each link, in bytes per packet.
    framings: Vec<Bytes>,
    captures: Vec<CaptureWriter>,
}

impl Recording {
    pub(crate) fn new(spec: &Spec) -> Self {
        let directions = spec.links.iter().flat_map(|link| [&link.down, &link.up]);
        Self {
            wanted: spec.record.clone(),
            in_parts: !spec.nodes.iter().any(|node| matches!(node.kind, NodeKind::External { .. })),
            packet_table: PacketTable::new(spec),
            passages: Passages::default(),
            observations: VecDeque::new(),
            decisions: Vec::new(),
            variables: Vec::new(),
            queue_lengths: Vec::new(),
            blocks: Vec::new(),
            proxy_rows: Vec::new(),
            proxies: spec.proxies.iter().map(|proxy| (proxy.node, proxy.name.clone())).collect(),
            framings: directions.map(|config| config.framing).collect(),
            captures: spec.record.captures.iter().map(|point| CaptureWriter::new(*point, spec)).collect(),
        }
    }

    /// The part of each packet that captures keep, if there are captures.
    fn snap_length(&self) -> Option<SnapLength> {
        let snap_length = if self.wanted.payload { SnapLength::Whole } else { SnapLength::Headers };
        (!self.captures.is_empty()).then_some(snap_length)
    }

    fn on_queue_event(&mut self, at: Instant, direction: DirectionId, size: Bytes, event: Event) {
        let (packets, bytes, average) = match event {
            Event::Queued { behind, behind_bytes, average } => {
                (behind + 1, behind_bytes + size + self.framings[direction.index()], average)
            }
            Event::QueueDropped { behind, behind_bytes, average, .. } => (behind, behind_bytes, average),
            Event::LeftQueue { left, left_bytes, .. } => (left, left_bytes, None),
            _ => return,
        };
        self.queue_lengths.push(QueueLength { at, direction, packets, bytes, average });
    }
}

impl Recorder for Recording {
    const ON: bool = true;
    const METERS: bool = true;

    fn on_opened(&mut self, flow: FlowId) -> ConversationId {
        self.packet_table.open(flow)
    }

    fn on_sent(&mut self, now: Instant, packet: &mut Packet, conversation: ConversationId) {
        packet.row = self.packet_table.insert(packet, conversation, self.snap_length());
        if self.wanted.segments {
            self.observations.push_back(Observation { at: now, packet: packet.row, received: false });
        }
    }

    fn on_entered(&mut self, now: Instant, direction: DirectionId, packet: &mut Packet) {
        packet.passage = self.passages.push(Passage::new(packet.row, direction, packet.size, now));
        for capture in &mut self.captures {
            capture.on_entered(now, direction, packet);
        }
    }

    fn on_link_event(&mut self, now: Instant, direction: DirectionId, packet: &Packet, event: Event) {
        let passage = self.passages.get_mut(packet.passage);
        passage.on_event(now, event);
        match event {
            Event::Duplicated => self.packet_table.on_duplicated(packet.row),
            Event::QueueDropped { .. } | Event::ErrorDropped { .. } | Event::DropperDropped => {
                self.packet_table.on_settled(packet.row);
            }
            _ => {}
        }
        if self.wanted.queue {
            let size = Bytes(u64::from(packet.size));
            self.on_queue_event(now, direction, size, event);
        }
    }

    fn on_blocks(&mut self, cell: CellId, blocks: Vec<BlockRecord>) {
        self.blocks.extend(blocks.into_iter().map(|block| (cell, block)));
    }

    fn on_oversize(&mut self, packet: &Packet) {
        self.passages.get_mut(packet.passage).on_oversize();
        self.packet_table.on_settled(packet.row);
    }

    fn on_received(&mut self, now: Instant, packet: &Packet) {
        if self.wanted.segments {
            self.observations.push_back(Observation { at: now, packet: packet.row, received: true });
        }
        let node = self.packet_table.row(packet.row).to;
        for capture in &mut self.captures {
            capture.on_received(now, node, packet);
        }
        self.packet_table.on_settled(packet.row);
    }

    fn on_resent(&mut self, packet: &mut Packet, conversation: ConversationId) {
        packet.row = self.packet_table.insert(packet, conversation, self.snap_length());
        self.packet_table.name_local(packet.row);
    }

    fn on_discarded(&mut self, packet: &Packet) {
        self.packet_table.on_settled(packet.row);
    }

    fn on_split(&mut self, conversations: [ConversationId; 2], proxy: ProxyId) {
        let (node, name) = &self.proxies[proxy.index()];
        self.packet_table.split(conversations, (*node, name));
    }

    fn on_proxy_event(&mut self, row: ProxyRow) {
        if self.wanted.proxies {
            let seen = self.packet_table.position(row.conversation, row.side, row.event.seq);
            self.proxy_rows.push(ProxyRow { position: row.position.or(seen), ..row });
        }
    }

    fn on_decisions(&mut self, conversation: ConversationId, side: Side, endpoint: &mut Endpoint) {
        let records = endpoint.take_records();
        if self.wanted.tcp {
            // Of a receiver only the options that it gave up: the other decisions are the sender's.
            let is_recorded = |record: &tcp::Record| side == Side::From || record.event == Decision::Fallback;
            let packets = &self.packet_table;
            let row = |record: tcp::Record| {
                let position = packets.position(conversation, side, record.seq);
                DecisionRow { conversation, side, position, record }
            };
            self.decisions.extend(records.into_iter().filter(is_recorded).map(row));
            let changes = endpoint.take_variables().into_iter();
            self.variables.extend(changes.map(|record| VariableRow { conversation, side, record }));
        }
    }

    fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>) {
        self.packet_table.identify(observed, diagnoses);
        if !self.wanted.tcp {
            return;
        }
        for connection in observed.iter().flat_map(|flow| &flow.connections) {
            let Some(conversation) = self.packet_table.conversation_of(connection) else { continue };
            for (side, records) in Side::BOTH.into_iter().zip(&connection.records) {
                let row = |observed: &ObservedRecord| DecisionRow {
                    conversation,
                    side,
                    position: Some(observed.place),
                    record: observed.record,
                };
                self.decisions.extend(records.iter().map(row));
            }
        }
        self.decisions.sort_by_key(|row| row.record.at);
    }

    fn is_full(&self) -> bool {
        let kept = [
            self.passages.len(),
            self.observations.len(),
            self.decisions.len(),
            self.variables.len(),
            self.queue_lengths.len(),
            self.blocks.len(),
            self.proxy_rows.len(),
        ];
        self.in_parts
            && (kept.into_iter().any(|rows| rows >= ROWS) || self.captures.iter().any(CaptureWriter::is_full))
    }

    fn take(&mut self, spec: &Spec, verdicts: &mut Verdicts<'_>) -> Records {
        let settled = Horizon::Settled(self.packet_table.settled());
        self.drain(settled, spec, verdicts)
    }

    fn finish(mut self, spec: &Spec, summary: &Summary, diagnoses: &[Diagnosis]) -> Records {
        let mut verdicts = |flow: ConversationId, packet| {
            diagnoses.get(flow.index()).and_then(|found| found.verdict(packet)).copied()
        };
        let mut records = self.drain(Horizon::End, spec, &mut verdicts);
        records.tables.push(tables::flows(summary));
        records
    }
}

impl Recording {
    /// Takes out the rows that are complete, and removes the packets to which no other row refers.
    fn drain(&mut self, horizon: Horizon, spec: &Spec, verdicts: &mut Verdicts<'_>) -> Records {
        let mut tables = Vec::new();
        let passages = self.passages.complete(horizon);
        let open_since = self.passages.entered(passages);
        if self.wanted.packets {
            let rows = self.passages.take(horizon.batches(passages));
            put(&mut tables, horizon, rows, |rows| tables::packets(rows, &self.packet_table, spec));
        } else {
            self.passages.take(passages);
        }
        if self.wanted.tcp {
            let rows: Vec<_> = self.decisions.drain(..horizon.batches(self.decisions.len())).collect();
            put(&mut tables, horizon, &rows, |rows| tables::tcp(rows, &self.packet_table, spec));
            // A result without a program that names its variables has no such table.
            let changes: Vec<_> = self.variables.drain(..horizon.batches(self.variables.len())).collect();
            if !changes.is_empty() {
                tables.push(tables::variables(&changes, &self.packet_table, spec));
            }
        }
        if self.wanted.queue {
            let rows = self.take_queue_lengths(horizon, open_since);
            put(&mut tables, horizon, &rows, |rows| tables::queue(rows, spec));
        }
        if self.wanted.cell {
            let rows: Vec<_> = self.blocks.drain(..horizon.batches(self.blocks.len())).collect();
            put(&mut tables, horizon, &rows, |rows| tables::cell(rows, spec));
        }
        if self.wanted.proxies {
            let rows: Vec<_> = self.proxy_rows.drain(..horizon.batches(self.proxy_rows.len())).collect();
            put(&mut tables, horizon, &rows, |rows| tables::proxies(rows, &self.packet_table, spec));
        }
        if self.wanted.segments {
            let complete = self.observations.iter().take_while(|row| horizon.covers(row.packet)).count();
            let rows: Vec<_> = self.observations.drain(..horizon.batches(complete)).collect();
            put(&mut tables, horizon, &rows, |rows| {
                tables::segments(rows, &self.packet_table, spec, verdicts)
            });
        }
        let recorded = Recorded { packet_table: &self.packet_table, passages: &self.passages, spec };
        let captures =
            self.captures.iter_mut().map(|capture| capture.take(horizon, &recorded, verdicts)).collect();
        self.remove_settled();
        Records { tables, captures }
    }

    /// The lengths before `open_since`, in order of time. A link reports past events when it is next called, so that
    /// the events of several links come out of order; but it reports nothing older than the packets that are on it.
    fn take_queue_lengths(&mut self, horizon: Horizon, open_since: Option<Instant>) -> Vec<QueueLength> {
        self.queue_lengths.sort_by_key(|row| row.at);
        let complete = match (horizon, open_since) {
            (Horizon::Settled(_), Some(open)) => self.queue_lengths.partition_point(|row| row.at < open),
            _ => self.queue_lengths.len(),
        };
        self.queue_lengths.drain(..horizon.batches(complete)).collect()
    }

    /// Removes the passages and packets that are over and to which no row refers.
    fn remove_settled(&mut self) {
        let captured = || self.captures.iter().flat_map(CaptureWriter::waiting);
        self.passages.remove_before(captured().map(|captured| captured.passage).min());
        let packets =
            self.observations.iter().map(|row| row.packet).chain(captured().map(|captured| captured.packet));
        self.packet_table.remove_before(packets.chain(self.passages.packets()).min());
    }
}

/// Adds a table of `rows`. An empty table is added at the end only, where every table must be present.
fn put<T>(tables: &mut Tables, horizon: Horizon, rows: &[T], table: impl FnOnce(&[T]) -> tables::Table) {
    if !rows.is_empty() || matches!(horizon, Horizon::End) {
        tables.push(table(rows));
    }
}

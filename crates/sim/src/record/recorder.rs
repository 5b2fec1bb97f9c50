//! The interface to which the engine reports, and recorders that keep nothing.

use arrow_array::RecordBatch;
use cell::BlockRecord;
use link::Event;
use tcp::Endpoint;
use trace::ledger::Diagnosis;
use units::Instant;

use super::rows::{ProxyRow, Verdicts};
use super::tables;
use crate::external::ObservedFlow;
use crate::ids::{CellId, ConversationId, DirectionId, FlowId, ProxyId, Side};
use crate::packet::Packet;
use crate::spec::Spec;
use crate::summary::Summary;

/// Recorded rows and bytes that became complete since the last call. A table or capture is the concatenation of all its
/// parts, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// Rows of tables, by the table's name.
    pub tables: Tables,
    /// Bytes of pcapng files, by the name of the node or link whose packets they are.
    pub captures: Captures,
}

/// Receives the engine's reports on packets, in order of time.
pub(crate) trait Recorder {
    /// Whether reports are wanted: the engine asks before it prepares arguments.
    const ON: bool;
    /// Whether links are metered: how long they sent, and how long their queues were.
    const METERS: bool;

    /// An end has sent a packet of `conversation`. The recorder finds out itself to which conversation a packet from
    /// outside belongs.
    fn on_sent(&mut self, now: Instant, packet: &mut Packet, conversation: ConversationId);
    /// A flow has opened one more connection; returns its identity.
    fn on_opened(&mut self, flow: FlowId) -> ConversationId;
    /// A packet has entered a link.
    fn on_entered(&mut self, now: Instant, direction: DirectionId, packet: &mut Packet);
    /// Something has happened to a packet on a link.
    fn on_link_event(&mut self, now: Instant, direction: DirectionId, packet: &Packet, event: Event);
    /// A shared channel has learned the fate of transport blocks.
    fn on_blocks(&mut self, cell: CellId, blocks: Vec<BlockRecord>);
    /// A link has refused a packet that is longer than its MTU.
    fn on_oversize(&mut self, packet: &Packet);
    /// A packet has arrived at its destination.
    fn on_received(&mut self, now: Instant, packet: &Packet);
    /// A proxy has sent a copy of a packet again.
    fn on_resent(&mut self, packet: &mut Packet, conversation: ConversationId);
    /// A packet has ended at a proxy.
    fn on_discarded(&mut self, packet: &Packet);
    /// A proxy splits a connection into two.
    fn on_split(&mut self, conversations: [ConversationId; 2], proxy: ProxyId);
    /// A proxy has done something.
    fn on_proxy_event(&mut self, row: ProxyRow);
    /// An endpoint may have made decisions.
    fn on_decisions(&mut self, conversation: ConversationId, side: Side, endpoint: &mut Endpoint);
    /// Flows between external nodes have got names and verdicts. The recorder adds their verdicts to `diagnoses`, which
    /// conversations index.
    fn identify(&mut self, observed: &[ObservedFlow], diagnoses: &mut Vec<Diagnosis>);
    /// Whether a full batch of rows is waiting to be taken.
    fn is_full(&self) -> bool;
    /// Takes the rows that are complete.
    fn take(&mut self, spec: &Spec, verdicts: &mut Verdicts<'_>) -> Records;
    /// Takes the rest of each table and capture.
    fn finish(self, spec: &Spec, summary: &Summary, diagnoses: &[Diagnosis]) -> Records;
}

/// Tables by name.
pub type Tables = Vec<(&'static str, RecordBatch)>;
/// pcapng files by the name of the captured node or link.
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
    fn on_resent(&mut self, _: &mut Packet, _: ConversationId) {}
    fn on_discarded(&mut self, _: &Packet) {}
    fn on_split(&mut self, _: [ConversationId; 2], _: ProxyId) {}
    fn on_proxy_event(&mut self, _: ProxyRow) {}
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

//! What is told of flows over stacks: from the segments at the sender's end, or from the stack's own counts.
//!
//! The packets of QUIC tell nobody but their ends what they are, so for such a flow the columns are quinn's counts:
//! `segments_sent` its packets, `retransmissions` the packets that it took for lost (what they carried goes out again in
//! others), `timeouts` its probe timeouts, `fast_retransmits` its congestion events. The links know which datagrams of the
//! sender they lost: what it took for lost beyond those is `unnecessary_retransmissions`. `spurious_timeouts` is not known.

use std::net::SocketAddr;

use sim::{FlowSpec, FlowSummary, ObservedConnection, ObservedFlow, ObservedRecord, Spec};
use trace::flow::Side;
use units::Instant;

use crate::captures::{HostCaptures, summarise, summarise_all};
use crate::host::Host;
use crate::program::{ProgramConnection, ProgramOutcome};
use crate::stack::{Counters, Phase};

/// One end of a flow: where it was captured, and its host if that has a stack in this process.
pub struct Observer<'a> {
    /// The place of the sender's host in the captures.
    pub capture: usize,
    /// The sender's host.
    pub sender: Option<&'a mut Host>,
    /// Bytes that the receiver read and checked.
    pub received: Option<u64>,
    /// The records of the receiver's stack.
    pub receiver_records: Vec<sim::ObservedRecord>,
}

/// What is told of the `index`th flow.
pub fn observe(
    spec: &Spec,
    flow: &FlowSpec,
    index: usize,
    captures: &HostCaptures,
    mut observer: Observer<'_>,
) -> ObservedFlow {
    let ends = crate::flows::ends(spec, flow, index);
    let name = |node: usize| spec.nodes[node].name.as_str();
    let names = [name(flow.from), name(flow.to)];
    let captured = captures.flow(observer.capture, ends);
    let mut summary = summarise(flow, names, captured);
    let counted = observer.sender.as_ref().and_then(|host| host.counters(index));
    if let Some(counters) = counted {
        let phase = observer.sender.as_ref().map(|host| host.phase(index));
        let done = phase == Some(Phase::Closed);
        let lost = captures.lost_datagrams(ends);
        summary = counted_summary(summary, &counters, done, observer.received.unwrap_or(0), lost);
    }
    summary.received = observer.received.unwrap_or(0);
    summary.connections = 1;
    captures.tell(index, &mut summary);
    summary.completed &= observer.received == Some(summary.bytes);
    let diagnosis = captured.map(|flow| flow.half(Side::Opener).diagnosis()).unwrap_or_default();
    let sender = observer.sender.as_mut().map(|host| host.take_records(index)).unwrap_or_default();
    let records = [sender, told_by_receiver(observer.receiver_records)];
    let connection = ObservedConnection { ends: ends.map(SocketAddr::V4), diagnosis, records };
    ObservedFlow { summary, connections: vec![connection], transfers: Vec::new() }
}

/// What is told of the `index`th flow, whose program ran over stacks and whose `from` was captured at the place `capture`.
/// `lost` of its datagrams that have not arrived are known to be lost.
pub fn observe_program(
    spec: &Spec,
    flow: &FlowSpec,
    index: usize,
    captures: &HostCaptures,
    (capture, lost): (usize, u64),
    ran: ProgramOutcome,
) -> ObservedFlow {
    let name = |node: usize| spec.nodes[node].name.as_str();
    let found: Vec<_> =
        ran.connections.iter().filter_map(|one| captures.connection(capture, one.ends)).collect();
    let mut summary = summarise_all(flow, [name(flow.from), name(flow.to)], &found);
    if let Some(counters) = &ran.counters {
        let lost = ran.connections.iter().map(|one| captures.lost_datagrams(one.ends)).sum();
        summary = counted_summary(summary, counters, true, ran.received, lost);
    }
    summary.received = ran.received;
    summary.connections = ran.connections.len() as u64;
    summary.completed &= ran.all_closed;
    if !ran.connections.is_empty() {
        captures.tell(index, &mut summary);
    }
    let mut connections: Vec<_> =
        ran.connections.into_iter().map(|one| observed_connection(one, captures, capture)).collect();
    if connections.is_empty() {
        let ends = crate::flows::ends(spec, flow, index).map(SocketAddr::V4);
        connections.push(ObservedConnection {
            ends,
            diagnosis: Default::default(),
            records: Default::default(),
        });
    }
    let mut observed = ObservedFlow { summary, connections, transfers: Vec::new() };
    ran.program.tell(lost, ran.is_done, &mut observed);
    observed
}

fn observed_connection(
    connection: ProgramConnection,
    captures: &HostCaptures,
    capture: usize,
) -> ObservedConnection {
    let found = captures.connection(capture, connection.ends);
    let diagnosis = found.map(|(flow, side)| flow.half(side).diagnosis()).unwrap_or_default();
    let [from, to] = connection.records;
    ObservedConnection {
        ends: connection.ends.map(SocketAddr::V4),
        diagnosis,
        records: [from, told_by_receiver(to)],
    }
}

/// Of a receiver only what it has agreed to do without: the rest is the sender's story, as in a World's own flows.
fn told_by_receiver(mut records: Vec<ObservedRecord>) -> Vec<ObservedRecord> {
    records.retain(|observed| observed.record.event == tcp::Decision::Fallback);
    records
}

/// The summary of a flow whose stack counts for itself.
fn counted_summary(
    named: FlowSummary,
    counters: &Counters,
    done: bool,
    received: u64,
    lost: u64,
) -> FlowSummary {
    let since = |first: Instant, last: Instant| last.saturating_since(first).as_secs_f64();
    let elapsed_s = counters.first_sent.zip(counters.last_heard).map(|(first, last)| since(first, last));
    FlowSummary {
        bytes: received,
        elapsed_s,
        throughput_bps: elapsed_s.filter(|elapsed| *elapsed > 0.0).map(|elapsed| received as f64 / elapsed),
        segments_sent: counters.packets,
        retransmissions: counters.lost,
        unnecessary_retransmissions: counters.lost.saturating_sub(lost),
        timeouts: counters.probe_timeouts,
        fast_retransmits: counters.congestion_events,
        completed: done,
        ..named
    }
}

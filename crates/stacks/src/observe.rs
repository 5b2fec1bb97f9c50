//! The results of flows over stacks: from the segments at the sender's end, or from the stack's own counters.
//!
//! Only the ends of a QUIC connection can read its packets, so for such a flow the columns are quinn's counters:
//! `segments_sent` its packets, `retransmissions` the packets that it declared lost (others carry their data again),
//! `timeouts` its probe timeouts, `fast_retransmits` its congestion events. The links know which datagrams of the
//! sender they lost: packets declared lost beyond those are `unnecessary_retransmissions`. `spurious_timeouts` is not
//! known.
//!
//! Of DCCP nothing is sent again: `retransmissions` and `fast_retransmits` are zero, `segments_sent` counts data
//! packets, `timeouts` those that passed without feedback, and `packets_lost` the data packets that the links lost.

use std::net::SocketAddr;

use sim::{FlowSpec, FlowSummary, ObservedConnection, ObservedFlow, Spec};
use trace::flow::Side as CapturedSide;
use trace::ledger::Diagnosis;
use units::{FlowId, Instant};
use workload::{Counters, ObservedRecord, ProgramConnection, ProgramOutcome};

use crate::addresses::ends;
use crate::captures::{HostCaptures, summarise, summarise_all};
use crate::report::TransferReport;

/// Observations of a bulk transfer at the end of a run.
pub struct Observer<'a> {
    /// The place of the sender's host in the captures.
    pub capture: usize,
    /// The report of the sender's host, if its stack is in a process of lasthop's.
    pub sender: Option<&'a TransferReport>,
    /// Bytes that the receiver read and checked.
    pub received: Option<u64>,
    /// The records of the receiver's stack.
    pub receiver_records: &'a [ObservedRecord],
    /// The counters of the receiver's stack, if the flow's datagrams are DCCP's.
    pub dccp: Option<Counters>,
}

/// The results of a bulk transfer.
#[must_use]
pub fn observe(
    spec: &Spec,
    flow: &FlowSpec,
    id: FlowId,
    captures: &HostCaptures,
    observer: &Observer<'_>,
) -> ObservedFlow {
    let ends = ends(spec, flow, id).into_array();
    let captured = captures.flow(observer.capture, ends);
    let mut summary = summarise(flow, names(spec, flow), captured);
    if let Some((report, counters)) = observer.sender.and_then(|report| Some((report, report.counters?))) {
        let (received, lost) = (observer.received.unwrap_or(0), captures.lost_datagrams(ends));
        summary = match &observer.dccp {
            Some(of_receiver) => {
                let ended = report.is_closed;
                dccp_summary(summary, [&counters, of_receiver], (received, lost), ended)
            }
            None => counted_summary(summary, &counters, report.is_closed, received, lost),
        };
    }
    summary.received = observer.received.unwrap_or(0);
    summary.connections = 1;
    captures.complete(id, &mut summary);
    summary.completed &= observer.received == Some(summary.bytes);
    let diagnosis = captured.map(|flow| flow.half(CapturedSide::Opener).diagnosis()).unwrap_or_default();
    let sent = observer.sender.map(|report| report.records.clone()).unwrap_or_default();
    let records = [sent, of_receiver(observer.receiver_records.to_vec())];
    let connection = ObservedConnection { ends: ends.map(SocketAddr::V4), diagnosis, records };
    let mut connections = vec![connection];
    add_continued(&mut connections, captures);
    ObservedFlow { summary, connections, transfers: Vec::new(), samples: Vec::new() }
}

/// The results of a flow whose program ran over hosts outside the World, and whose `from` was captured at the place
/// `capture`. `lost` of its datagrams that have not arrived are known to be lost.
#[must_use]
pub fn observe_program(
    spec: &Spec,
    flow: &FlowSpec,
    id: FlowId,
    captures: &HostCaptures,
    (capture, lost): (usize, u64),
    outcome: ProgramOutcome,
) -> ObservedFlow {
    let connection = |one: &ProgramConnection| captures.connection(capture, one.ends.into_array());
    let found: Vec<_> = outcome.connections.iter().filter_map(connection).collect();
    let mut summary = summarise_all(flow, names(spec, flow), &found);
    if let Some(counters) = &outcome.counters {
        let lost = |one: &ProgramConnection| captures.lost_datagrams(one.ends.into_array());
        let lost = outcome.connections.iter().map(lost).sum();
        summary = counted_summary(summary, counters, true, outcome.received, lost);
    }
    summary.received = outcome.received;
    summary.connections = outcome.connections.len() as u64;
    summary.completed &= outcome.all_closed;
    if !outcome.connections.is_empty() {
        captures.complete(id, &mut summary);
    }
    let mut connections: Vec<_> =
        outcome.connections.into_iter().map(|one| observed_connection(one, captures, capture)).collect();
    add_continued(&mut connections, captures);
    if connections.is_empty() {
        let ends = ends(spec, flow, id).map(SocketAddr::V4).into_array();
        let (diagnosis, records) = Default::default();
        connections.push(ObservedConnection { ends, diagnosis, records });
    }
    let mut observed = ObservedFlow { summary, connections, transfers: Vec::new(), samples: Vec::new() };
    observed.add_program(&outcome.log, flow.workload.service(), lost, outcome.is_done);
    observed
}

/// The names of a flow's hosts.
fn names<'a>(spec: &'a Spec, flow: &FlowSpec) -> [&'a str; 2] {
    flow.nodes().map(|node| spec.node(node).name.as_str()).into_array()
}

fn observed_connection(
    connection: ProgramConnection,
    captures: &HostCaptures,
    capture: usize,
) -> ObservedConnection {
    let ends = connection.ends.into_array();
    let found = captures.connection(capture, ends);
    let diagnosis = found.map(|(flow, side)| flow.half(side).diagnosis()).unwrap_or_default();
    let [from, to] = connection.records.into_array();
    ObservedConnection { ends: ends.map(SocketAddr::V4), diagnosis, records: [from, of_receiver(to)] }
}

/// Adds the pairs of ends from which connections continued, so that their packets are the flow's.
fn add_continued(connections: &mut Vec<ObservedConnection>, captures: &HostCaptures) {
    let opened = connections.iter().filter_map(|one| match one.ends {
        [SocketAddr::V4(from), SocketAddr::V4(to)] => Some([from, to]),
        _ => None,
    });
    let continued = opened.flat_map(|ends| captures.continued(ends)).map(|ends| ObservedConnection {
        ends: ends.map(SocketAddr::V4),
        diagnosis: Diagnosis::default(),
        records: Default::default(),
    });
    let continued: Vec<_> = continued.collect();
    connections.extend(continued);
}

/// Of a receiver's records only those of options that it fell back from, and of its migrations: the others are the
/// sender's, as in a World's own flows.
fn of_receiver(mut records: Vec<ObservedRecord>) -> Vec<ObservedRecord> {
    let is_of_receiver = |event| matches!(event, tcp::Decision::Fallback | tcp::Decision::Migrate);
    records.retain(|observed| is_of_receiver(observed.record.event));
    records
}

/// The summary of a bulk flow over DCCP, from the counters of its sender and its receiver.
fn dccp_summary(
    named: FlowSummary,
    [sender, receiver]: [&Counters; 2],
    (received, lost): (u64, u64),
    ended: bool,
) -> FlowSummary {
    let mut summary = counted_summary(named, sender, ended, received, lost);
    (summary.retransmissions, summary.unnecessary_retransmissions, summary.fast_retransmits) = (0, 0, 0);
    summary.measures.packets_lost = lost;
    summary.measures.loss_event_rate = Some(loss_event_rate([sender, receiver]));
    summary
}

/// Adds what DCCP counted to a program's flow whose datagrams it carried, and its decisions.
pub(crate) fn add_dccp(
    observed: &mut ObservedFlow,
    [sender, receiver]: [&Counters; 2],
    records: Vec<ObservedRecord>,
) {
    observed.summary.timeouts = sender.probe_timeouts;
    observed.summary.measures.loss_event_rate = Some(loss_event_rate([sender, receiver]));
    if let Some(connection) = observed.connections.first_mut() {
        connection.records[0] = records;
    }
}

/// Loss events for each data packet sent: those that the receiver counted (CCID 3), or reductions of the sender's
/// window (CCID 2), which answers once a window.
fn loss_event_rate([sender, receiver]: [&Counters; 2]) -> f64 {
    let events = sender.loss_events(receiver);
    if sender.packets > 0 { events as f64 / sender.packets as f64 } else { 0.0 }
}

/// The summary of a flow from the counters of its sender's stack.
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

//! The packets captured at each host, and the flows' statistics from them.

use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4};

use sim::{ExternalEvent, ExternalFate, FlowSpec, FlowSummary, MilestoneSummary};
use trace::capture::Capture;
use trace::flow::{Flow, Side};
use units::{Bytes, Instant, PacketId};
use wire::Transport;

/// One capture for each host, in the order of the hosts.
#[derive(Debug)]
pub struct HostCaptures {
    captures: Vec<Capture>,
    /// Datagrams that were lost on their way between two ends, from the first to the second.
    lost_datagrams: BTreeMap<[SocketAddrV4; 2], u64>,
}

impl HostCaptures {
    /// Makes empty captures for `hosts` hosts. They note when a flow reaches one of the milestones.
    #[must_use]
    pub fn new(hosts: usize, flows: &[FlowSpec]) -> Self {
        let mut milestones: Vec<Bytes> =
            flows.iter().flat_map(|flow| flow.milestones.iter().copied()).collect();
        milestones.sort();
        milestones.dedup();
        let captures = vec![Capture::with_milestones(milestones); hosts];
        Self { captures, lost_datagrams: BTreeMap::new() }
    }

    /// Captures a packet that a host sent or received.
    pub fn handle_packet(&mut self, now: Instant, host: usize, id: PacketId, packet: &[u8]) {
        // A packet that is not IP is counted by the capture, and concerns no flow.
        let _ = self.captures[host].handle_packet(now, id, packet);
    }

    /// Notes a drop or delay of a packet in every capture: the loss of an acknowledgment explains the behaviour of the
    /// host that it was sent to.
    pub fn handle_event(&mut self, event: &ExternalEvent) {
        if matches!(event.fate, ExternalFate::Lost { .. })
            && let Some(ends) = datagram_ends(&event.bytes)
        {
            *self.lost_datagrams.entry(ends).or_default() += 1;
        }
        for capture in &mut self.captures {
            match event.fate {
                ExternalFate::Lost { rule } => capture.handle_loss(event.at, event.id, &event.bytes, rule),
                ExternalFate::Delayed { by, cause } => {
                    capture.handle_delay(event.at, &event.bytes, by, cause)
                }
            }
        }
    }

    /// Returns the latest flow captured at `host` between two ends, the one that opened it first.
    #[must_use]
    pub fn flow(&self, host: usize, ends: [SocketAddrV4; 2]) -> Option<&Flow> {
        let ends = ends.map(SocketAddr::V4);
        self.captures[host].flows().iter().rev().find(|flow| flow.ends() == ends)
    }

    /// Returns how many datagrams from the first of two ends to the second were lost.
    #[must_use]
    pub fn lost_datagrams(&self, ends: [SocketAddrV4; 2]) -> u64 {
        self.lost_datagrams.get(&ends).copied().unwrap_or(0)
    }
}

/// Returns who sends a datagram to whom.
fn datagram_ends(packet: &[u8]) -> Option<[SocketAddrV4; 2]> {
    let parsed = wire::parse(packet).ok()?;
    let (wire::ip::Header::V4(header), Transport::Udp(datagram)) = (parsed.header, parsed.transport) else {
        return None;
    };
    Some([
        SocketAddrV4::new(header.source, datagram.source_port),
        SocketAddrV4::new(header.destination, datagram.destination_port),
    ])
}

/// Returns the statistics of a flow, captured at the host that opens it and sends. A flow without packets has only its
/// names.
#[must_use]
pub fn summarise(spec: &FlowSpec, names: [&str; 2], captured: Option<&Flow>) -> FlowSummary {
    let [from, to] = names.map(str::to_owned);
    let named = FlowSummary { flow: spec.name.clone(), from, to, ..FlowSummary::default() };
    let Some(flow) = captured else { return named };
    let measured = summary_of(flow, Side::Opener);
    FlowSummary {
        flow: named.flow,
        from: named.from,
        to: named.to,
        milestones: milestones(spec, flow),
        ..measured
    }
}

/// Returns the statistics of what one side of a captured flow sent, without names and milestones.
#[must_use]
pub fn summary_of(flow: &Flow, side: Side) -> FlowSummary {
    let sender = flow.half(side);
    let counters = sender.counters();
    let diagnosis = sender.diagnosis();
    let bytes = sender.acked().0;
    let elapsed_s = flow.elapsed(side).map(|elapsed| elapsed.as_secs_f64());
    FlowSummary {
        bytes,
        elapsed_s,
        throughput_bps: elapsed_s.filter(|elapsed| *elapsed > 0.0).map(|elapsed| bytes as f64 / elapsed),
        segments_sent: counters.data_segments,
        retransmissions: counters.retransmissions,
        unnecessary_retransmissions: diagnosis.unnecessary_retransmissions(),
        timeouts: counters.timeouts,
        spurious_timeouts: diagnosis.spurious_timeouts(),
        fast_retransmits: counters.fast_retransmits,
        completed: flow.completed(side),
        causes: diagnosis.causes().into_iter().map(|(cause, count)| (cause.to_owned(), count)).collect(),
        ..FlowSummary::default()
    }
}

/// Returns the flow's milestones in the order of the specification. The capture notes those of all flows for each.
fn milestones(spec: &FlowSpec, flow: &Flow) -> Vec<MilestoneSummary> {
    let began = flow.syn_at().unwrap_or(flow.first_seen());
    let seen = |bytes: &Bytes| flow.half(Side::Opener).milestones().iter().find(|one| one.bytes == *bytes);
    let wanted = spec.milestones.iter().filter_map(seen);
    wanted
        .map(|one| MilestoneSummary {
            bytes: one.bytes.0,
            elapsed_s: one.at.map(|at| at.saturating_since(began).as_secs_f64()),
            retransmissions: one.retransmissions,
        })
        .collect()
}

//! What passes the hosts' boundaries, and the flows' numbers from it.

use std::net::{SocketAddr, SocketAddrV4};

use sim::{ExternalEvent, ExternalFate, FlowSpec, FlowSummary, MilestoneSummary};
use trace::capture::Capture;
use trace::flow::{Flow, Side};
use units::{Bytes, Instant, PacketId};

/// What was seen at each host's boundary, in the order of the hosts.
#[derive(Debug)]
pub(crate) struct Sightings {
    hosts: Vec<Capture>,
    /// Packets that could not be read as IP.
    unreadable: u64,
}

impl Sightings {
    /// Nothing seen yet, at `hosts` boundaries; the flows' milestones are noted when they come.
    pub(crate) fn new(hosts: usize, flows: &[FlowSpec]) -> Self {
        let mut milestones: Vec<Bytes> =
            flows.iter().flat_map(|flow| flow.milestones.iter().copied()).collect();
        milestones.sort();
        milestones.dedup();
        Self { hosts: vec![Capture::with_milestones(milestones); hosts], unreadable: 0 }
    }

    /// A host's kernel sent a packet.
    pub(crate) fn sent(&mut self, now: Instant, host: usize, id: PacketId, packet: &[u8]) {
        self.see(now, host, id, packet);
    }

    /// A host's kernel got a packet.
    pub(crate) fn received(&mut self, now: Instant, host: usize, id: PacketId, packet: &[u8]) {
        self.see(now, host, id, packet);
    }

    /// Something became of a packet between the hosts. All are told: the loss of an acknowledgment
    /// matters to whom it was for.
    pub(crate) fn told(&mut self, event: &ExternalEvent) {
        for capture in &mut self.hosts {
            match event.fate {
                ExternalFate::Lost { rule } => capture.handle_loss(event.at, event.id, &event.bytes, rule),
                ExternalFate::Delayed { by, cause } => {
                    capture.handle_delay(event.at, &event.bytes, by, cause)
                }
            }
        }
    }

    /// The flow that was seen at `host` between two ends, the opener first.
    pub(crate) fn flow(&self, host: usize, ends: [SocketAddrV4; 2]) -> Option<&Flow> {
        let ends = ends.map(SocketAddr::V4);
        self.hosts[host].flows().iter().rev().find(|flow| flow.ends() == ends)
    }

    fn see(&mut self, now: Instant, host: usize, id: PacketId, packet: &[u8]) {
        if self.hosts[host].handle_packet(now, id, packet).is_err() {
            self.unreadable += 1;
        }
    }
}

/// The numbers of a flow whose opener sends, as seen at its opener; of a flow that was never seen,
/// only the names.
pub(crate) fn summarise(spec: &FlowSpec, names: [&str; 2], seen: Option<&Flow>) -> FlowSummary {
    let [from, to] = names.map(str::to_owned);
    let named = FlowSummary { flow: spec.name.clone(), from, to, ..FlowSummary::default() };
    let Some(flow) = seen else { return named };
    let sender = flow.half(Side::Opener);
    let counters = sender.counters();
    let diagnosis = sender.diagnosis();
    let bytes = sender.acked().0;
    let elapsed_s = flow.elapsed(Side::Opener).map(|elapsed| elapsed.as_secs_f64());
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
        completed: flow.completed(Side::Opener),
        milestones: milestones(spec, flow),
        causes: diagnosis.causes().into_iter().map(|(cause, count)| (cause.to_owned(), count)).collect(),
        ..named
    }
}

/// The flow's own milestones, in the order of the specification; each was noted for every flow.
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

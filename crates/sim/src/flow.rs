//! One flow: its program, its connections, and their totals.

use std::collections::VecDeque;
use std::sync::Arc;

use trace::ledger::Diagnosis;
use units::{Duration, Instant, Streams};
use workload::{Program, Service, Transfer, Transport};

use crate::connection;
use crate::datagrams::Datagrams;
use crate::ids::{ConnectionId, PerSide};
use crate::measure::{DelayHistogram, Delays, FlowMeasures, FlowReading, OneWayDelays};
use crate::spec::FlowSpec;
use crate::split::SplitPlan;
use crate::summary::{FlowSummary, MilestoneSummary};

/// A flow between two hosts.
pub(crate) struct Flow {
    pub(crate) name: String,
    /// The TCPs of `from` and `to`.
    pub(crate) tcps: PerSide<Arc<tcp::Config>>,
    /// How a proxy splits its connections, if one does.
    pub(crate) split: Option<SplitPlan>,
    pub(crate) streams: Streams,
    pub(crate) service: Service,
    pub(crate) phase: FlowPhase,
    pub(crate) program: Box<dyn Program>,
    /// The places of its connections.
    pub(crate) places: Vec<ConnectionId>,
    /// Places without an open connection, the longest unused first.
    pub(crate) free: VecDeque<ConnectionId>,
    /// Connections so far.
    pub(crate) opened: u32,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) datagrams: Datagrams,
    /// Delays of its packets; of segments only if they are to be measured.
    pub(crate) one_way: OneWayDelays,
    totals: Totals,
}

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowPhase {
    /// Not yet started.
    Waiting,
    /// Its program runs, or its connections are still closing.
    Open,
    /// The program is done and every connection closed.
    Over,
}

/// The totals of the connections that are over.
#[derive(Default)]
struct Totals {
    reading: FlowReading,
    first_syn: Option<Instant>,
    last_ack: Option<Instant>,
    fast_retransmits: u64,
    incomplete: u64,
    needless: u64,
    spurious: u64,
    causes: std::collections::BTreeMap<String, u64>,
    milestones: Vec<MilestoneSummary>,
}

impl Flow {
    pub(crate) fn new(
        spec: &FlowSpec,
        (tcps, split): (PerSide<Arc<tcp::Config>>, Option<SplitPlan>),
        streams: Streams,
        start: Instant,
        place: ConnectionId,
    ) -> Self {
        let program = spec.workload.program(&streams, start);
        let service = spec.workload.service();
        Self {
            name: spec.name.clone(),
            tcps,
            split,
            streams,
            service,
            phase: FlowPhase::Waiting,
            program,
            places: vec![place],
            free: VecDeque::from([place]),
            opened: 0,
            transfers: Vec::new(),
            datagrams: Datagrams::new(service.budget, service.rtp),
            one_way: OneWayDelays::default(),
            totals: Totals::default(),
        }
    }

    /// Whether the flow has nothing more to do and nothing more to come.
    pub(crate) fn is_done(&self) -> bool {
        self.program.is_done() && self.free.len() == self.places.len() && self.datagrams.outstanding() == 0
    }

    /// Adds the results of a connection that is over.
    pub(crate) fn add(&mut self, result: connection::Result, milestones: Vec<MilestoneSummary>) -> Diagnosis {
        let totals = &mut self.totals;
        totals.reading += result.reading;
        totals.first_syn = totals.first_syn.into_iter().chain(result.first_syn).min();
        totals.last_ack = totals.last_ack.max(result.last_ack);
        totals.fast_retransmits += result.fast_retransmits;
        totals.incomplete += u64::from(!result.complete);
        totals.needless += result.diagnosis.unnecessary_retransmissions();
        totals.spurious += result.diagnosis.spurious_timeouts();
        for (cause, count) in result.diagnosis.causes() {
            *totals.causes.entry(cause.to_owned()).or_default() += count;
        }
        if totals.milestones.is_empty() {
            totals.milestones = milestones;
        }
        result.diagnosis
    }

    /// The totals so far; `open` are those of the connections that are not counted yet.
    pub(crate) fn reading(&self, open: impl Iterator<Item = FlowReading>) -> FlowReading {
        let mut reading = self.totals.reading;
        open.for_each(|connection| reading += connection);
        if self.service.transport == Transport::Udp {
            self.datagrams.fill(&mut reading);
        }
        self.one_way.fill(&mut reading);
        reading
    }

    /// The flow's part of the summary, once every connection is counted.
    pub(crate) fn summary(&mut self, from: &str, to: &str) -> FlowSummary {
        let reading = self.reading(std::iter::empty());
        let totals = std::mem::take(&mut self.totals);
        let [first, last] = match self.service.transport {
            Transport::Tcp => [totals.first_syn, totals.last_ack],
            Transport::Udp => self.datagrams.span(),
        };
        let elapsed = first.zip(last).map(|(first, last)| last.saturating_since(first));
        let bytes = reading.acked;
        FlowSummary {
            flow: self.name.clone(),
            from: from.to_owned(),
            to: to.to_owned(),
            bytes,
            elapsed_s: elapsed.map(Duration::as_secs_f64),
            throughput_bps: elapsed
                .filter(|time| !time.is_zero())
                .map(|time| bytes as f64 / time.as_secs_f64()),
            segments_sent: reading.segments,
            retransmissions: reading.retransmissions,
            unnecessary_retransmissions: totals.needless,
            timeouts: reading.timeouts,
            spurious_timeouts: totals.spurious,
            fast_retransmits: totals.fast_retransmits,
            completed: self.is_complete(&totals),
            milestones: totals.milestones,
            causes: totals.causes,
            received: reading.received,
            acks: reading.acks,
            ack_bytes: reading.ack_bytes,
            connections: u64::from(self.opened),
            measures: FlowMeasures::of(&reading, self.delays_since(None), &self.transfers)
                .rated(self.service.voice, &reading)
                .played_whole(self.service.playback, &self.transfers),
            windows: Vec::new(),
        }
    }

    /// The one-way delays since a reading.
    pub(crate) fn delays_since(&self, before: Option<&DelayHistogram>) -> Option<Delays> {
        self.one_way.delays().since(before.unwrap_or(&DelayHistogram::default()))
    }

    fn is_complete(&self, totals: &Totals) -> bool {
        match self.service.transport {
            Transport::Tcp => self.opened > 0 && totals.incomplete == 0,
            Transport::Udp => self.phase == FlowPhase::Over,
        }
    }
}

//! Windows and samples of flows that run outside the World: a driver reads their totals at the times that are due.

use units::{FlowId, Instant};
use workload::{Service, Transfer};

use super::summary::FlowSpan;
use super::{FlowReading, OneWayDelays, Reading, Sampler, WindowResult};
use crate::spec::RecordSpec;

/// The totals of a flow outside the World at one time.
#[derive(Debug, Default)]
pub struct FlowTotals {
    /// Its counts.
    pub counts: FlowReading,
    /// The one-way delays of its packets.
    pub delays: OneWayDelays,
}

/// The counts of a flow outside the World at one time: a row of the table `progress`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressSample {
    /// The time.
    pub at: Instant,
    /// The counts.
    pub counts: FlowReading,
}

/// Reads flows outside the World at the times that the windows and samples of a scenario ask for.
///
/// Order of calls: [`OutsideSampler::take`] at each [`OutsideSampler::due`], after everything that happens at that
/// time; [`OutsideSampler::finish`] at the end.
#[derive(Debug, Default)]
pub struct OutsideSampler {
    sampler: Sampler,
    latest: Vec<FlowReading>,
}

/// The windows and samples of flows outside the World.
#[derive(Debug)]
pub struct OutsideMeasures {
    windows: Vec<WindowResult>,
    samples: Vec<super::Sample>,
}

impl OutsideSampler {
    /// A sampler that has read nothing.
    #[must_use]
    pub fn new(record: &RecordSpec) -> Self {
        Self { sampler: Sampler::new(record), latest: Vec::new() }
    }

    /// Time of the next reading; [`Instant::NEVER`] if there is none.
    #[must_use]
    pub fn due(&self) -> Instant {
        self.sampler.next()
    }

    /// Takes the totals of all flows, in their order, at the time that is due.
    pub fn take(&mut self, flows: Vec<FlowTotals>) {
        let reading = self.reading(self.due(), flows);
        self.sampler.take(&reading);
    }

    /// Ends with the totals at the end of the run.
    #[must_use]
    pub fn finish(mut self, at: Instant, flows: Vec<FlowTotals>) -> OutsideMeasures {
        let last = self.reading(at, flows);
        let (windows, samples) = self.sampler.finish(&last);
        OutsideMeasures { windows, samples }
    }

    fn reading(&mut self, at: Instant, flows: Vec<FlowTotals>) -> Reading {
        let mut reading = Reading { at, ..Reading::at_start() };
        self.latest.resize(flows.len(), FlowReading::default());
        for (FlowTotals { mut counts, delays }, latest) in flows.into_iter().zip(&mut self.latest) {
            delays.fill(&mut counts);
            // The counters of a stack may leave out a connection that has just ended.
            *latest = counts.max(*latest);
            reading.flows.push(*latest);
            reading.delays.push(delays.delays().clone());
        }
        reading
    }
}

impl OutsideMeasures {
    /// The windows of a flow; the position of its totals in the readings is `flow`.
    #[must_use]
    pub fn windows(&self, flow: FlowId, transfers: &[Transfer], service: &Service) -> Vec<FlowSpan> {
        self.windows.iter().map(|window| window.flow(flow, transfers, service)).collect()
    }

    /// The samples of a flow.
    #[must_use]
    pub fn samples(&self, flow: FlowId) -> Vec<ProgressSample> {
        let own = self.samples.iter().filter(|sample| sample.flow.index() == flow.index());
        own.map(|sample| ProgressSample { at: sample.at, counts: sample.reading }).collect()
    }
}

//! Measures over spans of the run: what flows and links did between two times, and samples of how
//! far each flow has got.
//!
//! The [`Sampler`] is read between events, never by an event of its own, so that measuring changes no
//! packet. Read first: `reading.rs` for what is read, then [`Sampler`]; `meter.rs` adds up what a link
//! does not count itself.

mod delays;
mod e_model;
mod meter;
mod one_way;
mod outside;
mod reading;
mod summary;

use units::{Duration, Instant};

use crate::ids::{FlowId, Id};
use crate::spec::RecordSpec;

pub(crate) use delays::{DelayHistogram, Delays};
pub(crate) use meter::LinkMeter;
pub use one_way::OneWayDelays;
pub use outside::{FlowTotals, OutsideMeasures, OutsideSampler, ProgressSample};
pub use reading::FlowReading;
pub(crate) use reading::{CellReading, LinkReading, LinkTimes, Reading};
pub(crate) use summary::times_between;
pub use summary::{FlowMeasures, FlowSpan, LinkMeasures, LinkSpan};

/// Reads the run at the times that its windows and samples ask for.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    windows: Vec<Window>,
    /// Whether the summary has the times of links and the one-way delays of flows. Recorded runs are metered in any
    /// case, and their summary is the same as without records.
    pub(crate) metered: bool,
    /// The boundaries of windows that are still ahead, the next one last.
    boundaries: Vec<Instant>,
    every: Option<Duration>,
    next_sample: Instant,
    samples: Vec<Sample>,
}

/// A window during the run.
#[derive(Debug)]
struct Window {
    name: String,
    from: Instant,
    /// [`Instant::NEVER`]: the end of the run.
    to: Instant,
    opened: Option<Reading>,
    closed: Option<Reading>,
}

/// The readings at both ends of a window.
#[derive(Debug)]
pub(crate) struct WindowResult {
    pub(crate) name: String,
    pub(crate) opened: Reading,
    pub(crate) closed: Reading,
}

/// Progress of one flow at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    pub(crate) flow: FlowId,
    pub(crate) reading: FlowReading,
}

impl Sampler {
    pub(crate) fn new(record: &RecordSpec) -> Self {
        let spec = &record.measure;
        let windows: Vec<Window> = spec.windows.iter().map(Window::new).collect();
        let times = windows.iter().flat_map(|window| [window.from, window.to]);
        // The start needs no reading: nothing lies before it.
        let within = |at: &Instant| *at != Instant::START && *at != Instant::NEVER;
        let mut boundaries: Vec<Instant> = times.filter(within).collect();
        boundaries.sort_unstable_by(|a, b| b.cmp(a));
        boundaries.dedup();
        let next_sample = spec.sample.map_or(Instant::NEVER, |every| Instant::START + every);
        let metered = spec.links || record.queue_lengths;
        Self { windows, metered, boundaries, every: spec.sample, next_sample, samples: Vec::new() }
    }

    /// Time at which the run is to be read next, after everything that happens at that time.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.next_sample.min(self.boundaries.last().copied().unwrap_or(Instant::NEVER))
    }

    /// Whether a window opens or closes at the next reading.
    pub(crate) fn is_at_boundary(&self) -> bool {
        self.boundaries.last() == Some(&self.next())
    }

    /// Takes a reading at the time that [`Sampler::next`] gave.
    pub(crate) fn take(&mut self, reading: &Reading) {
        let at = reading.at;
        if self.next_sample == at {
            self.sample(reading);
            self.next_sample = at + self.every.unwrap_or(Duration::MAX);
        }
        if self.boundaries.pop_if(|boundary| *boundary == at).is_some() {
            for window in &mut self.windows {
                window.take(reading);
            }
        }
    }

    /// Measurements of all windows that were opened; windows that are still open are closed now. Also the samples with
    /// one of now.
    pub(crate) fn finish(mut self, last: &Reading) -> (Vec<WindowResult>, Vec<Sample>) {
        if self.every.is_some() && self.samples.last().is_none_or(|sample| sample.at < last.at) {
            self.sample(last);
        }
        let results = self.windows.into_iter().filter_map(|window| window.result(last)).collect();
        (results, self.samples)
    }

    fn sample(&mut self, reading: &Reading) {
        let rows = (0..).zip(&reading.flows);
        self.samples.extend(rows.map(|(index, flow)| Sample {
            at: reading.at,
            flow: FlowId::from_index(index),
            reading: *flow,
        }));
    }
}

impl Window {
    fn new(spec: &crate::spec::WindowSpec) -> Self {
        Self {
            name: spec.name.clone(),
            from: Instant::START + spec.from,
            to: spec.to.map_or(Instant::NEVER, |to| Instant::START + to),
            opened: spec.from.is_zero().then(Reading::at_start),
            closed: None,
        }
    }

    fn take(&mut self, reading: &Reading) {
        if self.from == reading.at {
            self.opened = Some(reading.clone());
        }
        if self.to == reading.at {
            self.closed = Some(reading.clone());
        }
    }

    fn result(self, last: &Reading) -> Option<WindowResult> {
        let closed = self.closed.unwrap_or_else(|| last.clone());
        Some(WindowResult { name: self.name, opened: self.opened?, closed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{MeasureSpec, WindowSpec};

    fn sampler(windows: &[(u64, Option<u64>)], sample: Option<u64>) -> Sampler {
        let window = |(from, to): &(u64, Option<u64>)| WindowSpec {
            name: format!("from-{from}"),
            from: Duration::from_secs(*from),
            to: to.map(Duration::from_secs),
        };
        let windows = windows.iter().map(window).collect();
        let measure = MeasureSpec { links: false, windows, sample: sample.map(Duration::from_secs) };
        Sampler::new(&RecordSpec { measure, ..RecordSpec::default() })
    }

    /// Reads until nothing more is wanted before `end`, and answers with the times.
    fn read(sampler: &mut Sampler, end: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while sampler.next() <= Instant::START + Duration::from_secs(end) {
            let at = sampler.next();
            sampler.take(&Reading {
                cells: Vec::new(),
                at,
                flows: vec![FlowReading::default()],
                links: Vec::new(),
                delays: Vec::new(),
            });
            times.push((at - Instant::START).as_nanos() / 1_000_000_000);
        }
        times
    }

    #[test]
    fn boundaries_and_samples_are_read_in_order_and_once_each() {
        let mut sampler = sampler(&[(4, Some(7)), (0, Some(4)), (7, None)], Some(3));
        assert_eq!(read(&mut sampler, 10), [3, 4, 6, 7, 9]);
    }

    #[test]
    fn a_window_that_is_open_at_the_end_closes_there_and_one_ahead_is_left_out() {
        let mut sampler = sampler(&[(1, None), (20, Some(30))], None);
        read(&mut sampler, 10);
        let at = Instant::START + Duration::from_secs(12);
        let (results, samples) = sampler.finish(&Reading { at, ..Reading::at_start() });
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].closed.at, at);
        assert!(samples.is_empty());
    }
}

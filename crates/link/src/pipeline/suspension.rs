//! Times during which the transmitter is suspended: delay spikes, pre-emption, handovers.
//!
//! Each kind is a sequence of periods, drawn from its own streams, whether or not there is anything to transmit.
//! So it is known when a transmission starts which of them it will meet.

use std::collections::VecDeque;

use units::{Duration, Instant, Streams};

use crate::config::{Config, Handovers, Suspensions};
use crate::distribution::{Distribution, Source};
use crate::event::DelayCause;

/// Draws the periods of one kind, one after the other.
#[derive(Debug)]
pub(super) struct SuspensionProcess {
    intervals: Source<Duration>,
    lengths: Source<Duration>,
    /// Time at which the last period that was drawn ends.
    end: Instant,
}

/// From when, and until when.
pub(super) type Period = (Instant, Instant);

impl SuspensionProcess {
    fn new(
        interval: &Distribution<Duration>,
        length: &Distribution<Duration>,
        streams: &Streams,
        name: &str,
    ) -> Self {
        let stream = |what: &str| streams.stream(&format!("{name}_{what}"));
        Self {
            intervals: Source::new(interval, stream("interval")),
            lengths: Source::new(length, stream("length")),
            end: Instant::START,
        }
    }

    /// The handovers' process: the same periods each time that it is made.
    pub(super) fn of_handovers(handovers: &Handovers, streams: &Streams) -> Self {
        Self::new(&handovers.interval, &handovers.suspension, streams, "handover")
    }

    fn of(suspensions: &Suspensions, streams: &Streams, name: &str) -> Self {
        Self::new(&suspensions.interval, &suspensions.length, streams, name)
    }

    /// Draws the next period.
    pub(super) fn next(&mut self) -> Period {
        let start = self.end + self.intervals.draw().max(SHORTEST_INTERVAL);
        self.end = start + self.lengths.draw();
        (start, self.end)
    }
}

/// The suspensions of a link: one series for each cause.
#[derive(Debug)]
pub(super) struct SuspensionStage {
    series: Vec<SuspensionSeries>,
}

#[derive(Debug)]
struct SuspensionSeries {
    process: SuspensionProcess,
    cause: DelayCause,
    /// Periods that were drawn and are not over yet.
    ahead: VecDeque<Period>,
}

impl SuspensionSeries {
    const fn new(process: SuspensionProcess, cause: DelayCause) -> Self {
        Self { process, cause, ahead: VecDeque::new() }
    }

    /// Forgets the periods that are over at `now`.
    fn forget(&mut self, now: Instant) {
        while self.ahead.front().is_some_and(|(_, end)| *end <= now) {
            self.ahead.pop_front();
        }
    }

    /// The first period that is not over at `at`.
    fn first_after(&mut self, at: Instant) -> Period {
        if let Some(known) = self.ahead.iter().find(|(_, end)| *end > at) {
            return *known;
        }
        loop {
            let next = self.process.next();
            self.ahead.push_back(next);
            if next.1 > at {
                return next;
            }
        }
    }
}

impl SuspensionStage {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        let plain = |suspensions: &Option<Suspensions>, name: &str, cause| {
            let process = suspensions.as_ref().map(|some| SuspensionProcess::of(some, streams, name));
            process.map(|process| SuspensionSeries::new(process, cause))
        };
        let handovers = config.handovers.as_ref();
        let handovers = handovers.map(|some| SuspensionProcess::of_handovers(some, streams));
        let series = [
            plain(&config.spikes, "spike", DelayCause::Spike),
            plain(&config.preemption, "preemption", DelayCause::Preemption),
            handovers.map(|process| SuspensionSeries::new(process, DelayCause::Handover)),
        ];
        Self { series: series.into_iter().flatten().collect() }
    }

    #[inline]
    pub(super) fn is_absent(&self) -> bool {
        self.series.is_empty()
    }

    /// Until when the transmitter is suspended, and why, if it is at `now`.
    pub(super) fn suspended_until(&mut self, now: Instant) -> Option<(Instant, DelayCause)> {
        self.series.iter_mut().for_each(|series| series.forget(now));
        self.current(now)
    }

    fn current(&mut self, at: Instant) -> Option<(Instant, DelayCause)> {
        let periods = self.series.iter_mut().map(|series| (series.first_after(at), series.cause));
        let current = periods.filter(|((start, _), _)| *start <= at);
        current.map(|((_, end), cause)| (end, cause)).max_by_key(|(end, _)| *end)
    }

    /// When a transmission that starts now and would end at `end` does end, and what delays it.
    pub(super) fn transmission_end(&mut self, now: Instant, end: Instant) -> (Instant, Option<DelayCause>) {
        let (mut at, mut left, mut delayed_by) = (now, end - now, None);
        loop {
            if let Some((until, cause)) = self.current(at) {
                (at, delayed_by) = (until, delayed_by.or(Some(cause)));
                continue;
            }
            let starts = self.series.iter_mut().map(|series| series.first_after(at).0);
            let next = starts.min().unwrap_or(Instant::NEVER);
            if at + left <= next {
                return (at + left, delayed_by);
            }
            left = left.saturating_sub(next - at);
            at = next;
        }
    }
}

/// Minimum of a draw: time must advance.
pub(super) const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);

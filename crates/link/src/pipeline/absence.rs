//! Times during which the transmitter stands still: delay spikes, pre-emption, handovers.
//!
//! Each kind is a course of intervals, drawn on its own, whether or not there is anything to transmit.
//! So it is known when a transmission starts which of them it will meet.

use std::collections::VecDeque;

use units::{Duration, Instant, Streams};

use crate::config::{Absences, Config, Handovers};
use crate::distribution::{Distribution, Source};
use crate::event::DelayCause;

/// Intervals, one after the other.
#[derive(Debug)]
pub(super) struct Course {
    intervals: Source<Duration>,
    lengths: Source<Duration>,
    end: Instant,
}

impl Course {
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

    /// The same course every time that it is made.
    pub(super) fn of_handovers(handovers: &Handovers, streams: &Streams) -> Self {
        Self::new(&handovers.interval, &handovers.suspension, streams, "handover")
    }

    fn of(absences: &Absences, streams: &Streams, name: &str) -> Self {
        Self::new(&absences.interval, &absences.length, streams, name)
    }

    /// The next interval: from when, and until when.
    pub(super) fn next(&mut self) -> (Instant, Instant) {
        let start = self.end + self.intervals.draw().max(SHORTEST_INTERVAL);
        self.end = start + self.lengths.draw();
        (start, self.end)
    }
}

/// The kinds of absence that a link has.
#[derive(Debug)]
pub(super) struct AbsenceStage {
    kinds: Vec<Kind>,
}

#[derive(Debug)]
struct Kind {
    course: Course,
    cause: DelayCause,
    /// Those that are not over yet, as far as anybody has looked.
    ahead: VecDeque<(Instant, Instant)>,
}

impl Kind {
    const fn new(course: Course, cause: DelayCause) -> Self {
        Self { course, cause, ahead: VecDeque::new() }
    }

    /// Forgets what is over at `now`.
    fn forget(&mut self, now: Instant) {
        while self.ahead.front().is_some_and(|(_, end)| *end <= now) {
            self.ahead.pop_front();
        }
    }

    /// The first interval that is not over at `at`.
    fn meets(&mut self, at: Instant) -> (Instant, Instant) {
        if let Some(known) = self.ahead.iter().find(|(_, end)| *end > at) {
            return *known;
        }
        loop {
            let next = self.course.next();
            self.ahead.push_back(next);
            if next.1 > at {
                return next;
            }
        }
    }
}

impl AbsenceStage {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        let plain = |absences: &Option<Absences>, name: &str, cause| {
            absences.as_ref().map(|absences| Kind::new(Course::of(absences, streams, name), cause))
        };
        let handovers = config.handovers.as_ref().map(|handovers| Course::of_handovers(handovers, streams));
        let kinds = [
            plain(&config.spikes, "spike", DelayCause::Spike),
            plain(&config.preemption, "preemption", DelayCause::Preemption),
            handovers.map(|course| Kind::new(course, DelayCause::Handover)),
        ];
        Self { kinds: kinds.into_iter().flatten().collect() }
    }

    #[inline]
    pub(super) fn is_absent(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Whether the transmitter stands still at `now`: until when, and why.
    pub(super) fn holds(&mut self, now: Instant) -> Option<(Instant, DelayCause)> {
        self.kinds.iter_mut().for_each(|kind| kind.forget(now));
        self.going_on(now)
    }

    fn going_on(&mut self, at: Instant) -> Option<(Instant, DelayCause)> {
        let kinds = self.kinds.iter_mut();
        let now = kinds.map(|kind| (kind.meets(at), kind.cause)).filter(|((start, _), _)| *start <= at);
        now.map(|((_, end), cause)| (end, cause)).max_by_key(|(end, _)| *end)
    }

    /// When a transmission that starts now and would end at `end` does end, and why not sooner.
    pub(super) fn stretch(&mut self, now: Instant, end: Instant) -> (Instant, Option<DelayCause>) {
        let (mut at, mut left, mut why) = (now, end - now, None);
        loop {
            if let Some((until, cause)) = self.going_on(at) {
                (at, why) = (until, why.or(Some(cause)));
                continue;
            }
            let next = self.kinds.iter_mut().map(|kind| kind.meets(at).0).min().unwrap_or(Instant::NEVER);
            if at + left <= next {
                return (at + left, why);
            }
            left = left.saturating_sub(next - at);
            at = next;
        }
    }
}

/// What a shorter draw counts as: time must go on.
pub(super) const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);

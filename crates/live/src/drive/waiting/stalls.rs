//! Stalls: steps of a driver that took longer than any should, and who had the processor meanwhile.

use std::collections::BTreeMap;

use linux::processor::ThreadTimes;
use serde::Serialize;
use units::{Duration, Instant};

/// A step of a driver's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Waiting: the thread ran too late after its time, or after a packet.
    Wait,
    /// Reading packets from a kernel, and giving them to the links.
    Read,
    /// Activity of the links at a time.
    Links,
    /// Giving packets to a kernel, which processes them in this thread.
    Write,
    /// The programs and stacks in this process.
    Programs,
}

/// A step that took longer than [`STALL_FROM`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stall {
    /// The time of its end, in seconds of the run.
    pub at_s: f64,
    /// The step.
    pub step: Step,
    /// Length in milliseconds; of a wait, the time by which it was too long.
    pub length_ms: f64,
    /// The part for which the thread was ready to run and another one had the processor, in milliseconds; null where
    /// the kernel does not count it.
    pub waited_ms: Option<f64>,
}

/// The stalls of a driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// Number of steps longer than [`STALL_FROM`].
    pub count: u64,
    /// The number of stalls by step.
    pub by_step: BTreeMap<Step, u64>,
    /// The longest ones, the longest first.
    pub longest: Vec<Stall>,
}

/// Finds stalls by the time of each step.
#[derive(Debug)]
pub(super) struct StallFinder {
    times: ThreadTimes,
    /// The time that the thread has waited for a processor in all, when it was read last.
    waited: Option<std::time::Duration>,
    /// Time at which the current step began.
    began: Instant,
    /// Time at which the counter was read last.
    looked: Instant,
    found: Stalls,
}

impl StallFinder {
    /// Begins with the calling thread.
    pub(super) fn new(now: Instant) -> Self {
        let times = ThreadTimes::of_this_thread();
        let waited = times.waited();
        Self { times, waited, began: now, looked: now, found: Stalls::default() }
    }

    /// A step ended, and the next begins.
    pub(super) fn ended(&mut self, step: Step, now: Instant) {
        let length = now.saturating_since(self.began);
        self.began = now;
        if length > STALL_FROM {
            let waited = self.look(now);
            self.add(now, step, length, waited);
        }
    }

    /// A wait ended, `late_by` after its time; the next step begins.
    pub(super) fn woke(&mut self, late_by: Duration, now: Instant) {
        self.began = now;
        if late_by > STALL_FROM {
            let waited = self.look(now);
            self.add(now, Step::Wait, late_by, waited);
        }
    }

    /// The thread is about to sleep. A packet may have woken it since the last time, and nothing else shows how long
    /// after the packet it ran.
    pub(super) fn before_sleep(&mut self, length: Duration, now: Instant) {
        let is_time = length > STALL_FROM || now.saturating_since(self.looked) > LOOK_EVERY;
        let waited = if is_time { self.look(now) } else { None };
        if let Some(waited) = waited.filter(|waited| *waited > STALL_FROM) {
            self.add(now, Step::Wait, waited, Some(waited));
        }
        self.began = now;
    }

    pub(super) fn found(&self) -> Stalls {
        self.found.clone()
    }

    /// Returns how long the thread has waited for a processor since the last look.
    fn look(&mut self, now: Instant) -> Option<Duration> {
        let before = self.waited;
        (self.waited, self.looked) = (self.times.waited(), now);
        let waited = self.waited?.saturating_sub(before?);
        Some(Duration::from_nanos(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX)))
    }

    fn add(&mut self, now: Instant, step: Step, length: Duration, waited: Option<Duration>) {
        let millis = |length: Duration| length.as_secs_f64() * 1e3;
        let stall = Stall {
            at_s: now.saturating_since(Instant::START).as_secs_f64(),
            step,
            length_ms: millis(length),
            waited_ms: waited.map(|waited| millis(waited.min(length))),
        };
        self.found.add(stall);
    }
}

impl Stalls {
    fn add(&mut self, stall: Stall) {
        self.count += 1;
        *self.by_step.entry(stall.step).or_default() += 1;
        let place = self.longest.partition_point(|longer| longer.length_ms >= stall.length_ms);
        self.longest.insert(place, stall);
        self.longest.truncate(KEPT);
    }
}

/// The length from which a step counts as a stall: ten times what the longest step takes on an idle machine.
pub const STALL_FROM: Duration = Duration::from_millis(1);
/// Interval between looks at the counter while the thread never sleeps long: a look takes some microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Number of stalls that are kept.
const KEPT: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    #[test]
    fn a_long_step_and_a_late_wake_up_are_stalls_and_short_ones_are_not() {
        let mut finder = StallFinder::new(at(0));
        finder.ended(Step::Read, at(900));
        finder.ended(Step::Write, at(3_900));
        finder.before_sleep(Duration::ZERO, at(3_900));
        finder.woke(Duration::from_micros(100), at(60_000));
        finder.woke(Duration::from_millis(5), at(90_000));
        let found = finder.found();
        assert_eq!(found.count, 2);
        assert_eq!(found.by_step, BTreeMap::from([(Step::Wait, 1), (Step::Write, 1)]));
        let longest: Vec<_> = found.longest.iter().map(|stall| (stall.step, stall.length_ms)).collect();
        assert_eq!(longest, [(Step::Wait, 5.0), (Step::Write, 3.0)]);
    }

    #[test]
    fn only_the_longest_are_kept() {
        let mut finder = StallFinder::new(at(0));
        (2..=41).for_each(|millis| finder.woke(Duration::from_millis(millis), at(millis)));
        let lengths: Vec<_> = finder.found().longest.iter().map(|stall| stall.length_ms).collect();
        assert_eq!((finder.found().count, lengths.len(), lengths[0]), (40, KEPT, 41.0));
    }
}

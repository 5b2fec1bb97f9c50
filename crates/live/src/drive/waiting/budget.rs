//! The budget of a driver's thread: the share of a processor that it may use, and the ways in which it saves time.

use linux::scheduling::RealTimeLimit;
use serde::Serialize;
use units::{Duration, Instant};

/// Keeps a busy thread well below the limit of real-time threads.
///
/// Linux stops all real-time threads of a processor for the rest of a second in which they have had 0.95 s together
/// (sched(7), sched_rt_runtime_us): a pause of 50 ms. Until then nothing else runs on the processor, not even the
/// programs under test.
///
/// A busy driver uses most of its time for polling. It stops polling first, in the first window in which it uses more
/// than its share. It leaves the class only when its own work has exceeded the share by [`MOST_SAVED`], and returns
/// when it has used half of that less: packets come in bursts, and a class that changed with each would be worse than
/// either.
#[derive(Debug)]
pub(super) struct Budget {
    /// The share that the thread may use, in thousandths.
    allowed: u64,
    began: Instant,
    /// The processor time of the thread when the window began.
    used: Duration,
    /// Unused time of the thread's budget, at most [`MOST_SAVED`].
    saved: Duration,
    thrift: Thrift,
    /// Number of consecutive windows in which the thread could have spent more.
    calm: u32,
    spent: Spent,
}

/// Ways in which a driver saves processor time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Thrift {
    /// By nothing: it polls the clock before each event.
    Polling,
    /// It sleeps until each event.
    Sleeping,
    /// It has left the real-time class as well.
    Ordinary,
}

/// The time that a driver has spent with each thrift, and at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) busy: Duration,
    pub(crate) polling: Duration,
    pub(crate) sleeping: Duration,
    pub(crate) ordinary: Duration,
}

impl Budget {
    /// The budget of one of several drivers of this process.
    pub(super) fn of_driver(now: Instant, used: Duration, limit: RealTimeLimit, drivers: u64) -> Self {
        Self::new(now, used, limit.permille() * DRIVERS / WHOLE / drivers.max(1))
    }

    /// The budget of one of several ends of transfers in this process.
    pub(super) fn of_end(now: Instant, used: Duration, limit: RealTimeLimit, ends: u64) -> Self {
        Self::new(now, used, limit.permille() * ENDS / WHOLE / ends.max(1))
    }

    fn new(now: Instant, used: Duration, allowed: u64) -> Self {
        Self {
            allowed,
            began: now,
            used,
            saved: MOST_SAVED,
            thrift: Thrift::Polling,
            calm: 0,
            spent: Spent::default(),
        }
    }

    pub(super) fn thrift(&self) -> Thrift {
        self.thrift
    }

    pub(super) fn spent(&self) -> Spent {
        self.spent
    }

    /// Returns whether a window has ended.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now.saturating_since(self.began) >= WINDOW
    }

    /// Returns the thrift from now on if it changes at the end of a window. `used` is the processor time of the thread.
    pub(super) fn verdict(&mut self, now: Instant, used: Duration) -> Option<Thrift> {
        let length = now.saturating_since(self.began);
        let in_window = used.saturating_sub(self.used).min(length);
        (self.began, self.used) = (now, used);
        self.spent.add(self.thrift, length, in_window);
        let next = self.next(length, in_window);
        if next == self.thrift {
            return None;
        }
        (self.thrift, self.calm) = (next, 0);
        Some(next)
    }

    /// The thrift after a window of a length, of which the thread has used a part.
    fn next(&mut self, length: Duration, used: Duration) -> Thrift {
        let earned = length * self.allowed / WHOLE;
        self.saved = (self.saved + earned).saturating_sub(used).min(MOST_SAVED);
        self.calm = if used <= earned / 2 { self.calm + 1 } else { 0 };
        match self.thrift {
            Thrift::Polling if used > earned => Thrift::Sleeping,
            Thrift::Sleeping if self.saved == Duration::ZERO => Thrift::Ordinary,
            Thrift::Sleeping if self.calm >= CALM_WINDOWS => Thrift::Polling,
            Thrift::Ordinary if self.saved >= MOST_SAVED / 2 => Thrift::Sleeping,
            unchanged => unchanged,
        }
    }
}

impl Spent {
    fn add(&mut self, thrift: Thrift, length: Duration, used: Duration) {
        self.busy += used;
        match thrift {
            Thrift::Polling => self.polling += length,
            Thrift::Sleeping => self.sleeping += length,
            Thrift::Ordinary => self.ordinary += length,
        }
    }
}

/// A whole, in thousandths.
const WHOLE: u64 = 1_000;
/// The parts of the machine's limit that the drivers of a process use together, and the ends of transfers, in
/// thousandths. All may be on the same processor, and other processes may have real-time threads too.
const DRIVERS: u64 = 620;
const ENDS: u64 = 240;
/// The length of a window, over which the share of a processor is computed. A receiver that waits for its processor
/// loses little in it: 200,000 datagrams a second fill a socket's default buffer in one or two milliseconds.
const WINDOW: Duration = Duration::from_millis(4);
/// The most that a thread can save: a thread that does nothing but work leaves the class after 40 ms.
const MOST_SAVED: Duration = Duration::from_millis(15);
/// Number of calm windows before the thread polls again, so that the mode does not change continually.
const CALM_WINDOWS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn budget(threads: u64) -> Budget {
        Budget::of_driver(at(0), Duration::ZERO, RealTimeLimit::of_this_machine(), threads)
    }

    /// The verdicts of consecutive windows in which the thread runs for these times, in microseconds.
    fn verdicts(budget: &mut Budget, used: &[u64]) -> Vec<Option<Thrift>> {
        let (began, before) = (budget.began, budget.used);
        let mut all = before;
        let verdict = |(window, used): (u64, &u64)| {
            all += Duration::from_micros(*used);
            budget.verdict(began + WINDOW * window, all)
        };
        (1..).zip(used).map(verdict).collect()
    }

    #[test]
    fn a_busy_thread_gives_up_polling_first_and_the_class_only_if_it_is_busy_for_longer() {
        let mut budget = budget(1);
        assert!(!budget.is_due(at(3)) && budget.is_due(at(4)));
        let all = verdicts(&mut budget, &[4_000; 20]);
        let changes: Vec<_> = (1..).zip(all).filter_map(|(window, change)| Some((window, change?))).collect();
        assert_eq!(changes, [(1, Thrift::Sleeping), (10, Thrift::Ordinary)]);
    }

    #[test]
    fn a_burst_gives_up_polling_and_not_the_class() {
        let mut budget = budget(1);
        let bursts: Vec<u64> = (0..100).map(|window| if window % 4 == 0 { 4_000 } else { 1_500 }).collect();
        verdicts(&mut budget, &bursts);
        assert_eq!(budget.thrift(), Thrift::Sleeping);
        assert_eq!(budget.spent().ordinary, Duration::ZERO);
    }

    #[test]
    fn a_thread_that_has_been_calm_for_a_while_spends_more_again_step_by_step() {
        let mut budget = budget(1);
        verdicts(&mut budget, &[4_000; 12]);
        assert_eq!(budget.thrift(), Thrift::Ordinary);
        let changes: Vec<_> = verdicts(&mut budget, &[500; 10]).into_iter().flatten().collect();
        assert_eq!(changes, [Thrift::Sleeping, Thrift::Polling]);
        assert_eq!(verdicts(&mut budget, &[500; 3]), [None; 3]);
    }

    #[test]
    fn a_thread_within_its_budget_changes_nothing() {
        let mut budget = budget(1);
        assert_eq!(verdicts(&mut budget, &[2_000; 100]), [None; 100]);
        let spent = budget.spent();
        assert_eq!((spent.polling, spent.sleeping), (Duration::from_millis(400), Duration::ZERO));
        assert_eq!(spent.busy, Duration::from_millis(200));
    }

    #[test]
    fn threads_of_one_process_stay_together_below_the_limit() {
        let limit = RealTimeLimit::of_this_machine().permille();
        let end = |ends| Budget::of_end(at(0), Duration::ZERO, RealTimeLimit::of_this_machine(), ends);
        for threads in 1..8 {
            let together = budget(threads).allowed * threads + end(threads).allowed * threads;
            assert!(together * 10 <= limit * 9, "{together} of {limit} thousandths");
        }
        let mut third = budget(3);
        assert_eq!(
            verdicts(&mut third, &[1_300]),
            [Some(Thrift::Sleeping)],
            "a third is too much for one of three"
        );
    }
}

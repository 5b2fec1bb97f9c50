//! The real-time class is for threads that are mostly asleep.

use units::{Duration, Instant};

/// Keeps a busy thread out of the real-time class.
///
/// Linux stops such threads for the rest of a second in which they were busy for 0.95 s (sched(7),
/// sched_rt_runtime_us): a pause of 50 ms. Until then nothing else runs on the processor, not even the programs under
/// test.
#[derive(Debug)]
pub(super) struct Budget {
    began: Instant,
    slept: Duration,
    is_out: bool,
    /// Number of consecutive windows in which the thread slept enough to return.
    calm: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Leave,
    Return,
}

impl Budget {
    pub(super) fn new(now: Instant) -> Self {
        Self { began: now, slept: Duration::ZERO, is_out: false, calm: 0 }
    }

    pub(super) fn slept(&mut self, length: Duration) {
        self.slept += length;
    }

    /// Returns the decision at the end of a window; `None` within one.
    pub(super) fn verdict(&mut self, now: Instant) -> Option<Verdict> {
        let length = now.saturating_since(self.began);
        if length < WINDOW {
            return None;
        }
        let slept = std::mem::take(&mut self.slept);
        self.began = now;
        self.calm = if slept >= length / 4 { self.calm + 1 } else { 0 };
        if !self.is_out && slept < length / 8 {
            self.is_out = true;
            return Some(Verdict::Leave);
        }
        if self.is_out && self.calm >= CALM_WINDOWS {
            self.is_out = false;
            return Some(Verdict::Return);
        }
        None
    }
}

/// The length of a window, over which the share of time asleep is computed. A receiver that waits for its processor
/// loses little in it: 200,000 datagrams a second fill a socket's default buffer in one or two milliseconds.
const WINDOW: Duration = Duration::from_millis(4);
/// Number of calm windows before the return, so that the class does not change continually.
const CALM_WINDOWS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn a_thread_that_is_busy_leaves_the_real_time_class_until_it_has_been_calm_for_a_while() {
        let mut budget = Budget::new(at(0));
        assert_eq!(budget.verdict(at(3)), None, "within a window");
        assert_eq!(budget.verdict(at(4)), Some(Verdict::Leave));
        assert_eq!(budget.verdict(at(8)), None, "it has left already");
        let mut calm = (3..).map(|window| {
            budget.slept(Duration::from_millis(1));
            budget.verdict(at(4 * window))
        });
        assert_eq!(
            calm.by_ref().take(5).collect::<Vec<_>>(),
            [None, None, None, None, Some(Verdict::Return)]
        );
        assert_eq!(calm.next(), Some(None));
    }

    #[test]
    fn a_thread_that_sleeps_stays_in_the_real_time_class() {
        let mut budget = Budget::new(at(0));
        for window in 1..100 {
            budget.slept(Duration::from_micros(500));
            assert_eq!(budget.verdict(at(4 * window)), None);
        }
    }
}

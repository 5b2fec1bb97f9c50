//! Processor time of a thread, and the time that it has waited for a processor.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The counters of the thread that opened it (Linux, Documentation/scheduler/sched-stats.rst).
#[derive(Debug)]
pub struct ThreadTimes {
    /// None where the kernel does not count (CONFIG_SCHED_INFO).
    counters: Option<File>,
}

impl ThreadTimes {
    /// Opens the counters of the calling thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self { counters: File::open("/proc/thread-self/schedstat").ok() }
    }

    /// Returns the time for which the thread was ready to run since it began, and another one had the processor. It
    /// takes some microseconds.
    #[must_use]
    pub fn waited(&self) -> Option<Duration> {
        let mut text = [0; 64];
        let length = self.counters.as_ref()?.read_at(&mut text, 0).ok()?;
        waited(std::str::from_utf8(&text[..length]).ok()?)
    }
}

/// Returns the time for which the calling thread has run, in user mode and in the kernel.
#[must_use]
pub fn time_of_this_thread() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// The second of three counters, in nanoseconds.
fn waited(counters: &str) -> Option<Duration> {
    Some(Duration::from_nanos(counters.split_ascii_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_counter_is_the_time_spent_waiting() {
        assert_eq!(waited("1208842 134602 1\n"), Some(Duration::from_nanos(134_602)));
        assert_eq!(waited(""), None);
    }

    #[test]
    fn the_times_of_a_thread_never_fall() {
        let times = ThreadTimes::of_this_thread();
        let before = time_of_this_thread();
        assert!(time_of_this_thread() >= before);
        match (times.waited(), times.waited()) {
            (Some(before), Some(after)) => assert!(after >= before),
            _ => crate::testing::say_not_tested(&"this kernel does not count how long threads wait"),
        }
    }
}

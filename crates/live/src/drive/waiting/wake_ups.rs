//! The wake-up delay of this machine, and the time for which a thread polls the clock instead of sleeping.

use units::Duration;

use super::recent::Recent;

/// The delays with which the thread's latest sleeps ended.
#[derive(Clone, Debug, Default)]
pub(super) struct WakeUps {
    late_by: Recent,
    spin: Option<Duration>,
    least: Duration,
}

impl WakeUps {
    /// A sleep ended late. A delay longer than the polling time takes effect at once, and is forgotten slowly.
    pub(super) fn add(&mut self, late_by: Duration) {
        if self.late_by.add(late_by) {
            let [rare, usual] = self.late_by.at([RARE, USUAL]);
            self.spin = Some(more_than(usual));
            self.least = rare.min(LONGEST_SPIN);
        }
        if late_by > self.spin() {
            self.spin = Some(more_than(late_by));
        }
    }

    /// Returns the time before the end of a wait at which sleeping changes to polling the clock. It is larger for a
    /// long wait, in which the processor sleeps deeper, and of which a small share costs little.
    pub(super) fn spin_of(&self, wait: Duration) -> Duration {
        self.spin().max((wait / SHARE).min(LONGEST_SPIN))
    }

    fn spin(&self) -> Duration {
        self.spin.unwrap_or(FIRST_SPIN)
    }

    /// Returns the delay that nearly every wake-up exceeds: the packet that caused it came earlier by at least this
    /// delay.
    pub(super) fn least(&self) -> Duration {
        self.least
    }
}

/// Returns a lateness and a quarter more, within bounds.
fn more_than(late_by: Duration) -> Duration {
    (late_by + late_by / 4).clamp(SHORTEST_SPIN, LONGEST_SPIN)
}

/// Percentile of the delay that polling compensates, and a percentile that is nearly always exceeded.
const USUAL: usize = 95;
const RARE: usize = 10;
/// Bounds of the time in which the clock is polled. With a timer slack of 1 ns and SCHED_FIFO, sleepers of 1 to 5 ms
/// were woken 30 to 40 µs late in the median and 60 to 110 µs in the 99th percentile on the virtual machine where this
/// was written.
const FIRST_SPIN: Duration = Duration::from_micros(100);
const SHORTEST_SPIN: Duration = Duration::from_micros(20);
const LONGEST_SPIN: Duration = Duration::from_micros(300);
/// The smallest share of a wait that is polled: one in this number.
const SHARE: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn remember(wake_ups: &mut WakeUps, late_by: impl Fn(u64) -> Duration) {
        (0..64).for_each(|number| wake_ups.add(late_by(number)));
    }

    #[test]
    fn the_clock_is_polled_for_the_usual_wake_up_delay() {
        let mut wake_ups = WakeUps::default();
        assert_eq!((wake_ups.spin(), wake_ups.least()), (FIRST_SPIN, Duration::ZERO));
        remember(&mut wake_ups, |number| Duration::from_micros(40 + number % 2));
        assert_eq!(wake_ups.spin(), Duration::from_nanos(51_250));
        assert_eq!(wake_ups.least(), Duration::from_micros(40));
        // Under other conditions, the remembered delays are replaced.
        remember(&mut wake_ups, |_| Duration::from_millis(5));
        assert_eq!((wake_ups.spin(), wake_ups.least()), (LONGEST_SPIN, LONGEST_SPIN));
    }

    #[test]
    fn a_hundredth_of_a_long_wait_is_polled() {
        let wake_ups = WakeUps::default();
        let [short, long, longest] = [5, 20, 10_000].map(Duration::from_millis);
        assert_eq!(wake_ups.spin_of(short), FIRST_SPIN);
        assert_eq!(wake_ups.spin_of(long), Duration::from_micros(200));
        assert_eq!(wake_ups.spin_of(longest), LONGEST_SPIN);
    }

    #[test]
    fn a_sleep_that_ends_too_late_counts_at_once() {
        let mut wake_ups = WakeUps::default();
        remember(&mut wake_ups, |_| Duration::from_micros(40));
        wake_ups.add(Duration::from_micros(100));
        assert_eq!(wake_ups.spin(), Duration::from_micros(125));
        remember(&mut wake_ups, |_| Duration::from_micros(40));
        assert_eq!(wake_ups.spin(), Duration::from_micros(50));
    }
}

//! How a driver's thread waits for the next event or packet: asleep for as long as this machine wakes threads in time, and
//! then polling the clock; in the real-time class only while it is mostly asleep.

use std::io;

use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;
use units::{Duration, Instant};

use crate::clock::Clock;
use crate::memory::Locked;
use crate::scheduling;

/// What a driver's thread knows of waiting on this machine.
#[derive(Debug)]
pub(crate) struct Waiting {
    clock: Clock,
    wake_ups: WakeUps,
    /// Where the thread was in the real-time class at the beginning.
    budget: Option<Budget>,
    _locked: Locked,
}

/// Why a wait ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// Which descriptor is readable, the first of them if there are several.
    pub(crate) descriptor: usize,
    /// When it became so, as far as is known: before the thread was woken.
    pub(crate) since: Instant,
}

impl Waiting {
    /// Prepares the calling thread, which is to have its scheduling class already. It sleeps for some milliseconds to see
    /// how late it is woken.
    pub(crate) fn new(clock: Clock) -> Self {
        let budget = scheduling::is_real_time().then(|| Budget::new(clock.now()));
        let mut waiting = Self { clock, wake_ups: WakeUps::default(), budget, _locked: Locked::if_allowed() };
        for _ in 0..CALIBRATING_SLEEPS {
            // A sleep that fails tells nothing.
            let _ = waiting.sleep(&mut [], CALIBRATING_SLEEP);
        }
        waiting
    }

    /// Waits for one of the descriptors, at most until `time`.
    pub(crate) fn wait(
        &mut self,
        descriptors: &mut [PollFd<'_>],
        time: Instant,
    ) -> io::Result<Option<Ready>> {
        loop {
            self.keep_to_budget();
            let began = self.clock.now();
            let left = time.saturating_since(began);
            if left == Duration::ZERO {
                return Ok(None);
            }
            if self.sleep(descriptors, left.saturating_sub(self.wake_ups.spin()))? {
                let waited = self.clock.now().saturating_since(began);
                let since = began + waited.saturating_sub(self.wake_ups.least());
                let descriptor = descriptors.iter().position(|one| one.any().unwrap_or(false)).unwrap_or(0);
                return Ok(Some(Ready { descriptor, since }));
            }
        }
    }

    /// Leaves the real-time class where the thread has been busy in it for long, and comes back to it later. To be called
    /// now and then by a thread that does not wait.
    pub(crate) fn keep_to_budget(&mut self) {
        let now = self.clock.now();
        match self.budget.as_mut().and_then(|budget| budget.verdict(now)) {
            Some(Verdict::Leave) => scheduling::leave_real_time(),
            Some(Verdict::Return) => scheduling::return_to_real_time(),
            None => {}
        }
    }

    /// Sleeps for a time, or until a descriptor is readable. Returns whether one is.
    fn sleep(&mut self, descriptors: &mut [PollFd<'_>], length: Duration) -> io::Result<bool> {
        let length = length.min(LONGEST_SLEEP);
        let began = self.clock.now();
        let is_ready = match ppoll(descriptors, Some(time_spec(length)), None) {
            Ok(0) => false,
            Err(Errno::EINTR) => return Ok(false),
            Ok(_) => true,
            Err(error) => return Err(error.into()),
        };
        let slept = self.clock.now().saturating_since(began);
        if length > Duration::ZERO && !is_ready {
            self.wake_ups.add(slept.saturating_sub(length));
        }
        if let Some(budget) = &mut self.budget {
            budget.slept(slept);
        }
        Ok(is_ready)
    }
}

/// How late the thread was woken by its latest sleeps.
#[derive(Clone, Debug, Default)]
struct WakeUps {
    late_by: Vec<Duration>,
    next: usize,
    spin: Option<Duration>,
    least: Duration,
}

impl WakeUps {
    fn add(&mut self, late_by: Duration) {
        match self.late_by.get_mut(self.next) {
            Some(oldest) => *oldest = late_by,
            None => self.late_by.push(late_by),
        }
        self.next = (self.next + 1) % REMEMBERED;
        // A sort takes a microsecond or two, of those in which the thread would poll the clock.
        if self.next.is_multiple_of(LOOK_EVERY) {
            let mut sorted = self.late_by.clone();
            sorted.sort_unstable();
            let at = |share: usize| sorted[(sorted.len() - 1) * share / 100];
            self.spin = Some((at(USUAL) + at(USUAL) / 4).clamp(SHORTEST_SPIN, LONGEST_SPIN));
            self.least = at(RARE).min(LONGEST_SPIN);
        }
    }

    /// How long before its end a wait changes from sleeping to polling the clock.
    fn spin(&self) -> Duration {
        self.spin.unwrap_or(FIRST_SPIN)
    }

    /// What it takes nearly always at least until a thread is awake: a packet was there that much earlier.
    fn least(&self) -> Duration {
        self.least
    }
}

/// Keeps a thread of the real-time class from being busy in it for long.
///
/// Linux stops such threads for the rest of a second in which they were busy for 0.95 s (sched(7), sched_rt_runtime_us):
/// a pause of 50 ms. And until then nothing else of its processor runs, such as the very programs under test.
#[derive(Debug)]
struct Budget {
    began: Instant,
    slept: Duration,
    is_out: bool,
    /// Windows in a row in which it slept enough to come back.
    calm: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Leave,
    Return,
}

impl Budget {
    fn new(now: Instant) -> Self {
        Self { began: now, slept: Duration::ZERO, is_out: false, calm: 0 }
    }

    fn slept(&mut self, length: Duration) {
        self.slept += length;
    }

    /// What is to be done at the end of a window; nothing within one.
    fn verdict(&mut self, now: Instant) -> Option<Verdict> {
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

fn time_spec(length: Duration) -> TimeSpec {
    TimeSpec::from(std::time::Duration::from_nanos(length.as_nanos()))
}

/// The longest single sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);
/// Sleeps at the beginning, to see how late they end.
const CALIBRATING_SLEEPS: usize = LOOK_EVERY;
const CALIBRATING_SLEEP: Duration = Duration::from_micros(100);
/// Sleeps that are remembered, and after how many of them conclusions are drawn.
const REMEMBERED: usize = 64;
const LOOK_EVERY: usize = 16;
/// The percentile of the lateness that is slept away from, and a quarter of it; and the one that is nearly always exceeded.
const USUAL: usize = 95;
const RARE: usize = 10;
/// Bounds of the time in which the clock is polled. With a timer slack of 1 ns and SCHED_FIFO, sleepers of 1 to 5 ms
/// were woken 30 to 40 µs late in the median and 60 to 110 µs in the 99th percentile on the virtual machine where this
/// was written.
const FIRST_SPIN: Duration = Duration::from_micros(100);
const SHORTEST_SPIN: Duration = Duration::from_micros(20);
const LONGEST_SPIN: Duration = Duration::from_micros(300);
/// The share of time asleep is looked at in windows in which a receiver that waits for its processor does not yet lose
/// anything: 200,000 datagrams a second fill a socket's default buffer in one or two milliseconds.
const WINDOW: Duration = Duration::from_millis(4);
/// Windows before the return, so that classes do not change all the time.
const CALM_WINDOWS: u32 = 5;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use nix::poll::PollFlags;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn the_clock_is_polled_for_as_long_as_wake_ups_are_usually_late() {
        let mut wake_ups = WakeUps::default();
        assert_eq!((wake_ups.spin(), wake_ups.least()), (FIRST_SPIN, Duration::ZERO));
        (0..64).for_each(|number| wake_ups.add(Duration::from_micros(40 + number % 2)));
        assert_eq!(wake_ups.spin(), Duration::from_nanos(51_250));
        assert_eq!(wake_ups.least(), Duration::from_micros(40));
        // Another machine, or another hour: what is remembered is replaced, and nothing waits forever.
        (0..64).for_each(|_| wake_ups.add(Duration::from_millis(5)));
        assert_eq!((wake_ups.spin(), wake_ups.least()), (LONGEST_SPIN, LONGEST_SPIN));
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

    #[test]
    fn a_wait_ends_at_its_time_or_with_a_descriptor() {
        let clock = Clock::start();
        let mut waiting = Waiting::new(clock);
        let (reader, mut writer) = io::pipe().unwrap();
        let time = clock.now() + Duration::from_millis(2);
        let mut readable = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
        assert_eq!(waiting.wait(&mut readable, time).unwrap(), None);
        assert!(clock.now() >= time);
        writer.write_all(b"now").unwrap();
        let before = clock.now();
        let ready = waiting.wait(&mut readable, Instant::NEVER).unwrap().unwrap();
        assert_eq!(ready.descriptor, 0);
        assert!((before..=clock.now()).contains(&ready.since));
    }
}

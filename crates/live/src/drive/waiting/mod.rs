//! The waits of a driver's thread for the next event or packet. It sleeps while this machine is sure to wake it in
//! time, and then polls the clock. A driver that is busy polls no longer, and in the end leaves the real-time class.

use std::io;

use linux::memory::Locked;
use linux::processor;
use linux::scheduling::{self, Rank, RealTimeLimit};
use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;
use units::{Duration, Instant};

use crate::clock::Clock;

mod arrival_times;
mod budget;
mod end_class;
mod lead;
mod recent;
mod stalls;
mod wake_ups;

pub(crate) use arrival_times::ArrivalTimes;
pub(crate) use budget::Spent;
use budget::{Budget, Thrift};
pub(crate) use end_class::EndClass;
use lead::Lead;
use recent::LOOK_EVERY;
use stalls::StallFinder;
pub use stalls::{STALL_FROM, Stall, Stalls, Step};
use wake_ups::WakeUps;

/// The state of a driver's waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    clock: Clock,
    wake_ups: WakeUps,
    lead: Lead,
    budget: Budget,
    /// Whether the thread was in the real-time class at the beginning.
    is_real_time: bool,
    stalls: StallFinder,
    _locked: Locked,
}

/// The descriptor that ended a wait before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// The index of the first descriptor that is readable.
    pub(crate) descriptor: usize,
    /// The estimated time at which it became readable, before the thread was awake.
    pub(crate) since: Instant,
}

impl Waiting {
    /// Prepares the calling thread, which already has its scheduling class, as one of several `threads` of this process
    /// that have it. It sleeps for some milliseconds to measure the wake-up delay.
    pub(crate) fn new(clock: Clock, threads: u64) -> Self {
        let mut waiting = Self {
            clock,
            wake_ups: WakeUps::default(),
            lead: Lead::default(),
            budget: Budget::of_driver(clock.now(), thread_time(), RealTimeLimit::of_this_machine(), threads),
            is_real_time: scheduling::is_real_time(),
            stalls: StallFinder::new(clock.now()),
            _locked: Locked::if_allowed(),
        };
        for _ in 0..CALIBRATING_SLEEPS {
            // A sleep that fails gives no measurement.
            let _ = waiting.sleep(&mut [], CALIBRATING_SLEEP);
        }
        waiting
    }

    /// Waits for one of the descriptors, at most until `time`, less the time that a delivery takes, so that a kernel
    /// has the packet at `time`. After `None` the caller handles what is due at `time`.
    pub(crate) fn wait(
        &mut self,
        descriptors: &mut [PollFd<'_>],
        time: Instant,
    ) -> io::Result<Option<Ready>> {
        let mut is_first = true;
        loop {
            self.keep_to_budget();
            let began = self.clock.now();
            let left = time.saturating_since(began).saturating_sub(self.lead.length());
            if left == Duration::ZERO {
                self.lead.wait_ended(Some(began));
                return Ok(None);
            }
            let length = self.sleep_within(left, is_first);
            if self.sleep(descriptors, length)? {
                self.lead.wait_ended(None);
                return Ok(Some(self.ready(descriptors, began)));
            }
            is_first = false;
        }
    }

    /// Returns how long to sleep in a wait of which some time is left, before the clock is polled. A driver that saves
    /// sleeps at least once, and for [`SHORTEST_SLEEP`] at least, so that it delivers several packets at a time where
    /// they are close together.
    fn sleep_within(&self, left: Duration, is_first: bool) -> Duration {
        match self.budget.thrift() {
            Thrift::Polling => left.saturating_sub(self.wake_ups.spin_of(left)),
            Thrift::Sleeping | Thrift::Ordinary => {
                let early = left.saturating_sub(self.wake_ups.least());
                if is_first { early.max(SHORTEST_SLEEP) } else { early }
            }
        }
    }

    /// Returns the descriptor that ended a wait which began at a time.
    fn ready(&self, descriptors: &[PollFd<'_>], began: Instant) -> Ready {
        let waited = self.clock.now().saturating_since(began);
        let since = began + waited.saturating_sub(self.wake_ups.least());
        let descriptor = descriptors.iter().position(|one| one.any().unwrap_or(false)).unwrap_or(0);
        Ready { descriptor, since }
    }

    /// A call that gave packets to a kernel took from `began` to `ended`.
    pub(crate) fn delivered(&mut self, began: Instant, ended: Instant) {
        self.lead.delivered(began, ended);
        self.stalls.ended(Step::Write, ended);
    }

    /// A step has ended. A driver says so after each.
    pub(crate) fn step(&mut self, step: Step) {
        self.stalls.ended(step, self.clock.now());
    }

    /// Returns the stalls so far, and how the time was spent.
    pub(crate) fn account(&self) -> (Stalls, Spent) {
        (self.stalls.found(), self.budget.spent())
    }

    /// Saves if the thread has been busy, up to leaving the real-time class, and spends more again later. A thread that
    /// does not wait calls it repeatedly.
    pub(crate) fn keep_to_budget(&mut self) {
        let now = self.clock.now();
        if !self.budget.is_due(now) {
            return;
        }
        let Some(thrift) = self.budget.verdict(now, thread_time()) else { return };
        match thrift {
            Thrift::Ordinary if self.is_real_time => scheduling::leave_real_time(),
            Thrift::Sleeping if self.is_real_time => scheduling::return_to_real_time(Rank::Driver),
            _ => {}
        }
    }

    /// Sleeps for a time, or until a descriptor is readable. Returns whether one is.
    fn sleep(&mut self, descriptors: &mut [PollFd<'_>], length: Duration) -> io::Result<bool> {
        let length = length.min(LONGEST_SLEEP);
        let began = self.clock.now();
        self.stalls.before_sleep(length, began);
        let is_ready = match ppoll(descriptors, Some(time_spec(length)), None) {
            Ok(0) => false,
            Err(Errno::EINTR) => return Ok(false),
            Ok(_) => true,
            Err(error) => return Err(error.into()),
        };
        let now = self.clock.now();
        let slept = now.saturating_since(began);
        let late_by = slept.saturating_sub(length);
        self.stalls.woke(late_by, now);
        if length > Duration::ZERO && !is_ready {
            self.wake_ups.add(late_by);
        }
        Ok(is_ready)
    }
}

fn thread_time() -> Duration {
    Duration::from_nanos(u64::try_from(processor::time_of_this_thread().as_nanos()).unwrap_or(u64::MAX))
}

fn time_spec(length: Duration) -> TimeSpec {
    TimeSpec::from(std::time::Duration::from_nanos(length.as_nanos()))
}

/// The longest single sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);
/// The shortest sleep of a driver that saves: with the delay of a wake-up a tenth of a millisecond, in which a link of
/// 1 Gbit/s delivers eight packets.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
/// Number and length of the sleeps at the beginning, which measure the wake-up delay.
const CALIBRATING_SLEEPS: usize = LOOK_EVERY;
const CALIBRATING_SLEEP: Duration = Duration::from_micros(100);
#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use nix::poll::PollFlags;

    use super::*;

    #[test]
    fn a_wait_ends_at_its_time_or_with_a_descriptor() {
        let clock = Clock::start();
        let mut waiting = Waiting::new(clock, 1);
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

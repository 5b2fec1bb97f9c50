//! The waits of a driver's thread for the next event or packet. It sleeps while this machine is sure to wake it in
//! time, and then polls the clock. It is in the real-time class only while it is mostly asleep.

use std::io;

use linux::memory::Locked;
use linux::scheduling;
use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;
use units::{Duration, Instant};

use crate::clock::Clock;

mod arrival_times;
mod budget;
mod lead;
mod recent;
mod wake_ups;

pub(crate) use arrival_times::ArrivalTimes;
use budget::{Budget, Verdict};
use lead::Lead;
use recent::LOOK_EVERY;
use wake_ups::WakeUps;

/// The state of a driver's waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    clock: Clock,
    wake_ups: WakeUps,
    lead: Lead,
    /// The budget of the real-time class, if the thread was in it at the beginning.
    budget: Option<Budget>,
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
    /// Prepares the calling thread, which already has its scheduling class. It sleeps for some milliseconds to measure
    /// the wake-up delay.
    pub(crate) fn new(clock: Clock) -> Self {
        let budget = scheduling::is_real_time().then(|| Budget::new(clock.now()));
        let mut waiting = Self {
            clock,
            wake_ups: WakeUps::default(),
            lead: Lead::default(),
            budget,
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
        loop {
            self.keep_to_budget();
            let began = self.clock.now();
            let left = time.saturating_since(began).saturating_sub(self.lead.length());
            if left == Duration::ZERO {
                self.lead.wait_ended(Some(began));
                return Ok(None);
            }
            if self.sleep(descriptors, left.saturating_sub(self.wake_ups.spin_of(left)))? {
                self.lead.wait_ended(None);
                return Ok(Some(self.ready(descriptors, began)));
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
    }

    /// Leaves the real-time class if the thread has been busy in it, and returns to it later. A thread that does not
    /// wait calls it repeatedly.
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

fn time_spec(length: Duration) -> TimeSpec {
    TimeSpec::from(std::time::Duration::from_nanos(length.as_nanos()))
}

/// The longest single sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);
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

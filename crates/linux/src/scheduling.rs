//! The scheduling class of the driver's thread.

use std::io;

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl::set_timerslack;
use serde::Serialize;

/// The scheduling class of the driver's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// Before all ordinary threads (SCHED_FIFO, sched(7)); needs privilege.
    Fifo,
    /// Among ordinary threads, with a short time slice: when it wakes up, it does not wait for the end of another
    /// thread's longer slice (the EEVDF scheduler, from Linux 6.12 on).
    ShortSlice,
    /// Like any thread.
    Ordinary,
}

/// A raised scheduling class of this thread; dropping it restores the ordinary one.
#[derive(Debug)]
pub struct Priority(Scheduling);

impl Priority {
    /// Sets the timer slack of this thread to 1 ns (default: 50 µs), and raises its scheduling class as far as the
    /// system permits.
    #[must_use]
    pub fn raise() -> Self {
        // Kernels without the call refuse it; deliveries are then later, which the run reports.
        let _ = set_timerslack(1);
        let fifo = || schedule(libc::SCHED_FIFO, LOWEST_FIFO, 0, 0).map(|()| Scheduling::Fifo);
        let short = || schedule(libc::SCHED_OTHER, 0, SHORTEST_SLICE, 0).map(|()| Scheduling::ShortSlice);
        Self(fifo().or_else(|_| short()).unwrap_or(Scheduling::Ordinary))
    }

    /// Returns the class that the system permitted.
    #[must_use]
    pub fn scheduling(&self) -> Scheduling {
        self.0
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        const DEFAULT_SLACK: u64 = 0;
        const DEFAULT_SLICE: u64 = 0;
        let _ = set_timerslack(DEFAULT_SLACK);
        if self.0 != Scheduling::Ordinary {
            // Lowering the class is always permitted (sched(7)).
            let _ = schedule(libc::SCHED_OTHER, 0, DEFAULT_SLICE, 0);
        }
    }
}

/// Returns whether the calling thread is in the real-time class.
#[must_use]
pub fn is_real_time() -> bool {
    const THIS_THREAD: libc::pid_t = 0;
    // SAFETY: the call takes a number and accesses no memory of this process.
    let policy = unsafe { libc::sched_getscheduler(THIS_THREAD) };
    policy >= 0 && policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO
}

/// Moves the calling thread from the real-time class to the ordinary one, with a short slice and a larger share. A
/// driver calls it while it is busy. The programs at both ends of its links are busy as well, and with an equal share
/// it would let packets wait that no link delays.
pub fn leave_real_time() {
    // Lowering the class is always permitted (sched(7)). The privilege for a lower nice value mostly comes with that
    // for the real-time class.
    let _ = schedule(libc::SCHED_OTHER, 0, SHORTEST_SLICE, PREFERRED)
        .or_else(|_| schedule(libc::SCHED_OTHER, 0, SHORTEST_SLICE, 0));
}

/// Moves the calling thread back to the real-time class. Where the system no longer permits it, nothing changes.
pub fn return_to_real_time() {
    let _ = schedule(libc::SCHED_FIFO, LOWEST_FIFO, 0, 0);
}

/// Gives the calling thread the finest timers and a short slice in the ordinary class, until its end, so that it wakes
/// up soon after a time that it waits for. Where the system does not permit it, nothing changes.
pub fn wake_promptly() {
    let _ = set_timerslack(1);
    let _ = schedule(libc::SCHED_OTHER, 0, SHORTEST_SLICE, 0);
}

/// Sets the scheduling of the calling thread (sched_setattr(2)). Threads and programs that it starts do not inherit it.
/// `slice` is in nanoseconds.
fn schedule(policy: libc::c_int, priority: u32, slice: u64, nice: i32) -> io::Result<()> {
    const THIS_THREAD: libc::pid_t = 0;
    const FLAGS: libc::c_uint = 0;
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: policy.cast_unsigned(),
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: nice,
        sched_priority: priority,
        sched_runtime: slice,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the call reads `attributes`, whose first field is its size and which lives until the call returns.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, &raw const attributes, FLAGS) };
    Ok(Errno::result(result).map(drop)?)
}

/// The lowest real-time priority, which is above all ordinary threads.
const LOWEST_FIFO: u32 = 1;
/// A nice value: three times the share of an ordinary thread.
const PREFERRED: i32 = -5;
/// The shortest slice of the scheduler, 0.1 ms (Linux, kernel/sched/syscalls.c).
const SHORTEST_SLICE: u64 = 100_000;

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    /// Returns the calling thread's policy: field 41 of its line, the 39th after the name (proc_pid_stat(5)).
    fn policy() -> libc::c_int {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let after_name = &stat[stat.rfind(')').unwrap() + 2..];
        after_name.split(' ').nth(38).unwrap().parse().unwrap()
    }

    #[test]
    fn the_raised_class_is_of_this_thread_alone_and_is_restored() {
        thread::spawn(|| {
            let priority = Priority::raise();
            let expected =
                if priority.scheduling() == Scheduling::Fifo { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
            assert_eq!(policy() & !libc::SCHED_RESET_ON_FORK, expected);
            assert_eq!(thread::spawn(policy).join().unwrap(), libc::SCHED_OTHER);
            drop(priority);
            assert_eq!(policy(), libc::SCHED_OTHER);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_busy_thread_leaves_the_real_time_class_and_returns_to_it() {
        thread::spawn(|| {
            let priority = Priority::raise();
            if priority.scheduling() != Scheduling::Fifo {
                return crate::testing::say_not_tested(&"the real-time class takes privilege");
            }
            assert!(is_real_time());
            leave_real_time();
            assert!(!is_real_time());
            return_to_real_time();
            assert!(is_real_time());
        })
        .join()
        .unwrap();
    }
}

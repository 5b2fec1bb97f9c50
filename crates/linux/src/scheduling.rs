//! The scheduling class of the driver's thread.

use std::{fs, io};

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

/// The share of a processor's time that the kernel leaves to all its real-time threads together, in each period. Beyond
/// it, it stops them for the rest of the period (sched(7), sched_rt_runtime_us).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealTimeLimit {
    /// In thousandths.
    permille: u64,
}

impl RealTimeLimit {
    /// Reads the limit of this machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        let number =
            |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok();
        Self::from_settings(number("sched_rt_runtime_us"), number("sched_rt_period_us"))
    }

    /// A negative time is no limit. Without settings, the kernel's defaults hold.
    fn from_settings(runtime: Option<i64>, period: Option<i64>) -> Self {
        let (runtime, period) = (runtime.unwrap_or(DEFAULT_RUNTIME), period.unwrap_or(DEFAULT_PERIOD).max(1));
        let permille = if runtime < 0 { WHOLE } else { runtime * WHOLE / period };
        Self { permille: permille.clamp(0, WHOLE).cast_unsigned() }
    }

    /// The share, in thousandths.
    #[must_use]
    pub const fn permille(self) -> u64 {
        self.permille
    }
}

/// The kernel's defaults, in microseconds (sched(7)).
const DEFAULT_RUNTIME: i64 = 950_000;
const DEFAULT_PERIOD: i64 = 1_000_000;
/// A whole, in thousandths.
const WHOLE: i64 = 1_000;

/// The order of the threads of a process that are in the real-time class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Threads that move packets.
    Driver,
    /// Threads at the ends of transfers, which can wait for a driver.
    End,
}

impl Rank {
    /// The real-time priority. Both are above all ordinary threads.
    const fn priority(self) -> u32 {
        match self {
            Self::End => 1,
            Self::Driver => 2,
        }
    }
}

/// A raised scheduling class of this thread; dropping it restores the ordinary one.
#[derive(Debug)]
pub struct Priority(Scheduling);

impl Priority {
    /// Sets the timer slack of this thread to 1 ns (default: 50 µs), and raises its scheduling class as far as the
    /// system permits.
    #[must_use]
    pub fn raise(rank: Rank) -> Self {
        // Kernels without the call refuse it; deliveries are then later, which the run reports.
        let _ = set_timerslack(1);
        let fifo = || schedule(libc::SCHED_FIFO, rank.priority(), 0, 0).map(|()| Scheduling::Fifo);
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
pub fn return_to_real_time(rank: Rank) {
    let _ = schedule(libc::SCHED_FIFO, rank.priority(), 0, 0);
}

/// Gives the calling thread the finest timers, a short slice and, where that is permitted, a larger share in the
/// ordinary class, until its end. It then wakes up soon after a time, or a packet, that it waits for. Where the system
/// does not permit it, nothing changes.
pub fn wake_promptly() {
    let _ = set_timerslack(1);
    leave_real_time();
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

/// A nice value: three times the share of an ordinary thread.
const PREFERRED: i32 = -5;
/// The shortest slice of the scheduler, 0.1 ms (Linux, kernel/sched/syscalls.c).
const SHORTEST_SLICE: u64 = 100_000;

#[cfg(test)]
mod tests {
    use std::thread;

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
            let priority = Priority::raise(Rank::Driver);
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
    fn the_limit_of_real_time_threads_is_that_of_the_settings() {
        let limit = |runtime, period| RealTimeLimit::from_settings(runtime, period).permille();
        assert_eq!(limit(Some(950_000), Some(1_000_000)), 950);
        assert_eq!(limit(Some(50_000), Some(500_000)), 100);
        assert_eq!(limit(Some(-1), Some(1_000_000)), 1_000, "without a limit");
        assert_eq!(limit(None, None), 950, "the kernel's default");
    }

    #[test]
    fn a_busy_thread_leaves_the_real_time_class_and_returns_to_it() {
        thread::spawn(|| {
            let priority = Priority::raise(Rank::Driver);
            if priority.scheduling() != Scheduling::Fifo {
                return crate::testing::say_not_tested(&"the real-time class takes privilege");
            }
            assert!(is_real_time());
            leave_real_time();
            assert!(!is_real_time());
            return_to_real_time(Rank::Driver);
            assert!(is_real_time());
        })
        .join()
        .unwrap();
    }
}

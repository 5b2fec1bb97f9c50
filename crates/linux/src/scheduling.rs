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
pub(crate) struct Priority(Scheduling);

impl Priority {
    /// Sets the timer slack of this thread to 1 ns (the default is 50 µs), and raises its scheduling class as far as the
    /// system permits.
    pub(crate) fn raise() -> Self {
        // Kernels without the call refuse it; deliveries are then later, which the run reports.
        let _ = set_timerslack(1);
        let fifo = || schedule(libc::SCHED_FIFO, LOWEST_FIFO, 0, 0).map(|()| Scheduling::Fifo);
        let short = || schedule(libc::SCHED_OTHER, 0, SHORTEST_SLICE, 0).map(|()| Scheduling::ShortSlice);
        Self(fifo().or_else(|_| short()).unwrap_or(Scheduling::Ordinary))
    }

    /// Returns the class that was permitted.
    pub(crate) fn scheduling(&self) -> Scheduling {
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

/// Whether the calling thread is in the real-time class.
pub(crate) fn is_real_time() -> bool {
    const THIS_THREAD: libc::pid_t = 0;
    // SAFETY: the call has no memory of ours.
    let policy = unsafe { libc::sched_getscheduler(THIS_THREAD) };
    policy >= 0 && policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO
}

/// Makes the calling thread one with a short slice among ordinary threads, until it returns. It is busy then, and so are the
/// programs on both sides of it: a fair share would let packets wait that no link holds.
pub(crate) fn leave_real_time() {
    // Lowering the class is always permitted (sched(7)), and who had the real-time class may mostly be preferred too.
    let _ = schedule(libc::SCHED_OTHER, 0, SHORTEST_SLICE, PREFERRED)
        .or_else(|_| schedule(libc::SCHED_OTHER, 0, SHORTEST_SLICE, 0));
}

/// Makes the calling thread one of the real-time class again. Where that is no longer permitted, it stays as it is.
pub(crate) fn return_to_real_time() {
    let _ = schedule(libc::SCHED_FIFO, LOWEST_FIFO, 0, 0);
}

/// Lets the calling thread wake up soon after a time that it has waited for, among ordinary threads, until its end. Where the
/// system does not permit it, the thread is as any other.
pub(crate) fn wake_promptly() {
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
    // SAFETY: the call reads `attributes`, which tells its own size and lives until it returns.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, &raw const attributes, FLAGS) };
    Ok(Errno::result(result).map(drop)?)
}

/// The lowest real-time priority: it is before all ordinary threads.
const LOWEST_FIFO: u32 = 1;
/// Three times the share of an ordinary thread.
const PREFERRED: i32 = -5;
/// The shortest slice of the scheduler, 0.1 ms (Linux, kernel/sched/syscalls.c).
const SHORTEST_SLICE: u64 = 100_000;

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    /// Returns the calling thread's policy: field 41 of its line, 39 behind the name (proc_pid_stat(5)).
    fn policy() -> libc::c_int {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let behind_name = &stat[stat.rfind(')').unwrap() + 2..];
        behind_name.split(' ').nth(38).unwrap().parse().unwrap()
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
}

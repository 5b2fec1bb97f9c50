//! Asking the system to run the driver on time.

use std::io;

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl::set_timerslack;
use serde::Serialize;

/// How the driver's thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// Before all ordinary threads (SCHED_FIFO, sched(7)), which takes privilege.
    Fifo,
    /// As any thread.
    Ordinary,
}

/// This thread's scheduling, as good as is permitted; given back when dropped.
#[derive(Debug)]
pub(crate) struct Urgency(Scheduling);

impl Urgency {
    /// Wakes this thread when its time comes and not a little later (the default slack is 50 µs),
    /// and puts it before ordinary threads where that is permitted.
    pub(crate) fn take() -> Self {
        // Refused only by kernels without the call; then releases are a little later, and it is said.
        let _ = set_timerslack(1);
        Self(if schedule(libc::SCHED_FIFO, LOWEST_FIFO).is_ok() {
            Scheduling::Fifo
        } else {
            Scheduling::Ordinary
        })
    }

    /// What was permitted.
    pub(crate) fn scheduling(&self) -> Scheduling {
        self.0
    }
}

impl Drop for Urgency {
    fn drop(&mut self) {
        const DEFAULT_SLACK: u64 = 0;
        let _ = set_timerslack(DEFAULT_SLACK);
        if self.0 == Scheduling::Fifo {
            // Going back to ordinary is always permitted (sched(7)).
            let _ = schedule(libc::SCHED_OTHER, 0);
        }
    }
}

/// Sets the scheduling of the calling thread.
fn schedule(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    const THIS_THREAD: libc::pid_t = 0;
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads `parameters`, which lives until it returns.
    let result = unsafe {
        libc::sched_setscheduler(THIS_THREAD, policy | libc::SCHED_RESET_ON_FORK, &raw const parameters)
    };
    Ok(Errno::result(result).map(drop)?)
}

/// Any real-time priority is before all ordinary threads; the lowest is enough.
const LOWEST_FIFO: libc::c_int = 1;

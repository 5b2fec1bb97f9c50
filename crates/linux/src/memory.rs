//! Locked memory: a driver that waits for a page to be read from the disk is late.

use std::fs;

use nix::libc;
use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};

use crate::namespace::effective_capabilities;

/// A lock on the memory of this process until this is dropped, if the system permits it without a limit.
#[derive(Debug)]
pub struct Locked(bool);

impl Locked {
    /// Locks the memory in use now, and every other page when it is first used.
    #[must_use]
    pub fn if_allowed() -> Self {
        let flags = MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE | ON_FAULT;
        Self(is_unlimited() && mlockall(flags).is_ok())
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        if self.0 {
            let _ = munlockall();
        }
    }
}

/// Returns whether no limit (RLIMIT_MEMLOCK) applies. Under a limit the kernel would refuse later allocations
/// (mlockall(2)).
fn is_unlimited() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let users = fs::read_to_string("/proc/thread-self/uid_map").unwrap_or_default();
    may_lock(&status, &users)
}

/// Returns whether the process has the capability. In a user namespace of its own it has no effect.
fn may_lock(status: &str, users: &str) -> bool {
    let is_first = users.split_whitespace().eq(["0", "0", "4294967295"]);
    is_first && effective_capabilities(status) >> CAP_IPC_LOCK & 1 == 1
}

/// capabilities(7); Linux, include/uapi/linux/capability.h.
const CAP_IPC_LOCK: u32 = 14;
/// Without this flag the kernel would load the whole stack of every thread.
const ON_FAULT: MlockAllFlags = MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_counts_only_in_the_first_user_namespace() {
        let status = "Name:\tlasthop\nCapEff:\t000001ffffffffff\n";
        assert!(may_lock(status, "         0          0 4294967295\n"));
        assert!(!may_lock(status, "         0       1000          1\n"));
        assert!(!may_lock("CapEff:\t0000000000000000\n", "0 0 4294967295"));
        assert!(!may_lock("", ""));
    }
}

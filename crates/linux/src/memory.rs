//! Memory that stays: a driver that waits for a page to come back from the disk is late.

use std::fs;

use nix::libc;
use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};

/// This process's memory stays where it is until this is dropped, where the system allows that without a limit.
#[derive(Debug)]
pub(crate) struct Locked(bool);

impl Locked {
    /// Locks the memory that is in use, and that which will be: each page when it is first used.
    pub(crate) fn if_allowed() -> Self {
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

/// Whether no limit (RLIMIT_MEMLOCK) applies. Under one, memory that is asked for later would be refused (mlockall(2)).
fn is_unlimited() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let users = fs::read_to_string("/proc/thread-self/uid_map").unwrap_or_default();
    may_lock(&status, &users)
}

/// Whether the capability is there, and counts: in a user namespace of one's own it does not.
fn may_lock(status: &str, users: &str) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let is_first = users.split_whitespace().eq(["0", "0", "4294967295"]);
    is_first && capabilities & (1 << CAP_IPC_LOCK) != 0
}

/// capabilities(7); Linux, include/uapi/linux/capability.h.
const CAP_IPC_LOCK: u32 = 14;
/// Without it, every stack of every thread would be read in whole.
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

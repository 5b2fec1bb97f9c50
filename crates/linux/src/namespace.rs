//! Network namespaces without names. They live as long as the threads and devices in them, so nothing is left behind,
//! however the process ends.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use serde::{Deserialize, Serialize};

/// The right by which the process makes network namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// The process has CAP_SYS_ADMIN.
    Privilege,
    /// The process is root in a user namespace of its own (user_namespaces(7)).
    UserNamespace,
    /// Every host has a stack in this process.
    NotNeeded,
}

/// Obtains the right to make network namespaces. A process without privilege moves to a user namespace, which the
/// kernel permits only while it has one thread.
pub(crate) fn obtain_right() -> io::Result<Right> {
    if privileged() {
        return Ok(Right::Privilege);
    }
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // The kernel maps a group without privilege only after setgroups(2) is denied (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    Ok(Right::UserNamespace)
}

/// Moves this thread, and the threads that it starts later, to a new network namespace.
pub(crate) fn enter_new_network() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWNET)?)
}

/// Tries whether network namespaces can be made, by making one in a child process that ends at once.
pub(crate) fn possible() -> io::Result<Right> {
    let (right, kinds) = match privileged() {
        true => (Right::Privilege, CloneFlags::CLONE_NEWNET),
        false => (Right::UserNamespace, CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWUSER),
    };
    let mut child = Command::new("true");
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { child.pre_exec(move || Ok(unshare(kinds)?)) };
    match child.status() {
        // The namespaces were made; only the program "true" is missing.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(right),
        Err(error) => Err(error),
        Ok(_) => Ok(right),
    }
}

/// Returns whether this thread has CAP_SYS_ADMIN. It is read from /proc and not tried out in another thread: that thread
/// would still count for a moment after its end, and the kernel would refuse the user namespace.
fn privileged() -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .is_some_and(|bits| bits >> CAP_SYS_ADMIN & 1 == 1)
}

//! Network namespaces without names: they live as long as the threads and devices in them, so
//! nothing is left behind, however the process ends.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use serde::Serialize;

/// By what right network namespaces are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// The process has CAP_SYS_ADMIN.
    Privilege,
    /// The process is root in a user namespace of its own (user_namespaces(7)).
    UserNamespace,
}

/// Obtains the right to make network namespaces: nothing to do where there is the privilege, else
/// the process moves to a user namespace, which it may do only before it has a second thread.
pub(crate) fn obtain_right() -> io::Result<Right> {
    if privileged() {
        return Ok(Right::Privilege);
    }
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // A group may be mapped without privilege only when setgroups(2) is given up.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    Ok(Right::UserNamespace)
}

/// Moves this thread, and those that it starts from here on, to a new network namespace.
pub(crate) fn enter_new_network() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWNET)?)
}

/// Whether network namespaces can be made here, found out by making one that is gone at once.
pub(crate) fn possible() -> io::Result<Right> {
    if privileged() {
        return Ok(Right::Privilege);
    }
    let mut child = Command::new("true");
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let both = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET;
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { child.pre_exec(move || Ok(unshare(both)?)) };
    match child.status() {
        Err(error) if Errno::from_raw(error.raw_os_error().unwrap_or(0)) != Errno::ENOENT => Err(error),
        _ => Ok(Right::UserNamespace),
    }
}

/// A thread of its own tries, so that the caller stays where it is.
fn privileged() -> bool {
    thread::spawn(|| enter_new_network().is_ok()).join().unwrap_or(false)
}
